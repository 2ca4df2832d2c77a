"""e + 2d and 2e + 3d. `verify` walks through torch's Transformer and counts its modules."""


def generate(rng):
    while True:
        e, d = rng.randint(2, 16), rng.randint(2, 16)
        if e != d:
            break
    return {
        "params": {"e": e, "d": d},
        "solution": {"attention": e + 2 * d, "all": 2 * e + 3 * d},
        "answers": {"attention": str(e + 2 * d), "all": str(2 * e + 3 * d)},
        "wrong": {
            "attention": [str(e + d), str(2 * e + d)],
            "all": [str(2 * (e + d)), str(3 * e + 2 * d), str(3 * (e + d))],
        },
    }


def verify(params):
    import torch

    net = torch.nn.Transformer(8, 2, params["e"], params["d"], 16, batch_first=True, device="meta")
    modules = list(net.modules())
    attention = sum(isinstance(m, torch.nn.MultiheadAttention) for m in modules)
    feed_forward = sum(hasattr(m, "linear1") for m in modules)
    return {"attention": attention, "all": attention + feed_forward}
