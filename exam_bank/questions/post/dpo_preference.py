"""sigma(beta (up + down)). `verify` sums two torch log-ratios and takes a two-way softmax."""

import math
from fractions import Fraction


def generate(rng):
    while True:
        up, down = Fraction(rng.randint(2, 60), 10), Fraction(rng.randint(2, 60), 10)
        beta = Fraction(rng.choice([1, 2, 3, 5]), 10)
        x = beta * (up + down)

        def sigma(v):
            return 1 / (1 + math.exp(-float(v)))

        p = sigma(x)
        wrong = [sigma(beta * (up - down)), sigma(up + down), sigma(-x)]
        if p < 0.97 and all(abs(w - p) > 0.01 for w in wrong) and abs(p * 1000 % 1 - 0.5) > 1e-3:
            break
    return {
        "params": {"up": f"{float(up):.1f}", "down": f"{float(down):.1f}", "beta": f"{float(beta):.1f}"},
        "solution": {"x": f"{float(x):.2f}", "p": f"{p:.3f}"},
        "answers": {"p": f"{p:.3f}"},
        "wrong": {"p": [f"{w:.3f}" for w in wrong]},
    }


def verify(params):
    import torch

    rewards = torch.tensor([float(params["up"]), -float(params["down"])], dtype=torch.float64) * float(params["beta"])
    return {"p": rewards.softmax(0)[0].item()}
