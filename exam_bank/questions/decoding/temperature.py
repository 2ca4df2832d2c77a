"""The course's warp with a temperature. `verify` calls torch's softmax on the divided logits."""

import math
from fractions import Fraction

from exam_bank.course import digits, reference


def generate(rng):
    while True:
        z = [rng.randint(-2, 4) for _ in range(3)]
        T = rng.choice([Fraction(1, 2), Fraction(2), Fraction(1, 4), Fraction(4)])

        def softmax(scale, z=z):
            e = [2.0 ** (v * scale) for v in z]
            return e, [v / sum(e) for v in e]

        e, p = softmax(float(1 / T))
        _, plain = softmax(1.0)
        _, times = softmax(float(T))
        clear = all(max(abs(a - b) for a, b in zip(p, other)) > 0.03 for other in (plain, times))
        if len(set(z)) > 1 and clear and min(p) > 0.004 and all(abs(v * 1000 % 1 - 0.5) > 1e-3 for v in p):
            break

    course = reference("decoding")
    key = digits(course.warp(course.tensor([z]) * math.log(2), float(T), 0, 1.0)[0], 3)

    def three(vector):
        return [f"{v:.3f}" for v in vector]

    return {
        "params": {"z": ", ".join(map(str, z)), "T": f"{float(T):g}"},
        "solution": {
            "scaled": ", ".join(f"{float(v / T):g}" for v in z),
            "e": ", ".join(f"{v:.4g}" for v in e),
            "p": ", ".join(key),
            "p1": ", ".join(three(plain)),
        },
        "answers": {"p": key},
        "wrong": {"p": [three(plain), three(times)]},
    }


def verify(params):
    import torch

    z = torch.tensor([float(v) for v in params["z"].split(", ")], dtype=torch.float64) * math.log(2)
    return {"p": torch.nn.functional.softmax(z / float(params["T"]), dim=0).tolist()}
