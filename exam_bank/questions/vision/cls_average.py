"""a c + (1 - a) mean. `verify` lists all patches with values around the mean and sums them with their weights."""

from fractions import Fraction


def generate(rng):
    while True:
        a, n = Fraction(rng.randint(5, 60), 100), rng.choice([16, 49, 64, 100, 196, 256])
        c, m = ([rng.randint(-4, 5), rng.randint(-4, 5)] for _ in range(2))
        y = [a * p + (1 - a) * q for p, q in zip(c, m)]
        swapped = [(1 - a) * p + a * q for p, q in zip(c, m)]
        one = [a * p + (1 - a) / n * q for p, q in zip(c, m)]
        far = all(max(abs(u - v) for u, v in zip(y, w)) > Fraction(5, 100) for w in (swapped, one))
        if far and all(v == 0 or abs(v) > Fraction(1, 50) for v in y + swapped + one):
            break

    def two(vector):
        return [f"{float(v):.2f}" for v in vector]

    return {
        "params": {"a": f"{float(a):.2f}", "n": n, "c": f"{c[0]}, {c[1]}", "m": f"{m[0]}, {m[1]}"},
        "solution": {"b": f"{float(1 - a):.2f}", "y": ", ".join(two(y))},
        "answers": {"y": two(y)},
        "wrong": {"y": [two(swapped), two(one)]},
    }


def verify(params):
    import numpy as np

    n, a = params["n"], float(params["a"])
    spread = np.arange(n) - (n - 1) / 2
    patches = np.array(params["m"].split(", "), float) + spread[:, None] * [0.3, -0.7]
    values = np.vstack([np.array(params["c"].split(", "), float), patches])
    weights = np.array([a] + [(1 - a) / n] * n)
    return {"y": (weights @ values).tolist()}
