"""Smallest t with w^t < eps. `verify` loops with exact fractions."""

import math
from fractions import Fraction


def generate(rng):
    while True:
        w = Fraction(rng.randint(30, 85), 100)
        eps = Fraction(1, rng.choice([10, 20, 25, 50, 100]))
        t = math.ceil(math.log(eps) / math.log(w))
        if 3 <= t <= 12 and w**t < eps <= w ** (t - 1) and w ** (t - 1) != eps:
            break
    return {
        "params": {"w": f"{float(w):.2f}", "eps": f"{float(eps):.2f}"},
        "solution": {"t": t, "before": t - 1, "hb": f"{float(w ** (t - 1)):.4f}", "ha": f"{float(w**t):.4f}"},
        "answers": {"step": str(t)},
        "wrong": {"step": [str(t - 1), str(t + 1)]},
    }


def verify(params):
    h, t = Fraction(1), 0
    while h >= Fraction(params["eps"]):
        h, t = h * Fraction(params["w"]), t + 1
    return {"step": t}
