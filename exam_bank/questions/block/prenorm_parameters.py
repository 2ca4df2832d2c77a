"""(2L + 1) 2d. `verify` builds the list of torch's LayerNorms and counts their entries."""


def generate(rng):
    L, d = rng.randint(2, 48), rng.choice([128, 192, 256, 384, 512, 768, 1024])
    norms = 2 * L + 1
    return {
        "params": {"L": L, "d": d},
        "solution": {"norms": norms, "two": 2 * d, "count": norms * 2 * d},
        "answers": {"count": str(norms * 2 * d)},
        "wrong": {"count": [str(2 * L * 2 * d), str(norms * d), str((L + 1) * 2 * d)]},
    }


def verify(params):
    import torch

    layers = [
        (torch.nn.LayerNorm(params["d"], device="meta"), torch.nn.LayerNorm(params["d"], device="meta"))
        for _ in range(params["L"])
    ]
    norms = [n for pair in layers for n in pair] + [torch.nn.LayerNorm(params["d"], device="meta")]
    return {"count": sum(p.numel() for n in norms for p in n.parameters())}
