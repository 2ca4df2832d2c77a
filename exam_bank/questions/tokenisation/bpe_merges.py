"""The course's BPE trainer, where no two pairs are equally frequent.

`verify` repeats the words and works on spaced text with regular expressions.
"""

from collections import Counter

from exam_bank.course import reference

POOL = [
    "nest",
    "rest",
    "best",
    "tests",
    "resting",
    "steer",
    "tense",
    "sent",
    "rent",
    "steel",
    "trees",
    "street",
    "stone",
    "note",
]


def train(words, k):
    """The merges with their counts, or None when two pairs are equally frequent."""
    merges = []
    for _ in range(k):
        pairs = Counter()
        for symbols, n in words:
            for pair in zip(symbols, symbols[1:]):
                pairs[pair] += n
        (best, top), (_, next_best) = pairs.most_common(2)
        if top == next_best:
            return None
        merges.append(("".join(best), top))
        words = [(apply(symbols, best), n) for symbols, n in words]
    return merges


def apply(symbols, pair):
    out, i = [], 0
    while i < len(symbols):
        hit = tuple(symbols[i : i + 2]) == pair
        out.append("".join(pair) if hit else symbols[i])
        i += 2 if hit else 1
    return out


def generate(rng):
    while True:
        words = rng.sample(POOL, 4)
        counts = rng.sample(range(1, 10), 4)
        merges = train([(list(w), n) for w, n in zip(words, counts)], 3)
        if merges:
            break
    learned = reference("tokenizers").train_bpe(dict(zip(words, counts)), 3)
    names = ["".join(pair) for pair in learned]
    return {
        "params": {f"w{i}": w for i, w in enumerate(words)} | {f"n{i}": n for i, n in enumerate(counts)},
        "solution": {
            "trace": "; ".join(f"merge {i + 1} makes {m}, seen {n} times" for i, (m, n) in enumerate(merges)),
            "merges": ", ".join(names),
        },
        "answers": {"merges": [", ".join(names), ",".join(names), " ".join(names)]},
        "wrong": {"merges": [", ".join(reversed(names))]},
    }


def verify(params):
    import re

    text = " | ".join(" ".join(params[f"w{i}"]) for i in range(4) for _ in range(params[f"n{i}"]))
    found = []
    for _ in range(3):
        symbols = set(text.split()) - {"|"}
        counts = {(a, b): len(re.findall(rf"(?<!\S){a} (?={b}(?!\S))", text)) for a in symbols for b in symbols}
        a, b = max(counts, key=counts.get)
        text = re.sub(rf"(?<!\S){a} {b}(?!\S)", a + b, text)
        found.append(a + b)
    return {"merges": ", ".join(found)}
