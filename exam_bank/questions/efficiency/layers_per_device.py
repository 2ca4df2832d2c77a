"""ceil(L / G) P 2 bytes. `verify` splits the list of layers with numpy."""

from fractions import Fraction


def generate(rng):
    while True:
        L, G, P = rng.randint(10, 96), rng.choice([3, 4, 5, 6, 7, 8]), 50 * rng.randint(2, 36)
        most = -(-L // G)
        gb = Fraction(2 * most * P, 1000)
        wrong = [Fraction(2 * (L // G) * P, 1000), Fraction(2 * L * P, 1000), 2 * gb, gb / 2]
        if L % G and all(abs(w - gb) > Fraction(15, 100) for w in wrong):
            break
    return {
        "params": {"L": L, "G": G, "P": P},
        "solution": {"most": most, "gb": f"{float(gb):.1f}"},
        "answers": {"gb": f"{float(gb):.1f}"},
        "wrong": {"gb": [f"{float(w):.1f}" for w in wrong]},
    }


def verify(params):
    import numpy as np

    parts = np.array_split(np.full(params["L"], params["P"] * 10**6), params["G"])
    return {"gb": max(2 * part.sum() for part in parts) / 1e9}
