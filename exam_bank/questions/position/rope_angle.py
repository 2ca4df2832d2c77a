"""The course's table of RoPE angles. `verify` takes torch's outer product of positions and frequencies."""

from exam_bank.course import digits, reference


def generate(rng):
    while True:
        d, b = rng.choice([4, 6, 8, 16, 32, 64]), rng.choice([100, 1000, 10000])
        i, m = rng.randint(1, d // 2 - 1), rng.randint(1, 60)
        theta = b ** (-2 * i / d)
        angle = m * theta
        wrong = [m * b ** (-i / d), m * b ** (-2 * (i - 1) / d), m / theta, (m - 1) * theta]
        if (
            0.05 < angle < 50
            and abs(angle * 1000 % 1 - 0.5) > 0.01
            and all(abs(w / angle - 1) > 0.01 and abs(w - angle) > 0.01 for w in wrong)
        ):
            break
    key = digits(reference("minigpt").rope_angles(m + 1, d, float(b))[m, i], 3)
    return {
        "params": {"d": d, "b": b, "i": i, "m": m},
        "solution": {"e": f"{{{2 * i}/{d}}}", "theta": f"{theta:.5f}", "angle": key},
        "answers": {"angle": key},
        "wrong": {"angle": [f"{w:.3f}" for w in wrong]},
    }


def verify(params):
    import torch

    exponents = torch.arange(0, params["d"], 2, dtype=torch.float64) / params["d"]
    table = torch.outer(torch.arange(params["m"] + 1, dtype=torch.float64), 1 / params["b"] ** exponents)
    return {"angle": table[params["m"], params["i"]].item()}
