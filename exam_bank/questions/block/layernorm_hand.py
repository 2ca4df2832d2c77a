"""g (x - mean) / std + b. `verify` calls torch's layer_norm with eps 0."""

from fractions import Fraction

# Deviations whose standard deviation is a whole number.
PATTERNS = [
    ((1, 1, -1, -1), 1),
    ((7, -7, 1, -1), 5),
    ((4, -1, -1, -1, -1), 2),
    ((3, -3, 1, -1, 0), 2),
    ((-4, 1, 1, 1, 1), 2),
]


def generate(rng):
    while True:
        pattern, std = rng.choice(PATTERNS)
        k, mean = rng.randint(1, 3), rng.randint(-5, 6)
        dev = [k * p for p in rng.sample(pattern, len(pattern))]
        std *= k
        g, b = Fraction(rng.choice([1, 2, 3, 4, 6]), 2), rng.randint(-3, 3)
        y = [g * Fraction(v, std) + b for v in dev]
        by_var = [g * Fraction(v, std * std) + b for v in dev]
        bare = [Fraction(v, std) for v in dev]
        if std > 1 and (g, b) != (1, 0) and bare != y:
            break

    def two(vector):
        return [f"{float(v):.2f}" for v in vector]

    def plain(vector):
        return ", ".join(map(str, vector))

    return {
        "params": {"x": plain([mean + v for v in dev]), "g": f"{float(g):g}", "b": b, "n": len(dev)},
        "solution": {
            "mean": mean,
            "dev": plain(dev),
            "var": std * std,
            "std": std,
            "unit": ", ".join(two(bare)),
            "y": ", ".join(two(y)),
        },
        "answers": {"y": two(y)},
        "wrong": {"y": [two(by_var), two(bare)]},
    }


def verify(params):
    import torch

    x = torch.tensor([float(v) for v in params["x"].split(", ")], dtype=torch.float64)
    y = torch.nn.functional.layer_norm(x, x.shape, eps=0.0)
    return {"y": (float(params["g"]) * y + params["b"]).tolist()}
