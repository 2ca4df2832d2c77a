"""Two linear equations. `verify` solves them with numpy."""

from fractions import Fraction


def generate(rng):
    while True:
        E, k = rng.choice([4, 8, 16, 32]), rng.choice([1, 2, 4])
        e, s = Fraction(rng.randint(10, 600), 100), Fraction(rng.randint(50, 500), 100)
        total, active = s + E * e, s + k * e
        wrong = [total / E, active / k, (total - active) / E]
        if k < E and all(abs(w - e) > Fraction(5, 100) for w in wrong) and total < 300:
            break
    return {
        "params": {"E": E, "k": k, "total": f"{float(total):.2f}", "active": f"{float(active):.2f}"},
        "solution": {
            "diff": E - k,
            "gap": f"{float(total - active):.2f}",
            "e": f"{float(e):.2f}",
            "s": f"{float(s):.2f}",
        },
        "answers": {"expert": f"{float(e):.2f}", "shared": f"{float(s):.2f}"},
        "wrong": {"expert": [f"{float(w) + 1e-9:.2f}" for w in wrong]},
    }


def verify(params):
    import numpy as np

    system = np.array([[1, params["E"]], [1, params["k"]]], float)
    s, e = np.linalg.solve(system, [float(params["total"]), float(params["active"])])
    return {"expert": float(e), "shared": float(s)}
