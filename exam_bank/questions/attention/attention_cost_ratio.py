"""(4 T d^2 + 2 T^2 d) and its growth. `verify` adds up rows x inner x columns over the shapes of all products."""

from fractions import Fraction


def generate(rng):
    while True:
        d, T, k = (
            rng.choice([64, 128, 256, 512]),
            rng.choice([32, 64, 128, 256, 512, 1024]),
            rng.choice([2, 3, 4, 5, 8]),
        )

        def cost(t, d=d):
            return 4 * t * d * d + 2 * t * t * d

        ratio = Fraction(cost(k * T), cost(T))
        if all(abs(w - ratio) > Fraction(1, 10) for w in (k, k * k, k**3)) and (ratio * 100) % 1 != Fraction(1, 2):
            break
    return {
        "params": {"d": d, "T": T, "k": k},
        "solution": {
            "a": 4 * T * d * d,
            "b": 2 * T * T * d,
            "base": cost(T),
            "big": cost(k * T),
            "k2": k * k,
            "ratio": f"{float(ratio):.2f}",
        },
        "answers": {"base": str(cost(T)), "ratio": f"{float(ratio):.2f}"},
        "wrong": {"base": [str(4 * T * d * d), str(2 * T * T * d)], "ratio": [str(k), str(k * k), str(k**3)]},
    }


def verify(params):
    d = params["d"]

    def products(t):
        shapes = [((t, d), (d, d))] * 4 + [((t, d), (d, t)), ((t, t), (t, d))]
        return sum(a[0] * a[1] * b[1] for a, b in shapes)

    return {"base": products(params["T"]), "ratio": products(params["k"] * params["T"]) / products(params["T"])}
