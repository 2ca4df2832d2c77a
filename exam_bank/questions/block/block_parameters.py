"""The course's count for attention, plus both linear maps and norms.

`verify` counts the entries of torch's encoder layer.
"""

from exam_bank.course import reference


def generate(rng):
    d = rng.choice([48, 64, 80, 96, 112, 128, 144, 160, 192, 224, 240, 256, 288, 320, 384, 448, 512])
    f = d * rng.choice([2, 3, 4, 5, 6, 8])
    attention, ffn, norm = reference("minigpt").gqa_param_count(d, 1, 1, bias=True), 2 * d * f + f + d, 4 * d
    count = attention + ffn + norm
    return {
        "params": {"d": d, "f": f},
        "solution": {"attention": attention, "ffn": ffn, "norm": norm, "count": count},
        "answers": {"count": str(count)},
        "wrong": {
            "count": [str(count - d * d - d), str(4 * d * d + 2 * d * f), str(count - norm), str(count - norm // 2)]
        },
    }


def verify(params):
    import torch

    layer = torch.nn.TransformerEncoderLayer(params["d"], 4, params["f"], device="meta")
    return {"count": sum(p.numel() for p in layer.parameters())}
