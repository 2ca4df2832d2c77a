"""One of seven faults. `verify` repairs each line in turn and compares with torch's layer_norm."""

RIGHT = {
    2: "mean = {x}.mean(dim=2, keepdim=True)",
    3: "var = (({x} - mean) ** 2).mean(dim=2, keepdim=True)",
    4: "y = ({x} - mean) / sqrt(var + {eps})",
    5: "return gain * y + bias",
}
FAULTS = [
    (2, "mean = {x}.mean(dim=1, keepdim=True)", "the mean runs over the width of one token, not over the tokens."),
    (2, "mean = {x}.mean(dim=0, keepdim=True)", "the mean runs over the width of one token, not over the texts."),
    (3, "var = (({x} - mean) ** 2).mean(dim=1, keepdim=True)", "the variance runs over the width of one token."),
    (3, "var = (({x} - mean) ** 2).sum(dim=2, keepdim=True)", "the variance is a mean of squares, not their sum."),
    (4, "y = ({x} - mean) / (var + {eps})", "it divides by the standard deviation, the root of the variance."),
    (4, "y = {x} / sqrt(var + {eps})", "the mean must be subtracted."),
    (5, "return gain * (y + bias)", "the bias is added after the gain."),
]


def generate(rng):
    line, text, why = rng.choice(FAULTS)
    x, eps = rng.choice(["x", "h", "z", "tokens"]), rng.choice(["eps", "epsilon", "tiny"])
    name = rng.choice(["layer_norm", "normalise", "norm", "layernorm"])
    lines = {n: (text if n == line else RIGHT[n]).format(x=x, eps=eps) for n in RIGHT}
    fix = RIGHT[line].format(x=x, eps=eps)
    return {
        "params": {"x": x, "eps": eps, "name": name} | {f"l{n}": t for n, t in lines.items()},
        "solution": {"line": line, "right": fix, "fix": fix, "why": why},
        "answers": {"line": [str(line), f"line {line}"]},
        "wrong": {"line": [str(n) for n in (line - 1, line + 1)]},
    }


def verify(params):
    import torch

    x = torch.sin(torch.arange(24, dtype=torch.float64) * 1.9).view(2, 3, 4) * 3 + 1
    gain, bias = (
        torch.tensor([0.5, 2.0, 1.5, -1.0], dtype=torch.float64),
        torch.tensor([0.3, -0.2, 1.0, 0.7], dtype=torch.float64),
    )
    eps = 1e-5
    steps = {
        "mean = {x}.mean(dim=2, keepdim=True)": lambda s: s | {"mean": x.mean(dim=2, keepdim=True)},
        "mean = {x}.mean(dim=1, keepdim=True)": lambda s: s | {"mean": x.mean(dim=1, keepdim=True)},
        "mean = {x}.mean(dim=0, keepdim=True)": lambda s: s | {"mean": x.mean(dim=0, keepdim=True)},
        "var = (({x} - mean) ** 2).mean(dim=2, keepdim=True)": lambda s: (
            s | {"var": ((x - s["mean"]) ** 2).mean(dim=2, keepdim=True)}
        ),
        "var = (({x} - mean) ** 2).mean(dim=1, keepdim=True)": lambda s: (
            s | {"var": ((x - s["mean"]) ** 2).mean(dim=1, keepdim=True)}
        ),
        "var = (({x} - mean) ** 2).sum(dim=2, keepdim=True)": lambda s: (
            s | {"var": ((x - s["mean"]) ** 2).sum(dim=2, keepdim=True)}
        ),
        "y = ({x} - mean) / sqrt(var + {eps})": lambda s: s | {"y": (x - s["mean"]) / (s["var"] + eps).sqrt()},
        "y = ({x} - mean) / (var + {eps})": lambda s: s | {"y": (x - s["mean"]) / (s["var"] + eps)},
        "y = {x} / sqrt(var + {eps})": lambda s: s | {"y": x / (s["var"] + eps).sqrt()},
        "return gain * y + bias": lambda s: gain * s["y"] + bias,
        "return gain * (y + bias)": lambda s: gain * (s["y"] + bias),
    }
    names = {"x": params["x"], "eps": params["eps"]}
    by_text = {text.format(**names): step for text, step in steps.items()}

    def run(lines):
        state = {}
        for n in range(2, 6):
            state = by_text[lines[n]](state)
        return state

    truth = torch.nn.functional.layer_norm(x, (4,), gain, bias, eps)
    given = {n: params[f"l{n}"] for n in range(2, 6)}
    restored = [n for n in RIGHT if torch.allclose(run(given | {n: RIGHT[n].format(**names)}), truth)]
    assert len(restored) == 1
    return {"line": str(restored[0])}
