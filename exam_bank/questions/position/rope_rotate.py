"""The course's RoPE on one pair. `verify` multiplies complex numbers."""

import math

from exam_bank.course import digits, reference


def generate(rng):
    while True:
        theta, m = rng.choice([10, 15, 20, 30, 36, 40, 45, 60, 90]), rng.randint(1, 6)
        q = [rng.randint(-5, 5), rng.randint(-5, 5)]

        def turn(degrees, q=q):
            c, s = (round(f(math.radians(degrees)), 12) for f in (math.cos, math.sin))
            return [q[0] * c - q[1] * s + 0.0, q[0] * s + q[1] * c + 0.0]

        y = turn(m * theta)
        others = [turn(-m * theta), turn((m + 1) * theta), turn(theta) if m > 1 else turn(3 * theta)]
        clear = all(max(abs(a - b) for a, b in zip(y, other)) > 0.2 for other in others)
        if (
            0 not in q
            and clear
            and all(abs(abs(v) * 100 % 1 - 0.5) > 1e-3 and (abs(v) > 0.05 or abs(v) < 1e-9) for v in y)
        ):
            break

    course = reference("minigpt")

    def turned(pair, position):
        """The pair as the second of two, whose speed is base^(-1/2): here theta."""
        x, places = course.tensor([[0.0, float(pair[0]), 0.0, float(pair[1])]]), course.torch.tensor([position])
        return course.apply_rope(x, places, math.radians(theta) ** -2)[0, [1, 3]]

    key = digits(turned(q, m), 2)

    def two(vector):
        return [f"{v if abs(v) > 5e-3 else 0.0:.2f}" for v in vector]

    return {
        "params": {"theta": theta, "q": f"{q[0]}, {q[1]}", "m": m},
        "solution": {
            "angle": m * theta,
            "c": f"{math.cos(math.radians(m * theta)) + 1e-12:.4f}".replace("-0.0000", "0.0000"),
            "s": f"{math.sin(math.radians(m * theta)) + 1e-12:.4f}".replace("-0.0000", "0.0000"),
            "y": ", ".join(key),
        },
        "answers": {"rotated": key},
        "wrong": {"rotated": [two(other) for other in others]},
    }


def verify(params):
    import cmath

    q = complex(*(float(v) for v in params["q"].split(", ")))
    z = q * cmath.exp(1j * math.pi * params["theta"] / 180) ** params["m"]
    return {"rotated": [z.real, z.imag]}
