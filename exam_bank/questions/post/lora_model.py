"""2 r d n L. `verify` builds the adapters in torch for every layer and counts."""

from fractions import Fraction

TARGETS = [
    ("the query and value matrices", 2),
    ("the query, key and value matrices", 3),
    ("all four attention matrices", 4),
]


def generate(rng):
    while True:
        L, d, r = rng.choice([12, 16, 24, 32, 40]), rng.choice([512, 768, 1024, 2048, 4096]), rng.choice([2, 4, 8, 16])
        what, n = rng.choice(TARGETS)
        M = round(12 * L * d * d / 10**6 / 10 + rng.randint(2, 12)) * 10
        trained = 2 * r * d * n * L
        share = Fraction(100 * trained, M * 10**6)
        tie = abs((share * 1000) % 1 - Fraction(1, 2)) < Fraction(1, 10**6)
        if Fraction(1, 20) < share < 5 and not tie:
            break
    return {
        "params": {"L": L, "d": d, "r": r, "what": what, "n": n, "M": M},
        "solution": {"one": 2 * r * d, "trained": trained, "share": f"{float(share):.3f}"},
        "answers": {"trained": str(trained), "share": f"{float(share):.3f}"},
        "wrong": {
            "trained": [str(trained // 2), str(trained // L), str(r * d * d * n * L)],
            "share": [f"{float(share / 2):.3f}"],
        },
    }


def verify(params):
    import torch

    total = 0
    for _ in range(params["L"] * params["n"]):
        A = torch.empty(params["r"], params["d"], device="meta")
        B = torch.empty(params["d"], params["r"], device="meta")
        total += A.numel() + B.numel()
    return {"trained": total, "share": 100 * total / (params["M"] * 10**6)}
