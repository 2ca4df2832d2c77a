"""The course's attention on the swapped text. `verify` permutes real scores and values and runs torch's softmax."""

from fractions import Fraction

from exam_bank.course import digits, reference

ROWS = [(1, 2, 7), (2, 3, 5), (5, 3, 2), (6, 3, 1), (1, 3, 6), (4, 5, 1), (2, 7, 1), (3, 1, 6)]


def generate(rng):
    while True:
        A = [[Fraction(k, 10) for k in row] for row in rng.sample(ROWS, 3)]
        V = [[rng.randint(-4, 5), rng.randint(-4, 5)] for _ in range(3)]
        y = [[sum(a * v[i] for a, v in zip(row, V)) for i in (0, 1)] for row in A]
        stale = [[A[r][0] * V[0][i] + A[r][1] * V[2][i] + A[r][2] * V[1][i] for i in (0, 1)] for r in (0, 2)]
        if stale[0] != y[0] and y[1] not in (y[2], stale[1]):
            break

    course, order = reference("attention"), [0, 2, 1]
    scores = course.tensor([[float(a) for a in row] for row in A]).log() * 3**0.5
    eye = course.tensor([[float(i == j) for j in range(3)] for i in range(3)])
    swapped = course.attention(scores[order], eye[order], course.tensor([[float(x) for x in V[j]] for j in order]))

    def one(vector):
        return [f"{float(x):.1f}" for x in vector]

    def matrix(rows):
        return r"\begin{bmatrix}%s\end{bmatrix}" % r" \\ ".join(" & ".join(row) for row in rows)

    return {
        "params": {
            "A": matrix([one(r) for r in A]),
            "V": matrix([[str(x) for x in r] for r in V]),
            "weights": [one(r) for r in A],
            "values": V,
        },
        "solution": {"y1": ", ".join(digits(swapped[0], 1)), "y2": ", ".join(digits(swapped[2], 1))},
        "answers": {"three": digits(swapped[2], 1), "one": digits(swapped[0], 1)},
        "wrong": {"three": [one(y[2]), one(stale[1])], "one": [one(stale[0])]},
    }


def verify(params):
    import torch

    order = torch.tensor([0, 2, 1])
    scores = torch.tensor([[float(a) for a in row] for row in params["weights"]], dtype=torch.float64).log()
    V = torch.tensor(params["values"], dtype=torch.float64)
    out = scores[order][:, order].softmax(-1) @ V[order]
    return {"three": out[2].tolist(), "one": out[0].tolist()}
