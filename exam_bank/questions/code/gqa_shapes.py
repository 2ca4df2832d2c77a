"""Shapes by reading. `verify` runs the code on torch's meta device."""


def generate(rng):
    while True:
        B, T, g, r = rng.randint(2, 12), rng.randint(5, 64), rng.choice([2, 3, 4, 5]), rng.choice([2, 3, 4, 6])
        h, dh = g * r, rng.choice([8, 16, 32, 48, 64])
        if len({B, T, g, h, dh}) == 5:
            break
    rows = [[B, g, T, dh], [B, h, T, dh], [B, h, T, T]]
    wrong = [[B, g, T, dh], [B, g, T, dh], [B, g, T, T]]
    return {
        "params": {"B": B, "T": T, "h": h, "g": g, "r": r, "dh": dh, "d": h * dh, "kv": g * dh},
        "solution": {},
        "answers": {"shapes": [list(map(str, row)) for row in rows]},
        "wrong": {"shapes": [[list(map(str, row)) for row in wrong]]},
    }


def verify(params):
    import torch

    B, T, dh = params["B"], params["T"], params["dh"]
    x = torch.empty(B, T, params["d"], device="meta")

    def heads(n):
        return (x @ torch.empty(params["d"], n * dh, device="meta")).view(B, T, n, dh).transpose(1, 2)

    q, k = heads(params["h"]), heads(params["g"])
    k2 = k.repeat_interleave(params["r"], dim=1)
    return {"shapes": [list(t.shape) for t in (k, k2, q @ k2.transpose(2, 3))]}
