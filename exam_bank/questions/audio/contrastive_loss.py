"""log2 of total over own weight. `verify` calls torch's cross-entropy."""

import math


def generate(rng):
    while True:
        K, a, m = rng.choice([3, 7, 9, 10, 15, 20, 31, 50, 63, 100]), rng.randint(1, 6), rng.choice([-1, 0, 0, 1])
        wa, wb = 2.0**a, 2.0**m
        y = math.log2((wa + K * wb) / wa)
        wrong = [math.log2(K + 1), math.log2((wa + K * wb) / wb), math.log2((wa + wb) / wa)]
        if a > m and y > 0.1 and abs(y * 100 % 1 - 0.5) > 1e-3 and all(abs(w - y) > 0.05 for w in wrong):
            break
    shown = {-1: r"$-\ln 2$", 0: "0", 1: r"$\ln 2$"}[m]
    return {
        "params": {"K": K, "a": a, "b": shown, "m": m},
        "solution": {
            "wa": f"{wa:g}",
            "wb": f"{wb:g}",
            "total": f"{wa + K * wb:g}",
            "loss": f"{y:.2f}",
            "K1": K + 1,
            "guess": f"{math.log2(K + 1):.2f}",
        },
        "answers": {"loss": f"{y:.2f}"},
        "wrong": {"loss": [f"{w:.2f}" for w in wrong]},
    }


def verify(params):
    import torch

    scores = torch.tensor([params["a"]] + [params["m"]] * params["K"], dtype=torch.float64) * math.log(2)
    return {"loss": torch.nn.functional.cross_entropy(scores[None], torch.tensor([0])).item() / math.log(2)}
