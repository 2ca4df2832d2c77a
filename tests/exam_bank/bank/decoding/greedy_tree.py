"""Two steps of greedy decoding. `verify` lists all four leaves instead of walking down."""
from exam_bank.figures import tree


def generate(rng):
    while True:
        first = [rng.randint(1, 9), rng.randint(1, 9)]
        second = [[rng.randint(1, 9), rng.randint(1, 9)] for _ in range(2)]
        names = rng.sample(["c", "d", "e", "f"], 2)
        if first[0] != first[1] and all(a != b for a, b in second):
            break
    i = first.index(min(first))
    j = second[i].index(min(second[i]))
    total = [[first[a] + second[a][b] for b in (0, 1)] for a in (0, 1)]
    nodes = [("a", str(first[0]), [(names[b], str(second[0][b]), []) for b in (0, 1)]),
             ("b", str(first[1]), [(names[b], str(second[1][b]), []) for b in (0, 1)])]
    least = min(min(row) for row in total)
    return {
        "params": {"first": first, "second": second, "names": names},
        "solution": {"greedy": "ab"[i] + names[j], "cost": total[i][j], "least": least},
        "answers": {"greedy": ["ab"[i] + names[j]], "costs": [[str(v) for v in row] for row in total],
                    "best": total[i][j] == least},
        "wrong": {"greedy": ["ab"[1 - i] + names[j]]},
        "figures": {"tree": tree(nodes, alt=f"Tree of costs. From the start, a costs {first[0]} and b costs {first[1]}. "
                    f"After a, {names[0]} costs {second[0][0]} and {names[1]} costs {second[0][1]}. After b, {names[0]} "
                    f"costs {second[1][0]} and {names[1]} costs {second[1][1]}.")},
    }


def verify(params):
    import itertools

    first, second, names = params["first"], params["second"], params["names"]
    leaves = {(a, b): first[a] + second[a][b] for a, b in itertools.product((0, 1), repeat=2)}
    a, b = sorted(leaves, key=lambda leaf: (first[leaf[0]], second[leaf[0]][leaf[1]]))[0]
    return {"greedy": "ab"[a] + names[b], "costs": [[leaves[0, 0], leaves[0, 1]], [leaves[1, 0], leaves[1, 1]]],
            "best": leaves[a, b] == min(leaves.values())}
