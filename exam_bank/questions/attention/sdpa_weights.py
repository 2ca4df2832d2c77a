"""The course's attention with V = identity. `verify` calls torch's attention with V = identity."""

import math

from exam_bank.course import digits, reference


def softmax(scores):
    top = max(scores)
    e = [math.exp(s - top) for s in scores]
    return [x / sum(e) for x in e]


def generate(rng):
    while True:
        q, *keys = ([rng.randint(-2, 2) for _ in range(4)] for _ in range(4))
        dots = [sum(a * b for a, b in zip(q, k)) for k in keys]
        w, raw, quarter = (softmax([s / c for s in dots]) for c in (2, 1, 4))
        clear = all(max(abs(a - b) for a, b in zip(w, other)) > 0.02 for other in (raw, quarter))
        safe = all(abs((x * 1000) % 1 - 0.5) > 1e-3 for x in w)
        if clear and safe and len(set(dots)) > 1 and max(dots) - min(dots) <= 8 and min(w) > 0.02:
            break

    def three(vector):
        return [f"{x:.3f}" for x in vector]

    course = reference("attention")
    eye = course.tensor([[float(i == j) for j in range(3)] for i in range(3)])
    weights = digits(course.attention_one_query(course.tensor([float(x) for x in q]), course.tensor(keys), eye), 3)

    def plain(vector):
        return ", ".join(map(str, vector))

    return {
        "params": {"q": plain(q)} | {f"k{i + 1}": plain(k) for i, k in enumerate(keys)},
        "solution": {
            "dots": plain(dots),
            "scaled": ", ".join(f"{s / 2:.1f}" for s in dots),
            "w": ", ".join(weights),
            "raw": ", ".join(three(raw)),
        },
        "answers": {"weights": weights},
        "wrong": {"weights": [three(raw), three(quarter)]},
    }


def verify(params):
    import torch

    def row(key):
        return torch.tensor([float(x) for x in params[key].split(", ")], dtype=torch.float64)

    K = torch.stack([row("k1"), row("k2"), row("k3")])
    eye = torch.eye(3, dtype=torch.float64)
    out = torch.nn.functional.scaled_dot_product_attention(row("q")[None, None], K[None], eye[None])
    return {"weights": out.flatten().tolist()}
