"""Most frequent pair, without ties. `verify` merges in spaced text and counts tokens."""

from collections import Counter

SPLITS = [
    ("n est", "nest"),
    ("r est", "rest"),
    ("st on e", "stone"),
    ("t on e", "tone"),
    ("on ly", "only"),
    ("r est ed", "rested"),
    ("st ed", "sted"),
    ("n ot ed", "noted"),
    ("ot her", "other"),
    ("her d", "herd"),
    ("r ot", "rot"),
    ("st r on g", "strong"),
]


def generate(rng):
    while True:
        words = [s for s, _ in rng.sample(SPLITS, 4)]
        counts = rng.sample(range(1, 12), 4)
        pairs = Counter()
        for word, n in zip(words, counts):
            symbols = word.split()
            for pair in zip(symbols, symbols[1:]):
                pairs[pair] += n
        ranked = pairs.most_common(2)
        once = Counter(p for w in words for p in zip(w.split(), w.split()[1:]))
        if len(ranked) == 2 and ranked[0][1] > ranked[1][1] and max(once.values()) > 1:
            break
    (best, top), (other, _) = ranked
    before = sum(n * len(w.split()) for w, n in zip(words, counts))
    return {
        "params": {f"w{i}": w for i, w in enumerate(words)} | {f"n{i}": n for i, n in enumerate(counts)},
        "solution": {"pair": "".join(best), "top": top, "before": before, "after": before - top},
        "answers": {"pair": ["".join(best), " ".join(best), "+".join(best)], "tokens": str(before - top)},
        "wrong": {"pair": ["".join(other)], "tokens": [str(before), str(before - 1)] if top > 1 else [str(before)]},
    }


def verify(params):
    import re

    text = " | ".join(params[f"w{i}"] for i in range(4) for _ in range(params[f"n{i}"]))
    symbols = set(text.split()) - {"|"}
    counts = {(a, b): len(re.findall(rf"(?<!\S){a} (?={b}(?!\S))", text)) for a in symbols for b in symbols}
    a, b = max(counts, key=counts.get)
    merged = re.sub(rf"(?<!\S){a} {b}(?!\S)", a + b, text)
    return {"pair": a + b, "tokens": len([t for t in merged.split() if t != "|"])}
