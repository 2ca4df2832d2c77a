"""Shapes by reading. `verify` runs the code with a meta embedding as the model."""


def generate(rng):
    while True:
        B, n, V = rng.randint(2, 32), rng.randint(6, 65), rng.choice([50, 100, 256, 500, 1000, 2000, 5000])
        if n != B:
            break
    BT = B * (n - 1)
    return {
        "params": {"B": B, "n": n, "V": V},
        "solution": {"T": n - 1, "BT": BT},
        "answers": {"shapes": [str(BT), str(V), str(BT)]},
        "wrong": {"shapes": [[str(B * n), str(V), str(B * n)], [str(B), str((n - 1) * V), str(BT)]]},
    }


def verify(params):
    import torch

    text = torch.empty(params["B"], params["n"], dtype=torch.long, device="meta")
    inputs, targets = text[:, :-1], text[:, 1:]
    a = torch.nn.Embedding(params["V"], params["V"], device="meta")(inputs).flatten(0, 1)
    return {"shapes": [*a.shape, targets.flatten().shape[0]]}
