"""a b. `verify` compares 6ND of two concrete models."""


def generate(rng):
    while True:
        a, b = rng.randint(2, 12), rng.randint(2, 12)
        values = [a * b, a + b, a * b * b, 6 * a * b]
        if len(set(values)) == 4:
            break
    why = ["", "adds the factors", "squares the data", "multiplies by the constant of the rule, which cancels"]
    return {
        "params": {"a": a, "b": b},
        "solution": {"ab": a * b},
        "choices": {"factor": [(str(v), i == 0, why[i]) for i, v in enumerate(values)]},
        "answers": {},
    }


def verify(params):
    small = 6 * 7 * 10**9 * 100 * 10**9
    large = 6 * params["a"] * 7 * 10**9 * params["b"] * 100 * 10**9
    return {"factor": str(large // small)}
