"""Product of (1 + w). `verify` lets torch differentiate both chains."""

from fractions import Fraction


def generate(rng):
    while True:
        w = [Fraction(rng.choice([-1, 1]) * rng.randint(1, 6), 10) for _ in range(3)]
        full = (1 + w[0]) * (1 + w[1]) * (1 + w[2])
        plain = w[0] * w[1] * w[2]
        wrong = [plain, 1 + plain, 1 + sum(w)]
        if all(abs(x - full) > Fraction(1, 100) for x in wrong) and full != plain:
            break
    return {
        "params": {f"w{i + 1}": f"{float(w[i]):.1f}" for i in range(3)},
        "solution": {f"f{i + 1}": f"{float(1 + w[i]):.1f}" for i in range(3)}
        | {"with": f"{float(full):.4f}", "without": f"{float(plain):.4f}"},
        "answers": {"with": f"{float(full):.4f}", "without": f"{float(plain):.4f}"},
        "wrong": {"with": [f"{float(x):.4f}" for x in wrong], "without": [f"{float(full):.4f}"]},
    }


def verify(params):
    import torch

    def slope(skip):
        a = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
        x = a
        for i in (1, 2, 3):
            x = skip * x + float(params[f"w{i}"]) * x
        x.backward()
        return a.grad.item()

    return {"with": slope(1), "without": slope(0)}
