"""Two means. `verify` fills a matrix and averages with and without a mask."""

from fractions import Fraction


def generate(rng):
    while True:
        T = rng.randint(6, 8)
        a, b = ([rng.randint(1, 9) for _ in range(rng.randint(2, 5))] for _ in range(2))
        c = Fraction(rng.choice([1, 2, 3, 4, 5]), 10)
        n, total = len(a) + len(b), sum(a) + sum(b)
        pad = 2 * T - n
        right, both = Fraction(total, n), (total + pad * c) / (2 * T)
        wrong = [both, Fraction(total, 2 * T)]
        ties = any((v * 100) % 1 == Fraction(1, 2) for v in (right, both))
        if not ties and all(abs(v - right) > Fraction(1, 10) for v in wrong) and len(a) != len(b):
            break

    def two(v):
        return f"{float(v):.2f}"

    return {
        "params": {"T": T, "a": ", ".join(map(str, a)), "b": ", ".join(map(str, b)), "c": f"{float(c):.1f}"},
        "solution": {"n": n, "sum": total, "right": two(right), "pad": pad, "cells": 2 * T, "with": two(both)},
        "answers": {"right": two(right), "with": two(both)},
        "wrong": {"right": [two(v) for v in wrong], "with": [two(right)]},
    }


def verify(params):
    import numpy as np

    cost = np.full((2, params["T"]), float(params["c"]))
    real = np.zeros_like(cost, bool)
    for i, key in enumerate("ab"):
        bits = [float(v) for v in params[key].split(", ")]
        cost[i, : len(bits)], real[i, : len(bits)] = bits, True
    return {"right": cost[real].mean(), "with": cost.mean()}
