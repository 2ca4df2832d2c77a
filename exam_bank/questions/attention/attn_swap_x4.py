"""Attention of one query, by the course. `verify` runs numpy over real scores, in swapped order."""

from fractions import Fraction

from exam_bank.course import digits, reference

WEIGHTS = [(1, 2, 3, 4), (2, 1, 4, 3), (4, 3, 2, 1), (1, 4, 2, 3), (3, 1, 2, 4)]


def column(values):
    return r"\begin{bmatrix}%s\end{bmatrix}" % r" \\ ".join(values)


def one(value):
    return f"{float(value):.1f}"


def generate(rng):
    while True:
        xs = [[rng.randint(-4, 4), rng.randint(-4, 4)] for _ in range(4)]
        weights = [Fraction(k, 10) for k in rng.choice(WEIGHTS)]
        y = [sum(w * x[i] for w, x in zip(weights, xs)) for i in (0, 1)]
        wrong = [y[i] + (weights[1] - weights[2]) * (xs[2][i] - xs[1][i]) for i in (0, 1)]
        if wrong != y:  # a swap without its weights must differ
            break
    course = reference("attention")
    query, keys = (
        course.tensor([float(w) for w in weights]).log() * 2,
        course.tensor([[float(i == j) for j in range(4)] for i in range(4)]),
    )
    V, order = course.tensor(xs), [0, 2, 1, 3]
    before = digits(course.attention_one_query(query, keys, V), 1)
    after = digits(course.attention_one_query(query, keys[order], V[order]), 1)
    rows = [" & ".join(str(x[i]) for x in xs) for i in (0, 1)]
    return {
        "params": {
            "xs": xs,
            "weights": [one(w) for w in weights],
            "X": column(rows),
            "a": ", ".join(map(one, weights)),
        },
        "solution": {
            "y": column(before),
            "terms": "+".join(one(w) + column(map(str, x)) for w, x in zip(weights, xs)),
        },
        "answers": {"before": before, "after": after},
        "wrong": {"after": [[one(v) for v in wrong]]},
    }


def verify(params):
    import numpy as np

    scores, X = np.log(np.array(params["weights"], float)), np.array(params["xs"], float)

    def attend(order):
        e = np.exp(scores[order])
        return (e / e.sum() @ X[order]).tolist()

    return {"before": attend([0, 1, 2, 3]), "after": attend([0, 2, 1, 3])}
