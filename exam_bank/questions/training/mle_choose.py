"""Counts over the total. `verify` compares the log-likelihood of the offered distributions."""

from fractions import Fraction

WORDS = [
    ("very", "good", "bad", "old"),
    ("the", "sun", "moon", "rain"),
    ("drink", "tea", "milk", "water"),
    ("a", "cat", "dog", "bird"),
]


def generate(rng):
    w, a, b, c = rng.choice(WORDS)
    while True:
        parts = [rng.randint(1, 7) for _ in range(3)]
        k = rng.randint(2, 6)
        if sum(parts) == 10 and len(set(parts)) == 3:
            break
    n = [k * p for p in parts]

    def show(values):
        return ", ".join(f"{float(v):.2f}" for v in values)

    p = [Fraction(v, 10) for v in parts]
    squares = [v * v for v in parts]
    add = [Fraction(v + k, sum(n) + 3 * k) for v in n]
    sharp = [Fraction(v, sum(squares)) for v in squares]
    options = [
        (show(p), True, ""),
        ("0.33, 0.33, 0.33", False, "ignores the counts"),
        (show(add), False, "smoothed towards equal shares"),
        (show(sharp), False, "sharper than the data"),
    ]
    return {
        "params": {
            "w": w,
            "a": a,
            "b": b,
            "c": c,
            "na": n[0],
            "nb": n[1],
            "nc": n[2],
            "offered": [o[0] for o in options],
        },
        "solution": {"n": sum(n), "best": show(p)},
        "choices": {"best": options},
        "answers": {},
    }


def verify(params):
    import math

    counts = [params["na"], params["nb"], params["nc"]]

    def loglik(text):
        p = [float(v) for v in text.split(", ")]
        return sum(c * math.log(v / sum(p)) for c, v in zip(counts, p))

    return {"best": max(params["offered"], key=loglik)}
