"""The course's n-gram counts of one sentence. `verify` slides a window over the padded sentence."""

from exam_bank.course import reference


def generate(rng):
    n, l = rng.randint(2, 6), rng.randint(4, 30)
    count = sum(reference("noisy_channel").count_ngrams([["word"] * l], n)[0].values())
    return {
        "params": {"n": n, "pad": n - 1, "l": l},
        "solution": {"count": count},
        "answers": {"count": str(count)},
        "wrong": {"count": [str(l), str(l + n)]},
    }


def verify(params):
    padded = ["START"] * params["pad"] + ["word"] * params["l"] + ["END"]
    return {"count": len([padded[i : i + params["n"]] for i in range(len(padded) - params["n"] + 1)])}
