"""One of eleven faults. `verify` repairs each line in turn: only one repair restores torch's own attention."""

RIGHT = {
    2: "Q, K, V = {X} @ Wq, {X} @ Wk, {X} @ Wv",
    3: "S = Q @ K.T",
    4: "S = S / math.sqrt(K.shape[1])",
    5: "S = S.masked_fill(later, -math.inf)",
    6: "A = S.softmax(dim=1)",
    7: "return A @ V",
}
FAULTS = [
    (2, "Q, K, V = {X} @ Wq, {X} @ Wk, {X} @ Wk", "the values need their own projection."),
    (2, "Q, K, V = {X} @ Wq, {X} @ Wq, {X} @ Wv", "the keys need their own projection."),
    (
        2,
        "Q, K, V = {X} @ Wk, {X} @ Wq, {X} @ Wv",
        "queries and keys are exchanged, and rows of the scores must belong to queries.",
    ),
    (3, "S = K @ Q.T", "the rows of the scores must belong to the queries."),
    (4, "S = S / K.shape[1]", "the scores are divided by the square root of the key size."),
    (4, "S = S * math.sqrt(K.shape[1])", "the scores are divided, not multiplied."),
    (4, "S = S / math.sqrt(K.shape[0])", "the size of a key counts, not the number of tokens."),
    (5, "S = S.masked_fill(later, 0.0)", "a score of 0 still gets a positive weight; only minus infinity gives 0."),
    (5, "S = S.masked_fill(~later, -math.inf)", "the mask is inverted: it hides the past."),
    (6, "A = S.softmax(dim=0)", "each row (query) must sum to one, so the softmax runs along the keys."),
    (7, "return A.T @ V", "row t of the weights belongs to query t; the transpose mixes the roles."),
]


def generate(rng):
    line, text, why = rng.choice(FAULTS)
    X, name = (
        rng.choice(["X", "H", "E", "Z", "tokens"]),
        rng.choice(["attention", "attend", "head", "causal_head", "self_attention"]),
    )
    lines = {n: (text if n == line else RIGHT[n]).format(X=X) for n in RIGHT}
    fix = RIGHT[line].format(X=X)
    return {
        "params": {"X": X, "name": name} | {f"l{n}": t for n, t in lines.items()},
        "solution": {"line": line, "right": fix, "fix": fix, "why": why},
        "answers": {"line": [str(line), f"line {line}"]},
        "wrong": {"line": [str(n) for n in (line - 1, line + 1)]},
    }


def verify(params):
    import math

    import torch

    sizes = {"X": (4, 3), "Wq": (3, 5), "Wk": (3, 5), "Wv": (3, 5)}
    X, Wq, Wk, Wv = (
        torch.sin(torch.arange(r * c, dtype=torch.float64) * (1.7 + 0.6 * n) + n).view(r, c)
        for n, (r, c) in enumerate(sizes.values())
    )
    later = torch.ones(4, 4, dtype=torch.bool).triu(1)

    def norm(text):
        return text.replace(params["X"] + " @", "{X} @")

    steps = {
        "Q, K, V = {X} @ Wq, {X} @ Wk, {X} @ Wv": lambda s: s | {"Q": X @ Wq, "K": X @ Wk, "V": X @ Wv},
        "Q, K, V = {X} @ Wq, {X} @ Wk, {X} @ Wk": lambda s: s | {"Q": X @ Wq, "K": X @ Wk, "V": X @ Wk},
        "Q, K, V = {X} @ Wq, {X} @ Wq, {X} @ Wv": lambda s: s | {"Q": X @ Wq, "K": X @ Wq, "V": X @ Wv},
        "Q, K, V = {X} @ Wk, {X} @ Wq, {X} @ Wv": lambda s: s | {"Q": X @ Wk, "K": X @ Wq, "V": X @ Wv},
        "S = Q @ K.T": lambda s: s | {"S": s["Q"] @ s["K"].T},
        "S = K @ Q.T": lambda s: s | {"S": s["K"] @ s["Q"].T},
        "S = S / math.sqrt(K.shape[1])": lambda s: s | {"S": s["S"] / math.sqrt(5)},
        "S = S / K.shape[1]": lambda s: s | {"S": s["S"] / 5},
        "S = S * math.sqrt(K.shape[1])": lambda s: s | {"S": s["S"] * math.sqrt(5)},
        "S = S / math.sqrt(K.shape[0])": lambda s: s | {"S": s["S"] / 2},
        "S = S.masked_fill(later, -math.inf)": lambda s: s | {"S": s["S"].masked_fill(later, -math.inf)},
        "S = S.masked_fill(later, 0.0)": lambda s: s | {"S": s["S"].masked_fill(later, 0.0)},
        "S = S.masked_fill(~later, -math.inf)": lambda s: s | {"S": s["S"].masked_fill(~later, -math.inf)},
        "A = S.softmax(dim=1)": lambda s: s | {"A": s["S"].softmax(dim=1)},
        "A = S.softmax(dim=0)": lambda s: s | {"A": s["S"].softmax(dim=0)},
        "return A @ V": lambda s: s["A"] @ s["V"],
        "return A.T @ V": lambda s: s["A"].T @ s["V"],
    }

    def run(lines):
        state = {}
        for n in range(2, 8):
            state = steps[lines[n]](state)
        return state

    truth = torch.nn.functional.scaled_dot_product_attention(
        (X @ Wq)[None], (X @ Wk)[None], (X @ Wv)[None], is_causal=True
    )[0]
    given = {n: norm(params[f"l{n}"]) for n in range(2, 8)}
    restored = [n for n in RIGHT if torch.allclose(run(given | {n: RIGHT[n]}), truth)]
    assert len(restored) == 1
    return {"line": str(restored[0])}
