"""-ln sigma of the scaled margin. `verify` calls torch's logsigmoid."""

import math
from fractions import Fraction


def generate(rng):
    while True:
        w, wr, l, lr = (-Fraction(rng.randint(20, 200), 10) for _ in range(4))
        beta = Fraction(rng.choice([1, 2, 5]), 10)
        x = beta * ((w - wr) - (l - lr))

        def loss(v):
            return math.log1p(math.exp(-float(v)))

        y = loss(x)
        wrong = [loss(beta * (w - l)), loss(-x), float(beta) * loss(x / beta)]
        if (
            abs(x) > Fraction(1, 10)
            and abs(x) < 4
            and all(abs(v - y) > 0.01 for v in wrong)
            and abs(y * 1000 % 1 - 0.5) > 1e-3
        ):
            break

    def one(v):
        return f"{float(v):.1f}"

    return {
        "params": {"w": one(w), "wr": one(wr), "l": one(l), "lr": one(lr), "beta": one(beta)},
        "solution": {"dw": one(w - wr), "dl": one(l - lr), "x": f"{float(x):.2f}", "loss": f"{y:.3f}"},
        "answers": {"loss": f"{y:.3f}"},
        "wrong": {"loss": [f"{v:.3f}" for v in wrong]},
    }


def verify(params):
    import torch

    v = {k: torch.tensor(float(params[k]), dtype=torch.float64) for k in ("w", "wr", "l", "lr", "beta")}
    margin = v["beta"] * (v["w"] - v["l"]) - v["beta"] * (v["wr"] - v["lr"])
    return {"loss": -torch.nn.functional.logsigmoid(margin).item()}
