"""The course's RoPE on both pairs, a quarter and a half turn a position.

`verify` rotates both vectors at their own positions with complex numbers.
"""

import math

from exam_bank.course import digits, reference


def turn(v, quarters):
    for _ in range(quarters % 4):
        v = [-v[1], v[0]]
    return v


def generate(rng):
    while True:
        m, n = rng.sample(range(10), 2)
        q1, q2, k1, k2 = ([rng.randint(-4, 5), rng.randint(-4, 5)] for _ in range(4))
        r1, r2 = turn(k1, n - m), turn(k2, 2 * (n - m))
        s1, s2 = (a[0] * b[0] + a[1] * b[1] for a, b in ((q1, r1), (q2, r2)))
        flip = turn(k1, m - n)
        plain = sum(a * b for a, b in zip(q1 + q2, k1 + k2))
        wrong = [q1[0] * flip[0] + q1[1] * flip[1] + s2, plain]
        if (n - m) % 4 and all(v != s1 + s2 for v in wrong):
            break

    course = reference("minigpt")

    def turned(pair, position, theta):
        """The pair as the second of two, whose speed is base^(-1/2): here theta."""
        x, places = course.tensor([[0.0, float(pair[0]), 0.0, float(pair[1])]]), course.torch.tensor([position])
        return course.apply_rope(x, places, theta**-2)[0, [1, 3]]

    pairs = ((q1, k1, math.pi / 2), (q2, k2, math.pi))
    key = digits(sum(turned(q, m, theta) @ turned(k, n, theta) for q, k, theta in pairs), 0)

    def show(v):
        return f"{v[0]}, {v[1]}"

    return {
        "params": {"m": m, "n": n, "q1": show(q1), "q2": show(q2), "k1": show(k1), "k2": show(k2)},
        "solution": {
            "diff": n - m,
            "a1": 90 * (n - m),
            "a2": 180 * (n - m),
            "r1": show(r1),
            "r2": show(r2),
            "s1": s1,
            "s2": s2,
            "score": key,
        },
        "answers": {"score": key},
        "wrong": {"score": sorted({str(v) for v in wrong})},
    }


def verify(params):
    def number(key):
        return complex(*(int(v) for v in params[key].split(", ")))

    score = 0
    for pair, unit in (("1", 1j), ("2", -1 + 0j)):
        q, k = number("q" + pair) * unit ** params["m"], number("k" + pair) * unit ** params["n"]
        score += (q * k.conjugate()).real
    return {"score": score}
