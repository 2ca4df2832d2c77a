"""Smallest margin. `verify` computes all four losses with torch."""


def generate(rng):
    while True:
        w, l = ([rng.randint(-9, 9) for _ in range(4)] for _ in range(2))
        m = [a - b for a, b in zip(w, l)]
        i = m.index(min(m))
        traps = {w.index(min(w)), l.index(max(l)), m.index(max(m))}
        if len(set(m)) == 4 and i not in traps and len(set(w)) == len(set(l)) == 4:
            break
    why = {w.index(min(w)): "looks at the chosen answer only", l.index(max(l)): "looks at the rejected answer only"}
    why.setdefault(m.index(max(m)), "takes the largest margin")
    params = {f"w{k}": w[k] for k in range(4)} | {f"l{k}": l[k] for k in range(4)}
    return {
        "params": params,
        "solution": {"margins": ", ".join(f"${v}$ (pair {n})" for n, v in zip("1234", m)), "pair": "1234"[i]},
        "choices": {
            "pair": [
                (f"Pair {n}", k == i, "" if k == i else why.get(k, "its margin is larger"))
                for k, n in enumerate("1234")
            ]
        },
        "answers": {},
    }


def verify(params):
    import torch

    w, l = (torch.tensor([params[f"{k}{i}"] for i in range(4)], dtype=torch.float64) for k in "wl")
    losses = -torch.nn.functional.logsigmoid(0.1 * w - 0.1 * l)
    return {"pair": f"Pair {'1234'[int(losses.argmax())]}"}
