"""The course's warp in both orders. `verify` uses torch's softmax and cumulative sums."""

from exam_bank.course import reference


def generate(rng):
    while True:
        parts = rng.sample(range(2, 60), 4)
        parts.append(100 - sum(parts))
        if len(set(parts)) < 5 or min(parts) < 2:
            continue
        parts.sort(reverse=True)
        limit, (T, power) = rng.choice([0.6, 0.7, 0.75, 0.8, 0.85, 0.9]), rng.choice([("0.5", 2.0), ("2", 0.5)])
        p = [v / 100 for v in parts]
        hot = [v**power for v in p]
        hot = [v / sum(hot) for v in hot]
        edges = [abs(sum(q[:n]) - limit) for q in (p, hot) for n in range(1, 6)]
        course = reference("decoding")
        after, plain = (int((course.warp(course.tensor([p]).log(), t, 0, limit) > 0).sum()) for t in (float(T), 1.0))
        options = [(after, plain), (plain, after), (plain, plain), (after, after)]
        if plain != after and min(edges) > 0.012:
            break

    def show(pair):
        return f"{pair[0]} and {pair[1]}"

    def two(vector):
        return ", ".join(f"{v:.2f}" for v in vector)

    why = ["", "exchanges the two", "ignores the temperature", "applies the temperature first in both"]
    return {
        "params": {"w": two(p), "limit": f"{limit:.2f}", "T": T, "power": f"{power:g}"},
        "solution": {
            "sums": two([sum(p[: n + 1]) for n in range(5)]),
            "plain": plain,
            "hot": two(hot),
            "hotsums": two([sum(hot[: n + 1]) for n in range(5)]),
            "after": after,
        },
        "choices": {"sizes": [(show(o), i == 0, why[i]) for i, o in enumerate(options)]},
        "answers": {},
    }


def verify(params):
    import torch

    p = torch.tensor([float(v) for v in params["w"].split(", ")], dtype=torch.float64)
    hot = (p.log() / float(params["T"])).softmax(0)
    sizes = [int((q.cumsum(0) < float(params["limit"])).sum()) + 1 for q in (hot, p)]
    return {"sizes": f"{sizes[0]} and {sizes[1]}"}
