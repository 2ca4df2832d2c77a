"""The course's bigram estimates and decoder. `verify` counts expected cases in a large population of typed words."""

import math
from fractions import Fraction

from exam_bank.course import reference

CASES = [
    ("hoise", "the", ("house", "noise", "hoist", "horse")),
    ("thew", "he", ("threw", "the", "thaw", "chew")),
    ("form", "away", ("from", "for", "farm", "forum")),
    ("bale", "was", ("able", "pale", "ball", "bake")),
    ("cat", "we", ("eat", "can", "cut", "cast")),
]


def generate(rng):
    typed, prev, words = rng.choice(CASES)
    names = rng.sample(words, 4)
    while True:
        channel = rng.sample(range(5, 95, 5), 4)
        counts = rng.sample(range(3, 60), 4)
        product = [c * n for c, n in zip(channel, counts)]
        best = product.index(max(product))
        others = {channel.index(max(channel)), counts.index(max(counts))}
        ranked = sorted(product)
        if best not in others and ranked[3] >= 1.15 * ranked[2]:
            break
    total = sum(counts) + rng.randint(20, 200)
    course = reference("noisy_channel")
    seen = {f"{prev} {y}": n for y, n in zip(names, counts)}, {prev: total}
    model = {f"{course.B} {y}": math.log(course.mle_prob(y, prev, *seen)) for y in names}
    model |= {f"{y} {course.E}": 0.0 for y in names}
    chosen = course.decode([typed], [names], [[math.log(c / 1000) for c in channel]], model)[0][0]
    params = {"typed": typed, "prev": prev, "total": total} | {f"y{i}": names[i] for i in range(4)}
    params |= {f"c{i}": f"{channel[i] / 1000:.3f}" for i in range(4)} | {f"n{i}": counts[i] for i in range(4)}
    why = {channel.index(max(channel)): "the most likely error, whatever the context"}
    why.setdefault(counts.index(max(counts)), "the most frequent word after the context, whatever was typed")
    return {
        "params": params,
        "solution": {
            "best": chosen,
            "products": ", ".join(f"{n} {p / 1000:.3f}" for n, p in zip(names, product)),
        },
        "choices": {
            "best": [
                (n, n == chosen, "" if n == chosen else why.get(i, "the product is lower")) for i, n in enumerate(names)
            ]
        },
        "answers": {},
    }


def verify(params):
    people = 10**6 * params["total"]
    typed = [people * Fraction(params[f"n{i}"], params["total"]) * Fraction(params[f"c{i}"]) for i in range(4)]
    return {"best": params[f"y{max(range(4), key=typed.__getitem__)}"]}
