"""-beta sigma(-beta m). `verify` takes a central difference of the loss."""

import math
from fractions import Fraction


def generate(rng):
    while True:
        beta, m = Fraction(rng.choice([1, 2, 3, 5]), 10), rng.choice([-1, 1]) * rng.randint(1, 20)
        x = float(beta * m)
        sig = 1 / (1 + math.exp(x))
        y = -float(beta) * sig
        wrong = [-y, -sig, -float(beta) * (1 - sig)]
        if abs(x) < 4 and abs(-y * 10**4 % 1 - 0.5) > 1e-2 and all(abs(w - y) > 0.002 for w in wrong):
            break
    neg = -beta * m
    return {
        "params": {"beta": f"{float(beta):.1f}", "m": m},
        "solution": {"neg": f"{float(neg):.1f}", "sig": f"{sig:.4f}", "slope": f"{y:.4f}"},
        "answers": {"slope": f"{y:.4f}"},
        "wrong": {"slope": [f"{w:.4f}" for w in wrong]},
    }


def verify(params):
    beta, m, h = float(params["beta"]), params["m"], 1e-4

    def loss(v):
        return math.log(1 + math.exp(-beta * v))

    return {"slope": (loss(m + h) - loss(m - h)) / (2 * h)}
