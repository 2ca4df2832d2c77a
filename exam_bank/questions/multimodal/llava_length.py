"""T - 1 + (s/p)^2. `verify` splices real lists."""


def generate(rng):
    p, T = rng.choice([14, 16, 28, 32]), rng.randint(8, 90)
    side = rng.randint(6, 26)
    n = side * side
    return {
        "params": {"T": T, "s": side * p, "p": p},
        "solution": {"n": n, "length": T - 1 + n},
        "answers": {"length": str(T - 1 + n)},
        "wrong": {"length": [str(T + n), str(n), str(T - 1 + side)]},
    }


def verify(params):
    prompt = ["word"] * (params["T"] - 1)
    prompt.insert(3, "IMAGE")
    corners = range(0, params["s"], params["p"])
    at = prompt.index("IMAGE")
    prompt[at : at + 1] = [(x, y) for x in corners for y in corners]
    return {"length": len(prompt)}
