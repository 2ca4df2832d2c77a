"""The course's estimate from the counts. `verify` lists the successors of a."""

from fractions import Fraction

from exam_bank.course import digits, reference

PAIRS = [("tea", "pot"), ("rain", "falls"), ("old", "trees"), ("night", "train"), ("river", "bank"), ("paper", "boat")]


def generate(rng):
    a, b = rng.choice(PAIRS)
    while True:
        ca, n = rng.randint(20, 90), rng.randint(100, 400)
        end, cab = rng.randint(3, ca // 3), rng.randint(4, ca // 2)
        cb = cab + rng.randint(5, 60)
        p = Fraction(cab, ca)
        wrong = [Fraction(cab, ca - end), Fraction(cab, cb), Fraction(cab, n)]
        if end + cab < ca and (p * 1000) % 1 != Fraction(1, 2) and all(abs(w - p) > Fraction(1, 100) for w in wrong):
            break
    key = digits(reference("noisy_channel").mle_prob(b, a, {f"{a} {b}": cab}, {a: ca}), 3)
    return {
        "params": {"n": n, "a": a, "b": b, "ca": ca, "end": end, "cab": cab, "cb": cb},
        "solution": {"p": key},
        "answers": {"p": key},
        "wrong": {"p": [f"{float(w):.3f}" for w in wrong]},
    }


def verify(params):
    other = params["ca"] - params["cab"] - params["end"]
    successors = [params["b"]] * params["cab"] + ["END"] * params["end"] + ["other"] * other
    return {"p": successors.count(params["b"]) / len(successors)}
