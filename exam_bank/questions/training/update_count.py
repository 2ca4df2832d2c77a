"""E ceil(N / B). `verify` counts the batches of a torch DataLoader."""


def generate(rng):
    while True:
        N, B, E = rng.randint(100, 3000), rng.choice([8, 16, 32, 50, 64, 100]), rng.randint(2, 8)
        per = -(-N // B)
        if N % B and str(-(-N * E // B)) != str(E * per):
            break
    return {
        "params": {"N": N, "B": B, "E": E},
        "solution": {"per": per, "total": E * per},
        "answers": {"updates": str(E * per)},
        "wrong": {"updates": [str(E * (N // B)), str(E * N), str(-(-N * E // B))]},
    }


def verify(params):
    import torch

    loader = torch.utils.data.DataLoader(range(params["N"]), batch_size=params["B"])
    return {"updates": params["E"] * len(loader)}
