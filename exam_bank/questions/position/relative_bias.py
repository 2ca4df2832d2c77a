"""2^(s - m distance) over its sum. `verify` builds the bias matrix and calls torch's softmax."""

from fractions import Fraction


def generate(rng):
    while True:
        m = rng.choice([1, 2])
        s = [rng.randint(0, 6) for _ in range(4)]
        biased = [v - m * (3 - j) for j, v in enumerate(s)]
        e = [Fraction(2) ** v for v in biased]
        w = [x / sum(e) for x in e]
        plain = [Fraction(2**v, sum(2**u for u in s)) for v in s]
        far = [Fraction(2) ** (v - m * j) for j, v in enumerate(s)]
        far = [x / sum(far) for x in far]
        tie = any((x * 1000) % 1 == Fraction(1, 2) for x in w)
        near = all(max(abs(a - b) for a, b in zip(w, other)) > Fraction(1, 50) for other in (plain, far))
        if not tie and near and min(w) > Fraction(1, 100):
            break

    def three(vector):
        return [f"{float(x):.3f}" for x in vector]

    return {
        "params": {"m": "" if m == 1 else m, "slope": m, "s": ", ".join(map(str, s))},
        "solution": {
            "biased": ", ".join(map(str, biased)),
            "e": ", ".join(f"{float(x):g}" for x in e),
            "total": f"{float(sum(e)):g}",
            "w": ", ".join(three(w)),
        },
        "answers": {"row": three(w)},
        "wrong": {"row": [three(plain), three(far)]},
    }


def verify(params):
    import math

    import torch

    s = torch.tensor([float(v) for v in params["s"].split(", ")], dtype=torch.float64)
    t = torch.arange(1, 5, dtype=torch.float64)
    bias = -(t[:, None] - t[None, :]) * params["slope"]
    return {"row": ((s + bias[3]) * math.log(2)).softmax(0).tolist()}
