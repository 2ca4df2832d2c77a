"""The course's two estimates from the counts.

`verify` builds the full list of pretended observations and counts in it.
"""

from fractions import Fraction

from exam_bank.course import digits, reference

CONTEXTS = [("at", "the"), ("in", "a"), ("of", "my"), ("on", "the")]
WORDS = ["house", "garden", "river", "school", "market", "harbour"]


def generate(rng):
    a, b = rng.choice(CONTEXTS)
    words = rng.sample(WORDS, 3)
    while True:
        n = rng.sample(range(1, 25), 3)
        V, i = rng.randint(10, 60), rng.randint(0, 2)
        total = sum(n)
        mle, smooth = Fraction(n[i], total), Fraction(n[i] + 1, total + V)
        wrong = [Fraction(n[i] + 1, total + 1), Fraction(n[i] + 1, total + 3), Fraction(n[i], total + V)]
        tie = any((v * 1000) % 1 == Fraction(1, 2) for v in (mle, smooth))
        if not tie and abs(mle - smooth) > Fraction(1, 50) and all(abs(w - smooth) > Fraction(1, 100) for w in wrong):
            break
    course, context = reference("noisy_channel"), f"{a} {b}"
    counts = {f"{context} {words[k]}": n[k] for k in range(3)}, {context: total}
    keys = {"mle": digits(course.mle_prob(words[i], context, *counts), 3)}
    keys["smooth"] = digits(course.addk_prob(words[i], context, *counts, V, 1), 3)
    return {
        "params": {"a": a, "b": b, "V": V, "w": words[i]}
        | {f"w{k}": words[k] for k in range(3)}
        | {f"n{k}": n[k] for k in range(3)},
        "solution": {"total": total, "n": n[i]} | keys,
        "answers": keys,
        "wrong": {"mle": [f"{float(smooth):.3f}"], "smooth": [f"{float(w):.3f}" for w in [*wrong, mle]]},
    }


def verify(params):
    seen = [params[f"w{k}"] for k in range(3) for _ in range(params[f"n{k}"])]
    vocabulary = [params[f"w{k}"] for k in range(3)] + [f"other {k}" for k in range(params["V"] - 3)]
    smoothed = seen + vocabulary
    w = params["w"]
    return {"mle": seen.count(w) / len(seen), "smooth": smoothed.count(w) / len(smoothed)}
