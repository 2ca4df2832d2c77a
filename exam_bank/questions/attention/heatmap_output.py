"""One row of the course's attention, and column sums. `verify` multiplies the whole matrix in numpy."""

from fractions import Fraction

from exam_bank.course import digits, reference
from exam_bank.figures import heatmap


def generate(rng):
    while True:
        rows = []
        for _ in range(4):
            parts = rng.sample(range(1, 12), 3)
            rest = 20 - sum(parts)
            if rest < 1:
                break
            rows.append([Fraction(p, 20) for p in [*parts, rest]])
        if len(rows) < 4:
            continue
        v, t = [rng.randint(-5, 6) for _ in range(4)], rng.randint(0, 3)
        y = sum(w * x for w, x in zip(rows[t], v))
        column = sum(rows[i][t] * v[i] for i in range(4))
        sums = [sum(row[j] for row in rows) for j in range(4)]
        if abs(y - column) > Fraction(1, 10) and sorted(sums)[3] - sorted(sums)[2] >= Fraction(1, 10) and y:
            break

    def two(x):
        return f"{float(x):.2f}"

    course = reference("attention")
    scores = course.tensor([float(w) for w in rows[t]]).log() * 2
    eye = course.tensor([[float(i == j) for j in range(4)] for i in range(4)])
    key = digits(course.attention_one_query(scores, eye, course.tensor([[float(x)] for x in v])), 2)[0]
    names = ["t1", "t2", "t3", "t4"]
    values = [[float(w) for w in row] for row in rows]
    words = " ".join(
        f"Query {n} looks at " + ", at ".join(f"{m} with the weight {two(v)}" for m, v in zip(names, row)) + "."
        for n, row in zip(names, rows)
    )
    most = names[sums.index(max(sums))]
    return {
        "params": {f"v{i + 1}": v[i] for i in range(4)} | {"t": t + 1, "weights": values},
        "solution": {
            "terms": "+".join(rf"{two(w)}\cdot({x})" for w, x in zip(rows[t], v)),
            "y": key,
            "sums": ", ".join(map(two, sums)),
            "most": most,
        },
        "answers": {"y": key, "most": [most]},
        "wrong": {
            "y": [two(column) if abs(column) > Fraction(1, 100) else "0.00"],
            "most": [n for n in names if n != most],
        },
        "figures": {
            "weights": heatmap(
                values, names, names, alt=f"Heat map of attention weights, keys t1 to t4 from left to right. {words}"
            )
        },
    }


def verify(params):
    import numpy as np

    A = np.array(params["weights"])
    v = np.array([params[f"v{i}"] for i in (1, 2, 3, 4)], float)
    return {"y": (A @ v)[params["t"] - 1].item(), "most": f"t{A.sum(0).argmax() + 1}"}
