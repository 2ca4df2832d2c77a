"""1 - sum min(l, 10) / 80. `verify` fills an array and counts the empty cells."""

from fractions import Fraction


def generate(rng):
    while True:
        lengths = [rng.randint(2, 15) for _ in range(8)]
        kept = [min(l, 10) for l in lengths]
        used = sum(kept)
        waste = Fraction(100 * (80 - used), 80)
        naive = Fraction(100 * (80 - sum(lengths)), 80)
        if (
            sum(l > 10 for l in lengths) >= 2
            and waste > 5
            and abs(waste - 50) > 2
            and (waste * 10) % 1 != Fraction(1, 2)
            and naive > 0
        ):
            break
    return {
        "params": {"lengths": ", ".join(map(str, lengths[:-1])) + f" and {lengths[-1]}"},
        "solution": {"kept": ", ".join(map(str, kept)), "used": used, "pad": 80 - used, "waste": f"{float(waste):.1f}"},
        "answers": {"waste": f"{float(waste):.1f}"},
        "wrong": {"waste": [f"{float(100 - waste):.1f}", f"{float(naive):.1f}"]},
    }


def verify(params):
    import numpy as np

    cells = np.zeros((8, 10), bool)
    for row, l in enumerate(map(int, params["lengths"].replace(" and ", ", ").split(", "))):
        cells[row, :l] = True
    return {"waste": 100 * float((~cells).mean())}
