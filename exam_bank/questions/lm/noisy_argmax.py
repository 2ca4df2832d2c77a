"""The course's decoder on a text of one word. `verify` adds logarithms and takes the largest sum."""

import math

from exam_bank.course import reference

SETS = [
    ("four candles", "fork handles", "for candles", "four handles"),
    ("ice cream", "I scream", "eyes cream", "I's cream"),
    ("a nice day", "an icy day", "a nice dye", "a niece day"),
    ("it is hard to hear", "it is hard to here", "it's hard too hear", "it is heart to hear"),
    ("write it down", "right it down", "write it town", "ride it down"),
]


def generate(rng):
    names = rng.sample(rng.choice(SETS), 4)
    while True:
        channel = [rng.randint(2, 60) for _ in range(4)]
        prior = [rng.randint(1, 30) for _ in range(4)]
        product = [c * p for c, p in zip(channel, prior)]
        best, sound, lm = (values.index(max(values)) for values in (product, channel, prior))
        ranked = sorted(product)
        clear = len(set(channel)) == len(set(prior)) == 4 and ranked[3] >= 1.15 * ranked[2]
        if clear and len({best, sound, lm}) == 3:
            break
    course = reference("noisy_channel")
    heard = [[math.log(c / 100) for c in channel]]
    model = {f"{course.B} {y}": math.log(p / 100) for y, p in zip(names, prior)} | {
        f"{y} {course.E}": 0.0 for y in names
    }
    chosen = course.decode(["x"], [names], heard, model)[0][0]
    why = {sound: "maximises p(x|y) only", lm: "maximises p(y) only"}
    params = {f"y{i}": names[i] for i in range(4)}
    params |= {f"c{i}": f"{channel[i] / 100:.2f}" for i in range(4)}
    params |= {f"l{i}": f"{prior[i] / 100:.2f}" for i in range(4)}
    return {
        "params": params,
        "solution": {
            "products": ", ".join(map(str, product)),
            "best": chosen,
            "sound": names[sound],
            "prior": names[lm],
        },
        "choices": {
            "best": [
                (n, n == chosen, "" if n == chosen else why.get(i, "maximises neither")) for i, n in enumerate(names)
            ]
        },
        "answers": {},
    }


def verify(params):
    score = {params[f"y{i}"]: math.log(float(params[f"c{i}"])) + math.log(float(params[f"l{i}"])) for i in range(4)}
    return {"best": max(score, key=score.get)}
