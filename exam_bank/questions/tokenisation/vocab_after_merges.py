"""Letters, the course's merges, specials. `verify` really merges and builds the set of symbols."""

from exam_bank.course import reference

POOL = ["banana", "bandit", "cabin", "dancer", "ladder", "garden", "planet", "pattern", "tandem", "winter"]


def generate(rng):
    words = rng.sample(POOL, 3)
    letters = sorted(set("".join(words)))
    k, s = rng.randint(3, 8), rng.randint(2, 5)
    size = len(letters) + len(reference("tokenizers").train_bpe(dict.fromkeys(words, 1), k)) + s
    wrong = {str(k + s), str(len(letters) + s), str(len("".join(words)) + k + s)} - {str(size)}
    return {
        "params": {"words": ", ".join(words), "k": k, "s": s},
        "solution": {"letters": len(letters), "alphabet": " ".join(letters), "size": size},
        "answers": {"size": str(size)},
        "wrong": {"size": sorted(wrong)},
    }


def verify(params):
    from collections import Counter

    words = [list(w) for w in params["words"].split(", ")]
    symbols = {ch for w in words for ch in w} | {f"<special {i}>" for i in range(params["s"])}
    for _ in range(params["k"]):
        a, b = Counter(p for w in words for p in zip(w, w[1:])).most_common(1)[0][0]
        symbols.add(a + b)
        merged = []
        for w in words:
            out = []
            for ch in w:
                if out and out[-1] == a and ch == b:
                    out[-1] = a + b
                else:
                    out.append(ch)
            merged.append(out)
        words = merged
    return {"size": len(symbols)}
