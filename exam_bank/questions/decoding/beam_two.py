"""The course's beam search with two places. `verify` prunes the full list of prefixes with numpy-free sorting."""

from itertools import product

from exam_bank.course import reference
from exam_bank.figures import tree


def generate(rng):
    prefixes = ["".join(p) for n in range(3) for p in product("ab", repeat=n)]
    while True:
        cost = {prefix + ch: rng.randint(1, 15) for prefix in prefixes for ch in "ab"}

        def total(text, cost=cost):
            return sum(cost[text[: k + 1]] for k in range(len(text)))

        two = sorted(("".join(p) for p in product("ab", repeat=2)), key=total)
        kept = two[:2]
        three = sorted((t + ch for t in kept for ch in "ab"), key=total)
        everything = sorted(("".join(p) for p in product("ab", repeat=3)), key=total)
        greedy = ""
        for _ in range(3):
            greedy += min("ab", key=lambda ch, g=greedy: cost[g + ch])
        clear = len({total(t) for t in two}) == 4 and len({total(t) for t in everything}) == 8
        if (
            clear
            and cost["a"] != cost["b"]
            and all(cost[p + "a"] != cost[p + "b"] for p in prefixes)
            and three[0] != greedy
        ):
            break

    course = reference("decoding")
    model = course.TableLM(3, 2, lambda ids: [2.0 ** -cost["".join("ab"[k] for k in ids) + ch] for ch in "ab"] + [0.0])
    found = "".join("ab"[k] for k in course.beam(model, 3, 2, 0.0)[0])

    def below(prefix):
        if len(prefix) == 3:
            return []
        return [(ch, str(cost[prefix + ch]), below(prefix + ch)) for ch in "ab"]

    def show(texts):
        return ", ".join(f"{t} {total(t)}" for t in sorted(texts))

    alt = "Tree of costs. " + " ".join(
        f"{f'After {p!r}' if p else 'At the start'} the letter a costs {cost[p + 'a']} and b costs {cost[p + 'b']}."
        for p in prefixes
    )
    return {
        "params": {"cost": cost},
        "solution": {
            "two": show(two),
            "kept": " and ".join(kept),
            "three": show(three),
            "found": found,
            "greedy": greedy,
            "best": everything[0],
        },
        "answers": {"kept": [" ".join(kept), ", ".join(kept)], "found": [found]},
        "wrong": {"kept": [" ".join(reversed(kept))], "found": [greedy]},
        "figures": {"tree": tree(below(""), alt=alt)},
    }


def verify(params):
    beam = [(0, "")]
    kept = None
    for step in range(3):
        grown = sorted((c + params["cost"][t + ch], t + ch) for c, t in beam for ch in "ab")
        beam = grown[:2]
        if step == 1:
            kept = " ".join(t for _, t in beam)
    return {"kept": kept, "found": beam[0][1]}
