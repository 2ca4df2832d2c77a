"""B T, B T d, B T V. `verify` runs the lines on torch's meta device."""


def generate(rng):
    while True:
        B, T = rng.randint(2, 8), rng.randint(3, 12)
        d, V = rng.choice([8, 10, 16, 20, 32, 50]), rng.choice([60, 100, 200, 250, 500, 1000])
        n = B * T
        if n not in (V, d):
            break
    return {
        "params": {"B": B, "T": T, "d": d, "V": V},
        "solution": {"n": n, "nd": n * d, "nv": n * V},
        "answers": {"shapes": [str(n), str(n * d), str(n * V)]},
        "wrong": {"shapes": [[str(n), str(n * d), str(n * d * V)], [str(n), str(V * d), str(n * V)]]},
    }


def verify(params):
    import torch

    E = torch.empty(params["V"], params["d"], device="meta")
    ids = torch.zeros(params["B"], params["T"], dtype=torch.long, device="meta")
    x = E[ids]
    return {"shapes": [ids.numel(), x.numel(), (x @ E.T).numel()]}
