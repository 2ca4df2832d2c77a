"""The course's Viterbi search over the letters. `verify` tries all sets of cuts."""

from itertools import product

from exam_bank.course import digits, reference

WORDS = ["hugs", "past", "mind", "cart", "bold", "lent", "span", "clay"]


def generate(rng):
    while True:
        word = rng.choice(WORDS)
        spans = [(a, b) for a in range(4) for b in range(a + 2, 5) if (a, b) != (0, 4)]
        chosen = sorted(rng.sample(spans, 4))
        cost = {ch: rng.randint(4, 9) for ch in word}
        cost |= {word[a:b]: rng.randint(4, 14) for a, b in chosen}
        best = {0: (0, [])}
        tie = False
        for end in range(1, 5):
            options = sorted(
                (best[a][0] + cost[word[a:end]], best[a][1] + [word[a:end]]) for a in range(end) if word[a:end] in cost
            )
            tie |= len(options) > 1 and options[0][0] == options[1][0]
            best[end] = options[0]
        greedy, start = [], 0
        while start < 4:
            end = max(b for b in range(start + 1, 5) if word[start:b] in cost)
            greedy.append(word[start:end])
            start = end
        if not tie and greedy != best[4][1] and 2 <= len(best[4][1]) <= 3:
            break
    pieces = list(cost)
    path, score = reference("tokenizers").unigram_viterbi(word, {piece: -float(c) for piece, c in cost.items()})
    right, key = " ".join(path), digits(-score, 0)
    return {
        "params": {"word": word}
        | {f"q{i}": p for i, p in enumerate(pieces)}
        | {f"c{i}": cost[p] for i, p in enumerate(pieces)},
        "solution": {
            "best": right,
            "cost": key,
            "greedy": " ".join(greedy),
            "gcost": sum(cost[p] for p in greedy),
        },
        "answers": {"split": [right], "cost": key},
        "wrong": {"split": [" ".join(greedy)], "cost": [str(sum(cost[p] for p in greedy))]},
    }


def verify(params):
    cost = {params[f"q{i}"]: params[f"c{i}"] for i in range(8)}
    found = []
    for cuts in product(("", " "), repeat=3):
        w = params["word"]
        pieces = (w[0] + cuts[0] + w[1] + cuts[1] + w[2] + cuts[2] + w[3]).split(" ")
        if all(p in cost for p in pieces):
            found.append((sum(cost[p] for p in pieces), " ".join(pieces)))
    return {"split": min(found)[1], "cost": min(found)[0]}
