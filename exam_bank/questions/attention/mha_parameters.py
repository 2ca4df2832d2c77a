"""The course's count of grouped-query attention, with as many groups as heads.

`verify` counts the entries of torch's MultiheadAttention.
"""

from exam_bank.course import reference


def generate(rng):
    while True:
        h, dh = rng.choice([2, 4, 6, 8, 12, 16]), rng.choice([16, 20, 24, 28, 32, 40, 48, 56, 64, 72, 80, 96, 128])
        d = h * dh
        values = [reference("minigpt").gqa_param_count(d, h, h, bias=False), 4 * d * d * h, 3 * d * d, 4 * d * dh]
        if len(set(values)) == 4:
            break
    why = ["", "multiplies by the heads although each is smaller", "forgets the output matrix", "counts one head only"]
    return {
        "params": {"d": d, "h": h, "dh": dh},
        "solution": {"count": values[0]},
        "choices": {"count": [(str(v), i == 0, why[i]) for i, v in enumerate(values)]},
        "answers": {},
    }


def verify(params):
    import torch

    net = torch.nn.MultiheadAttention(params["d"], params["h"], bias=False, device="meta")
    return {"count": str(sum(p.numel() for p in net.parameters()))}
