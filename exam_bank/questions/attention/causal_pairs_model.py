"""The course's causal mask, once a head and layer. `verify` sums real masks over layers and heads."""

from exam_bank.course import reference


def generate(rng):
    L, h, T = rng.choice([2, 3, 4, 6, 8, 12]), rng.choice([2, 4, 6, 8, 12]), rng.randint(10, 60)
    one = int(reference("attention").causal_mask(T).sum())
    return {
        "params": {"L": L, "h": h, "T": T},
        "solution": {"T1": T + 1, "one": one, "total": L * h * one, "rnn": L * T},
        "answers": {"total": str(L * h * one)},
        "wrong": {"total": [str(L * h * T * T), str(L * h * T * (T - 1) // 2), str(L * one), str(L * T)]},
    }


def verify(params):
    import torch

    T = params["T"]
    mask = torch.ones(params["L"], params["h"], T, T, dtype=torch.bool).tril()
    return {"total": int(mask.sum())}
