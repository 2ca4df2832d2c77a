"""theta - rate * gradient. `verify` steps torch's SGD with the gradient put in by hand."""

from fractions import Fraction


def generate(rng):
    while True:
        theta = [Fraction(rng.randint(-20, 20), 10) for _ in range(2)]
        g = [rng.choice([-1, 1]) * rng.randint(1, 9) for _ in range(2)]
        rate = Fraction(rng.choice([1, 2, 5]), 10)
        new = [t - rate * d for t, d in zip(theta, g)]
        up = [t + rate * d for t, d in zip(theta, g)]
        full = [t - d for t, d in zip(theta, g)]
        mixed = [new[0], up[1]]
        if len({tuple(v) for v in (new, up, full, mixed)}) == 4:
            break

    def show(v):
        return f"$({float(v[0]):.1f}, {float(v[1]):.1f})$"

    return {
        "params": {
            "a": f"{float(theta[0]):.1f}",
            "b": f"{float(theta[1]):.1f}",
            "ga": g[0],
            "gb": g[1],
            "rate": f"{float(rate):.1f}",
        },
        "solution": {"na": f"{float(new[0]):.1f}", "nb": f"{float(new[1]):.1f}"},
        "choices": {
            "next": [
                (show(new), True, ""),
                (show(up), False, "goes with the gradient, uphill"),
                (show(full), False, "forgets the learning rate"),
                (show(mixed), False, "takes the wrong sign in one component"),
            ]
        },
        "answers": {},
    }


def verify(params):
    import torch

    theta = torch.tensor([float(params["a"]), float(params["b"])], dtype=torch.float64, requires_grad=True)
    theta.grad = torch.tensor([params["ga"], params["gb"]], dtype=torch.float64)
    torch.optim.SGD([theta], lr=float(params["rate"])).step()
    x, y = ((theta.detach() * 10).round() / 10 + 0.0).tolist()
    return {"next": f"$({x:.1f}, {y:.1f})$"}
