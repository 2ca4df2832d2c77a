"""The course's count of one attention layer, L times. `verify` counts torch layers."""

from exam_bank.course import reference


def generate(rng):
    L, d = rng.randint(2, 24), rng.choice([10, 20, 32, 50, 64, 100, 128, 200, 256])
    one = d * d
    count = L * reference("minigpt").gqa_param_count(d, 1, 1, bias=False)
    return {
        "params": {"L": L, "d": d},
        "solution": {"one": one, "count": count},
        "answers": {"count": str(count)},
        "wrong": {"count": [str(4 * one), str(3 * L * one), str(4 * L * d)]},
    }


def verify(params):
    import torch

    d = params["d"]
    layers = [torch.nn.Linear(d, d, bias=False, device="meta") for _ in range(4 * params["L"])]
    return {"count": sum(layer.weight.numel() for layer in layers)}
