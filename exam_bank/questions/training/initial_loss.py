"""ln V and V. `verify` calls torch's cross-entropy on equal logits."""

import math


def generate(rng):
    V = 100 * rng.randint(2, 99) if rng.randint(0, 1) else 1000 * rng.randint(10, 99)
    nats = math.log(V)
    options = [
        (f"{nats:.2f} and {V}", True, ""),
        (f"{nats / math.log(2):.2f} and {V}", False, "bits instead of nats"),
        (f"{nats:.2f} and {nats:.2f}", False, "takes the cross-entropy for the perplexity"),
        (f"{1 / V:.5f} and {V}", False, "the probability instead of its negative logarithm"),
    ]
    return {
        "params": {"V": V},
        "solution": {"nats": f"{nats:.2f}"},
        "choices": {"loss": options},
        "answers": {},
    }


def verify(params):
    import torch

    logits = torch.zeros(1, params["V"], dtype=torch.float64)
    loss = torch.nn.functional.cross_entropy(logits, torch.tensor([0]))
    return {"loss": f"{loss.item():.2f} and {round(loss.exp().item())}"}
