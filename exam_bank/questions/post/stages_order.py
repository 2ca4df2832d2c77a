"""Order of the stages under random letters. `verify` places each step after the steps whose result it needs."""

STEPS = {
    "pre": [
        "next-token training on raw web text",
        "next-token training on books and code",
        "next-token training on unlabelled text",
    ],
    "sft": [
        "training on instructions with written responses",
        "supervised fine-tuning on dialogues",
        "supervised fine-tuning on instructions and answers",
    ],
    "dpo": [
        "DPO on pairs of chosen and rejected answers",
        "training on preferred and rejected answers",
        "preference training with a frozen reference",
    ],
}
STARTS = ["random weights", "an untrained Transformer", "an untrained decoder"]


def generate(rng):
    letters = rng.sample("PQRST", 3)
    steps = {name: rng.choice(texts) for name, texts in STEPS.items()}
    shown = rng.sample([(letter, steps[n]) for letter, n in zip(letters, ("pre", "sft", "dpo"))], 3)
    p, s, d = letters
    options = [
        (f"{p}, {s}, {d}", True, ""),
        (f"{s}, {p}, {d}", False, "responses need a model that already knows the language"),
        (f"{p}, {d}, {s}", False, "preferences need a model that can already answer"),
        (f"{d}, {s}, {p}", False, "reversed"),
    ]
    return {
        "params": {"start": rng.choice(STARTS), "a": "; ".join(f"{letter}: {text}" for letter, text in sorted(shown))},
        "solution": {"order": options[0][0]},
        "choices": {"order": options},
        "answers": {},
    }


def verify(params):
    needs = {"raw": 0, "books": 0, "unlabelled": 0, "supervised": 1, "written": 1}
    level = {}
    for item in params["a"].split("; "):
        letter, text = item.split(": ", 1)
        level[letter] = min((v for word, v in needs.items() if word in text), default=2)
    return {"order": ", ".join(sorted(level, key=level.get))}
