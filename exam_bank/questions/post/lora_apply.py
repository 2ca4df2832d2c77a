"""W x + s B (A x). `verify` merges the matrices first."""

from fractions import Fraction


def generate(rng):
    while True:
        W = [[rng.randint(-3, 4) for _ in range(2)] for _ in range(2)]
        A, B, x = ([rng.choice([-3, -2, -1, 1, 2, 3]) for _ in range(2)] for _ in range(3))
        s = Fraction(rng.choice([1, 3, 4, 6]), 2)
        inner = A[0] * x[0] + A[1] * x[1]
        base = [W[i][0] * x[0] + W[i][1] * x[1] for i in (0, 1)]
        y = [base[i] + s * inner * B[i] for i in (0, 1)]
        if inner and y != base:
            break

    def matrix(rows):
        return r"\begin{bmatrix}%s\end{bmatrix}" % r" \\ ".join(" & ".join(map(str, row)) for row in rows)

    def one(vector):
        return [f"{float(v):.1f}" for v in vector]

    no_scale = [base[i] + inner * B[i] for i in (0, 1)]
    wrong = [one(base)] + ([one(no_scale)] if s != 1 else [])
    return {
        "params": {
            "s": f"{float(s):g}",
            "W": matrix(W),
            "B": matrix([[b] for b in B]),
            "A": matrix([A]),
            "x": matrix([[v] for v in x]),
            "w": W,
            "a": A,
            "b": B,
            "v": x,
        },
        "solution": {"inner": inner, "base": matrix([[v] for v in base]), "y": matrix([[v] for v in one(y)])},
        "answers": {"inner": str(inner), "y": one(y)},
        "wrong": {"y": wrong},
    }


def verify(params):
    import numpy as np

    W, A, B, x = (np.array(params[k], float) for k in "wabv")
    merged = W + float(params["s"]) * np.outer(B, A)
    return {"inner": float(np.einsum("i,i->", A, x)), "y": (merged @ x).tolist()}
