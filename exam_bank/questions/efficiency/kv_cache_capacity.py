"""Memory divided by the course's KV-cache bytes of one token. `verify` bisects on the size of real (meta) tensors."""

from exam_bank.course import reference


def generate(rng):
    while True:
        M, L, g = rng.randint(2, 40), rng.choice([16, 24, 28, 32, 40]), rng.choice([2, 4, 8, 16, 32])
        dh, B = rng.choice([64, 96, 128]), rng.choice([3, 5, 6, 8, 10, 12, 16, 20, 24])
        per = reference("minigpt").kv_cache_bytes(L, 1, 1, g, dh, 2)
        tokens = M * 2**30 // (B * per)
        if 100 <= tokens <= 60000:
            break
    return {
        "params": {"M": M, "L": L, "g": g, "dh": dh, "B": B},
        "solution": {"per": per, "tokens": tokens},
        "answers": {"tokens": str(tokens)},
        "wrong": {
            "tokens": [str(M * 2**30 // (B * per // 2)), str(M * 2**30 // per), str(M * 2**30 // (B * per // L))]
        },
    }


def verify(params):
    import torch

    def size(tokens):
        shape = (2, params["L"], params["B"], params["g"], tokens, params["dh"])
        return torch.empty(shape, dtype=torch.float16, device="meta").nbytes

    low, high = 0, 2**20
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if size(middle) <= params["M"] * 2**30 else (low, middle)
    return {"tokens": low}
