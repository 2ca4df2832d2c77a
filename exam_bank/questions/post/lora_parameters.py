"""r (d + k). `verify` counts the entries of two torch layers without bias."""

from fractions import Fraction


def generate(rng):
    while True:
        d, k = (rng.choice([256, 512, 768, 1024, 2048, 3072, 4096]) for _ in range(2))
        r = rng.choice([1, 2, 4, 8, 16, 32])
        factor = Fraction(d * k, r * (d + k))
        if factor > 4 and abs((factor * 10) % 1 - Fraction(1, 2)) > Fraction(1, 10**6):
            break
    trained = r * (d + k)
    return {
        "params": {"d": d, "k": k, "r": r},
        "solution": {"trained": trained, "full": d * k, "factor": f"{float(factor):.1f}"},
        "answers": {"trained": str(trained), "factor": f"{float(factor):.1f}"},
        "wrong": {
            "trained": [str(r * d * k), str(d + k)] if r > 1 else [str(d * k)],
            "factor": [f"{float(2 * factor):.1f}", f"{float(factor / 2):.1f}"],
        },
    }


def verify(params):
    import torch

    d, k, r = params["d"], params["k"], params["r"]
    down, up, full = (
        torch.nn.Linear(i, o, bias=False, device="meta").weight.numel() for i, o in ((d, r), (r, k), (d, k))
    )
    return {"trained": down + up, "factor": full / (down + up)}
