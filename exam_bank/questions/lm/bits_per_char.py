"""The course's bits a character.

`verify` computes the log-probability of the whole text and spreads it over its characters.
"""

import math
from fractions import Fraction

from exam_bank.course import digits, reference


def generate(rng):
    while True:
        chars = rng.randint(40, 120) * 10
        na, nb = rng.randint(20, 60) * chars // 200, rng.randint(60, 160) * chars // 200
        ba, bb = Fraction(rng.randint(30, 110), 10), Fraction(rng.randint(10, 60), 10)
        ca, cb = na * ba / chars, nb * bb / chars
        # The model with the larger cost a token must be the better one: that is the point.
        tie = any((c * 1000) % 1 == Fraction(1, 2) for c in (ca, cb))
        if na < nb and bb < ba and ca < cb * Fraction(95, 100) and not tie:
            break
    swap = rng.randint(0, 1)
    if swap:
        na, nb, ba, bb, ca, cb = nb, na, bb, ba, cb, ca
    better = "Model 2" if swap else "Model 1"
    other = "Model 1" if swap else "Model 2"

    def cost(tokens, bits):
        return digits(reference("tokenizers").bits_per_char([[-float(bits) * math.log(2)] * tokens], ["x" * chars]), 3)

    keys = {"a": cost(na, ba), "b": cost(nb, bb)}
    return {
        "params": {"chars": chars, "na": na, "nb": nb, "ba": f"{float(ba):.1f}", "bb": f"{float(bb):.1f}"},
        "solution": {"ca": keys["a"], "cb": keys["b"], "better": better},
        "choices": {
            "better": [
                (better, True, ""),
                (other, False, "compares bits a token, a unit that differs between the models"),
                ("Both the same", False, "the totals differ"),
            ]
        },
        "answers": keys,
        "wrong": {"a": [f"{float(ba):.3f}"], "b": [f"{float(bb):.3f}"]},
    }


def verify(params):
    log_a = sum([float(params["ba"])] * params["na"])
    log_b = sum([float(params["bb"])] * params["nb"])
    return {
        "a": log_a / params["chars"],
        "b": log_b / params["chars"],
        "better": "Model 1" if log_a < log_b else "Model 2",
    }
