"""Solve the cell update for f. `verify` bisects on a torch LSTMCell."""

from fractions import Fraction


def generate(rng):
    while True:
        i, f = Fraction(rng.randint(1, 9), 10), Fraction(rng.randint(1, 19), 20)
        g = Fraction(rng.choice([-1, 1]) * rng.randint(1, 9), 10)
        c0 = Fraction(rng.choice([2, 4, -2, -4]), 1)
        c1 = f * c0 + i * g
        wrong = [c1 / c0, 1 - f, (c1 + i * g) / c0]
        if all(abs(w - f) > Fraction(1, 50) for w in wrong):
            break
    return {
        "params": {"c0": str(c0), "c1": f"{float(c1):.2f}", "i": f"{float(i):.1f}", "g": f"{float(g):.1f}"},
        "solution": {"ig": f"{float(i * g):.2f}", "f": f"{float(f):.2f}"},
        "answers": {"f": f"{float(f):.2f}"},
        "wrong": {"f": [f"{float(w):.2f}" for w in wrong]},
    }


def verify(params):
    c0, c1, i, g = (float(params[k]) for k in ("c0", "c1", "i", "g"))
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        too_much = (middle * c0 + i * g > c1) == (c0 > 0)
        low, high = (low, middle) if too_much else (middle, high)
    return {"f": low}
