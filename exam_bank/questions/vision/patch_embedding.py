"""(3 p^2 + 1) d and (n + 2) d. `verify` counts a torch convolution and two tables."""


def generate(rng):
    p, d = rng.choice([8, 14, 16, 32]), rng.choice([128, 192, 256, 384, 512, 768])
    s = p * rng.randint(4, 16)
    n, flat = (s // p) ** 2, 3 * p * p
    return {
        "params": {"d": d, "s": s, "p": p},
        "solution": {"flat": flat, "linear": (flat + 1) * d, "n": n, "n1": n + 1, "rest": (n + 2) * d},
        "answers": {"linear": str((flat + 1) * d), "rest": str((n + 2) * d)},
        "wrong": {
            "linear": [str(flat * d), str((p * p + 1) * d), str((3 * p + 1) * d)],
            "rest": [str((n + 1) * d), str(n * d)],
        },
    }


def verify(params):
    import torch

    conv = torch.nn.Conv2d(3, params["d"], params["p"], stride=params["p"], device="meta")
    grid = conv(torch.empty(1, 3, params["s"], params["s"], device="meta")).flatten(2)
    positions = torch.empty(grid.shape[2] + 1, params["d"], device="meta")
    return {"linear": sum(w.numel() for w in conv.parameters()), "rest": params["d"] + positions.numel()}
