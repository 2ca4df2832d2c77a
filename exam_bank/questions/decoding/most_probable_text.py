"""Empty text; greedy loops. `verify` enumerates finished texts and runs greedy decoding for many steps."""

from fractions import Fraction
from itertools import product

PAIRS = [("ha", "ho"), ("la", "na"), ("tick", "tock"), ("very", "quite"), ("yes", "no")]


def generate(rng):
    a, b = rng.choice(PAIRS)
    while True:
        parts = [rng.randint(2, 14) for _ in range(3)]
        if sum(parts) == 20 and parts[0] > max(parts[1:]):
            break
    pa, pb, q = (Fraction(p, 20) for p in parts)
    options = [
        ("The empty text; it never ends", True, ""),
        (f'"{a}"; it never ends', False, "multiplies by less than one, so the empty text is more probable"),
        (f'"{a}"; it ends after one word', False, "END is never the most probable symbol"),
        ("The empty text; it ends at once", False, "END is never the most probable symbol"),
    ]

    def two(v):
        return f"{float(v):.2f}"

    return {
        "params": {"a": a, "b": b, "pa": two(pa), "pb": two(pb), "q": two(q)},
        "solution": {"one": f"{float(pa * q):.4f}"},
        "choices": {"text": options},
        "answers": {},
    }


def verify(params):
    p = {params["a"]: float(params["pa"]), params["b"]: float(params["pb"])}
    q = float(params["q"])
    finished = {}
    for length in range(5):
        for words in product(p, repeat=length):
            value = q
            for w in words:
                value *= p[w]
            finished[" ".join(words)] = value
    best = max(finished, key=finished.get)
    step = max([*p, "END"], key=lambda s: p.get(s, q))
    first = "The empty text" if best == "" else f'"{best}"'
    return {"text": f"{first}; it {'ends at once' if step == 'END' else 'never ends'}"}
