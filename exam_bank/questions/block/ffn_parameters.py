"""2 d f + f + d. `verify` counts the entries of two torch layers."""


def generate(rng):
    d = rng.choice([32, 48, 64, 80, 96, 128, 160, 192, 224, 256, 320, 384, 512, 640, 768, 1024])
    f = d * rng.choice([2, 3, 4, 5, 6, 7, 8])
    count = 2 * d * f + f + d
    return {
        "params": {"d": d, "f": f},
        "solution": {"matrices": 2 * d * f, "count": count},
        "answers": {"count": str(count)},
        "wrong": {"count": [str(2 * d * f), str(d * f + f), str(2 * d * f + 2 * d), str(2 * d * f + 2 * f)]},
    }


def verify(params):
    import torch

    d, f = params["d"], params["f"]
    net = torch.nn.Sequential(
        torch.nn.Linear(d, f, device="meta"), torch.nn.ReLU(), torch.nn.Linear(f, d, device="meta")
    )
    return {"count": sum(p.numel() for p in net.parameters())}
