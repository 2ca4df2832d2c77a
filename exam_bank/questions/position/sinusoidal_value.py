"""sin and cos of t / b^(2i/d). `verify` reads them off a complex exponential."""

import math

# (base, its power, that exponent as a fraction num/div): the power is a whole number.
POWERS = [
    (100, 10, 1, 2),
    (10000, 10, 1, 4),
    (10000, 100, 1, 2),
    (256, 4, 1, 4),
    (256, 16, 1, 2),
    (1000, 10, 1, 3),
    (64, 8, 1, 2),
    (64, 4, 1, 3),
]


def generate(rng):
    while True:
        b, den, num, div = rng.choice(POWERS)
        j, t = rng.randint(1, 3), rng.randint(1, 30)
        d, i = 2 * div * j, num * j
        angle, half = t / den, t / b ** (i / d)
        s, c = math.sin(angle), math.cos(angle)
        safe = all(abs((abs(v) * 1000) % 1 - 0.5) > 1e-3 and abs(v) > 0.02 for v in (s, c))
        if safe and angle < 6.3 and abs(s - c) > 0.05 and abs(math.sin(half) - s) > 0.05:
            break
    return {
        "params": {"b": b, "d": d, "i": i, "t": t},
        "solution": {"e": f"{{{2 * i}/{d}}}", "den": den, "angle": f"{angle:g}", "sin": f"{s:.3f}", "cos": f"{c:.3f}"},
        "answers": {"pair": [f"{s:.3f}", f"{c:.3f}"]},
        "wrong": {"pair": [[f"{c:.3f}", f"{s:.3f}"], [f"{math.sin(half):.3f}", f"{math.cos(half):.3f}"]]},
    }


def verify(params):
    import cmath

    omega = math.exp(-2 * params["i"] * math.log(params["b"]) / params["d"])
    z = cmath.exp(1j * omega * params["t"])
    return {"pair": [z.imag, z.real]}
