"""W + s B A. `verify` applies W and the adapter separately to the basis vectors."""

from fractions import Fraction


def generate(rng):
    while True:
        W = [[rng.randint(-4, 5) for _ in range(2)] for _ in range(2)]
        A, B = ([rng.choice([-3, -2, -1, 1, 2, 3]) for _ in range(2)] for _ in range(2))
        s = Fraction(rng.choice([1, 3, 4, 5]), 2)
        BA = [[b * a for a in A] for b in B]
        M = [[W[i][j] + s * BA[i][j] for j in (0, 1)] for i in (0, 1)]
        if A != B:
            break

    def matrix(rows):
        return r"\begin{bmatrix}%s\end{bmatrix}" % r" \\ ".join(" & ".join(map(str, row)) for row in rows)

    shown = [[f"{float(v):.1f}" for v in row] for row in M]
    return {
        "params": {
            "s": f"{float(s):g}",
            "W": matrix(W),
            "B": matrix([[b] for b in B]),
            "A": matrix([A]),
            "w": W,
            "a": A,
            "b": B,
        },
        "solution": {"BA": matrix(BA), "M": matrix(shown)},
        "answers": {"merged": shown},
        "wrong": {"merged": [[[f"{W[i][j] + BA[i][j]:.1f}" for j in (0, 1)] for i in (0, 1)]]} if s != 1 else {},
    }


def verify(params):
    import numpy as np

    W, A, B = (np.array(params[k], float) for k in "wab")
    columns = [W @ e + float(params["s"]) * B * (A @ e) for e in np.eye(2)]
    return {"merged": np.stack(columns, 1).tolist()}
