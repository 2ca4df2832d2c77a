"""(T / b)^2. `verify` counts the blocks that cover the score matrix."""


def generate(rng):
    b, n = rng.choice([16, 32, 48, 64, 96, 128]), rng.randint(4, 40)
    return {
        "params": {"T": b * n, "b": b},
        "solution": {"n": n, "ratio": n * n},
        "answers": {"ratio": str(n * n)},
        "wrong": {"ratio": [str(n), str(n * n * b)]},
    }


def verify(params):
    T, b = params["T"], params["b"]
    return {"ratio": len([(i, j) for i in range(0, T, b) for j in range(0, T, b)])}
