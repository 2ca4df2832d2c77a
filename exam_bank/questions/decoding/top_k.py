"""The course's warp with top-k. `verify` masks the logits in torch and takes a softmax."""

from fractions import Fraction

from exam_bank.course import digits, reference


def generate(rng):
    while True:
        parts = rng.sample(range(1, 12), 5)
        scale = sum(parts)
        if scale not in (20, 25):
            continue
        w = [Fraction(p, scale) for p in parts]
        k = rng.randint(2, 4)
        order = sorted(range(5), key=lambda i: -parts[i])
        total = sum(w[i] for i in order[:k])
        p = w[order[0]] / total
        wrong = [w[order[0]], Fraction(1, k)]
        if all(abs(x - p) > Fraction(1, 100) for x in wrong) and (p * 1000) % 1 != Fraction(1, 2):
            break
    course = reference("decoding")
    warped = course.warp(course.tensor([[float(x) for x in w]]).log(), 1.0, k, 1.0)[0]
    key = digits(warped[order[0]], 3)
    return {
        "params": {"w": ", ".join(f"{float(x):.2f}" for x in w), "k": k, "best": "ABCDE"[order[0]]},
        "solution": {
            "kept": ", ".join(sorted("ABCDE"[i] for i in order[:k])),
            "total": f"{float(total):.2f}",
            "own": f"{float(w[order[0]]):.2f}",
            "p": key,
        },
        "answers": {"p": key},
        "wrong": {"p": [f"{float(x):.3f}" for x in wrong]},
    }


def verify(params):
    import torch

    logits = torch.tensor([float(x) for x in params["w"].split(", ")], dtype=torch.float64).log()
    limit = logits.topk(params["k"]).values.min()
    p = logits.masked_fill(logits < limit, -torch.inf).softmax(0)
    return {"p": p["ABCDE".index(params["best"])].item()}
