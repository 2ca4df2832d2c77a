"""The course's softmax, raw and scaled. `verify` takes the quotient of torch's softmax values."""

import math

from exam_bank.course import digits, reference


def generate(rng):
    while True:
        root = rng.choice([2, 4, 8])
        low = rng.randint(-4, 8)
        gap = rng.randint(2, 6)
        r1, r2 = math.exp(gap), math.exp(gap / root)
        safe = abs((r1 * 10) % 1 - 0.5) > 1e-3 and abs((r2 * 100) % 1 - 0.5) > 1e-3
        if safe and abs(r1 - r2) > 1 and abs(math.exp(gap / root**2) - r2) > 0.1:
            break
    course = reference("attention")
    scores = course.tensor([float(low + gap), float(low)])
    raw, scaled = (
        digits(w[0] / w[1], n) for w, n in ((course.softmax(scores, 0), 1), (course.softmax(scores / root, 0), 2))
    )
    return {
        "params": {"d": root**2, "s1": low + gap, "s2": low},
        "solution": {"gap": gap, "root": root, "r1": raw, "r2": scaled},
        "answers": {"raw": raw, "scaled": scaled},
        "wrong": {"scaled": [f"{math.exp(gap / root**2):.2f}"]},
    }


def verify(params):
    import torch

    s = torch.tensor([params["s1"], params["s2"]], dtype=torch.float64)
    raw, scaled = s.softmax(0), (s * params["d"] ** -0.5).softmax(0)
    return {"raw": (raw[0] / raw[1]).item(), "scaled": (scaled[0] / scaled[1]).item()}
