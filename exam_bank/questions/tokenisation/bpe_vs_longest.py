"""The course's BPE and a longest match on one word where they differ.

`verify` uses replacements and a regular expression.
"""

from exam_bank.course import reference

POOL = [
    "nested",
    "rested",
    "tested",
    "steered",
    "tensest",
    "sentence",
    "streets",
    "onset",
    "notes",
    "stones",
    "renter",
    "resets",
]


def join(symbols, a, b):
    out, i = [], 0
    while i < len(symbols):
        hit = symbols[i : i + 2] == [a, b]
        out.append(a + b if hit else symbols[i])
        i += 2 if hit else 1
    return out


def learn(rng):
    """Four merges of pairs that occur in a sample of the words."""
    words, merges = [list(w) for w in rng.sample(POOL, 5)], []
    for _ in range(4):
        pairs = sorted({(a, b) for w in words for a, b in zip(w, w[1:])})
        a, b = rng.choice(pairs)
        merges.append((a, b))
        words = [join(w, a, b) for w in words]
    return merges


def longest_match(word, vocab):
    out = []
    while word:
        piece = max((p for p in vocab if word.startswith(p)), key=len)
        out.append(piece)
        word = word[len(piece) :]
    return out


def generate(rng):
    while True:
        merges, word = learn(rng), rng.choice(POOL)
        symbols = reference("tokenizers").encode_bpe(word, merges)
        greedy = longest_match(word, {*word, *(a + b for a, b in merges)})
        if len({a + b for a, b in merges}) == 4 and greedy != symbols:
            break
    bpe, longest = " ".join(symbols), " ".join(greedy)
    return {
        "params": {"merges": ", ".join(f"{a}+{b}" for a, b in merges), "word": word},
        "solution": {"bpe": bpe, "longest": longest},
        "answers": {"bpe": [bpe], "longest": [longest]},
        "wrong": {"bpe": [longest], "longest": [bpe]},
    }


def verify(params):
    import re

    rules = [rule.split("+") for rule in params["merges"].split(", ")]
    ranks = {(a, b): i for i, (a, b) in enumerate(rules)}
    symbols = list(params["word"])
    while any(pair in ranks for pair in zip(symbols, symbols[1:])):
        a, b = min((p for p in zip(symbols, symbols[1:]) if p in ranks), key=ranks.get)
        symbols = re.sub(rf"(?<!\S){a} {b}(?!\S)", a + b, " ".join(symbols)).split(" ")
    pieces = sorted((a + b for a, b in rules), key=len, reverse=True)
    return {"bpe": " ".join(symbols), "longest": " ".join(re.findall("|".join(pieces) + "|.", params["word"]))}
