"""4 L d^2. `verify` counts torch layers."""


def generate(rng):
    L, d = rng.randint(2, 24), rng.choice([10, 20, 32, 50, 64, 100, 128, 200, 256])
    one = d * d
    return {
        "params": {"L": L, "d": d},
        "solution": {"one": one, "count": 4 * L * one},
        "answers": {"count": str(4 * L * one)},
        "wrong": {"count": [str(4 * one), str(3 * L * one), str(4 * L * d)]},
    }


def verify(params):
    import torch

    d = params["d"]
    layers = [torch.nn.Linear(d, d, bias=False, device="meta") for _ in range(4 * params["L"])]
    return {"count": sum(layer.weight.numel() for layer in layers)}
