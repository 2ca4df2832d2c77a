"""l + 1 n-grams, whatever n. `verify` slides a window over the padded sentence."""


def generate(rng):
    n, l = rng.randint(2, 6), rng.randint(4, 30)
    return {
        "params": {"n": n, "pad": n - 1, "l": l},
        "solution": {"count": l + 1},
        "answers": {"count": str(l + 1)},
        "wrong": {"count": [str(l), str(l + n)]},
    }


def verify(params):
    padded = ["START"] * params["pad"] + ["word"] * params["l"] + ["END"]
    return {"count": len([padded[i : i + params["n"]] for i in range(len(padded) - params["n"] + 1)])}
