"""One of seven faults. `verify` repairs each line in turn and compares with a direct computation on sorted weights."""

RIGHT = {
    2: "{z} = {z} / {T}",
    3: "limit = {z}.topk(k).values.min()",
    4: "{z} = {z}.masked_fill({z} < limit, -math.inf)",
    5: "p = {z}.softmax(dim=0)",
}
FAULTS = [
    (2, "{z} = {z} * {T}", "logits are divided by the temperature."),
    (2, "{z} = {z} - {T}", "subtracting a constant from all logits changes nothing; they must be divided."),
    (
        3,
        "limit = {z}.topk(k).values.max()",
        "the limit is the smallest kept logit; the largest would keep one symbol only.",
    ),
    (4, "{z} = {z}.masked_fill({z} > limit, -math.inf)", "it removes the best symbols instead of the others."),
    (4, "{z} = {z}.masked_fill({z} < limit, 0.0)", "a logit of 0 still gets a positive probability."),
    (4, "{z} = {z}.masked_fill({z} <= limit, -math.inf)", "it also removes the k-th symbol."),
    (5, "p = {z} / {z}.sum()", "logits become probabilities by a softmax."),
]


def generate(rng):
    line, text, why = rng.choice(FAULTS)
    z, T = rng.choice(["z", "logits", "scores", "x"]), rng.choice(["T", "tau", "temperature", "temp"])
    name = rng.choice(["next_symbol", "probabilities", "top_k", "next_probs"])
    lines = {n: (text if n == line else RIGHT[n]).format(z=z, T=T) for n in RIGHT}
    fix = RIGHT[line].format(z=z, T=T)
    return {
        "params": {"z": z, "T": T, "name": name} | {f"l{n}": t for n, t in lines.items()},
        "solution": {"line": line, "right": fix, "fix": fix, "why": why},
        "answers": {"line": [str(line), f"line {line}"]},
        "wrong": {"line": [str(n) for n in (line - 1, line + 1)]},
    }


def verify(params):
    import math

    import torch

    logits = torch.tensor([1.5, -0.4, 2.2, 0.3, -1.0], dtype=torch.float64)
    T, k = 0.7, 3
    steps = {
        "{z} = {z} / {T}": lambda s: s | {"z": s["z"] / T},
        "{z} = {z} * {T}": lambda s: s | {"z": s["z"] * T},
        "{z} = {z} - {T}": lambda s: s | {"z": s["z"] - T},
        "limit = {z}.topk(k).values.min()": lambda s: s | {"limit": s["z"].topk(k).values.min()},
        "limit = {z}.topk(k).values.max()": lambda s: s | {"limit": s["z"].topk(k).values.max()},
        "{z} = {z}.masked_fill({z} < limit, -math.inf)": lambda s: (
            s | {"z": s["z"].masked_fill(s["z"] < s["limit"], -math.inf)}
        ),
        "{z} = {z}.masked_fill({z} > limit, -math.inf)": lambda s: (
            s | {"z": s["z"].masked_fill(s["z"] > s["limit"], -math.inf)}
        ),
        "{z} = {z}.masked_fill({z} <= limit, -math.inf)": lambda s: (
            s | {"z": s["z"].masked_fill(s["z"] <= s["limit"], -math.inf)}
        ),
        "{z} = {z}.masked_fill({z} < limit, 0.0)": lambda s: s | {"z": s["z"].masked_fill(s["z"] < s["limit"], 0.0)},
        "p = {z}.softmax(dim=0)": lambda s: s | {"p": s["z"].softmax(dim=0)},
        "p = {z} / {z}.sum()": lambda s: s | {"p": s["z"] / s["z"].sum()},
    }
    names = {"z": params["z"], "T": params["T"]}
    by_text = {text.format(**names): step for text, step in steps.items()}

    def run(lines):
        state = {"z": logits}
        for n in range(2, 6):
            state = by_text[lines[n]](state)
        return state["p"]

    weights = {i: math.exp(v / T) for i, v in enumerate(logits.tolist())}
    kept = sorted(weights, key=weights.get)[-k:]
    truth = torch.tensor(
        [weights[i] / sum(weights[j] for j in kept) if i in kept else 0.0 for i in range(5)], dtype=torch.float64
    )
    given = {n: params[f"l{n}"] for n in range(2, 6)}
    restored = [n for n in RIGHT if torch.allclose(run(given | {n: RIGHT[n].format(**names)}), truth)]
    assert len(restored) == 1
    return {"line": str(restored[0])}
