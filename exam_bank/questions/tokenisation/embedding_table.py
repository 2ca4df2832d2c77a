"""(V - c) d. `verify` compares two torch embeddings."""


def generate(rng):
    V, c, d = 1000 * rng.randint(8, 100), rng.randint(60, 200), rng.choice([64, 100, 128, 256, 300, 512])
    return {
        "params": {"V": V, "c": c, "d": d},
        "solution": {"saved": (V - c) * d},
        "answers": {"saved": str((V - c) * d)},
        "wrong": {"saved": [str(V * d), str((V + c) * d), str(V - c)]},
    }


def verify(params):
    import torch

    sizes = [torch.nn.Embedding(params[k], params["d"], device="meta").weight.numel() for k in "Vc"]
    return {"saved": sizes[0] - sizes[1]}
