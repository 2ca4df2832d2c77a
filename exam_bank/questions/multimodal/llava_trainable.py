"""Shares of the trained parts. `verify` marks parameters of a list and counts what requires a gradient."""

from fractions import Fraction


def generate(rng):
    while True:
        v, p, m = 10 * rng.randint(8, 60), rng.randint(10, 90), 100 * rng.randint(5, 130)
        everything = v + p + m
        one, two = Fraction(100 * p, everything), Fraction(100 * (p + m), everything)
        tie = any(abs((x * 10) % 1 - Fraction(1, 2)) < Fraction(1, 1000) for x in (one, two))
        if one > Fraction(6, 10) and not tie:
            break

    def tenth(x):
        return f"{float(x):.1f}"

    return {
        "params": {"v": v, "p": p, "m": m},
        "solution": {"all": everything, "one": tenth(one), "two": tenth(two)},
        "answers": {"shares": [tenth(one), tenth(two)]},
        "wrong": {"shares": [[tenth(one), "100.0"], [tenth(two), tenth(one)]]}
        if two < 99
        else {"shares": [[tenth(two), tenth(one)]]},
    }


def verify(params):
    import torch

    parts = {k: torch.nn.Parameter(torch.empty(params[k] * 10**6, device="meta")) for k in "vpm"}
    total = sum(w.numel() for w in parts.values())
    shares = []
    for trained in ("p", "pm"):
        for name, weight in parts.items():
            weight.requires_grad_(name in trained)
        shares.append(100 * sum(w.numel() for w in parts.values() if w.requires_grad) / total)
    return {"shares": shares}
