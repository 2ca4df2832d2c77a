"""Positions computed with and without a KV cache. `verify` simulates the steps with a set of stored positions."""


def generate(rng):
    m, n = rng.randint(3, 60), rng.randint(3, 40)
    last, everything, cached = m + n - 1, n * m + n * (n - 1) // 2, m + n - 1
    return {
        "params": {"m": m, "n": n},
        "solution": {"last": last, "all": everything, "cached": cached},
        "answers": {"work": [[str(last), str(everything)], ["1", str(cached)]]},
    }


def verify(params):
    text, stored, plain, cached = list(range(params["m"])), set(), [], []
    for _ in range(params["n"]):
        plain.append(len(text))
        new = [position for position in text if position not in stored]
        stored.update(new)
        cached.append(len(new))
        text.append(len(text))
    return {"work": [[plain[-1], sum(plain)], [cached[-1], sum(cached)]]}
