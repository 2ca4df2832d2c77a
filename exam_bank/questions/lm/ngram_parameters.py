"""(V - 1) V^m free numbers. `verify` fills an array and counts the entries that are not fixed by the sum."""


def generate(rng):
    m, V = rng.choice(
        [(1, rng.randint(5, 60)), (2, rng.randint(4, 40)), (3, rng.randint(3, 12)), (4, rng.randint(2, 6))]
    )
    contexts = V**m
    free = contexts * (V - 1)
    return {
        "params": {"m": m, "V": V},
        "solution": {"contexts": contexts, "Vm1": V - 1, "free": free},
        "answers": {"free": str(free)},
        "wrong": {"free": [str(V ** (m + 1)), str(V ** (m + 1) - 1)]},
    }


def verify(params):
    import numpy as np

    table = np.ones([params["V"]] * (params["m"] + 1), dtype=bool)
    table[..., -1] = False
    return {"free": int(table.sum())}
