"""Sum of logs. `verify` multiplies the probabilities and takes one logarithm."""

from fractions import Fraction


def generate(rng):
    a, b = ([rng.randint(1, 6) for _ in range(rng.randint(3, 4))] for _ in range(2))
    total = -(sum(a) + sum(b))
    return {
        "params": {"s1": ", ".join(f"1/{2**k}" for k in a), "s2": ", ".join(f"1/{2**k}" for k in b)},
        "solution": {"t1": -sum(a), "t2": -sum(b), "total": total},
        "answers": {"value": str(total)},
        "wrong": {"value": [str(-total), str(-sum(a))]},
    }


def verify(params):
    import math

    p = Fraction(1)
    for key in ("s1", "s2"):
        for term in params[key].split(", "):
            p *= Fraction(term)
    return {"value": math.log2(p.numerator) - math.log2(p.denominator)}
