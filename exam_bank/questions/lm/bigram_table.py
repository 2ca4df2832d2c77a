"""The course's estimates from a table of counts. `verify` uses the END column and a product of normalised matrices."""

from fractions import Fraction

from exam_bank.course import digits, reference

NAMES = ["rain", "sun", "wind"]


def generate(rng):
    while True:
        body = [[rng.randint(1, 9) for _ in range(3)] for _ in range(3)]
        ends = [rng.randint(1, 9) for _ in range(3)]
        # What enters a word must leave it, or the counts belong to no corpus.
        start = [sum(body[i]) + ends[i] - sum(row[i] for row in body) for i in range(3)]
        i, j = rng.sample(range(3), 2)
        if min(start) < 1:
            continue
        sums = [sum(body[k]) + ends[k] for k in range(3)]
        factors = [(start[i], sum(start)), (body[i][j], sums[i]), (ends[j], sums[j])]
        prob = Fraction(1)
        for a, b in factors:
            prob *= Fraction(a, b)
        if prob > Fraction(1, 100) and (prob * 10**4) % 1 != Fraction(1, 2):
            break
    steps = zip(["START", NAMES[i], NAMES[j]], [NAMES[i], NAMES[j], "END"], factors)
    p = [reference("noisy_channel").mle_prob(y, x, {f"{x} {y}": a}, {x: b}) for x, y, (a, b) in steps]
    key = digits(p[0] * p[1] * p[2], 4)
    short = Fraction(*factors[0]) * Fraction(*factors[1])
    params = {f"a{k}": start[k] for k in range(3)} | {"w1": NAMES[i], "w2": NAMES[j]}
    for letter, row, end in zip("bcd", body, ends):
        params |= {f"{letter}{k}": row[k] for k in range(3)} | {f"{letter}3": end}
    return {
        "params": params,
        "solution": {
            "total": sum(start),
            "prob": key,
            "terms": r"\cdot".join(r"\frac{%d}{%d}" % f for f in factors),
        },
        "answers": {"total": str(sum(start)), "prob": key},
        "wrong": {"prob": [f"{float(short):.4f}"]},
    }


def verify(params):
    import numpy as np

    rows = [[params[f"a{k}"] for k in range(3)] + [0]]
    rows += [[params[f"{letter}{k}"] for k in range(4)] for letter in "bcd"]
    table = np.array(rows, float)
    logs = np.log(np.where(table > 0, table, 1)) - np.log(table.sum(1, keepdims=True))
    i, j = NAMES.index(params["w1"]), NAMES.index(params["w2"])
    return {"total": table[:, 3].sum(), "prob": np.exp(logs[0, i] + logs[i + 1, j] + logs[j + 1, 3])}
