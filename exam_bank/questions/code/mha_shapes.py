"""Shapes by reading. `verify` runs the code on torch's meta device."""


def generate(rng):
    while True:
        B, T, h, dh = (
            rng.randint(2, 16),
            rng.randint(5, 64),
            rng.choice([2, 3, 4, 6, 8, 12]),
            rng.choice([8, 16, 24, 32, 64]),
        )
        if len({B, T, h, dh}) == 4:
            break
    q, s = [B, h, T, dh], [B, h, T, T]
    return {
        "params": {"B": B, "T": T, "d": h * dh, "h": h, "dh": dh},
        "solution": {},
        "answers": {"shapes": [list(map(str, row)) for row in (q, s, q)]},
        "wrong": {"shapes": [[list(map(str, row)) for row in ([B, T, h, dh], s, q)]]},
    }


def verify(params):
    import torch

    d = params["d"]
    x, W = torch.empty(params["B"], params["T"], d, device="meta"), torch.empty(d, d, device="meta")

    def heads(z):
        return z.view(params["B"], params["T"], params["h"], params["dh"]).transpose(1, 2)

    q, k, v = heads(x @ W), heads(x @ W), heads(x @ W)
    s = q @ k.transpose(2, 3)
    return {"shapes": [list(t.shape) for t in (q, s, s.softmax(dim=3) @ v)]}
