"""The course's causal attention with V = identity. `verify` adds -inf above the diagonal and calls torch's softmax."""

import math
from fractions import Fraction

from exam_bank.course import digits, reference


def generate(rng):
    while True:
        S = [[rng.randint(0, 4) for _ in range(4)] for _ in range(4)]
        t = rng.randint(2, 3)
        e = [2**s for s in S[t - 1]]
        w = [Fraction(x, sum(e[:t])) if j < t else Fraction(0) for j, x in enumerate(e)]
        unmasked = [Fraction(x, sum(e)) for x in e]
        cut = [u if j < t else Fraction(0) for j, u in enumerate(unmasked)]
        if len(set(e[:t])) > 1 and not any((x * 1000) % 1 == Fraction(1, 2) for x in w):
            break

    def three(vector):
        return [f"{float(x):.3f}" for x in vector]

    course = reference("attention")
    eye = course.tensor([[float(i == j) for j in range(4)] for i in range(4)])
    row = digits(course.causal_attention(course.tensor(S) * 2 * math.log(2), eye, eye)[t - 1], 3)
    return {
        "params": {
            "S": r"\begin{bmatrix}%s\end{bmatrix}" % r" \\ ".join(" & ".join(map(str, row)) for row in S),
            "t": t,
            "scores": S,
        },
        "solution": {"e": ", ".join(map(str, e[:t])), "total": sum(e[:t]), "w": ", ".join(row)},
        "answers": {"row": row},
        "wrong": {"row": [three(unmasked), three(cut)]},
    }


def verify(params):
    import torch

    S = torch.tensor(params["scores"], dtype=torch.float64) * math.log(2)
    mask = torch.full((4, 4), -math.inf, dtype=torch.float64).triu(1)
    return {"row": (S + mask).softmax(-1)[params["t"] - 1].tolist()}
