"""Sum of l + 1. `verify` pairs each padded sentence with itself shifted by one."""


def generate(rng):
    lengths = [rng.randint(2, 15) for _ in range(rng.randint(3, 5))]
    n, words = len(lengths), sum(lengths)
    return {
        "params": {"lengths": ", ".join(map(str, lengths[:-1])) + f" and {lengths[-1]}"},
        "solution": {"words": words, "n": n, "total": words + n},
        "answers": {"targets": str(words + n)},
        "wrong": {"targets": [str(words), str(words + 2 * n)]},
    }


def verify(params):
    total = 0
    for l in map(int, params["lengths"].replace(" and ", ", ").split(", ")):
        s = ["START"] + ["w"] * l + ["END"]
        total += len(list(zip(s[:-1], s[1:])))
    return {"targets": total}
