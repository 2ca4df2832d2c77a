"""The course's causal attention in two orders. `verify` runs torch's, with scores made from one-hot keys."""

from fractions import Fraction

from exam_bank.course import digits, reference


def generate(rng):
    while True:
        e = [rng.choice([1, 2, 3, 4, 6]) for _ in range(3)]
        v = [[rng.randint(-4, 5), rng.randint(-4, 5)] for _ in range(3)]
        y = [Fraction(e[0] * v[0][i] + e[1] * v[1][i], e[0] + e[1]) for i in (0, 1)]
        z = [Fraction(sum(e[j] * v[j][i] for j in range(3)), sum(e)) for i in (0, 1)]
        tie = any((abs(x) * 100) % 1 == Fraction(1, 2) or 0 < abs(x) < Fraction(1, 100) for x in y + z)
        if not tie and max(abs(a - b) for a, b in zip(y, z)) > Fraction(1, 10):
            break

    course = reference("attention")
    scores = course.tensor([[float(x) for x in e]] * 3).log() * 3**0.5
    eye = course.tensor([[float(i == j) for j in range(3)] for i in range(3)])

    def last(order, position):
        V = course.tensor([[float(x) for x in v[j]] for j in order])
        return digits(course.causal_attention(scores, eye[order], V)[position], 2)

    before, after = last([0, 1, 2], 1), last([0, 2, 1], 2)

    def two(vector):
        return [f"{float(x):.2f}" for x in vector]

    return {
        "params": {f"v{j + 1}": f"{v[j][0]}, {v[j][1]}" for j in range(3)} | {f"e{j + 1}": e[j] for j in range(3)},
        "solution": {"sum2": e[0] + e[1], "sum3": sum(e), "y": ", ".join(before), "z": ", ".join(after)},
        "answers": {"before": before, "after": after},
        "wrong": {"before": [two(z)], "after": [two(y)]},
    }


def verify(params):
    import torch

    q = torch.tensor([float(params[f"e{j}"]) for j in (1, 2, 3)], dtype=torch.float64).log() * 3**0.5
    V = torch.tensor([[float(x) for x in params[f"v{j}"].split(", ")] for j in (1, 2, 3)], dtype=torch.float64)

    def run(order, position):
        K = torch.eye(3, dtype=torch.float64)[order]
        Q = q.expand(3, 3)
        out = torch.nn.functional.scaled_dot_product_attention(Q[None], K[None], V[order][None], is_causal=True)
        return out[0, position].tolist()

    return {"before": run([0, 1, 2], 1), "after": run([0, 2, 1], 2)}
