"""Softmax over two logits. `verify` renormalises the two largest of torch's full softmax."""

from fractions import Fraction


def generate(rng):
    while True:
        z = rng.sample(range(-2, 6), 4)
        order = sorted(range(4), key=lambda i: -z[i])
        e = [Fraction(2) ** v for v in z]
        i, j = order[:2]
        w = [e[i] / (e[i] + e[j]), e[j] / (e[i] + e[j])]
        raw = [e[i] / sum(e), e[j] / sum(e)]
        tie = any((v * 1000) % 1 == Fraction(1, 2) for v in w)
        if z[i] - z[j] <= 3 and w[0] - raw[0] > Fraction(2, 100) and not tie:
            break

    def three(vector):
        return [f"{float(v):.3f}" for v in vector]

    return {
        "params": {"z": ", ".join(map(str, z))},
        "solution": {
            "i": i + 1,
            "j": j + 1,
            "zi": z[i],
            "zj": z[j],
            "ei": f"{float(e[i]):g}",
            "ej": f"{float(e[j]):g}",
            "w": ", ".join(three(w)),
            "raw": ", ".join(three(raw)),
        },
        "answers": {"w": three(w)},
        "wrong": {"w": [three(raw), ["0.500", "0.500"]]},
    }


def verify(params):
    import math

    import torch

    z = torch.tensor([float(v) for v in params["z"].split(", ")], dtype=torch.float64) * math.log(2)
    top = z.softmax(0).topk(2).values
    return {"w": (top / top.sum()).tolist()}
