"""w - rate * mean gradient. `verify` runs torch's SGD."""

from fractions import Fraction


def generate(rng):
    while True:
        w, rate = Fraction(rng.randint(-4, 4), 2), Fraction(rng.choice([1, 2, 5]), 100)
        xs, ys = ([rng.randint(-3, 3) for _ in range(3)] for _ in range(2))
        g = [2 * (w * x - y) * x for x, y in zip(xs, ys)]
        mean = sum(g) / 3
        new = w - rate * mean
        wrong = [w + rate * mean, w - rate * sum(g), w - rate * mean / 2]
        ok = all(abs(v - new) > Fraction(1, 50) for v in wrong) and 0 not in xs and w
        if ok and (abs(new) * 1000) % 1 != Fraction(1, 2) and abs(new) > Fraction(1, 100):
            break

    def short(value):
        return f"{float(value):.3f}".rstrip("0").rstrip(".") if abs(value) >= Fraction(1, 2000) else "0"

    return {
        "params": {"w": f"{float(w):.1f}", "rate": f"{float(rate):.2f}"}
        | {f"x{i + 1}": xs[i] for i in range(3)}
        | {f"y{i + 1}": ys[i] for i in range(3)},
        "solution": {"g": ", ".join(map(short, g)), "mean": short(mean), "new": f"{float(new):.3f}"},
        "answers": {"w": f"{float(new):.3f}"},
        "wrong": {"w": [f"{float(v) + 0.0:.3f}" for v in wrong if abs(v) >= Fraction(1, 2000)]},
    }


def verify(params):
    import torch

    w = torch.tensor(float(params["w"]), dtype=torch.float64, requires_grad=True)
    x, y = (torch.tensor([params[f"{k}{i}"] for i in (1, 2, 3)], dtype=torch.float64) for k in "xy")
    optimiser = torch.optim.SGD([w], lr=float(params["rate"]))
    torch.nn.functional.mse_loss(w * x, y).backward()
    optimiser.step()
    return {"w": w.item()}
