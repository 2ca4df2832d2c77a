"""2 B h T^2 bytes. `verify` makes the tensor on the meta device and asks for its size."""


def generate(rng):
    h, B, T, k = (
        rng.choice([8, 12, 16, 32]),
        rng.choice([2, 4, 8, 16]),
        rng.choice([512, 1024, 2048, 4096]),
        rng.choice([2, 3, 4]),
    )
    mib = 2 * B * h * T * T // 2**20
    return {
        "params": {"h": h, "B": B, "T": T, "k": k},
        "solution": {"mib": mib, "k2": k * k},
        "answers": {"mib": str(mib), "twice": str(k * k)},
        "wrong": {
            "mib": [str(mib // 2), str(mib // h), str(mib * 8)],
            "twice": [str(k), str(2 * k) if k != 2 else "8"],
        },
    }


def verify(params):
    import torch

    def size(t):
        return torch.empty(params["B"], params["h"], t, t, dtype=torch.float16, device="meta").nbytes

    return {"mib": size(params["T"]) / 2**20, "twice": size(params["k"] * params["T"]) / size(params["T"])}
