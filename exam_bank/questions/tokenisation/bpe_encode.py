"""The course's BPE encoder. `verify` goes through the list once, in order, with replacements on spaced text."""

from exam_bank.course import reference

POOL = [
    "nest",
    "rest",
    "tests",
    "rested",
    "steer",
    "tense",
    "sent",
    "street",
    "stone",
    "notes",
    "onset",
    "tree",
    "reset",
    "tones",
]


def join(symbols, a, b):
    out, i = [], 0
    while i < len(symbols):
        hit = symbols[i : i + 2] == [a, b]
        out.append(a + b if hit else symbols[i])
        i += 2 if hit else 1
    return out


def learn(rng):
    """Five merges of pairs that occur in a sample of the words."""
    words, merges = [list(w) for w in rng.sample(POOL, 5)], []
    for _ in range(5):
        pairs = sorted({(a, b) for w in words for a, b in zip(w, w[1:])})
        a, b = rng.choice(pairs)
        merges.append((a, b))
        words = [join(w, a, b) for w in words]
    return merges


def generate(rng):
    encode = reference("tokenizers").encode_bpe
    while True:
        merges = learn(rng)
        first, second = rng.sample(POOL, 2)
        t1, t2 = encode(first, merges), encode(second, merges)
        short, long = len(first) - len(t1), len(second) - len(t2)
        if len(set(merges)) == 5 and 1 <= short <= 2 and long >= 2 and len(t2) >= 2:
            break
    return {
        "params": {"merges": ", ".join(f"{a}+{b}" for a, b in merges), "first": first, "second": second},
        "solution": {"t1": " ".join(t1), "t2": " ".join(t2)},
        "answers": {"first": [" ".join(t1)], "second": [" ".join(t2)]},
        "wrong": {"first": [" ".join(first)], "second": [" ".join(second)]},
    }


def verify(params):
    import re

    def run(word):
        text = " ".join(word)
        for rule in params["merges"].split(", "):
            a, b = rule.split("+")
            text = re.sub(rf"(?<!\S){a} {b}(?!\S)", a + b, text)
        return text

    return {"first": run(params["first"]), "second": run(params["second"])}
