"""The course's bigram estimate of END. `verify` searches the text with regular expressions."""

from fractions import Fraction

from exam_bank.course import digits, reference

WORDS = ["go", "home", "now", "we"]


def generate(rng):
    while True:
        sentences = [[rng.choice(WORDS) for _ in range(rng.randint(2, 4))] for _ in range(5)]
        w = rng.choice(WORDS)
        c, e = sum(s.count(w) for s in sentences), sum(s[-1] == w for s in sentences)
        if c < 3 or not 0 < e < c:
            continue
        p = Fraction(e, c)
        words = sum(map(len, sentences))
        wrong = [Fraction(e, 5), Fraction(c, words)]
        if (p * 1000) % 1 != Fraction(1, 2) and all(abs(x - p) > Fraction(1, 50) for x in wrong):
            break
    course = reference("noisy_channel")
    key = digits(course.mle_prob(course.E, w, *course.count_ngrams(sentences, 2)), 3)
    return {
        "params": {"n": 5, "list": "; ".join(f'"{" ".join(s)}"' for s in sentences), "w": w},
        "solution": {"c": c, "e": e, "p": key},
        "answers": {"p": key},
        "wrong": {"p": [f"{float(x):.3f}" for x in wrong]},
    }


def verify(params):
    import re

    w = params["w"]
    ends = len(re.findall(rf'\b{w}"', params["list"]))
    return {"p": ends / len(re.findall(rf"\b{w}\b", params["list"]))}
