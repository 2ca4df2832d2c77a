"""What the course's top-p keeps.

`verify` tries all subsets and takes the smallest, most probable one that reaches p.
"""

from itertools import combinations

from exam_bank.course import reference


def generate(rng):
    while True:
        parts = rng.sample(range(3, 50), 4)
        parts.append(100 - sum(parts))
        if len(set(parts)) < 5 or min(parts) < 3:
            continue
        limit = rng.choice([60, 70, 80, 90])
        order = sorted(range(5), key=lambda i: -parts[i])
        sums = [sum(parts[i] for i in order[: n + 1]) for n in range(5)]
        size = next(n + 1 for n, s in enumerate(sums) if s >= limit)
        if 2 <= size <= 4 and all(abs(s - limit) > 1 for s in sums):
            break

    course = reference("decoding")
    warped = course.warp(course.tensor([[v / 100 for v in parts]]).log(), 1.0, 0, limit / 100)[0]
    kept = [i for i, p in enumerate(warped.tolist()) if p > 0]

    def names(indices):
        return ", ".join(sorted("VWXYZ"[i] for i in indices))

    def two(v):
        return f"{v / 100:.2f}"

    tail = sorted(order, key=parts.__getitem__)[:size]
    options = [
        (names(kept), True, ""),
        (names(order[: size - 1]), False, "leaves out the symbol that crosses the limit"),
        (names(order[: size + 1]), False, "keeps one symbol too many"),
        (names([*order[: size - 1], order[-1]] if size < 4 else tail), False, "not the most probable symbols"),
    ]
    return {
        "params": {"w": ", ".join(map(two, parts)), "limit": two(limit)},
        "solution": {"sums": ", ".join(map(two, sums)), "kept": names(kept)},
        "choices": {"kept": options},
        "answers": {},
    }


def verify(params):
    w = dict(zip("VWXYZ", (round(100 * float(x)) for x in params["w"].split(", "))))
    limit = round(100 * float(params["limit"]))
    for size in range(1, 6):
        sets = [s for s in combinations("VWXYZ", size) if sum(w[c] for c in s) >= limit]
        if sets:
            return {"kept": ", ".join(max(sets, key=lambda s: sum(w[c] for c in s)))}
    return {}
