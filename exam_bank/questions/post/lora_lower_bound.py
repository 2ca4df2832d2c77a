"""2 r sqrt(N). `verify` tries all factor pairs of N."""


def generate(rng):
    root, r = (
        rng.choice([100, 200, 250, 300, 400, 500, 512, 600, 750, 768, 800, 900, 1000, 1024, 1200, 1500, 2000, 2048]),
        rng.choice([1, 2, 3, 4, 6, 8, 16]),
    )
    N, least = root * root, 2 * r * root
    return {
        "params": {"r": r, "N": N},
        "solution": {"root": root, "least": least},
        "answers": {"least": str(least)},
        "wrong": {"least": [str(r * root), *([str(N // r)] if N // r != least else [])]},
    }


def verify(params):
    N = params["N"]
    return {"least": min(params["r"] * (d + N // d) for d in range(1, N + 1 if N < 10**4 else 3000) if N % d == 0)}
