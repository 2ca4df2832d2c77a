"""The course's probability of whole texts, and a sum of two.

`verify` counts cells of a million equally likely draws.
"""

import math
from fractions import Fraction

from exam_bank.course import reference


def generate(rng):
    while True:
        a, c, e = (Fraction(rng.randint(1, 9), 10) for _ in range(3))
        i, j = rng.randint(0, 1), rng.randint(0, 1)
        branch = [[a * c, a * (1 - c)], [(1 - a) * e, (1 - a) * (1 - e)]]
        p1, p2 = branch[i][j], branch[0][j] + branch[1][j]
        steps = [[c, 1 - c], [e, 1 - e]]
        start = [a, 1 - a][i]
        options = [
            (p1, p2),
            (start + steps[i][j], p2),
            (p1, steps[0][j] + steps[1][j]),
            (p1, (steps[0][j] + steps[1][j]) / 2),
        ]
        if len(set(options)) == 4 and c != e and start + steps[i][j] < 1 and steps[0][j] + steps[1][j] < 1:
            break

    course = reference("decoding")
    rows = {"": [a, 1 - a, 0, 0, 0], "0": [0, 0, c, 1 - c, 0], "1": [0, 0, e, 1 - e, 0]}
    model = course.TableLM(5, 4, {prefix: [float(p) for p in row] for prefix, row in rows.items()})
    own, sibling = (math.exp(course.sequence_logprob(model, [k, 2 + j], 2)) for k in (i, 1 - i))
    options[0] = (own, own + sibling)
    p1, p2 = options[0]

    def show(pair):
        return f"{float(pair[0]):.2f} and {float(pair[1]):.2f}"

    def one(v):
        return f"{float(v):.1f}"

    why = [
        "",
        "adds the two branch probabilities",
        "adds the second steps without the first",
        "averages the second steps",
    ]
    first, last = "AB"[i], "CD"[j]
    return {
        "params": {"a": one(a), "c": one(c), "e": one(e), "t1": first + last, "last": last},
        "solution": {
            "f1": rf"{one(start)}\cdot {one(steps[i][j])}",
            "p1": f"{float(p1):.2f}",
            "f2": rf"{one(a)}\cdot {one(steps[0][j])}+{one(1 - a)}\cdot {one(steps[1][j])}",
            "p2": f"{float(p2):.2f}",
        },
        "choices": {"path": [(show(o), k == 0, why[k]) for k, o in enumerate(options)]},
        "answers": {},
    }


def verify(params):
    a, c, e = (round(10 * float(params[k])) for k in "ace")
    drawn = []
    for x in range(10):
        for y in range(10):
            first = "A" if x < a else "B"
            drawn.append(first + ("C" if y < (c if first == "A" else e) else "D"))
    p1 = drawn.count(params["t1"]) / 100
    p2 = sum(t.endswith(params["last"]) for t in drawn) / 100
    return {"path": f"{p1:.2f} and {p2:.2f}"}
