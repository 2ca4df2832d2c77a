"""beta ((w - wr) - (l - lr)). `verify` takes the log of a ratio of probability ratios."""

from fractions import Fraction


def generate(rng):
    while True:
        w, wr, l, lr = (-Fraction(rng.randint(20, 150), 10) for _ in range(4))
        beta = Fraction(rng.choice([1, 2, 5]), 10)
        dw, dl = w - wr, l - lr
        y = beta * (dw - dl)
        wrong = [beta * (w - l), -y, dw - dl, beta * (dw + dl)]
        if abs(y) > Fraction(5, 100) and all(abs(v - y) > Fraction(3, 100) for v in wrong):
            break

    def one(v):
        return f"{float(v):.1f}"

    return {
        "params": {"w": one(w), "wr": one(wr), "l": one(l), "lr": one(lr), "beta": one(beta)},
        "solution": {
            "dw": one(dw),
            "dl": one(dl),
            "margin": f"{float(y):.2f}",
            "sign": "> 0" if y > 0 else "< 0",
            "way": "right" if y > 0 else "wrong",
        },
        "answers": {"margin": f"{float(y):.2f}"},
        "wrong": {"margin": [f"{float(v):.2f}" for v in wrong if abs(v) > Fraction(1, 100)]},
    }


def verify(params):
    import math

    p = {k: math.exp(float(params[k])) for k in ("w", "wr", "l", "lr")}
    return {"margin": float(params["beta"]) * math.log((p["w"] / p["wr"]) / (p["l"] / p["lr"]))}
