"""The course's best path. `verify` multiplies the probabilities of all paths as fractions."""

import math
from fractions import Fraction
from itertools import product

from exam_bank.course import reference
from exam_bank.figures import tree


def generate(rng):
    prefixes = ["".join(p) for n in range(3) for p in product("ab", repeat=n)]
    while True:
        cost = {prefix + ch: rng.randint(1, 5) for prefix in prefixes for ch in "ab"}
        total = {"".join(leaf): sum(cost["".join(leaf[:k])] for k in (1, 2, 3)) for leaf in product("ab", repeat=3)}
        ranked = sorted(total, key=total.get)
        greedy = ""
        for _ in range(3):
            greedy += min("ab", key=lambda ch, g=greedy: cost[g + ch])
        ties = any(cost[p + "a"] == cost[p + "b"] for p in prefixes)
        if not ties and total[ranked[0]] < total[ranked[1]] and greedy != ranked[0]:
            break
    course = reference("decoding")
    model = course.TableLM(3, 2, lambda ids: [2.0 ** -cost["".join("ab"[k] for k in ids) + ch] for ch in "ab"] + [0.0])
    ids, bits, _ = course.best_path(model, 3)
    best, bits = "".join("ab"[k] for k in ids), round(bits / math.log(2))
    other = next(leaf for leaf in ranked[1:] if leaf != greedy)
    choices = [
        (f"{best}, 1/{2**bits}", True, ""),
        (f"{greedy}, 1/{2 ** total[greedy]}", False, "the greedy path"),
        (f"{other}, 1/{2 ** total[other]}", False, "not the lowest sum"),
        (f"{best}, 1/{total[best]}", False, "reads the sum of bits as the inverse probability"),
    ]

    def below(prefix):
        if len(prefix) == 3:
            return []
        return [(ch, str(cost[prefix + ch]), below(prefix + ch)) for ch in "ab"]

    alt = "Tree of costs. " + " ".join(
        f"{f'After {p!r}' if p else 'At the start'} the letter a costs {cost[p + 'a']} and b costs {cost[p + 'b']}."
        for p in prefixes
    )
    return {
        "params": {"cost": cost},
        "solution": {
            "best": best,
            "cost": bits,
            "den": 2**bits,
            "greedy": greedy,
            "gcost": total[greedy],
        },
        "choices": {"path": choices},
        "answers": {},
        "figures": {"tree": tree(below(""), alt=alt)},
    }


def verify(params):
    p = {}
    for leaf in ("".join(x) for x in product("ab", repeat=3)):
        p[leaf] = Fraction(1)
        for k in (1, 2, 3):
            p[leaf] /= 2 ** params["cost"][leaf[:k]]
    best = max(p, key=p.get)
    return {"path": f"{best}, 1/{p[best].denominator}"}
