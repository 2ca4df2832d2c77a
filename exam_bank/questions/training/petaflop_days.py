"""6 N D over the operations of a petaflop/s-day. `verify` uses exact fractions and hours."""

from fractions import Fraction


def generate(rng):
    while True:
        N, D = (
            rng.choice([1, 2, 3, 7, 8, 13, 30, 65, 70, 175]),
            rng.choice([20, 50, 100, 150, 200, 300, 500, 1000, 1400, 2000]),
        )
        days = Fraction(6 * N * D * 10**18, 10**15 * 86400)
        if 5 < days < 30000 and abs((days * 10) % 1 - Fraction(1, 2)) > Fraction(1, 10**6):
            break
    return {
        "params": {"N": N, "D": D},
        "solution": {"ops": 6 * N * D, "days": f"{float(days):.1f}"},
        "answers": {"days": f"{float(days):.1f}"},
        "wrong": {"days": [f"{float(days / 3):.1f}", f"{float(days * 24):.1f}", f"{float(days * 86400):.1f}"]},
    }


def verify(params):
    operations = 6 * Fraction(params["N"]) * 10**9 * Fraction(params["D"]) * 10**9
    hours = operations / (10**15 * 60 * 60)
    return {"days": float(hours / 24)}
