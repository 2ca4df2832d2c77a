"""Last contribution against the sum. `verify` takes torch's gradient and replays the overwriting."""


def generate(rng):
    while True:
        x, k = rng.randint(2, 12), rng.randint(2, 12)
        right = 2 * x + k
        options = [(k, right), (x, right), (right, right), (k, x + k)]
        if len(set(options)) == 4:
            break
    why = ["", "keeps the first contribution", "adds, as it should", "counts the product's edge once"]

    def show(pair):
        return f"Reports {pair[0]}, right is {pair[1]}"

    return {
        "params": {"x": x, "k": k},
        "solution": {"right": right},
        "choices": {"gives": [(show(o), i == 0, why[i]) for i, o in enumerate(options)]},
        "answers": {},
    }


def verify(params):
    import torch

    x = torch.tensor(float(params["x"]), requires_grad=True)
    left, right, scaled = x.clone(), x.clone(), x.clone()
    for edge in (left, right, scaled):
        edge.retain_grad()
    (left * right + params["k"] * scaled).backward()
    reported = None
    for edge in (left, right, scaled):
        reported = edge.grad
    return {"gives": f"Reports {int(reported)}, right is {int(x.grad)}"}
