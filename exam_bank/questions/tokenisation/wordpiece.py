"""The course's WordPiece. `verify` recurses on the rest of the word with an explicit scan of the vocabulary."""

from exam_bank.course import reference

WORDS = [
    "unfolding",
    "retraining",
    "transformer",
    "embedding",
    "decoding",
    "attention",
    "tokenizers",
    "relearning",
    "uncovered",
    "predictions",
]


def generate(rng):
    while True:
        word = rng.choice(WORDS)
        vocab = set()
        for _ in range(3):
            cuts = sorted(rng.sample(range(1, len(word)), rng.randint(2, 3)))
            ends = [0, *cuts, len(word)]
            vocab |= {("##" if a else "") + word[a:b] for a, b in zip(ends, ends[1:])}
        pieces = reference("tokenizers").wordpiece_encode(word, sorted(vocab))
        if 3 <= len(pieces) <= 5 and 7 <= len(vocab) <= 10:
            break
    right = " ".join(pieces)
    return {
        "params": {"vocab": ", ".join(sorted(vocab)), "word": word},
        "solution": {"pieces": right},
        "answers": {"pieces": [right]},
        "wrong": {"pieces": [right.replace("##", "")]},
    }


def verify(params):
    vocab = params["vocab"].split(", ")

    def rest(text, inside):
        if not text:
            return []
        fits = [p for p in vocab if p.startswith("##") == inside and text.startswith(p.removeprefix("##"))]
        longest = sorted(fits, key=len)[-1]
        return [longest, *rest(text[len(longest.removeprefix("##")) :], True)]

    return {"pieces": " ".join(rest(params["word"], False))}
