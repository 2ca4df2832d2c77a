"""The prefixes that the course's best-first search takes up.

`verify` sorts all nodes by path cost and cuts at the first leaf.
"""

import math

from exam_bank.course import digits, reference
from exam_bank.figures import tree


def generate(rng):
    while True:
        first = rng.sample(range(1, 9), 3)
        second = [rng.sample(range(1, 9), 2) for _ in range(3)]
        names = "ABC"
        leaves = {f"{names[i]}{k + 1}": first[i] + second[i][k] for i in range(3) for k in range(2)}
        values = first + list(leaves.values())
        if len(set(values)) < 9:
            continue
        course = reference("decoding")
        rows = {"": [2.0**-c for c in first] + [0.0]} | {
            str(i): [2.0**-c for c in second[i]] + [0.0, 0.0] for i in range(3)
        }
        leaf, bits, popped = course.best_path(course.TableLM(4, 3, rows), 2)
        order = [names[ids[0]] for ids in popped if len(ids) == 1]
        if len(order) >= 2:
            break
    node, cost = f"{names[leaf[0]]}{leaf[1] + 1}", digits(bits / math.log(2), 0)
    nodes = [
        (n, str(first[i]), [(f"{n}{k + 1}", str(second[i][k]), []) for k in range(2)]) for i, n in enumerate(names)
    ]
    alt = "Tree of costs. " + " ".join(
        f"From the start to {n} the cost is {first[i]}, from {n} to {n}1 it is {second[i][0]} "
        f"and to {n}2 it is {second[i][1]}."
        for i, n in enumerate(names)
    )
    right = " ".join(order)
    return {
        "params": {"first": first, "second": second},
        "solution": {"order": right, "leaf": node, "cost": cost},
        "answers": {"order": [right], "cost": cost},
        "wrong": {"order": [w for w in ("A B C",) if w != right]},
        "figures": {"tree": tree(nodes, alt=alt)},
    }


def verify(params):
    cost = dict(zip("ABC", params["first"]))
    for n, row in zip("ABC", params["second"]):
        cost |= {f"{n}{k + 1}": cost[n] + c for k, c in enumerate(row)}
    ranked = sorted(cost, key=cost.get)
    cut = next(i for i, n in enumerate(ranked) if len(n) == 2)
    return {"order": " ".join(ranked[:cut]), "cost": cost[ranked[cut]]}
