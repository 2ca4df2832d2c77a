"""The course's attention with the tokens swapped. `verify` permutes one-hot keys and runs torch's attention."""

from fractions import Fraction

from exam_bank.course import digits, reference

WEIGHTS = [
    (1, 2, 3, 4),
    (2, 1, 4, 3),
    (4, 3, 2, 1),
    (1, 4, 2, 3),
    (3, 1, 2, 4),
    (2, 4, 1, 3),
    (3, 4, 1, 2),
    (4, 1, 3, 2),
]


def generate(rng):
    while True:
        w = [Fraction(k, 10) for k in rng.choice(WEIGHTS)]
        v = [rng.randint(-6, 9) for _ in range(4)]
        i, j = sorted(rng.sample(range(3), 2))
        b = list(w)
        b[i], b[j] = b[j], b[i]
        y = sum(a * x for a, x in zip(w, v))
        wrong = sum(a * x for a, x in zip(b, v))
        if abs(y - wrong) > Fraction(1, 10) and y and wrong:
            break

    course, order = reference("attention"), list(range(4))
    order[i], order[j] = j, i
    scores = course.tensor([float(x) for x in w]).log()[order]
    weights = course.softmax(scores, 0)
    key = digits(weights @ course.tensor([float(v[k]) for k in order]), 1)

    def one(x):
        return f"{float(x):.1f}"

    return {
        "params": {"a": ", ".join(map(one, w)), "i": i + 1, "j": j + 1} | {f"v{k + 1}": v[k] for k in range(4)},
        "solution": {"b": ", ".join(digits(weights, 1)), "y": f"${key}$", "wrong": f"${one(wrong)}$"},
        "answers": {"weights": digits(weights, 1), "y": key},
        "wrong": {"weights": [list(map(one, w))], "y": [one(wrong)]},
    }


def verify(params):
    import torch

    order = list(range(4))
    order[params["i"] - 1], order[params["j"] - 1] = params["j"] - 1, params["i"] - 1
    q = torch.tensor([float(x) for x in params["a"].split(", ")], dtype=torch.float64).log() * 2
    K, v = (
        torch.eye(4, dtype=torch.float64)[order],
        torch.tensor([float(params[f"v{k}"]) for k in (1, 2, 3, 4)], dtype=torch.float64)[order],
    )
    V = torch.cat([torch.eye(4, dtype=torch.float64), v[:, None]], dim=1)
    out = torch.nn.functional.scaled_dot_product_attention(q[None, None], K[None], V[None])[0, 0]
    return {"weights": out[:4].tolist(), "y": out[4].item()}
