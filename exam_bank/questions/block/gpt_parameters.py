"""Vd + Td + L(12d^2 + 13d) + 2d. `verify` builds the modules on torch's meta device."""

from fractions import Fraction


def generate(rng):
    while True:
        L, d = rng.choice([4, 6, 8, 12, 16, 24, 36]), rng.choice([256, 384, 512, 768, 1024, 1280])
        V, T = rng.choice([8000, 16000, 32000, 50257]), rng.choice([256, 512, 1024, 2048])
        layer = 12 * d * d + 13 * d
        count = V * d + T * d + L * layer + 2 * d
        m = Fraction(count, 10**6)
        if abs((m * 10) % 1 - Fraction(1, 2)) > Fraction(1, 10**4) and T * d > 3 * 10**5:
            break
    return {
        "params": {"L": L, "d": d, "V": V, "T": T},
        "solution": {
            "words": V * d,
            "positions": T * d,
            "layer": layer,
            "layers": L * layer,
            "norm": 2 * d,
            "count": count,
            "millions": f"{float(m):.1f}",
        },
        "answers": {"millions": f"{float(m):.1f}"},
        "wrong": {
            "millions": [f"{(count + V * d) / 1e6:.1f}", f"{(count - V * d) / 1e6:.1f}", f"{L * layer / 1e6:.1f}"]
        },
    }


def verify(params):
    import torch

    L, d = params["L"], params["d"]
    layer = torch.nn.TransformerEncoderLayer(d, 4, 4 * d, device="meta")
    tables = [torch.nn.Embedding(params[k], d, device="meta") for k in ("V", "T")] + [
        torch.nn.LayerNorm(d, device="meta")
    ]
    count = L * sum(p.numel() for p in layer.parameters()) + sum(p.numel() for m in tables for p in m.parameters())
    return {"millions": count / 1e6}
