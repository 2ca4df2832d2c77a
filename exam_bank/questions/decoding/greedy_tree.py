"""The course's greedy decoder against its best path. `verify` walks down with sorted lists of edges."""

from exam_bank.course import reference
from exam_bank.figures import tree


def generate(rng):
    while True:
        first = rng.sample(range(1, 7), 3)
        second = [rng.sample(range(1, 10), 3) for _ in range(3)]
        total = {(i, j): first[i] + second[i][j] for i in range(3) for j in range(3)}
        course = reference("decoding")
        rows = {"": [2.0**-c for c in first] + [0.0]} | {str(k): [2.0**-c for c in second[k]] + [0.0] for k in range(3)}
        model = course.TableLM(4, 3, rows)
        (i, j), best = course.greedy(model, 2)[0], tuple(course.best_path(model, 2)[0])
        ranked = sorted(total, key=total.get)
        if total[best] < total[ranked[1]] and best != (i, j):
            break
    names = "abc"

    def show(leaf):
        return f"{names[leaf[0]]}{names[leaf[1]]}, {total[leaf]} bits"

    other = next(leaf for leaf in ranked[1:] if leaf not in (best, (i, j)) and leaf[0] != i)
    sibling = next((i, k) for k in range(3) if k != j)
    nodes = [(names[a], str(first[a]), [(names[b], str(second[a][b]), []) for b in range(3)]) for a in range(3)]
    alt = "Tree of costs. " + " ".join(
        f"From the start, {names[a]} costs {first[a]}; after {names[a]}, the letter a costs {second[a][0]}, "
        f"b costs {second[a][1]} and c costs {second[a][2]}."
        for a in range(3)
    )
    return {
        "params": {"first": first, "second": second},
        "solution": {
            "greedy": names[i] + names[j],
            "gcost": total[i, j],
            "best": names[best[0]] + names[best[1]],
            "bcost": total[best],
        },
        "choices": {
            "path": [
                (show((i, j)), True, ""),
                (show(best), False, "the cheapest path, which greedy misses"),
                (show(other), False, "neither greedy nor best"),
                (show(sibling), False, "the right first step, but not the cheapest second one"),
            ]
        },
        "answers": {},
        "figures": {"tree": tree(nodes, alt=alt)},
    }


def verify(params):
    cost, name = sorted(zip(params["first"], "abc"))[0]
    cost2, name2 = sorted(zip(params["second"]["abc".index(name)], "abc"))[0]
    return {"path": f"{name}{name2}, {cost + cost2} bits"}
