"""Two steps of the course's LSTM cell.

`verify` uses the unrolled sum of contributions, each with its product of later forget gates.
"""

import math
from fractions import Fraction

from exam_bank.course import digits, reference


def generate(rng):
    while True:
        i1, f1, i2, f2 = (Fraction(rng.randint(1, 9), 10) for _ in range(4))
        g1, g2 = (Fraction(rng.choice([-1, 1]) * rng.randint(1, 9), 10) for _ in range(2))
        c0 = Fraction(rng.choice([-1, 1]) * rng.randint(5, 20), 10)
        c1 = f1 * c0 + i1 * g1
        c2 = f2 * c1 + i2 * g2
        swapped = i2 * (i1 * c0 + f1 * g1) + f2 * g2
        once = f2 * c0 + i2 * g2
        if (
            len({i1, f1, i2, f2}) > 2
            and all(abs(w - c2) > Fraction(1, 50) for w in (swapped, once))
            and abs(c2) > Fraction(1, 20)
        ):
            break
    course = reference("lstm")
    zero, weights = course.tensor([[0.0]]), course.tensor([[0.0]] * 4)

    def step(c, i, f, g):
        biases = course.tensor([math.log(i / (1 - i)), math.log(f / (1 - f)), math.atanh(g), 0.0])
        return course.lstm_cell(zero, zero, c, weights, weights, biases, 0 * biases)[1]

    first = step(course.tensor([[float(c0)]]), i1, f1, g1)
    key = digits(step(first, i2, f2, g2), 3)[0][0]
    names = {"c0": c0, "i1": i1, "f1": f1, "g1": g1, "i2": i2, "f2": f2, "g2": g2}
    return {
        "params": {k: f"{float(v):.1f}" for k, v in names.items()},
        "solution": {"c1": digits(first, 2)[0][0], "c2": key, "keep": f"{float(f1 * f2):.2f}"},
        "answers": {"cell": key},
        "wrong": {"cell": [f"{float(swapped):.3f}", f"{float(once):.3f}"]},
    }


def verify(params):
    import numpy as np

    v = {k: float(x) for k, x in params.items()}
    written = np.array([v["c0"], v["i1"] * v["g1"], v["i2"] * v["g2"]])
    kept = np.array([v["f1"] * v["f2"], v["f2"], 1.0])
    return {"cell": float(written @ kept)}
