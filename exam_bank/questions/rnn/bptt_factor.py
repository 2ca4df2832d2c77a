"""The course's Jacobian of one unit. `verify` rebuilds the inputs with atanh and lets torch differentiate."""

from fractions import Fraction

from exam_bank.course import digits, reference


def generate(rng):
    while True:
        w = Fraction(rng.choice([4, 5, 6, 7, 8, 9, 12, 15, 20]), 10)
        h = [Fraction(rng.choice([-1, 1]) * rng.randint(1, 8), 10) for _ in range(3)]
        factors = [w * (1 - x * x) for x in h]
        grad = factors[0] * factors[1] * factors[2]
        wrong = [w**3, factors[1] * factors[2], w * (1 - h[0] ** 2) * (1 - h[1] ** 2) * (1 - h[2] ** 2)]
        if all(abs(x - grad) > Fraction(1, 50) for x in wrong) and abs((grad * 10**4) % 1 - Fraction(1, 2)) > Fraction(
            1, 10**6
        ):
            break
    course = reference("lstm")
    states = course.tensor([[0.0], *([float(x)] for x in h)])
    key = digits(course.jacobian_norms(course.tensor([[float(w)]]), states)[0], 4)
    return {
        "params": {"w": f"{float(w):.1f}"} | {f"h{i + 1}": f"{float(h[i]):.1f}" for i in range(3)},
        "solution": {f"f{i + 1}": f"{float(factors[i]):.4f}" for i in range(3)} | {"grad": key},
        "answers": {"grad": key},
        "wrong": {"grad": [f"{float(x):.4f}" for x in wrong]},
    }


def verify(params):
    import torch

    w = torch.tensor(float(params["w"]), dtype=torch.float64)
    h0 = torch.tensor(0.25, dtype=torch.float64, requires_grad=True)
    h, value = h0, 0.25
    for i in (1, 2, 3):
        target = torch.tensor(float(params[f"h{i}"]), dtype=torch.float64)
        x = torch.atanh(target) - w * value
        h = torch.tanh(w * h + x)
        value = target.item()
    h.backward()
    return {"grad": h0.grad.item()}
