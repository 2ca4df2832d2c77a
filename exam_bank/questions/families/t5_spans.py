"""T - sum + k and sum + k + 1. `verify` builds both sequences and puts the text together again."""


def generate(rng):
    k = rng.randint(2, 4)
    spans = [rng.randint(1, 5) for _ in range(k)]
    T, total = rng.randint(30, 120), sum(spans)
    if total == k:
        spans[0] += 1
        total += 1
    return {
        "params": {"T": T, "k": k, "spans": ", ".join(map(str, spans[:-1])) + f" and {spans[-1]}"},
        "solution": {"sum": total, "input": T - total + k, "target": total + k + 1},
        "answers": {"input": str(T - total + k), "target": str(total + k + 1)},
        "wrong": {"input": [str(T - total), str(T)], "target": [str(total), str(total + k)]},
    }


def verify(params):
    spans = [int(s) for s in params["spans"].replace(" and ", ", ").split(", ")]
    text, source, target = list(range(params["T"])), [], []
    position = 0
    for i, s in enumerate(spans):
        source += [*text[position : position + 1], f"<{i}>"]
        target += [f"<{i}>", *text[position + 1 : position + 1 + s]]
        position += 1 + s
    source += text[position:]
    target.append(f"<{len(spans)}>")
    words = [t for t in source + target if isinstance(t, int)]
    assert sorted(words) == text
    return {"input": len(source), "target": len(target)}
