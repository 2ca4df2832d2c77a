"""T d, n - T. `verify` looks the positions up in a torch embedding and counts the failures."""


def generate(rng):
    T, d = rng.choice([128, 256, 512, 1024]), rng.choice([64, 128, 256, 384, 512, 768])
    n = T + rng.randint(10, 200)
    return {
        "params": {"T": T, "d": d, "n": n},
        "solution": {"count": T * d, "beyond": n - T},
        "answers": {"count": str(T * d), "beyond": str(n - T)},
        "wrong": {"count": [str(n * d)], "beyond": [str(n - T + 1), str(n - T - 1)]},
    }


def verify(params):
    import torch

    table = torch.nn.Embedding(params["T"], params["d"], device="meta")
    positions = torch.arange(params["n"])
    return {"count": table.weight.numel(), "beyond": int((positions >= table.num_embeddings).sum())}
