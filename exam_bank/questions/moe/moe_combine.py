"""Weighted sum of two experts. `verify` uses a dense gate over all four in numpy."""

from fractions import Fraction


def generate(rng):
    while True:
        e = rng.sample([-4, -3, -2, -1, 1, 2, 3, 4, 5], 4)
        i, j = rng.sample(range(4), 2)
        w, x = Fraction(rng.randint(55, 90), 100), Fraction(rng.choice([-3, -2, 2, 3, 4]))
        y = (w * e[i] + (1 - w) * e[j]) * x
        wrong = [((1 - w) * e[i] + w * e[j]) * x, sum(e) * x / 4, (e[i] + e[j]) * x]
        if all(abs(v - y) > Fraction(5, 100) for v in wrong) and abs(y) > Fraction(5, 100):
            break
    return {
        "params": {f"e{k + 1}": e[k] for k in range(4)}
        | {"x": int(x), "i": i + 1, "j": j + 1, "w": f"{float(w):.2f}", "v": f"{float(1 - w):.2f}"},
        "solution": {"oi": int(e[i] * x), "oj": int(e[j] * x), "y": f"{float(y):.2f}"},
        "answers": {"y": f"{float(y):.2f}"},
        "wrong": {"y": [f"{float(v) + 0.0:.2f}" if abs(v) > Fraction(1, 100) else "0.00" for v in wrong]},
    }


def verify(params):
    import numpy as np

    gate = np.zeros(4)
    gate[params["i"] - 1], gate[params["j"] - 1] = float(params["w"]), float(params["v"])
    outputs = np.array([params[f"e{k}"] for k in (1, 2, 3, 4)]) * params["x"]
    return {"y": float(gate @ outputs)}
