"""Argmax of four factors. `verify` adds logarithms."""

from fractions import Fraction


def generate(rng):
    while True:
        rows = [[rng.randint(1, 9) for _ in range(4)] for _ in range(4)]
        full = [a * b * c * d for a, b, c, d in rows]
        no_end = [a * b * c for a, b, c, _ in rows]
        channel = [r[0] for r in rows]
        i, j, k = (v.index(max(v)) for v in (full, no_end, channel))
        ranked, second, third = sorted(full), sorted(no_end), sorted(channel)
        clear = ranked[3] > 1.1 * ranked[2] and second[3] > second[2] and third[3] > third[2]
        if clear and len({i, j, k}) == 3:
            break
    names = "KLMN"
    params = {}
    for r, row in enumerate(rows):
        params |= {f"{key}{r}": f"{value / 10:.1f}" for key, value in zip("csme", row)}
    why = {j: "leaves out END", k: "looks at the channel only"}
    return {
        "params": params,
        "solution": {
            "products": ", ".join(f"{n} {v}" for n, v in zip(names, full)),
            "best": names[i],
            "noend": names[j],
            "channel": names[k],
        },
        "choices": {
            "best": [(n, r == i, "" if r == i else why.get(r, "its product is smaller")) for r, n in enumerate(names)]
        },
        "answers": {},
    }


def verify(params):
    import math

    score = {n: sum(math.log(Fraction(params[f"{key}{r}"])) for key in "csme") for r, n in enumerate("KLMN")}
    return {"best": max(score, key=score.get)}
