"""Broadcast shapes. `verify` adds meta tensors in torch."""


def generate(rng):
    while True:
        B, T, d = rng.randint(2, 32), rng.randint(5, 64), rng.choice([16, 32, 64, 128, 256])
        if len({B, T, d}) == 3:
            break
    return {
        "params": {"B": B, "T": T, "d": d},
        "solution": {},
        "answers": {"shapes": [str(B), str(T), str(d)]},
        "wrong": {"shapes": [[str(T), str(B), str(d)], [str(B), "1", str(d)]]},
    }


def verify(params):
    import torch

    x = torch.empty(params["B"], params["T"], params["d"], device="meta")
    pos = torch.empty(params["T"], params["d"], device="meta")
    return {"shapes": list((x + pos).shape)}
