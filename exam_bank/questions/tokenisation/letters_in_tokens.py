"""Letters of the joined word. `verify` uses a Counter of all letters and a list of tokens."""

PIECES = [
    "str",
    "aw",
    "berry",
    "ban",
    "ana",
    "tree",
    "sse",
    "ss",
    "mm",
    "itt",
    "pepper",
    "all",
    "ee",
    "lett",
    "er",
    "oo",
    "book",
    "noon",
    "sess",
    "miss",
    "ipp",
    "tatt",
    "run",
    "nn",
]


def generate(rng):
    while True:
        tokens = rng.sample(PIECES, 4)
        word = "".join(tokens)
        letter = rng.choice(sorted(set(word)))
        count, holding = word.count(letter), sum(letter in t for t in tokens)
        if count >= 3 and holding >= 2 and count != holding:
            break
    return {
        "params": {"tokens": ", ".join(tokens), "letter": letter},
        "solution": {"word": word, "count": count, "holding": holding},
        "answers": {"count": str(count), "tokens": str(holding)},
        "wrong": {"count": [str(holding)], "tokens": [str(count)]},
    }


def verify(params):
    from collections import Counter

    tokens = params["tokens"].split(", ")
    letters = Counter(ch for t in tokens for ch in t)
    return {"count": letters[params["letter"]], "tokens": len([t for t in tokens if params["letter"] in list(t)])}
