"""A step of the course's LSTM cell. `verify` runs torch's LSTMCell with biases that give these gates."""

import math
from fractions import Fraction

from exam_bank.course import digits, reference


def generate(rng):
    while True:
        i, f, o = (Fraction(k, 10) for k in rng.sample(range(1, 10), 3))
        g = Fraction(rng.choice([-1, 1]) * rng.randint(1, 9), 10)
        c0 = Fraction(rng.randint(-20, 20), 10)
        c = f * c0 + i * g
        h = float(o) * math.tanh(c)
        wrong_c = [i * c0 + f * g, c0 + i * g, f * c0 + g]
        wrong_h = [float(o * c), math.tanh(c), float(o) * math.tanh(wrong_c[0])]
        ok = all(abs(x - c) > Fraction(3, 100) for x in wrong_c) and all(abs(x - h) > 0.02 for x in wrong_h)
        if ok and c0 and abs(c) > Fraction(1, 10) and abs(abs(h * 1000) % 1 - 0.5) > 1e-4:
            break
    course = reference("lstm")
    zero = course.tensor([[0.0]])
    gates = [math.log(i / (1 - i)), math.log(f / (1 - f)), math.atanh(g), math.log(o / (1 - o))]
    weights = course.tensor([[0.0]] * 4)
    hidden, cell = course.lstm_cell(
        zero, zero, course.tensor([[float(c0)]]), weights, weights, course.tensor(gates), course.tensor([0.0] * 4)
    )
    key_c, key_h = digits(cell, 2)[0][0], digits(hidden, 3)[0][0]
    return {
        "params": {
            "c0": f"{float(c0):.1f}",
            "i": f"{float(i):.1f}",
            "f": f"{float(f):.1f}",
            "o": f"{float(o):.1f}",
            "g": f"{float(g):.1f}",
        },
        "solution": {"c": key_c, "th": f"{math.tanh(c):.4f}", "h": key_h},
        "answers": {"c": key_c, "h": key_h},
        "wrong": {"c": [f"{float(x):.2f}" for x in wrong_c], "h": [f"{x:.3f}" for x in wrong_h]},
    }


def verify(params):
    import torch

    v = {k: torch.tensor(float(params[k]), dtype=torch.float64) for k in ("c0", "i", "f", "o", "g")}
    cell = torch.nn.LSTMCell(1, 1, dtype=torch.float64)
    with torch.no_grad():
        for p in cell.parameters():
            p.zero_()
        cell.bias_ih.copy_(torch.stack([v["i"].logit(), v["f"].logit(), v["g"].atanh(), v["o"].logit()]))
        h, c = cell(
            torch.zeros(1, 1, dtype=torch.float64), (torch.zeros(1, 1, dtype=torch.float64), v["c0"].view(1, 1))
        )
    return {"c": c.item(), "h": h.item()}
