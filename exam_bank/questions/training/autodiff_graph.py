"""2sb, 2sa, 2s. `verify` uses dual numbers, one direction after the other."""


def generate(rng):
    while True:
        a, b, c = (rng.randint(-4, 5) for _ in range(3))
        s = a * b + c
        grads = [2 * s * b, 2 * s * a, 2 * s]
        if s and a and b and len({a, b, 1}) == 3 and abs(s) < 20:
            break
    return {
        "params": {"a": a, "b": b, "c": c},
        "solution": {"s": s, "two": 2 * s, "ga": grads[0], "gb": grads[1], "gc": grads[2]},
        "answers": {"grads": [str(g) for g in grads]},
        "wrong": {
            "grads": [[str(g // 2) for g in grads], [str(grads[1]), str(grads[0]), str(grads[2])], [str(2 * s)] * 3]
        },
    }


def verify(params):
    def times(x, y):
        return x[0] * y[0], x[0] * y[1] + x[1] * y[0]

    def slope(seed):
        a, b, c = ((params[k], int(k == seed)) for k in "abc")
        ab = times(a, b)
        s = (ab[0] + c[0], ab[1] + c[1])
        return times(s, s)[1]

    return {"grads": [slope(k) for k in "abc"]}
