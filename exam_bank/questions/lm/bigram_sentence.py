"""The course's bigram counts and estimates. `verify` finds successors with string search and sums logarithms."""

import math
from collections import Counter
from fractions import Fraction

from exam_bank.course import digits, reference

WORDS = ["cats", "dogs", "see", "hear", "birds"]


def generate(rng):
    while True:
        sentences = [[rng.choice(WORDS) for _ in range(rng.randint(2, 4))] for _ in range(4)]
        padded = [["START", *s, "END"] for s in sentences]
        pairs = Counter(p for s in padded for p in zip(s, s[1:]))
        context = Counter(w for s in padded for w in s[:-1])
        test = [rng.choice(WORDS) for _ in range(2)]
        path = ["START", *test, "END"]
        p = [Fraction(pairs[a, b], context[a]) for a, b in zip(path, path[1:]) if context[a]]
        if len(p) < 3 or test[0] == test[1] or test in sentences or 0 in p or max(p) == 1:
            continue
        a, b = test
        prob = p[0] * p[1] * p[2]
        ratio, word = p[1], Counter(w for s in sentences for w in s)
        wrong = [
            Fraction(pairs[a, b], word[b]),
            Fraction(pairs[a, b] + 1, context[a] + 6),
            Fraction(pairs[a, b], sum(pairs.values())),
        ]
        ok = all(abs(w - ratio) > Fraction(1, 100) for w in wrong) and context[a] > 2
        ties = (ratio * 1000) % 1 == Fraction(1, 2) or (prob * 10000) % 1 == Fraction(1, 2)
        if ok and not ties and prob > Fraction(1, 100):
            break
    course = reference("noisy_channel")
    counted = course.count_ngrams(sentences, 2)
    steps = [course.mle_prob(y, x, *counted) for x, y in zip([course.B, *test], [*test, course.E])]
    key, whole = digits(steps[1], 3), digits(math.prod(steps), 4)
    return {
        "params": {f"s{i}": " ".join(s) for i, s in enumerate(padded)} | {"a": a, "b": b, "test": f"{a} {b}"},
        "solution": {
            "ca": context[a],
            "cab": pairs[a, b],
            "ratio": key,
            "terms": r"\cdot".join(r"\frac{%d}{%d}" % (pairs[x, y], context[x]) for x, y in zip(path, path[1:])),
            "prob": whole,
        },
        "answers": {"ratio": key, "sentence": whole},
        "wrong": {"ratio": [f"{float(w):.3f}" for w in wrong], "sentence": [f"{float(p[0] * p[1]):.4f}"]},
    }


def verify(params):
    import re

    text = " | ".join(params[f"s{i}"] for i in range(4))

    def estimate(a, b):
        successors = re.findall(rf"\b{a} (?=(\w+))", text)
        return successors.count(b) / len(successors)

    path = ["START", *params["test"].split(), "END"]
    logs = sum(math.log(estimate(x, y)) for x, y in zip(path, path[1:]))
    return {"ratio": estimate(params["a"], params["b"]), "sentence": math.exp(logs)}
