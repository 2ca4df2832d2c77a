"""(a/p)(b/p) + 1 and its square. `verify` runs torch's unfold on a meta image."""


def generate(rng):
    p = rng.choice([8, 14, 16, 32])
    a, b = p * rng.randint(4, 20), p * rng.randint(4, 20)
    n = (a // p) * (b // p)
    return {
        "params": {"a": a, "b": b, "p": p},
        "solution": {"n": n, "t": n + 1, "s": (n + 1) ** 2},
        "answers": {"patches": str(n), "tokens": str(n + 1), "scores": str((n + 1) ** 2)},
        "wrong": {
            "patches": [str(a * b // p), str(a // p + b // p)],
            "tokens": [str(n)],
            "scores": [str(n * n), str(n + 1)],
        },
    }


def verify(params):
    import torch

    image = torch.zeros(params["a"], params["b"])
    patches = image.unfold(0, params["p"], params["p"]).unfold(1, params["p"], params["p"]).flatten(0, 1)
    tokens = torch.cat([torch.zeros(1, *patches.shape[1:]), patches]).flatten(1)
    return {"patches": len(patches), "tokens": len(tokens), "scores": len(tokens) ** 2}
