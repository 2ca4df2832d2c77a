"""Argmax and a probability. `verify` counts a hundred equally likely draws."""


def generate(rng):
    while True:
        parts = [rng.randint(5, 80) for _ in range(3)]
        if sum(parts) == 100 and len(set(parts)) == 3 and parts[2] not in (33, max(parts)):
            break
    a, b, c = rng.sample("STUVWXYZ", 3)
    names = [a, b, c]
    best = names[parts.index(max(parts))]
    other = next(n for n in names if n not in (best, c))
    options = [
        (f"{best}; in {parts[2]} % of the runs", True, ""),
        (f"{best}; never", False, "sampling isn't greedy"),
        (f"{best}; in 33 % of the runs", False, "symbols aren't equally likely"),
        (f"{other}; in {parts[2]} % of the runs", False, "not the most probable symbol"),
    ]
    return {
        "params": {"a": a, "b": b, "c": c} | {f"p{k}": f"{p / 100:.2f}" for k, p in zip("abc", parts)},
        "solution": {"best": best, "pct": parts[2]},
        "choices": {"step": options},
        "answers": {},
    }


def verify(params):
    from collections import Counter

    draws = Counter()
    for k in "abc":
        draws[params[k]] += round(100 * float(params["p" + k]))
    return {"step": f"{draws.most_common(1)[0][0]}; in {draws[params['c']]} % of the runs"}
