"""The course's count, less the second bias, which this layer doesn't have.

`verify` counts the entries of torch's LSTM, which has a second bias to leave out.
"""

from exam_bank.course import reference


def generate(rng):
    x, h = rng.choice([8, 10, 16, 20, 32, 50, 64, 100, 128]), rng.choice([8, 10, 16, 20, 24, 32, 40, 50, 64, 100])
    block = h * (x + h) + h
    count = reference("lstm").lstm_param_count(x, h, 1, bidirectional=False) - 4 * h
    return {
        "params": {"x": x, "h": h},
        "solution": {"block": block, "count": count},
        "answers": {"count": str(count)},
        "wrong": {"count": [str(3 * block), str(4 * block + 4 * h), str(4 * h * (x + h)), str(block)]},
    }


def verify(params):
    import torch

    net = torch.nn.LSTM(params["x"], params["h"], device="meta")
    return {"count": sum(p.numel() for n, p in net.named_parameters() if n != "bias_hh_l0")}
