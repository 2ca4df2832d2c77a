"""Renormalised top two. `verify` takes a softmax over the logarithms of the two kept probabilities."""

from fractions import Fraction


def draw(rng):
    while True:
        parts = rng.sample(range(1, 16), 4)
        if sum(parts) == 20:
            return [Fraction(v, 20) for v in parts]


def generate(rng):
    while True:
        a, b = draw(rng), draw(rng)
        oa, ob = (sorted(range(4), key=lambda i, v=v: -v[i]) for v in (a, b))
        idle = set(range(4)) - set(oa[:2]) - set(ob[:2])
        wa, wb = a[oa[0]] / (a[oa[0]] + a[oa[1]]), b[ob[1]] / (b[ob[0]] + b[ob[1]])
        tie = any((v * 100) % 1 == Fraction(1, 2) for v in (wa, wb))
        if len(idle) == 1 and not tie and wa - a[oa[0]] > Fraction(3, 100) and wb - b[ob[1]] > Fraction(3, 100):
            break

    def two(v):
        return f"{float(v):.2f}"

    lonely = str(idle.pop() + 1)
    return {
        "params": {f"a{i}": two(v) for i, v in enumerate(a)} | {f"b{i}": two(v) for i, v in enumerate(b)},
        "solution": {
            "ua": f"{oa[0] + 1} and {oa[1] + 1}",
            "ub": f"{ob[0] + 1} and {ob[1] + 1}",
            "pa": two(a[oa[0]]),
            "qa": two(a[oa[1]]),
            "pb": two(b[ob[0]]),
            "qb": two(b[ob[1]]),
            "wa": two(wa),
            "wb": two(wb),
            "idle": lonely,
        },
        "answers": {"first": two(wa), "second": two(wb), "idle": [lonely]},
        "wrong": {
            "first": [two(a[oa[0]])],
            "second": [two(b[ob[1]]), two(1 - wb)] if abs(1 - 2 * wb) > Fraction(3, 100) else [two(b[ob[1]])],
        },
    }


def verify(params):
    import torch

    p = torch.tensor([[float(params[f"{t}{i}"]) for i in range(4)] for t in "ab"], dtype=torch.float64)
    top = p.topk(2)
    weights = top.values.log().softmax(-1)
    used = torch.zeros(4, dtype=torch.bool)
    used[top.indices.flatten()] = True
    return {"first": weights[0, 0].item(), "second": weights[1, 1].item(), "idle": str(int((~used).nonzero()) + 1)}
