"""One of eight faults. `verify` repairs each line in turn and compares with torch's LSTMCell."""

RIGHT = {
    2: "i, f = sigmoid(i), sigmoid(f)",
    3: "g = tanh(g)",
    4: "o = sigmoid(o)",
    5: "{c} = f * {c} + i * g",
    6: "{h} = o * tanh({c})",
}
FAULTS = [
    (2, "i, f = sigmoid(i), tanh(f)", "gates are numbers between 0 and 1, so they use the sigmoid."),
    (2, "i, f = tanh(i), sigmoid(f)", "gates are numbers between 0 and 1, so they use the sigmoid."),
    (3, "g = sigmoid(g)", "the candidate may be negative, so it uses tanh."),
    (4, "o = tanh(o)", "gates are numbers between 0 and 1, so they use the sigmoid."),
    (5, "{c} = i * {c} + f * g", "the forget gate masks the old cell, the input gate the candidate."),
    (5, "{c} = {c} + i * g", "the old cell must be masked by the forget gate."),
    (5, "{c} = f * {c} + g", "the candidate must be masked by the input gate."),
    (6, "{h} = o * {c}", "the cell goes through tanh before the output gate."),
]


def generate(rng):
    line, text, why = rng.choice(FAULTS)
    c, h = rng.choice(["c", "cell", "memory", "state"]), rng.choice(["h", "hidden", "out"])
    name = rng.choice(["step", "lstm_step", "cell_step", "update"])
    lines = {n: (text if n == line else RIGHT[n]).format(c=c, h=h) for n in RIGHT}
    fix = RIGHT[line].format(c=c, h=h)
    return {
        "params": {"c": c, "h": h, "name": name} | {f"l{n}": t for n, t in lines.items()},
        "solution": {"line": line, "right": fix, "fix": fix, "why": why},
        "answers": {"line": [str(line), f"line {line}"]},
        "wrong": {"line": [str(n) for n in (line - 1, line + 1)]},
    }


def verify(params):
    import torch

    sigmoid, tanh = torch.sigmoid, torch.tanh
    sums = torch.tensor([[0.3], [-0.8], [0.9], [-0.4]], dtype=torch.float64)
    start = torch.tensor([[1.3]], dtype=torch.float64)
    steps = {
        "i, f = sigmoid(i), sigmoid(f)": lambda s: s | {"i": sigmoid(s["i"]), "f": sigmoid(s["f"])},
        "i, f = sigmoid(i), tanh(f)": lambda s: s | {"i": sigmoid(s["i"]), "f": tanh(s["f"])},
        "i, f = tanh(i), sigmoid(f)": lambda s: s | {"i": tanh(s["i"]), "f": sigmoid(s["f"])},
        "g = tanh(g)": lambda s: s | {"g": tanh(s["g"])},
        "g = sigmoid(g)": lambda s: s | {"g": sigmoid(s["g"])},
        "o = sigmoid(o)": lambda s: s | {"o": sigmoid(s["o"])},
        "o = tanh(o)": lambda s: s | {"o": tanh(s["o"])},
        "{c} = f * {c} + i * g": lambda s: s | {"c": s["f"] * s["c"] + s["i"] * s["g"]},
        "{c} = i * {c} + f * g": lambda s: s | {"c": s["i"] * s["c"] + s["f"] * s["g"]},
        "{c} = {c} + i * g": lambda s: s | {"c": s["c"] + s["i"] * s["g"]},
        "{c} = f * {c} + g": lambda s: s | {"c": s["f"] * s["c"] + s["g"]},
        "{h} = o * tanh({c})": lambda s: s | {"h": s["o"] * tanh(s["c"])},
        "{h} = o * {c}": lambda s: s | {"h": s["o"] * s["c"]},
    }
    by_text = {text.format(c=params["c"], h=params["h"]): step for text, step in steps.items()}

    def run(lines):
        state = {"i": sums[0], "f": sums[1], "g": sums[2], "o": sums[3], "c": start[0]}
        for n in range(2, 7):
            state = by_text[lines[n]](state)
        return torch.cat([state["h"], state["c"]])

    cell = torch.nn.LSTMCell(1, 1, dtype=torch.float64)
    with torch.no_grad():
        for p in cell.parameters():
            p.zero_()
        cell.bias_ih.copy_(sums.flatten())
        h, c = cell(torch.zeros(1, 1, dtype=torch.float64), (torch.zeros(1, 1, dtype=torch.float64), start))
    given = {n: params[f"l{n}"] for n in range(2, 7)}
    right = {n: text.format(c=params["c"], h=params["h"]) for n, text in RIGHT.items()}
    restored = [n for n in RIGHT if torch.allclose(run(given | {n: right[n]}), torch.cat([h[0], c[0]]))]
    assert len(restored) == 1
    return {"line": str(restored[0])}
