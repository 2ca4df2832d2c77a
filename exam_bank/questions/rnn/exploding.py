"""The course's Jacobian of a unit at slope 1, and its inverse.

`verify` differentiates the recurrence with torch and clips with its own function.
"""

from fractions import Fraction

from exam_bank.course import digits, reference


def generate(rng):
    while True:
        w, T = Fraction(5 * rng.randint(22, 60), 100), rng.randint(3, 9)
        factor = w**T
        tie = abs((factor * 10) % 1 - Fraction(1, 2)) < Fraction(1, 10**5)
        tie |= abs((10**4 / factor) % 1 - Fraction(1, 2)) < Fraction(1, 10**5)
        if (
            2 < factor < 60
            and not tie
            and all(abs(x - factor) > Fraction(7, 5) for x in (w * T, w ** (T - 1), w ** (T + 1)))
        ):
            break
    course = reference("lstm")
    norm = course.jacobian_norms(course.tensor([[float(w)]]), course.tensor([[0.0]] * (T + 1)))[0]
    grown, scale = digits(norm, 1), digits(1 / norm, 4)
    return {
        "params": {"w": f"{float(w):.2f}", "T": T},
        "solution": {"factor": grown, "scale": scale},
        "answers": {"factor": grown, "scale": scale},
        "wrong": {"factor": [f"{float(w * T):.1f}", f"{float(w ** (T - 1)):.1f}"]},
    }


def verify(params):
    import torch

    h0 = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    h = h0
    for _ in range(params["T"]):
        h = float(params["w"]) * h
    h.sum().backward()
    factor = h0.grad.item()
    torch.nn.utils.clip_grad_norm_([h0], 1.0)
    return {"factor": factor, "scale": h0.grad.item() / factor}
