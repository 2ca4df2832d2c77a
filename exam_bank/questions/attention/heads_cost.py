"""T^2 d/h and T^2 d. `verify` counts multiplications entry by entry over the shapes of a meta product."""


def generate(rng):
    h, dh, T = rng.choice([2, 4, 5, 8]), rng.choice([8, 10, 16, 20, 32, 50]), rng.choice([10, 20, 30, 40, 50, 100])
    one = T * T * dh
    return {
        "params": {"d": h * dh, "h": h, "T": T},
        "solution": {"dh": dh, "one": one, "all": h * one},
        "answers": {"one": str(one), "all": str(h * one)},
        "wrong": {"one": [str(h * one), str(T * dh), str(T * T)], "all": [str(h * h * one), str(one)]},
    }


def verify(params):
    import torch

    T, h = params["T"], params["h"]
    q = torch.empty(T, params["d"], device="meta").view(T, h, -1).transpose(0, 1)
    scores = q @ q.mT
    return {"one": scores[0].numel() * q.shape[2], "all": scores.numel() * q.shape[2]}
