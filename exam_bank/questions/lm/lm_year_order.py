"""Order four of nine milestones. `verify` counts, for each, how many of the others came before it."""

MILESTONES = {
    "LSTM": 1997,
    "Google's web n-grams": 2006,
    "Mikolov's RNN language model": 2010,
    "the Transformer": 2017,
    "GPT": 2018,
    "GPT-2": 2019,
    "GPT-3": 2020,
    "LoRA": 2021,
    "LLaMA-3": 2024,
}


def generate(rng):
    names = rng.sample(sorted(MILESTONES), 4)
    order = sorted(names, key=MILESTONES.get)
    a, b, c, d = order
    wrong = [
        ([b, a, c, d], "the two oldest are exchanged"),
        ([a, c, b, d], "the two in the middle are exchanged"),
        ([a, b, d, c], "the two newest are exchanged"),
    ]
    return {
        "params": {"names": ", ".join(names)},
        "solution": {"years": ", ".join(f"{n} {MILESTONES[n]}" for n in order)},
        "choices": {
            "order": [("; ".join(order), True, "")] + [("; ".join(w), False, why) for w, why in wrong],
        },
        "answers": {},
    }


def verify(params):
    names = params["names"].split(", ")
    years = dict(
        zip(
            (
                "LSTM",
                "Google's web n-grams",
                "Mikolov's RNN language model",
                "the Transformer",
                "GPT",
                "GPT-2",
                "GPT-3",
                "LoRA",
                "LLaMA-3",
            ),
            (1997, 2006, 2010, 2017, 2018, 2019, 2020, 2021, 2024),
        )
    )
    slots = [None] * 4
    for name in names:
        slots[sum(years[other] < years[name] for other in names)] = name
    return {"order": "; ".join(slots)}
