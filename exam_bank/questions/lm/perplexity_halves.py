"""Weighted geometric mean. `verify` multiplies the token probabilities one by one, as exact fractions."""

from fractions import Fraction


def generate(rng):
    while True:
        la, lb = rng.sample(range(1, 8), 2)
        na, nb = rng.randint(1, 9) * 10, rng.randint(1, 9) * 10
        mean = Fraction(na * la + nb * lb, na + nb)
        ppl = 2.0 ** float(mean)
        naive = (na * 2**la + nb * 2**lb) / (na + nb)
        wrong = [naive, (2**la + 2**lb) / 2]
        flat = na == nb
        plain = 2.0 ** ((la + lb) / 2)
        ok = all(abs(w - ppl) > 0.3 for w in wrong) and (flat or abs(plain - ppl) > 0.3)
        if ok and (mean * 10000) % 1 == 0:
            break
    return {
        "params": {"pa": 2**la, "pb": 2**lb, "na": na, "nb": nb},
        "solution": {
            "la": la,
            "lb": lb,
            "n": na + nb,
            "mean": f"{float(mean):g}",
            "ppl": f"{ppl:.2f}",
            "naive": f"{naive:.2f}",
        },
        "answers": {"all": f"{ppl:.2f}"},
        "wrong": {"all": [f"{w:.2f}" for w in wrong]},
    }


def verify(params):
    import math

    p = Fraction(1)
    for _ in range(params["na"]):
        p /= params["pa"]
    for _ in range(params["nb"]):
        p /= params["pb"]
    return {"all": math.exp((math.log(p.denominator) - math.log(p.numerator)) / (params["na"] + params["nb"]))}
