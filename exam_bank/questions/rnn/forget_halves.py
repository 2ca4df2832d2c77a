"""w^(t - s). `verify` runs the recurrence step by step."""

from fractions import Fraction


def generate(rng):
    a, b = rng.choice([(1, 2), (1, 3), (2, 3), (1, 4), (3, 4)])
    s = rng.randint(1, 9)
    k = rng.randint(2, 5)
    t = s + k

    def power(n):
        return rf"$\frac{{{a**n}}}{{{b**n}}}$"

    return {
        "params": {"w": rf"\frac{{{a}}}{{{b}}}", "a": a, "b": b, "s": s, "t": t},
        "solution": {"k": k, "value": rf"\frac{{{a**k}}}{{{b**k}}}"},
        "choices": {
            "value": [
                (power(k), True, ""),
                (power(k + 1), False, "counts one step too many"),
                (power(k - 1), False, "counts one step too few"),
                ("$1$", False, "as if nothing were forgotten"),
            ]
        },
        "answers": {},
    }


def verify(params):
    h = Fraction(0)
    for step in range(1, params["t"] + 1):
        h = Fraction(params["a"], params["b"]) * h + (1 if step == params["s"] else 0)
    return {"value": rf"$\frac{{{h.numerator}}}{{{h.denominator}}}$"}
