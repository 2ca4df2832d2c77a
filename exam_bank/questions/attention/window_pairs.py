"""Keys with a weight in the course's sliding window and under its causal mask.

`verify` builds the Boolean masks and counts.
"""

from exam_bank.course import reference


def generate(rng):
    T = rng.randint(8, 40)
    w = rng.randint(2, T // 2)
    head, rest = w * (w + 1) // 2, T - w

    course = reference("attention")
    eye = course.tensor([[float(i == j) for j in range(T)] for i in range(T)])
    pairs = int((course.sliding_window(0 * eye, eye, eye, w) > 0).sum())
    full = int(course.causal_mask(T).sum())
    return {
        "params": {"T": T, "w": w},
        "solution": {"w1": w + 1, "head": head, "rest": rest, "pairs": pairs, "full": full},
        "answers": {"pairs": str(pairs), "full": str(full)},
        "wrong": {"pairs": [str(T * w), str(full), str(T * T)], "full": [str(T * T), str(T * (T - 1) // 2)]},
    }


def verify(params):
    import numpy as np

    T = params["T"]
    causal = np.tril(np.ones((T, T), bool))
    far = np.tril(np.ones((T, T), bool), -params["w"])
    return {"pairs": int((causal & ~far).sum()), "full": int(causal.sum())}
