"""Shapes by reading. `verify` runs the code on torch's meta device."""


def generate(rng):
    B, p, side, d = (
        rng.randint(2, 16),
        rng.choice([4, 8, 14, 16]),
        rng.randint(3, 16),
        rng.choice([64, 128, 192, 384, 512, 768]),
    )
    n, flat = side * side, 3 * p * p
    rows = [[B, n, flat], [B, n + 1, d], [B, n + 1, n + 1]]
    wrong = [[B, n, flat], [B, n, d], [B, n, n]]
    return {
        "params": {"B": B, "s": side * p, "p": p, "d": d},
        "solution": {"n": n, "flat": flat, "n1": n + 1},
        "answers": {"shapes": [list(map(str, row)) for row in rows]},
        "wrong": {"shapes": [[list(map(str, row)) for row in wrong]]},
    }


def verify(params):
    import torch

    B, d = params["B"], params["d"]
    x = torch.empty(B, 3, params["s"], params["s"], device="meta")
    p = torch.nn.Unfold(params["p"], stride=params["p"])(x).transpose(1, 2)
    e = torch.cat([torch.empty(B, 1, d, device="meta"), p @ torch.empty(p.shape[2], d, device="meta")], dim=1)
    return {"shapes": [list(t.shape) for t in (p, e, e @ e.transpose(1, 2))]}
