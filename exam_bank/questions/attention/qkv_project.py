"""q_2 k_1 / sqrt 2. `verify` multiplies the two matrices first: x_2 (W_q W_k^T) x_1^T."""

import math


def generate(rng):
    def times(x, W):
        return [sum(x[i] * W[i][j] for i in (0, 1)) for j in (0, 1)]

    def dot(a, b):
        return sum(p * q for p, q in zip(a, b))

    while True:
        Wq, Wk = ([[rng.randint(-2, 2), rng.randint(-2, 2)] for _ in range(2)] for _ in range(2))
        x1, x2 = ([rng.randint(-3, 3), rng.randint(-3, 3)] for _ in range(2))
        s, other = dot(times(x2, Wq), times(x1, Wk)), dot(times(x1, Wq), times(x2, Wk))
        side = dot([dot(r, x2) for r in Wq], [dot(r, x1) for r in Wk])
        if s and len({s, other, side, dot(x1, x2)}) == 4:
            break

    def matrix(W):
        return r"\begin{bmatrix}%d & %d \\ %d & %d\end{bmatrix}" % (*W[0], *W[1])

    def plain(vector):
        return ", ".join(map(str, vector))

    def scaled(value):
        return f"{value / math.sqrt(2):.2f}"

    return {
        "params": {"Wq": matrix(Wq), "Wk": matrix(Wk), "x1": plain(x1), "x2": plain(x2), "wq": Wq, "wk": Wk},
        "solution": {
            "q2": plain(times(x2, Wq)),
            "k1": plain(times(x1, Wk)),
            "q1": plain(times(x1, Wq)),
            "k2": plain(times(x2, Wk)),
            "dot": s,
            "s": scaled(s),
            "other": scaled(other) if other else "0.00",
        },
        "answers": {"score": scaled(s)},
        "wrong": {"score": [scaled(other) if other else "0.00", f"{s:.2f}", scaled(side) if side else "0.00"]},
    }


def verify(params):
    import numpy as np

    def row(key):
        return np.array(params[key].split(", "), float)

    both = np.array(params["wq"]) @ np.array(params["wk"]).T
    return {"score": float(row("x2") @ both @ row("x1")) / 2**0.5}
