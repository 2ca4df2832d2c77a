"""Nearest centres. `verify` cuts the line at the midpoints and uses numpy's searchsorted."""

from fractions import Fraction


def generate(rng):
    while True:
        centres = sorted(rng.sample(range(21), 3))
        frames = [rng.randint(-2, 23) for _ in range(6)]
        distance = [sorted(abs(x - c) for c in centres) for x in frames]
        labels = [min(range(3), key=lambda k, x=x: abs(x - centres[k])) + 1 for x in frames]
        i, j = sorted(rng.sample(range(6), 2))
        if all(d[0] < d[1] for d in distance) and len(set(labels)) == 3 and labels[i] != labels[j]:
            break
    a, b = rng.randint(1, 5), rng.randint(1, 5)
    k = [v for v in range(6) if v not in (i, j)][:2]
    other = [str(labels[v]) for v in k]
    right = [str(labels[i]), str(labels[j])]
    return {
        "params": {
            "c1": centres[0],
            "c2": centres[1],
            "c3": centres[2],
            "x": ", ".join(map(str, frames)),
            "i": i + 1,
            "j": j + 1,
            "p": f"1/{2**a}",
            "q": f"1/{2**b}",
        },
        "solution": {"labels": ", ".join(map(str, labels)), "u": labels[i], "v": labels[j], "loss": a + b},
        "answers": {"units": right, "loss": str(a + b)},
        "wrong": {"units": [w for w in (other, right[::-1]) if w != right]},
    }


def verify(params):
    import math

    import numpy as np

    c = np.array([params["c1"], params["c2"], params["c3"]], float)
    x = np.array(params["x"].split(", "), float)[[params["i"] - 1, params["j"] - 1]]
    labels = np.searchsorted((c[1:] + c[:-1]) / 2, x) + 1
    p = Fraction(params["p"]) * Fraction(params["q"])
    return {"units": labels.tolist(), "loss": math.log2(p.denominator)}
