"""Argmax of p(x|y) p(y). `verify` compares sums of logarithms instead of products."""

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
    why = {sound: "maximises p(x|y) only", lm: "maximises p(y) only"}
    params = {f"y{i}": names[i] for i in range(4)}
    params |= {f"c{i}": f"{channel[i] / 100:.2f}" for i in range(4)}
    params |= {f"l{i}": f"{prior[i] / 100:.2f}" for i in range(4)}
    return {
        "params": params,
        "solution": {
            "products": ", ".join(map(str, product)),
            "best": names[best],
            "sound": names[sound],
            "prior": names[lm],
        },
        "choices": {"best": [(names[i], i == best, why.get(i, "maximises neither")) for i in range(4)]},
        "answers": {},
    }


def verify(params):
    import math

    score = {params[f"y{i}"]: math.log(float(params[f"c{i}"])) + math.log(float(params[f"l{i}"])) for i in range(4)}
    return {"best": max(score, key=score.get)}
