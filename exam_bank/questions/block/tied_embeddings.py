"""V d over 2 V d + layers. `verify` counts entries of both torch models."""

from fractions import Fraction


def generate(rng):
    while True:
        V, d, M = (
            rng.choice([8000, 16000, 32000, 50000, 64000]),
            rng.choice([250, 500, 750, 1000, 1500]),
            rng.choice([10, 20, 40, 80, 100, 150]),
        )
        vd = V * d
        saved = Fraction(100 * vd, 2 * vd + M * 10**6)
        wrong = [Fraction(100 * vd, vd + M * 10**6), Fraction(100 * vd, M * 10**6), Fraction(50)]
        if (saved * 100) % 1 != Fraction(1, 2) and all(abs(w - saved) > Fraction(1, 5) for w in wrong):
            break
    return {
        "params": {"V": V, "d": d, "M": M},
        "solution": {
            "vd": vd,
            "vdm": f"{vd / 10**6:g}",
            "two": f"{2 * vd / 10**6 + M:g}",
            "saved": f"{float(saved):.2f}",
        },
        "answers": {"saved": f"{float(saved):.2f}"},
        "wrong": {"saved": [f"{float(w):.2f}" for w in wrong]},
    }


def verify(params):
    import torch

    table = torch.nn.Embedding(params["V"], params["d"], device="meta")
    head = torch.nn.Linear(params["d"], params["V"], bias=False, device="meta")
    separate = table.weight.numel() + head.weight.numel() + params["M"] * 10**6
    head.weight = table.weight
    shared = (
        sum(p.numel() for p in {id(p): p for p in [*table.parameters(), *head.parameters()]}.values())
        + params["M"] * 10**6
    )
    return {"saved": 100 * (1 - shared / separate)}
