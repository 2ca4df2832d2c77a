"""The course's count of grouped-query attention. `verify` counts the entries of torch layers."""

from exam_bank.course import reference


def generate(rng):
    h, dh = rng.choice([8, 12, 16, 32]), rng.choice([16, 32, 64, 80, 96, 128])
    g = rng.choice([k for k in (2, 4, 8) if h % k == 0 and k < h])
    d = h * dh
    a1, a2 = (reference("minigpt").gqa_param_count(d, h, heads, bias=False) for heads in (h, g))
    kv1, kv2 = a1 - 2 * d * d, a2 - 2 * d * d
    return {
        "params": {"d": d, "h": h, "dh": dh, "g": g},
        "solution": {"dd": d * d, "kv1": kv1, "kv2": kv2, "a1": a1, "a2": a2},
        "answers": {"counts": [[str(kv1), str(a1)], [str(kv2), str(a2)]]},
    }


def verify(params):
    import torch

    d = params["d"]

    def linear(out):
        return torch.nn.Linear(d, out, bias=False, device="meta").weight.numel()

    rows = []
    for heads in (params["h"], params["g"]):
        kv = linear(heads * params["dh"]) + linear(heads * params["dh"])
        rows.append([kv, kv + 2 * linear(d)])
    return {"counts": rows}
