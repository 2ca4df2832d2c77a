"""Expand, ReLU, project. `verify` uses numpy's products."""


def generate(rng):
    while True:
        W1 = [[rng.randint(-2, 3) for _ in range(3)] for _ in range(2)]
        W2 = [[rng.randint(-2, 3) for _ in range(2)] for _ in range(3)]
        b1, x = [rng.randint(-3, 3) for _ in range(3)], [rng.randint(-3, 3) for _ in range(2)]
        z = [sum(x[i] * W1[i][j] for i in (0, 1)) + b1[j] for j in range(3)]
        r = [max(0, v) for v in z]
        y, linear = ([sum(h[j] * W2[j][k] for j in range(3)) for k in (0, 1)] for h in (r, z))
        if y != linear and any(y) and sum(v < 0 for v in z) < 3 and 0 not in x:
            break

    def matrix(rows):
        return r"\begin{bmatrix}%s\end{bmatrix}" % r" \\ ".join(" & ".join(map(str, row)) for row in rows)

    def plain(vector):
        return ", ".join(map(str, vector))

    return {
        "params": {"W1": matrix(W1), "W2": matrix(W2), "b1": plain(b1), "x": plain(x), "first": W1, "second": W2},
        "solution": {"z": plain(z), "r": plain(r), "y": plain(y)},
        "answers": {"y": [str(v) for v in y]},
        "wrong": {"y": [[str(v) for v in linear]]},
    }


def verify(params):
    import numpy as np

    x, b = (np.array([int(v) for v in params[k].split(", ")]) for k in ("x", "b1"))
    hidden = np.maximum(x @ np.array(params["first"]) + b, 0)
    return {"y": (hidden @ np.array(params["second"])).tolist()}
