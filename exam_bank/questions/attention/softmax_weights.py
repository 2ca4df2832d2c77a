"""The course's softmax on scores in steps of ln 2.

`verify` runs torch's softmax on real scores, shifted by a constant.
"""

import math
from fractions import Fraction

from exam_bank.course import digits, reference


def generate(rng):
    while True:
        s = [rng.randint(-1, 4) for _ in range(4)]
        e = [Fraction(2) ** k for k in s]
        w = [x / sum(e) for x in e]
        tie = any((x * 1000) % 1 == Fraction(1, 2) for x in w)
        linear = [Fraction(k, sum(s)) if sum(s) else None for k in s]
        if len(set(s)) > 2 and not tie and min(w) > Fraction(1, 100) and linear != w:
            break
    course = reference("attention")
    row = digits(course.softmax(course.tensor(s) * math.log(2), 0), 3)
    wrong = [[f"{float(x):.3f}" for x in linear]] if sum(s) > 0 and min(s) > 0 else []
    return {
        "params": {"s": ", ".join(map(str, s))},
        "solution": {
            "e": ", ".join(str(float(x)).rstrip("0").rstrip(".") for x in e),
            "total": f"{float(sum(e)):g}",
            "w": ", ".join(row),
        },
        "answers": {"row": row},
        "wrong": {"row": wrong},
    }


def verify(params):
    import torch

    s = torch.tensor([float(x) for x in params["s"].split(", ")], dtype=torch.float64) * math.log(2)
    return {"row": (s - 1.7).softmax(-1).tolist()}
