"""The ratio of the course's warped probabilities.

`verify` builds logits and takes the quotient of torch's softmax values.
"""

from fractions import Fraction

from exam_bank.course import digits, reference

WORDS = [("tea", "coffee"), ("blue", "green"), ("yes", "no"), ("cat", "dog"), ("sun", "moon"), ("left", "right")]


def generate(rng):
    a, b = rng.choice(WORDS)
    if rng.randint(0, 1):
        a, b = b, a
    root = rng.randint(2, 9)
    if rng.randint(0, 1):
        r, T, power, new, flat = root, "0.5", "2", root * root, 2 * root
    else:
        r, T, power, new, flat = root * root, "2", "{1/2}", root, Fraction(root * root, 2)
    course = reference("decoding")
    p = course.warp(course.tensor([[float(r), 1.0]]).log(), float(T), 0, 1.0)[0]
    new = digits(p[0] / p[1], 0)
    options = [(Fraction(new), ""), (Fraction(r), "ignores the temperature")]
    options.append((Fraction(flat), "divides the ratio by the temperature"))
    options.append((Fraction(r) ** 2 if T == "2" else Fraction(r) ** 3, "uses a wrong power"))
    if root == 2:
        options[2] = (Fraction(3), "shifts the ratio by one")
    return {
        "params": {"a": a, "b": b, "r": r, "T": T},
        "solution": {"power": power, "new": new},
        "choices": {"ratio": [(f"{float(v):g}", i == 0, why) for i, (v, why) in enumerate(options)]},
        "answers": {},
    }


def verify(params):
    import math

    import torch

    logits = torch.tensor([math.log(params["r"]) + 0.3, 0.3, -1.0], dtype=torch.float64)
    p = (logits / float(params["T"])).softmax(0)
    return {"ratio": f"{(p[0] / p[1]).item():.6g}"}
