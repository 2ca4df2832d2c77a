"""The course's RoPE on query and key, each at its position. `verify` rotates both at shifted positions, three times."""

import math

from exam_bank.course import digits, reference


def generate(rng):
    while True:
        theta = rng.choice([15, 20, 30, 36, 45, 60, 90])
        m, n = rng.sample(range(12), 2)
        q, k = ([rng.randint(-4, 4), rng.randint(-4, 4)] for _ in range(2))

        def score(degrees, q=q, k=k):
            c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
            return q[0] * (k[0] * c - k[1] * s) + q[1] * (k[0] * s + k[1] * c)

        angle = (n - m) * theta
        y = score(angle)
        others = [score(-angle), score(0), score((n + m) * theta)]
        clear = all(abs(o - y) > 0.3 for o in others) and abs(y) > 0.1 and abs(abs(y) * 100 % 1 - 0.5) > 1e-3
        if clear and abs(angle) <= 180 and any(q) and any(k):
            break
    course = reference("minigpt")

    def turned(pair, position):
        """The pair as the second of two, whose speed is base^(-1/2): here theta."""
        x, places = course.tensor([[0.0, float(pair[0]), 0.0, float(pair[1])]]), course.torch.tensor([position])
        return course.apply_rope(x, places, math.radians(theta) ** -2)[0, [1, 3]]

    key = digits(turned(q, m) @ turned(k, n), 2)
    c, s = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    rk = [k[0] * c - k[1] * s, k[0] * s + k[1] * c]
    rk = [v if abs(v) > 5e-3 else 0.0 for v in rk]
    return {
        "params": {"m": m, "n": n, "theta": theta, "q": f"{q[0]}, {q[1]}", "k": f"{k[0]}, {k[1]}"},
        "solution": {"diff": n - m, "angle": angle, "rk": f"{rk[0]:.2f}, {rk[1]:.2f}", "score": key},
        "answers": {"score": key},
        "wrong": {"score": [f"{o if abs(o) > 5e-3 else 0.0:.2f}" for o in others]},
    }


def verify(params):
    import cmath

    q, k = (complex(*(float(v) for v in params[name].split(", "))) for name in "qk")
    unit = cmath.exp(1j * math.pi * params["theta"] / 180)
    scores = [(q * unit ** (params["m"] + c) * (k * unit ** (params["n"] + c)).conjugate()).real for c in (0, 3, 11)]
    assert max(scores) - min(scores) < 1e-9
    return {"score": scores[0]}
