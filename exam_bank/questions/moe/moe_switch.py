"""r + E f and r + k f. `verify` adds the parts of a list of modules."""

from fractions import Fraction


def generate(rng):
    while True:
        P, share = rng.randint(1, 20), rng.choice([50, 55, 60, 65, 70, 75, 80])
        E, k = rng.choice([4, 8, 16]), rng.choice([2, 3])
        f = Fraction(P * share, 100)
        r = P - f
        total, active = r + E * f, r + k * f
        if all(abs(v - total) > Fraction(1, 10) for v in (P * E, E * f)) and all(
            abs(v - active) > Fraction(1, 10) for v in (P * k, k * f)
        ):
            break

    def two(v):
        return f"{float(v):.2f}"

    return {
        "params": {"P": P, "share": share, "E": E, "k": k},
        "solution": {"f": two(f), "r": two(r), "total": two(total), "active": two(active)},
        "answers": {"total": two(total), "active": two(active)},
        "wrong": {"total": [two(P * E), two(E * f)], "active": [two(P * k), two(k * f)]},
    }


def verify(params):
    million = params["P"] * 1000
    ffn = million * params["share"] // 100 if million * params["share"] % 100 == 0 else million * params["share"] / 100
    modules = [("shared", million - ffn)] + [(f"expert {i}", ffn) for i in range(params["E"])]
    used = ["shared"] + [f"expert {i}" for i in range(params["k"])]
    return {"total": sum(n for _, n in modules) / 1000, "active": sum(n for name, n in modules if name in used) / 1000}
