"""min(T-1, k) + 1 and 2 min(T-1, k) + 1. `verify` collects the set of clipped differences."""


def generate(rng):
    T, k = rng.randint(5, 60), rng.randint(3, 40)
    m = min(T - 1, k)
    wrong = {str(T), str(k), str(2 * m + 1)} - {str(m + 1)}
    return {
        "params": {"T": T, "k": k},
        "solution": {"far": T - 1, "m": m, "causal": m + 1, "full": 2 * m + 1},
        "answers": {"causal": str(m + 1), "full": str(2 * m + 1)},
        "wrong": {"causal": sorted(wrong), "full": [str(2 * m), str(m + 1)]},
    }


def verify(params):
    import numpy as np

    t = np.arange(params["T"])
    distance = np.clip(t[:, None] - t[None, :], -params["k"], params["k"])
    return {"causal": len(np.unique(distance[np.tril_indices(params["T"])])), "full": len(np.unique(distance))}
