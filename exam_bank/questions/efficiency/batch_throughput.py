"""Tokens over tokens a step, times seconds. `verify` counts steps in a loop over the corpus."""


def generate(rng):
    while True:
        B, T, s = (
            rng.choice([10, 16, 20, 25, 32, 40, 50, 64]),
            rng.choice([100, 125, 200, 250, 500, 1000]),
            rng.choice([2, 3, 4, 5, 6]),
        )
        M = rng.randint(2, 60)
        steps, rest = divmod(M * 10**6, B * T)
        if not rest and steps * s % 60 == 0 and 5 <= steps * s // 60 <= 2000:
            break
    minutes = steps * s // 60
    return {
        "params": {"M": M, "B": B, "T": T, "s": s},
        "solution": {"per": B * T, "steps": steps, "minutes": minutes},
        "answers": {"minutes": str(minutes)},
        "wrong": {"minutes": [str(minutes * B), str(minutes * T), str(minutes * 60)]},
    }


def verify(params):
    left, seconds = params["M"] * 10**6, 0
    while left > 0:
        left -= params["B"] * params["T"]
        seconds += params["s"]
    return {"minutes": seconds / 60}
