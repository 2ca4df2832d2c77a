"""3 (h (x + h) + h). `verify` counts torch's GRU, which also has three blocks, without its second bias."""


def generate(rng):
    x, h = rng.choice([6, 12, 18, 25, 30, 48, 60, 96, 120]), rng.choice([8, 12, 15, 25, 30, 36, 48, 60, 80])
    block = h * (x + h) + h
    return {
        "params": {"x": x, "h": h},
        "solution": {"block": block, "count": 3 * block, "full": 4 * block},
        "answers": {"count": str(3 * block)},
        "wrong": {"count": [str(4 * block), str(3 * h * (x + h)), str(2 * block)]},
    }


def verify(params):
    import torch

    net = torch.nn.GRU(params["x"], params["h"], device="meta")
    return {"count": sum(p.numel() for n, p in net.named_parameters() if n != "bias_hh_l0")}
