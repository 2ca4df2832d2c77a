"""80/10/10 of the selected tokens. `verify` deals the selected tokens out in tens."""


def generate(rng):
    rate = rng.choice([10, 15, 20, 25, 30, 40])
    step = {10: 100, 15: 200, 20: 100, 25: 40, 30: 100, 40: 100}[rate]  # so that all counts are whole
    n = step * rng.randint(2, 30)
    selected = n * rate // 100
    m, r = selected * 8 // 10, selected // 10
    return {
        "params": {"rate": rate, "n": n},
        "solution": {"sel": selected, "m": m, "r": r},
        "answers": {"counts": [str(m), str(r), str(r)]},
        "wrong": {"counts": [[str(selected), "0", "0"], [str(n * 8 // 10), str(n // 10), str(n // 10)]]},
    }


def verify(params):
    marks = [k % 20 < params["rate"] / 5 for k in range(params["n"])]
    selected = [k for k, chosen in enumerate(marks) if chosen]
    fate = ["mask"] * 8 + ["random", "same"]
    dealt = [fate[i % 10] for i in range(len(selected))]
    return {"counts": [dealt.count("mask"), dealt.count("random"), dealt.count("same")]}
