"""Lowest sum of costs, and the ratio to the runner-up. `verify` multiplies the probabilities as fractions."""

from fractions import Fraction


def generate(rng):
    while True:
        channel = rng.sample(range(4, 16), 4)
        lm = rng.sample(range(6, 22), 4)
        total = [c + p for c, p in zip(channel, lm)]
        order = sorted(range(4), key=total.__getitem__)
        gap = total[order[1]] - total[order[0]]
        if 2 <= gap <= 5 and total[order[2]] > total[order[1]] and channel.index(min(channel)) != order[0]:
            break
    best, second, cheap = "KLMN"[order[0]], "KLMN"[order[1]], "KLMN"[channel.index(min(channel))]
    worst = "KLMN"[order[3]]
    third = cheap if cheap != second else worst
    choices = [
        (f"{best}, {2**gap} times", True, ""),
        (f"{best}, {gap} times", False, "reads the difference of the bits as a factor"),
        (f"{third}, {2**gap} times", False, "looks at one column only or takes the largest sum"),
        (f"{second}, {2**gap} times", False, "exchanges the best and the second best"),
    ]
    params = {f"c{i}": channel[i] for i in range(4)} | {f"l{i}": lm[i] for i in range(4)}
    return {
        "params": params,
        "solution": {
            "sums": ", ".join(f"{n} {t}" for n, t in zip("KLMN", total)),
            "best": best,
            "second": second,
            "gap": gap,
            "factor": 2**gap,
        },
        "choices": {"best": choices},
        "answers": {},
    }


def verify(params):
    p = {n: Fraction(1, 2 ** params[f"c{i}"]) * Fraction(1, 2 ** params[f"l{i}"]) for i, n in enumerate("KLMN")}
    first, second = sorted(p, key=p.get, reverse=True)[:2]
    return {"best": f"{first}, {p[first] / p[second]} times"}
