"""Zero pattern of a heat map. `verify` compares the zeros with each mask's matrix."""

from fractions import Fraction

from exam_bank.figures import heatmap

MASKS = {
    "Causal: own and earlier positions": lambda t, j: j <= t,
    "Causal, only the own and the previous position": lambda t, j: t - 1 <= j <= t,
    "No mask": lambda t, j: True,
    "Own and later positions only": lambda t, j: j >= t,
}
WHY = {
    "Causal: own and earlier positions": "Everything above the diagonal is 0, nothing below it.",
    "Causal, only the own and the previous position": "Only the diagonal and the entries to its left are positive.",
    "No mask": "No entry is 0.",
    "Own and later positions only": "Everything below the diagonal is 0.",
}


def generate(rng):
    T = rng.randint(4, 6)
    mask = rng.choice(sorted(MASKS))
    rows = []
    for t in range(T):
        parts = [rng.randint(1, 9) if MASKS[mask](t, j) else 0 for j in range(T)]
        # Whole hundredths that sum to one: the last visible key takes the rest.
        cells = [100 * p // sum(parts) for p in parts]
        last = max(j for j, p in enumerate(parts) if p)
        cells[last] += 100 - sum(cells)
        rows.append(cells)
    names = [f"t{t + 1}" for t in range(T)]
    values = [[float(Fraction(c, 100)) for c in row] for row in rows]
    words = " ".join(
        f"Query {n} looks at " + ", at ".join(f"{m} with the weight {v:.2f}" for m, v in zip(names, row)) + "."
        for n, row in zip(names, values)
    )
    return {
        "params": {"T": T, "cells": rows},
        "solution": {"mask": mask[0].lower() + mask[1:], "why": WHY[mask]},
        "choices": {"mask": [(m, m == mask, "" if m == mask else WHY[m] + " That isn't so here.") for m in MASKS]},
        "answers": {},
        "figures": {
            "weights": heatmap(
                values, names, names, alt=f"Heat map of attention weights, keys t1 to t{T} from left to right. {words}"
            )
        },
    }


def verify(params):
    import numpy as np

    T = params["T"]
    visible = np.array(params["cells"]) > 0
    full = np.ones((T, T), bool)
    masks = {
        "Causal: own and earlier positions": np.tril(full),
        "Causal, only the own and the previous position": np.tril(full) & np.triu(full, -1),
        "No mask": full,
        "Own and later positions only": np.triu(full),
    }
    return {"mask": next(name for name, mask in masks.items() if (mask == visible).all())}
