"""Perplexity of n tokens. `verify` takes the root of the product instead of the mean of the logarithms."""


def generate(rng):
    while True:
        steps = [rng.randint(1, 5) for _ in range(rng.randint(3, 6))]
        n, k = len(steps), sum(steps)
        if k % n:
            break
    ppl = f"{2 ** (k / n):.2f}"
    return {
        "params": {"p": [f"1/{2 ** s}" for s in steps]},
        "solution": {"k": k, "n": n, "ppl": ppl},
        "answers": {"ppl": ppl, "bits": f"{k:.2f}"},
        "wrong": {"ppl": [f"{k / n:.2f}"], "bits": [f"{k / n:.2f}"]},
    }


def verify(params):
    import math

    ps = [1 / int(text.split("/")[1]) for text in params["p"]]
    return {"ppl": math.prod(ps) ** (-1 / len(ps)), "bits": -math.log2(math.prod(ps))}
