"""Counts and their excess. `verify` streams the tokens through counters."""

import math
from fractions import Fraction


def generate(rng):
    while True:
        E, c = rng.choice([3, 4]), Fraction(rng.choice([100, 125, 150]), 100)
        experts = [rng.randint(1, E) for _ in range(12)]
        counts = [experts.count(i + 1) for i in range(E)]
        cap = math.ceil(c * 12 / E)
        dropped = sum(max(0, n - cap) for n in counts)
        if dropped and min(counts) and dropped != max(counts):
            break
    naive = max(counts) - cap
    wrong = {"0", str(max(counts))} | ({str(naive)} if naive != dropped else set())
    return {
        "params": {"list": ", ".join(map(str, experts)), "E": E, "c": f"{float(c):g}"},
        "solution": {
            "counts": ", ".join(map(str, counts)),
            "largest": max(counts),
            "exact": f"{float(c * 12 / E):g}",
            "cap": cap,
            "dropped": dropped,
        },
        "answers": {"largest": str(max(counts)), "dropped": str(dropped)},
        "wrong": {"dropped": sorted(wrong)},
    }


def verify(params):
    from collections import Counter

    cap = -(-Fraction(params["c"]) * 12 // params["E"])
    sent, accepted, dropped = Counter(), Counter(), 0
    for expert in params["list"].split(", "):
        sent[expert] += 1
        if accepted[expert] < cap:
            accepted[expert] += 1
        else:
            dropped += 1
    return {"largest": max(sent.values()), "dropped": dropped}
