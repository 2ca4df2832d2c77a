"""The course's score statistics over all signs of q. `verify` enumerates all sign vectors of the products exactly."""

from fractions import Fraction
from itertools import product

from exam_bank.course import digits, reference


def generate(rng):
    while True:
        d = rng.choice([3, 4, 5, 6, 7, 8, 9, 10])
        a, b = (Fraction(rng.choice([1, 2, 3, 4, 5, 6]), 2) for _ in range(2))
        one = a * a * b * b
        var = d * one
        wrong = [d * a * b, d * d * one, one]
        if (one * 100).denominator == 1 and all(w != var for w in wrong) and (a, b) != (1, 1):
            break

    course = reference("attention")
    queries = course.tensor([[float(sign * a) for sign in signs] for signs in product((-1, 1), repeat=d)])
    raw, scaled, _, _ = course.score_stats(queries, course.tensor([[float(b)] * d]))

    def two(value):
        return f"{float(value):.2f}"

    return {
        "params": {"d": d, "a": f"{float(a):g}", "b": f"{float(b):g}"},
        "solution": {"ab": f"{float(a * b):g}", "one": digits(scaled, 2), "var": digits(raw, 2)},
        "answers": {"var": digits(raw, 2), "scaled": digits(scaled, 2)},
        "wrong": {"var": [two(w) for w in wrong], "scaled": [two(var)]},
    }


def verify(params):
    d, step = params["d"], float(params["a"]) * float(params["b"])
    sums = [sum(signs) * step for signs in product((-1, 1), repeat=d)]
    mean = sum(sums) / len(sums)
    var = sum((s - mean) ** 2 for s in sums) / len(sums)
    scaled = sum((s / d**0.5) ** 2 for s in sums) / len(sums)
    return {"var": var, "scaled": scaled}
