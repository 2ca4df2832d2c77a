"""s + L E f and s + L k f. `verify` walks over layers and experts."""

from fractions import Fraction


def generate(rng):
    while True:
        L, E, k = rng.choice([12, 16, 24, 32, 40]), rng.choice([4, 8, 16]), rng.choice([1, 2])
        f, s = 10 * rng.randint(2, 20), 10 * rng.randint(20, 300)
        total, active = s + L * E * f, s + L * k * f
        wrong = [Fraction(L * k * f), Fraction(total, E) * k, Fraction(s + k * f)]
        if all(abs(w - active) > 30 for w in wrong):
            break
    return {
        "params": {"L": L, "E": E, "k": k, "f": f, "s": s},
        "solution": {"tm": total, "am": active},
        "answers": {"total": f"{total / 1000:.2f}", "active": f"{active / 1000:.2f}"},
        "wrong": {
            "total": [f"{L * E * f / 1000:.2f}"],
            "active": [
                f"{float(w) / 1000:.2f}" for w in wrong if abs((w / 10) % 1 - Fraction(1, 2)) > Fraction(1, 100)
            ],
        },
    }


def verify(params):
    total = active = params["s"]
    for _ in range(params["L"]):
        for expert in range(params["E"]):
            total += params["f"]
            active += params["f"] if expert < params["k"] else 0
    return {"total": total / 1000, "active": active / 1000}
