"""Two weighted outputs. `verify` masks the other logits with -inf in torch."""

from fractions import Fraction


def generate(rng):
    while True:
        z, e = rng.sample(range(6), 4), [rng.randint(-6, 9) for _ in range(4)]
        i, j = sorted(range(4), key=lambda k: -z[k])[:2]
        low = z[j]
        wi, wj = 2 ** (z[i] - low), 1
        y = Fraction(wi * e[i] + wj * e[j], wi + wj)
        dense = Fraction(sum(2 ** z[k] * e[k] for k in range(4)), sum(2**v for v in z))
        cut = Fraction(2 ** z[i] * e[i] + 2 ** z[j] * e[j], sum(2**v for v in z))
        wrong = [dense, cut, Fraction(e[i] + e[j], 2)]
        tie = (abs(y) * 100) % 1 == Fraction(1, 2)
        if not tie and abs(y) > Fraction(1, 10) and all(abs(v - y) > Fraction(1, 10) for v in wrong):
            break
    return {
        "params": {"z": ", ".join(map(str, z)), "e": ", ".join(map(str, e))},
        "solution": {
            "i": i + 1,
            "j": j + 1,
            "ei": 2 ** z[i],
            "ej": 2 ** z[j],
            "sum": 2 ** z[i] + 2 ** z[j],
            "oi": e[i],
            "oj": e[j],
            "y": f"{float(y):.2f}",
        },
        "answers": {"y": f"{float(y):.2f}"},
        "wrong": {"y": [f"{float(v):.2f}" for v in wrong if abs(v) > Fraction(1, 100)]},
    }


def verify(params):
    import math

    import torch

    z = torch.tensor([float(v) for v in params["z"].split(", ")], dtype=torch.float64) * math.log(2)
    kept = z.masked_fill(z < z.topk(2).values.min(), -math.inf).softmax(0)
    return {"y": (kept @ torch.tensor([float(v) for v in params["e"].split(", ")], dtype=torch.float64)).item()}
