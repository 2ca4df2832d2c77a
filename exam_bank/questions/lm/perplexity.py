"""2^(mean bits). `verify` takes the inverse of the geometric mean of the probabilities."""

from fractions import Fraction


def generate(rng):
    while True:
        k = [rng.randint(1, 6) for _ in range(4)]
        bits = Fraction(sum(k), 4)
        ppl = 2.0 ** float(bits)
        wrong = [sum(2**x for x in k) / 4, 2.0 ** sum(k), float(bits)]
        if len(set(k)) > 2 and all(abs(w - ppl) > 0.2 for w in wrong):
            break
    return {
        "params": {f"p{i}": f"1/{2**x}" for i, x in enumerate(k)},
        "solution": {"costs": ", ".join(map(str, k)), "bits": f"{float(bits):.2f}", "ppl": f"{ppl:.2f}"},
        "answers": {"bits": f"{float(bits):.2f}", "ppl": f"{ppl:.2f}"},
        "wrong": {"bits": [str(sum(k))], "ppl": [f"{w:.2f}" for w in wrong]},
    }


def verify(params):
    import math

    p = math.prod(float(Fraction(params[f"p{i}"])) for i in range(4))
    return {"bits": -math.log2(p) / 4, "ppl": p ** (-1 / 4)}
