"""Mean of four two-way losses. `verify` calls torch's cross-entropy on the matrix and its transpose."""

import math


def generate(rng):
    while True:
        a, b, c, d = (rng.randint(-2, 4) for _ in range(4))

        def cost(own, other):
            return math.log2(1 + 2.0 ** (other - own))

        rows, columns = [cost(a, b), cost(d, c)], [cost(a, c), cost(d, b)]
        y, only = sum(rows + columns) / 4, sum(rows) / 2
        wrong = [only, sum(columns) / 2, sum(rows + columns)]
        if b != c and abs(y * 1000 % 1 - 0.5) > 1e-3 and all(abs(w - y) > 0.01 for w in wrong) and y > 0.05:
            break
    return {
        "params": {"a": a, "b": b, "c": c, "d": d},
        "solution": {
            "r1": f"{rows[0]:.3f}",
            "r2": f"{rows[1]:.3f}",
            "k1": f"{columns[0]:.3f}",
            "k2": f"{columns[1]:.3f}",
            "loss": f"{y:.3f}",
        },
        "answers": {"loss": f"{y:.3f}"},
        "wrong": {"loss": [f"{w:.3f}" for w in wrong]},
    }


def verify(params):
    import torch

    M = torch.tensor([[params["a"], params["b"]], [params["c"], params["d"]]], dtype=torch.float64) * math.log(2)
    target = torch.arange(2)
    loss = torch.nn.functional.cross_entropy(M, target) + torch.nn.functional.cross_entropy(M.T, target)
    return {"loss": loss.item() / 2 / math.log(2)}
