"""(1 - q)^n q. `verify` takes the difference of two survival probabilities."""

from fractions import Fraction


def generate(rng):
    while True:
        q, n = Fraction(rng.randint(5, 60), 100), rng.randint(2, 6)
        p = (1 - q) ** n * q
        wrong = [(1 - q) ** n, q**n, (1 - q) ** (n - 1) * q, (1 - q) ** (n + 1) * q]
        ok = all(abs(w - p) > Fraction(1, 1000) for w in wrong)
        if ok and p > Fraction(1, 100) and (p * 10**4) % 1 != Fraction(1, 2):
            break
    return {
        "params": {"q": f"{float(q):.2f}", "n": n},
        "solution": {"r": f"{float(1 - q):.2f}", "p": f"{float(p):.4f}"},
        "answers": {"exact": f"{float(p):.4f}"},
        "wrong": {"exact": [f"{float(w):.4f}" for w in wrong]},
    }


def verify(params):
    def survives(steps):
        alive = 1.0
        for _ in range(steps):
            alive -= alive * float(params["q"])
        return alive

    return {"exact": survives(params["n"]) - survives(params["n"] + 1)}
