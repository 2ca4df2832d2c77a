"""One of six faults. `verify` repairs each line in turn and compares the weights after two steps."""

RIGHT = {
    2: "x, y = {ids}[:, :-1], {ids}[:, 1:]",
    3: "z = model(x)",
    4: "loss = cross_entropy(z.flatten(0, 1), y.flatten())",
    5: "opt.zero_grad()",
    6: "loss.backward()",
    7: "opt.step()",
}
FAULTS = [
    (
        2,
        "x, y = {ids}[:, 1:], {ids}[:, :-1]",
        "inputs and targets are exchanged: it learns to predict the previous token.",
    ),
    (2, "x, y = {ids}[:, :-1], {ids}[:, :-1]", "the targets aren't shifted: it learns to copy its input."),
    (3, "z = model(y)", "the model must read the inputs, not the targets."),
    (
        4,
        "loss = -cross_entropy(z.flatten(0, 1), y.flatten())",
        "the loss must be made small; with the sign changed it grows.",
    ),
    (5, "opt.step()", "old gradients must be cleared, or they add up from step to step."),
    (7, "opt.zero_grad()", "the parameters must be changed by a step."),
]


def generate(rng):
    line, text, why = rng.choice(FAULTS)
    ids, name = rng.choice(["ids", "text", "tokens", "batch"]), rng.choice(["step", "train_step", "update", "learn"])
    lines = {n: (text if n == line else RIGHT[n]).format(ids=ids) for n in RIGHT}
    fix = RIGHT[line].format(ids=ids)
    return {
        "params": {"ids": ids, "name": name} | {f"l{n}": t for n, t in lines.items()},
        "solution": {"line": line, "right": fix, "fix": fix, "why": why},
        "answers": {"line": [str(line), f"line {line}"]},
        "wrong": {"line": [str(n) for n in (line - 1, line + 1)]},
    }


def verify(params):
    import torch

    cross_entropy = torch.nn.functional.cross_entropy
    data = [torch.tensor([[0, 2, 1, 3, 0]]), torch.tensor([[1, 3, 2, 0, 2]])]

    def train(lines):
        model = torch.nn.Embedding(4, 4, dtype=torch.float64)
        with torch.no_grad():
            model.weight.copy_(torch.sin(torch.arange(16, dtype=torch.float64) * 1.3).view(4, 4))
        opt = torch.optim.SGD(model.parameters(), lr=0.5)
        steps = {
            "x, y = {ids}[:, :-1], {ids}[:, 1:]": lambda s: s | {"x": s["ids"][:, :-1], "y": s["ids"][:, 1:]},
            "x, y = {ids}[:, 1:], {ids}[:, :-1]": lambda s: s | {"x": s["ids"][:, 1:], "y": s["ids"][:, :-1]},
            "x, y = {ids}[:, :-1], {ids}[:, :-1]": lambda s: s | {"x": s["ids"][:, :-1], "y": s["ids"][:, :-1]},
            "z = model(x)": lambda s: s | {"z": model(s["x"])},
            "z = model(y)": lambda s: s | {"z": model(s["y"])},
            "loss = cross_entropy(z.flatten(0, 1), y.flatten())": lambda s: (
                s | {"loss": cross_entropy(s["z"].flatten(0, 1), s["y"].flatten())}
            ),
            "loss = -cross_entropy(z.flatten(0, 1), y.flatten())": lambda s: (
                s | {"loss": -cross_entropy(s["z"].flatten(0, 1), s["y"].flatten())}
            ),
            "opt.zero_grad()": lambda s: opt.zero_grad() or s,
            "opt.step()": lambda s: opt.step() or s,
            "loss.backward()": lambda s: s["loss"].backward() or s,
        }
        by_text = {text.format(ids=params["ids"]): step for text, step in steps.items()}
        for ids in data:
            state = {"ids": ids}
            for n in range(2, 8):
                state = by_text[lines[n]](state)
        return model.weight.detach()

    right = {n: text.format(ids=params["ids"]) for n, text in RIGHT.items()}
    given = {n: params[f"l{n}"] for n in range(2, 8)}
    restored = [n for n in RIGHT if torch.allclose(train(given | {n: right[n]}), train(right))]
    assert len(restored) == 1
    return {"line": str(restored[0])}
