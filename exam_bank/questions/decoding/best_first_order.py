"""A heap of open nodes. `verify` sorts all nodes by path cost and cuts at the first leaf."""

import heapq

from exam_bank.figures import tree


def generate(rng):
    while True:
        first = rng.sample(range(1, 9), 3)
        second = [rng.sample(range(1, 9), 2) for _ in range(3)]
        names = "ABC"
        leaves = {f"{names[i]}{k + 1}": first[i] + second[i][k] for i in range(3) for k in range(2)}
        values = first + list(leaves.values())
        heap = [(c, n) for c, n in zip(first, names)]
        heapq.heapify(heap)
        order = []
        while True:
            cost, node = heapq.heappop(heap)
            if len(node) == 2:
                break
            order.append(node)
            for k in range(2):
                heapq.heappush(heap, (leaves[f"{node}{k + 1}"], f"{node}{k + 1}"))
        if len(set(values)) == 9 and len(order) >= 2:
            break
    nodes = [
        (n, str(first[i]), [(f"{n}{k + 1}", str(second[i][k]), []) for k in range(2)]) for i, n in enumerate(names)
    ]
    alt = "Tree of costs. " + " ".join(
        f"Start to {n}: {first[i]}; {n} to {n}1: {second[i][0]}, to {n}2: {second[i][1]}." for i, n in enumerate(names)
    )
    right = " ".join(order)
    return {
        "params": {"first": first, "second": second},
        "solution": {"order": right, "leaf": node, "cost": cost},
        "answers": {"order": [right], "cost": str(cost)},
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
