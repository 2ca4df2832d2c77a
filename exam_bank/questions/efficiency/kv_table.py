"""The course's KV-cache bytes for h and g heads. `verify` asks meta tensors for their bytes."""

from exam_bank.course import reference


def generate(rng):
    while True:
        L, h, g = rng.choice([16, 24, 32, 40, 48]), rng.choice([16, 32, 64]), rng.choice([2, 4, 8])
        dh, T = rng.choice([64, 128]), rng.choice([512, 1024, 2048, 4096, 8192])
        k1, k2 = 4 * L * h * dh // 1024, 4 * L * g * dh // 1024
        if h > g and 4 * L * g * dh % 1024 == 0:
            break
    count = reference("minigpt").kv_cache_bytes
    (k1, m1), (k2, m2) = (
        (count(L, 1, 1, heads, dh, 2) // 2**10, count(L, 1, T, heads, dh, 2) // 2**20) for heads in (h, g)
    )
    return {
        "params": {"L": L, "h": h, "g": g, "dh": dh, "T": T},
        "solution": {"k1": k1, "k2": k2, "m1": m1, "m2": m2, "ratio": h // g},
        "answers": {"sizes": [[str(k1), str(m1)], [str(k2), str(m2)]]},
    }


def verify(params):
    import torch

    def size(heads, tokens):
        return sum(
            torch.empty(2, heads, tokens, params["dh"], dtype=torch.float16, device="meta").nbytes
            for _ in range(params["L"])
        )

    return {"sizes": [[size(n, 1) / 2**10, size(n, params["T"]) / 2**20] for n in (params["h"], params["g"])]}
