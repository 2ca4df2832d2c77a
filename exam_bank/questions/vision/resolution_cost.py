"""Ratio of squared token counts. `verify` counts patches by walking over their corners."""

from fractions import Fraction


def generate(rng):
    while True:
        p, k = rng.choice([8, 14, 16, 28, 32]), rng.choice([2, 3])
        s = p * rng.randint(2, 16)
        n1, n2 = (s // p) ** 2 + 1, (k * s // p) ** 2 + 1
        factor = Fraction(n2 * n2, n1 * n1)
        if abs((factor * 10) % 1 - Fraction(1, 2)) > Fraction(1, 10**6) and abs(factor - k**2) > 1:
            break
    return {
        "params": {"s": s, "p": p, "k": k},
        "solution": {"n1": n1, "n2": n2, "factor": f"{float(factor):.1f}", "k4": k**4},
        "answers": {"tokens": str(n2), "factor": f"{float(factor):.1f}"},
        "wrong": {"tokens": [str(n2 - 1), str(k * (n1 - 1) + 1)], "factor": [str(k), str(k * k)]},
    }


def verify(params):
    def tokens(side):
        corners = range(0, side, params["p"])
        return 1 + sum(1 for _ in corners for _ in corners)

    small, large = tokens(params["s"]), tokens(params["k"] * params["s"])
    return {"tokens": large, "factor": large**2 / small**2}
