"""Quarter and half turns. `verify` rotates both vectors at their own positions with complex numbers."""


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
            "score": s1 + s2,
        },
        "answers": {"score": str(s1 + s2)},
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
