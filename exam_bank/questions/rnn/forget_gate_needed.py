"""The gate that belongs to the course's bias. `verify` bisects on the repeated product."""

import math

from exam_bank.course import digits, reference


def generate(rng):
    while True:
        r, T = (
            rng.choice([5, 10, 20, 25, 30, 40, 50, 60, 75, 80, 90]),
            rng.choice([4, 5, 8, 10, 15, 20, 25, 30, 40, 50]),
        )
        f = (r / 100) ** (1 / T)
        wrong = [(r / 100) / T, 1 - (1 - r / 100) / T]
        if abs((f * 1000) % 1 - 0.5) > 1e-3 and all(abs(w - f) > 0.006 for w in wrong):
            break
    gate = digits(1 / (1 + math.exp(-reference("lstm").forget_bias(r / 100, T))), 3)
    return {
        "params": {"r": r, "T": T},
        "solution": {"rr": f"{r / 100:.2f}", "f": gate},
        "answers": {"f": gate},
        "wrong": {"f": [f"{w:.3f}" for w in wrong]},
    }


def verify(params):
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        kept = 1.0
        for _ in range(params["T"]):
            kept *= middle
        low, high = (middle, high) if kept < params["r"] / 100 else (low, middle)
    return {"f": low}
