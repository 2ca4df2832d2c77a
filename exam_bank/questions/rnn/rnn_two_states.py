"""Three steps of a ReLU recurrence. `verify` runs torch's RNN with the weights set by hand."""


def generate(rng):
    while True:
        w, u, b = rng.randint(-2, 3), rng.randint(-3, 3), rng.randint(-2, 2)
        xs = [rng.randint(-3, 4) for _ in range(3)]
        h, sums, states = 0, [], []
        for x in xs:
            sums.append(w * h + u * x + b)
            h = max(0, sums[-1])
            states.append(h)
        reset = [max(0, u * x + b) for x in xs]
        if w not in (0, 1) and u and states.count(0) <= 1 and states[2] != reset[2] and max(states) < 60:
            break
    linear, h = [], 0
    for x in xs:
        h = w * h + u * x + b
        linear.append(h)
    wrong = [reset] + ([linear] if linear != states else [])
    return {
        "params": {"w": w, "u": u, "b": b, "x1": xs[0], "x2": xs[1], "x3": xs[2]},
        "solution": {f"s{i + 1}": sums[i] for i in range(3)} | {f"h{i + 1}": states[i] for i in range(3)},
        "answers": {"h": [str(v) for v in states]},
        "wrong": {"h": [[str(v) for v in row] for row in wrong]},
    }


def verify(params):
    import torch

    net = torch.nn.RNN(1, 1, nonlinearity="relu", dtype=torch.float64)
    with torch.no_grad():
        net.weight_ih_l0.fill_(params["u"])
        net.weight_hh_l0.fill_(params["w"])
        net.bias_ih_l0.fill_(params["b"])
        net.bias_hh_l0.zero_()
        x = torch.tensor([[float(params[f"x{i}"])] for i in (1, 2, 3)], dtype=torch.float64)
        return {"h": net(x)[0].flatten().tolist()}
