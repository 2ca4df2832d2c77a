"""The course's perplexity of a unigram model with these probabilities.

`verify` takes the inverse of the geometric mean of the probabilities.
"""

import math
from fractions import Fraction

from exam_bank.course import digits, reference


def generate(rng):
    while True:
        k = [rng.randint(1, 6) for _ in range(4)]
        bits = Fraction(sum(k), 4)
        ppl = 2.0 ** float(bits)
        wrong = [sum(2**x for x in k) / 4, 2.0 ** sum(k), float(bits)]
        if len(set(k)) > 2 and all(abs(w - ppl) > 0.2 for w in wrong):
            break
    course = reference("noisy_channel")
    counts = {word: 2 ** (6 - x) for word, x in zip(["a", "b", "c", course.E], k)}
    found = course.perplexity([["a", "b", "c"]], 1, counts, {"": 2**6}, V=4, k=0)
    keys = {"bits": digits(math.log2(found), 2), "ppl": digits(found, 2)}
    return {
        "params": {f"p{i}": f"1/{2**x}" for i, x in enumerate(k)},
        "solution": {"costs": ", ".join(map(str, k))} | keys,
        "answers": keys,
        "wrong": {"bits": [str(sum(k))], "ppl": [f"{w:.2f}" for w in wrong]},
    }


def verify(params):
    p = math.prod(float(Fraction(params[f"p{i}"])) for i in range(4))
    return {"bits": -math.log2(p) / 4, "ppl": p ** (-1 / 4)}
