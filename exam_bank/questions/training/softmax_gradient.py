"""p - y. `verify` asks torch's autograd for the gradient of its cross-entropy."""

from fractions import Fraction


def generate(rng):
    while True:
        z, i = [rng.randint(-2, 4) for _ in range(3)], rng.randint(0, 2)
        e = [Fraction(2) ** v for v in z]
        p = [v / sum(e) for v in e]
        g = [v - (k == i) for k, v in enumerate(p)]
        tie = any((abs(v) * 1000) % 1 == Fraction(1, 2) for v in g)
        if len(set(z)) > 1 and not tie and min(p) > Fraction(1, 100):
            break

    def three(vector):
        return [f"{float(v):.3f}" for v in vector]

    return {
        "params": {"z": ", ".join(map(str, z)), "word": "ABC"[i]},
        "solution": {"p": ", ".join(three(p)), "g": ", ".join(three(g))},
        "answers": {"grad": three(g)},
        "wrong": {"grad": [three([-v for v in g]), three(p)]},
    }


def verify(params):
    import math

    import torch

    z = torch.tensor([float(v) * math.log(2) for v in params["z"].split(", ")], dtype=torch.float64, requires_grad=True)
    torch.nn.functional.cross_entropy(z[None], torch.tensor(["ABC".index(params["word"])])).backward()
    return {"grad": z.grad.tolist()}
