"""Two weighted sums that share one vector. `verify` interpolates from the neighbour with numpy."""

from fractions import Fraction

WORDS = [
    ("bank", "river", "loan"),
    ("bat", "cave", "ball"),
    ("mouse", "cheese", "screen"),
    ("spring", "flower", "metal"),
    ("seal", "ocean", "letter"),
]


def generate(rng):
    w, n1, n2 = rng.choice(WORDS)
    while True:
        v, v1, v2 = ([rng.randint(-5, 5), rng.randint(-5, 5)] for _ in range(3))
        a = Fraction(rng.randint(2, 8), 10)
        y1, y2 = ([a * p + (1 - a) * q for p, q in zip(v, other)] for other in (v1, v2))
        swap1, swap2 = ([(1 - a) * p + a * q for p, q in zip(v, other)] for other in (v1, v2))
        if y1 != y2 and v1 != v2 and swap1 != y1 and swap2 != y2:
            break

    def show(vector):
        return ", ".join(f"{float(x):.1f}" for x in vector)

    def plain(vector):
        return ", ".join(map(str, vector))

    return {
        "params": {"w": w, "n1": n1, "n2": n2, "a": f"{float(a):.1f}", "v": plain(v), "v1": plain(v1), "v2": plain(v2)},
        "solution": {"b": f"{float(1 - a):.1f}", "y1": show(y1), "y2": show(y2)},
        "answers": {"first": show(y1).split(", "), "second": show(y2).split(", ")},
        "wrong": {"first": [show(swap1).split(", ")], "second": [show(swap2).split(", ")]},
    }


def verify(params):
    import numpy as np

    def vector(key):
        return np.array(params[key].split(", "), float)

    def towards(key):
        return (vector(key) + float(params["a"]) * (vector("v") - vector(key))).tolist()

    return {"first": towards("v1"), "second": towards("v2")}
