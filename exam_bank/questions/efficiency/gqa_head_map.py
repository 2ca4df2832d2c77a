"""floor(q / r). `verify` repeats the key-value heads with torch and looks the answer up."""


def generate(rng):
    while True:
        g, r = rng.choice([2, 3, 4, 6, 8]), rng.choice([2, 3, 4, 6, 8])
        q, k = rng.randint(r, g * r - 1), rng.randint(0, g - 1)
        if q // r != q % g and q // r != k:
            break
    return {
        "params": {"h": g * r, "g": g, "r": r, "q": q, "k": k},
        "solution": {"head": q // r, "k1": k + 1, "last": (k + 1) * r - 1},
        "answers": {"head": str(q // r), "last": str((k + 1) * r - 1)},
        "wrong": {"head": [str(q % g)], "last": [str((k + 1) * r), str(k * r)]},
    }


def verify(params):
    import torch

    heads = torch.arange(params["g"]).repeat_interleave(params["h"] // params["g"])
    return {"head": int(heads[params["q"]]), "last": int((heads == params["k"]).nonzero().max())}
