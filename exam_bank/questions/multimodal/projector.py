"""a d + d; plus d^2 + d. `verify` counts torch layers."""


def generate(rng):
    a, d = (
        rng.choice([256, 320, 384, 512, 576, 640, 768, 896, 1024, 1152]),
        rng.choice([512, 768, 1024, 1280, 1536, 1792, 2048, 2560, 3072, 4096]),
    )
    if a == d:
        d = 2 * d
    one = a * d + d
    two = one + d * d + d
    return {
        "params": {"a": a, "d": d},
        "solution": {"one": one, "two": two},
        "answers": {"one": str(one), "two": str(two)},
        "wrong": {"one": [str(a * d), str(a * d + a)], "two": [str(2 * one), str(one + d * d), str(one + a * d + a)]},
    }


def verify(params):
    import torch

    def count(*sizes):
        layers = [torch.nn.Linear(i, o, device="meta") for i, o in zip(sizes, sizes[1:])]
        return sum(p.numel() for layer in layers for p in layer.parameters())

    return {"one": count(params["a"], params["d"]), "two": count(params["a"], params["d"], params["d"])}
