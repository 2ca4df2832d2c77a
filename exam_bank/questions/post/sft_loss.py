"""Mean bits over the response. `verify` calls torch's cross-entropy with ignore_index."""

from fractions import Fraction


def generate(rng):
    while True:
        a, b = [rng.randint(1, 7) for _ in range(3)], [rng.randint(1, 6) for _ in range(4)]
        loss, everything = Fraction(sum(b), 4), Fraction(sum(a + b), 7)
        no_end = Fraction(sum(b[:3]), 3)
        wrong = [everything, Fraction(sum(b)), no_end, Fraction(sum(b), 7)]
        if all(abs(w - loss) > Fraction(1, 20) for w in wrong):
            break
    return {
        "params": {f"a{i}": f"1/{2**k}" for i, k in enumerate(a)} | {f"b{i}": f"1/{2**k}" for i, k in enumerate(b)},
        "solution": {
            "bits": ", ".join(map(str, b)),
            "sum": sum(b),
            "loss": f"{float(loss):.2f}",
            "all": f"{float(everything):.2f}",
        },
        "answers": {"loss": f"{float(loss):.2f}"},
        "wrong": {"loss": [f"{float(w):.2f}" for w in wrong]},
    }


def verify(params):
    import math

    import torch

    names = [f"a{i}" for i in range(3)] + [f"b{i}" for i in range(4)]
    p = torch.tensor([float(Fraction(params[n])) for n in names], dtype=torch.float64)
    logits = torch.stack([p, 1 - p], 1).log()
    labels = torch.tensor([-100] * 3 + [0] * 4)
    return {"loss": torch.nn.functional.cross_entropy(logits, labels).item() / math.log(2)}
