"""Padding to the longest of each batch. `verify` calls torch's pad_sequence and counts the filling."""


def generate(rng):
    B = rng.choice([2, 3])
    while True:
        lengths = [rng.randint(2, 20) for _ in range(2 * B if B == 3 else 6)]

        def waste(order, B=B):
            groups = [order[i : i + B] for i in range(0, len(order), B)]
            return [B * max(g) - sum(g) for g in groups]

        now, then = waste(lengths), waste(sorted(lengths))
        if sum(now) > sum(then) + 3 and sum(then) and len(set(lengths)) == 6:
            break
    whole = len(lengths) * max(lengths) - sum(lengths)
    return {
        "params": {"B": B, "lengths": ", ".join(map(str, lengths[:-1])) + f" and {lengths[-1]}"},
        "solution": {
            "now": ", ".join(map(str, now)),
            "given": sum(now),
            "then": ", ".join(map(str, then)),
            "sorted": sum(then),
        },
        "answers": {"given": str(sum(now)), "sorted": str(sum(then))},
        "wrong": {"given": [str(whole)] if whole != sum(now) else [], "sorted": [str(sum(now))]},
    }


def verify(params):
    import torch

    lengths = [int(l) for l in params["lengths"].replace(" and ", ", ").split(", ")]

    def count(order):
        B = params["B"]
        rows = [torch.ones(l) for l in order]
        batches = [torch.nn.utils.rnn.pad_sequence(rows[i : i + B]) for i in range(0, len(rows), B)]
        return int(sum((b == 0).sum() for b in batches))

    return {"given": count(lengths), "sorted": count(sorted(lengths))}
