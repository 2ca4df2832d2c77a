"""Sums of the two differences. `verify` builds the rows as lists and compares them with the sentences."""


def generate(rng):
    while True:
        n, T = rng.randint(5, 7), rng.randint(6, 16)
        lengths = [rng.randint(2, 24) for _ in range(n)]
        pads, drops = [max(0, T - l) for l in lengths], [max(0, l - T) for l in lengths]
        if sum(pads) and sum(drops) and abs(sum(pads) - sum(drops)) > 1:
            break
    return {
        "params": {"n": n, "T": T, "lengths": ", ".join(map(str, lengths[:-1])) + f" and {lengths[-1]}"},
        "solution": {
            "pads": "+".join(map(str, pads)),
            "pad": sum(pads),
            "drops": "+".join(map(str, drops)),
            "drop": sum(drops),
        },
        "answers": {"pad": str(sum(pads)), "drop": str(sum(drops))},
        "wrong": {"pad": [str(sum(drops))], "drop": [str(sum(pads))]},
    }


def verify(params):
    T = params["T"]
    pad = drop = 0
    for l in map(int, params["lengths"].replace(" and ", ", ").split(", ")):
        sentence = [f"w{i}" for i in range(l)]
        row = (sentence + ["PAD"] * T)[:T]
        pad += row.count("PAD")
        drop += len(sentence) - sum(w in row for w in sentence)
    return {"pad": pad, "drop": drop}
