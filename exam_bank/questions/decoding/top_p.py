"""The course's warp with top-p. `verify` uses numpy's cumulative sum in whole hundredths."""

from fractions import Fraction

from exam_bank.course import digits, reference


def generate(rng):
    while True:
        parts = rng.sample(range(2, 60), 4)
        parts.append(100 - sum(parts))
        if len(set(parts)) < 5 or min(parts) < 2:
            continue
        limit = rng.choice([50, 60, 70, 75, 80, 85, 90, 95])
        order = sorted(range(5), key=lambda i: -parts[i])
        sums = [sum(parts[i] for i in order[: n + 1]) for n in range(5)]
        size = next(n + 1 for n, s in enumerate(sums) if s >= limit)
        p = Fraction(parts[order[0]], sums[size - 1])
        if size < 2 or any(abs(s - limit) < 2 for s in sums) or size == 5:
            continue
        wrong = [Fraction(parts[order[0]], 100), Fraction(parts[order[0]], sums[size - 2])]
        if all(abs(x - p) > Fraction(1, 100) for x in wrong) and (p * 1000) % 1 != Fraction(1, 2):
            break

    course = reference("decoding")
    warped = course.warp(course.tensor([[v / 100 for v in parts]]).log(), 1.0, 0, limit / 100)[0]
    keys = {"size": str(int((warped > 0).sum())), "p": digits(warped[order[0]], 3)}

    def two(v):
        return f"{v / 100:.2f}"

    return {
        "params": {"w": ", ".join(map(two, parts)), "limit": two(limit), "best": "ABCDE"[order[0]]},
        "solution": {
            "sums": ", ".join(map(two, sums)),
            "total": two(sums[size - 1]),
            "size": keys["size"],
            "own": two(parts[order[0]]),
            "p": keys["p"],
        },
        "answers": keys,
        "wrong": {"size": [str(size - 1), str(size + 1)], "p": [f"{float(x):.3f}" for x in wrong]},
    }


def verify(params):
    import numpy as np

    w = np.sort([round(100 * float(x)) for x in params["w"].split(", ")])[::-1]
    size = int(np.searchsorted(np.cumsum(w), round(100 * float(params["limit"])))) + 1
    return {"size": size, "p": w[0] / w[:size].sum()}
