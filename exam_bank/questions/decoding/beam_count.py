"""k V and k. `verify` lists all extensions."""

from itertools import product


def generate(rng):
    while True:
        k, V = rng.randint(2, 12), rng.randint(15, 120)
        options = [(k * V, k), (V, k), (k * V, V), (V**2, k)]
        if len(set(options)) == 4:
            break
    why = ["", "extends only one of the partial texts", "keeps too many", "takes V partial texts"]
    return {
        "params": {"k": k, "V": V},
        "solution": {"n": k * V},
        "choices": {"count": [(f"{a} compared, {b} kept", i == 0, why[i]) for i, (a, b) in enumerate(options)]},
        "answers": {},
    }


def verify(params):
    grown = list(product(range(params["k"]), range(params["V"])))
    return {"count": f"{len(grown)} compared, {len(grown[: params['k']])} kept"}
