"""2 pi b^(2i/d). `verify` bisects on the phase."""

import math


def generate(rng):
    while True:
        b, d = rng.choice([100, 1000, 10000]), rng.choice([8, 16, 32, 64])
        i = rng.randint(1, d // 2 - 1)
        den = b ** (2 * i / d)
        length = 2 * math.pi * den
        wrong = [den, 2 * math.pi * b ** (i / d), math.pi * den]
        if (
            10 < length < 3000
            and abs((length * 10) % 1 - 0.5) > 1e-2
            and all(abs(w / length - 1) > 0.05 for w in wrong)
        ):
            break
    return {
        "params": {"b": b, "d": d, "i": i},
        "solution": {"den": f"{den:.4f}", "length": f"{length:.1f}"},
        "answers": {"length": f"{length:.1f}"},
        "wrong": {"length": [f"{w:.1f}" for w in wrong]},
    }


def verify(params):
    omega = math.exp(-math.log(params["b"]) * params["i"] * 2 / params["d"])
    low, high = 0.0, 1e6
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if omega * middle < 2 * math.pi else (low, middle)
    return {"length": low}
