"""T + L - 1 against L. `verify` finds the longest path in the graph of cells."""


def generate(rng):
    L, T = rng.randint(2, 12), rng.randint(15, 200)
    return {
        "params": {"L": L, "T": T},
        "solution": {"steps": T + L - 1},
        "answers": {"steps": str(T + L - 1), "attention": str(L)},
        "wrong": {
            "steps": [str(T * L), str(T + L), str(L)] if L != T + L - 1 else [],
            "attention": [str(T + L - 1), str(T * L)],
        },
    }


def verify(params):
    done = {}
    for layer in range(params["L"]):
        for t in range(params["T"]):
            done[layer, t] = 1 + max(done.get((layer - 1, t), 0), done.get((layer, t - 1), 0))
    wave = [0] * params["T"]
    for _ in range(params["L"]):
        wave = [1 + max(wave)] * params["T"]
    return {"steps": max(done.values()), "attention": max(wave)}
