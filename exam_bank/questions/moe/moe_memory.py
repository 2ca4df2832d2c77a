"""E, k and E times one expert. `verify` counts torch layers."""


def generate(rng):
    d, f = rng.choice(
        [(500, 1000), (500, 2000), (1000, 2000), (1000, 4000), (2000, 8000), (1000, 3000), (1000, 5000), (2000, 5000)]
    )
    E, k = rng.choice([4, 8, 16, 32, 64]), rng.choice([1, 2, 4])
    if E == 4 and k == 4:
        k = 2
    one = 2 * d * f // 10**6
    answer = [str(E * one), str(k * one), str(E * one)]
    return {
        "params": {"E": E, "k": k, "d": d, "f": f, "one": one},
        "solution": {"stored": E * one, "used": k * one},
        "answers": {"numbers": answer},
        "wrong": {"numbers": [[str(k * one), str(k * one), str(E * one)], [str(E * one), str(k * one), str(k * one)]]},
    }


def verify(params):
    import torch

    d, f = params["d"], params["f"]

    def expert():
        return sum(torch.nn.Linear(*s, bias=False, device="meta").weight.numel() for s in ((d, f), (f, d)))

    stored = sum(expert() for _ in range(params["E"])) / 10**6
    used = sum(expert() for _ in range(params["k"])) / 10**6
    return {"numbers": [stored, used, stored]}
