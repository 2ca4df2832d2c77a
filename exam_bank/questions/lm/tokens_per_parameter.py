"""Ratio of D/N between two published rows. `verify` subtracts logarithms, with the units parsed from the text."""

from fractions import Fraction

UNITS = {"million": 10**6, "billion": 10**9, "trillion": 10**12}
ROWS = [
    ("Google's n-grams (2006)", "1 trillion", "3 billion"),
    ("GPT-2 (2019)", "10 billion", "1.5 billion"),
    ("GPT-3 (2020)", "300 billion", "175 billion"),
    ("Chinchilla (2022)", "1.4 trillion", "70 billion"),
    ("LLaMA (2023)", "1.4 trillion", "65 billion"),
    ("Llama 2 (2023)", "2 trillion", "70 billion"),
    ("LLaMA-3 (2024)", "15 trillion", "405 billion"),
    ("OPT (2022)", "180 billion", "175 billion"),
    ("PaLM (2022)", "780 billion", "540 billion"),
]


def number(text):
    value, unit = text.split()
    return Fraction(value) * UNITS[unit]


def generate(rng):
    while True:
        rows = rng.sample(ROWS, 2)
        r = [number(d) / number(n) for _, d, n in rows]
        more = 0 if r[0] > r[1] else 1
        ratio = r[more] / r[1 - more]
        if ratio > Fraction(3, 2) and abs((ratio * 10) % 1 - Fraction(1, 2)) > Fraction(1, 10**6):
            break
    params = {"more": rows[more][0], "less": rows[1 - more][0]}
    for i, (m, d, n) in enumerate(rows):
        params |= {f"m{i}": m, f"d{i}": d, f"n{i}": n}
    return {
        "params": params,
        "solution": {"r0": f"{float(r[0]):.1f}", "r1": f"{float(r[1]):.1f}", "ratio": f"{float(ratio):.1f}"},
        "answers": {"ratio": f"{float(ratio):.1f}"},
        "wrong": {"ratio": [f"{float(ratio * 1000):.1f}"]},
    }


def verify(params):
    import math

    power = {"million": 6, "billion": 9, "trillion": 12}

    def log10(text):
        value, unit = text.split()
        return math.log10(float(value)) + power[unit]

    logs = {params[f"m{i}"]: log10(params[f"d{i}"]) - log10(params[f"n{i}"]) for i in (0, 1)}
    return {"ratio": 10 ** (logs[params["more"]] - logs[params["less"]])}
