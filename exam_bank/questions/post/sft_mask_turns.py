"""Assistant turns. `verify` reads the roles from the printed list."""

USER = [
    "asks for a recipe",
    "asks for a shorter text",
    "thanks and asks again",
    "corrects a number",
    "asks for an example",
    "asks why",
]
ASSISTANT = [
    "gives a list",
    "gives a short version",
    "explains a step",
    "apologises and corrects",
    "gives an example",
    "asks back",
]


def generate(rng):
    turns = rng.choice([2, 3])
    system = rng.randint(0, 1)
    users, answers = rng.sample(USER, turns), rng.sample(ASSISTANT, turns)
    parts = ["system message"] if system else []
    for u, a in zip(users, answers):
        parts += [f"user {u}", f"assistant {a}"]
    names = [f"Part {i + 1}" for i in range(len(parts))]
    listing = "\n".join(f"{i + 1}. {p}" for i, p in enumerate(parts))
    right = [n for n, p in zip(names, parts) if p.startswith("assistant")]
    return {
        "params": {"n": len(parts), "listing": listing},
        "solution": {"right": ", ".join(right)},
        "choices": {
            "counted": [(n, n in right, "" if n in right else "isn't written by the assistant") for n in names],
        },
        "answers": {},
    }


def verify(params):
    roles = [line.split(" ")[1] for line in params["listing"].splitlines()]
    return {"counted": [f"Part {i}" for i, role in enumerate(roles, 1) if role == "assistant"]}
