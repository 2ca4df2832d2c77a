"""(s/p)^2 + 1 for two patch sizes. `verify` unfolds a meta image with torch."""


def generate(rng):
    q = rng.choice([4, 7, 8, 14, 16])
    p, s = 2 * q, 2 * q * rng.randint(3, 16)
    a, b = (s // p) ** 2 + 1, (s // q) ** 2 + 1
    return {
        "params": {"s": s, "p": p, "q": q},
        "solution": {"a": a, "b": b, "n": 3 * q * q},
        "answers": {"tokens": [str(a), str(b)], "numbers": str(3 * q * q)},
        "wrong": {"tokens": [[str(a - 1), str(b - 1)], [str(b), str(a)]], "numbers": [str(q * q), str(3 * q)]},
    }


def verify(params):
    import torch

    x = torch.empty(1, 3, params["s"], params["s"], device="meta")
    large, small = (torch.nn.Unfold(params[k], stride=params[k])(x) for k in "pq")
    return {"tokens": [large.shape[2] + 1, small.shape[2] + 1], "numbers": small.shape[1]}
