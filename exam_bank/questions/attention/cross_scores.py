"""h T S. `verify` multiplies real Q and K on the meta device and counts the scores."""


def generate(rng):
    while True:
        S, T, h = rng.choice([50, 75, 100, 150, 250, 500, 750, 1500]), rng.randint(5, 60), rng.choice([4, 6, 8, 12, 16])
        if S != T:
            break
    return {
        "params": {"S": S, "T": T, "h": h},
        "solution": {"scores": h * S * T},
        "answers": {"scores": str(h * S * T)},
        "wrong": {"scores": [str(h * (S + T) ** 2), str(h * T * T), str(S * T), str(h * S * S)]},
    }


def verify(params):
    import torch

    q = torch.empty(params["h"], params["T"], 64, device="meta")
    k = torch.empty(params["h"], params["S"], 64, device="meta")
    return {"scores": (q @ k.mT).numel()}
