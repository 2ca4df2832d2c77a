"""Sum of -log2 p. `verify` calls torch's cross-entropy on two-class logits."""

from fractions import Fraction


def generate(rng):
    n = rng.randint(4, 5)
    while True:
        k = [rng.randint(0, 5) for _ in range(n)]
        if sum(k) % n and len(set(k)) > 2 and k.count(0) <= 1:
            break
    return {
        "params": {"n": n, "ps": ", ".join("1" if x == 0 else f"1/{2**x}" for x in k)},
        "solution": {"costs": ", ".join(map(str, k)), "loss": sum(k)},
        "answers": {"loss": str(sum(k))},
        "wrong": {"loss": [str(Fraction(sum(k), n).__round__()), str(max(k))] if max(k) != sum(k) else []},
    }


def verify(params):
    import math

    import torch

    p = torch.tensor([float(Fraction(x)) for x in params["ps"].split(", ")], dtype=torch.float64)
    logits = torch.stack([p, 1 - p], 1).log()
    nats = torch.nn.functional.cross_entropy(logits, torch.zeros(len(p), dtype=torch.long), reduction="sum")
    return {"loss": nats.item() / math.log(2)}
