"""A drawn step of the course's LSTM cell. `verify` runs torch's LSTMCell with biases that give these gates."""

import math
from fractions import Fraction

from exam_bank.course import digits, reference
from exam_bank.figures import flow


def generate(rng):
    while True:
        i, f, o = (Fraction(k, 10) for k in rng.sample(range(1, 10), 3))
        g, c0 = (
            Fraction(rng.choice([-1, 1]) * rng.randint(1, 9), 10),
            Fraction(rng.choice([-1, 1]) * rng.randint(5, 25), 10),
        )
        c = f * c0 + i * g
        h = float(o) * math.tanh(c)
        swapped = i * c0 + f * g
        wrong_h = [float(o * c), math.tanh(c)]
        far = abs(swapped - c) > Fraction(3, 100) and all(abs(w - h) > 0.05 for w in wrong_h)
        if far and abs(c) > Fraction(1, 5) and abs(h) > 0.05 and abs(abs(h * 100) % 1 - 0.5) > 1e-3:
            break

    course = reference("lstm")
    zero = course.tensor([[0.0]])
    gates = [math.log(i / (1 - i)), math.log(f / (1 - f)), math.atanh(g), math.log(o / (1 - o))]
    weights = course.tensor([[0.0]] * 4)
    hidden, cell = course.lstm_cell(
        zero, zero, course.tensor([[float(c0)]]), weights, weights, course.tensor(gates), course.tensor([0.0] * 4)
    )
    key_c, key_h = digits(cell, 2)[0][0], digits(hidden, 2)[0][0]

    def one(v):
        return f"{float(v):.1f}"

    boxes = [
        ("old cell", 46, 66),
        ("x f", 140, 66),
        ("+", 220, 66),
        ("new cell", 310, 66),
        ("candidate", 46, 122),
        ("x i", 220, 122),
        ("tanh", 310, 122),
        ("x o", 310, 178),
        ("hidden", 400, 178),
        (f"f = {one(f)}", 140, 16),
        (f"i = {one(i)}", 220, 178),
        (f"o = {one(o)}", 310, 228),
    ]
    arrows = [(0, 1, one(c0)), (1, 2, ""), (2, 3, ""), (4, 5, one(g)), (5, 2, ""), (3, 6, ""), (6, 7, ""), (7, 8, "")]
    arrows += [(9, 1, ""), (10, 5, ""), (11, 7, "")]
    alt = (
        f"LSTM step. The old cell {one(c0)} is multiplied by the forget gate f = {one(f)}. "
        f"The candidate {one(g)} is multiplied by the "
        f"input gate i = {one(i)}. Both products are added to the new cell. "
        f"The new cell goes through tanh and is multiplied by the "
        f"output gate o = {one(o)}, which gives the hidden state."
    )
    names = {"c0": c0, "i": i, "f": f, "o": o, "g": g}
    return {
        "params": {k: one(v) for k, v in names.items()},
        "solution": {"c": key_c, "th": f"{math.tanh(c):.3f}", "h": key_h},
        "answers": {"c": key_c, "h": key_h},
        "wrong": {"c": [f"{float(swapped):.2f}"], "h": [f"{w:.2f}" for w in wrong_h]},
        "figures": {"cell": flow(boxes, arrows, alt, width=450, height=250)},
    }


def verify(params):
    import torch

    v = {k: torch.tensor(float(x), dtype=torch.float64) for k, x in params.items()}
    cell = torch.nn.LSTMCell(1, 1, dtype=torch.float64)
    with torch.no_grad():
        for p in cell.parameters():
            p.zero_()
        cell.bias_ih.copy_(torch.stack([v["i"].logit(), v["f"].logit(), v["g"].atanh(), v["o"].logit()]))
        h, c = cell(
            torch.zeros(1, 1, dtype=torch.float64), (torch.zeros(1, 1, dtype=torch.float64), v["c0"].view(1, 1))
        )
    return {"c": c.item(), "h": h.item()}
