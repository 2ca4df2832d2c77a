"""f / (2d + f). `verify` counts the entries of torch layers."""

from fractions import Fraction


def generate(rng):
    while True:
        d = rng.choice([64, 100, 128, 200, 256, 300, 384, 512, 640, 768])
        f = rng.choice([100, 128, 256, 300, 400, 512, 600, 768, 1000, 1024, 1500, 2000, 2048, 3000, 3072])
        share = Fraction(100 * f, 2 * d + f)
        wrong = [Fraction(100 * f, d + f), Fraction(100 * f, 4 * d + f), 100 - share]
        if d < f <= 6 * d and (share * 10) % 1 != Fraction(1, 2) and all(abs(w - share) > 1 for w in wrong):
            break
    return {
        "params": {"d": d, "f": f},
        "solution": {"ffn": 2 * d * f, "att": 4 * d * d, "sum": 2 * d + f, "share": f"{float(share):.1f}"},
        "answers": {"share": f"{float(share):.1f}"},
        "wrong": {"share": [f"{float(w):.1f}" for w in wrong]},
    }


def verify(params):
    import torch

    d, f = params["d"], params["f"]

    def linear(i, o):
        return torch.nn.Linear(i, o, bias=False, device="meta").weight.numel()

    ffn = linear(d, f) + linear(f, d)
    return {"share": 100 * ffn / (ffn + sum(linear(d, d) for _ in range(4)))}
