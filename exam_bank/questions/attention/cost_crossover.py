"""T = 2d, share T / (2d + T). `verify` searches the crossing and counts the products by their shapes."""

from fractions import Fraction


def generate(rng):
    while True:
        d, T = (
            rng.choice([128, 192, 256, 384, 512, 768, 1024]),
            rng.choice([64, 100, 128, 200, 256, 500, 512, 1000, 1024, 2000, 2048]),
        )
        share = Fraction(T, 2 * d + T)
        wrong = [Fraction(T, d + T), Fraction(T, 4 * d + T)]
        if (
            2 * d != T
            and (share * 1000) % 1 != Fraction(1, 2)
            and all(abs(w - share) > Fraction(1, 100) for w in wrong)
        ):
            break
    return {
        "params": {"d": d, "T": T},
        "solution": {"eq": 2 * d, "sum": 2 * d + T, "share": f"{float(share):.3f}"},
        "answers": {"length": str(2 * d), "share": f"{float(share):.3f}"},
        "wrong": {"length": [str(d), str(4 * d)], "share": [f"{float(w):.3f}" for w in wrong]},
    }


def verify(params):
    d = params["d"]

    def parts(t):
        project = sum(rows * inner * cols for rows, inner, cols in [(t, d, d)] * 4)
        attend = sum(rows * inner * cols for rows, inner, cols in [(t, d, t), (t, t, d)])
        return project, attend

    length = 1
    while parts(length)[1] < parts(length)[0]:
        length += 1
    project, attend = parts(params["T"])
    return {"length": length, "share": attend / (project + attend)}
