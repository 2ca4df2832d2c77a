"""Response tokens and END. `verify` masks everything up to the marker with -100 and reads what is left."""

PAIRS = [
    ("name a fruit", "an apple"),
    ("say hello", "good morning"),
    ("translate Hund", "dog please"),
    ("capital of Peru", "Lima city"),
    ("finish my sentence", "with pleasure"),
    ("count to two", "one then"),
    ("give a colour", "dark green"),
    ("what barks", "a dog"),
    ("opposite of cold", "very hot"),
    ("largest planet", "Jupiter probably"),
]


def generate(rng):
    prompt, response = rng.choice(PAIRS)
    p, r = prompt.split(), response.split()
    right = [*r, "END"] if rng.randint(0, 1) else [rng.choice(r), "END"]
    wrong = [*rng.sample(p, 2), "ASSISTANT"] if rng.randint(0, 1) else [rng.choice(p), "ASSISTANT"]
    return {
        "params": {
            "shown": " ".join([*p, "ASSISTANT", *r, "END"]),
            "prompt": prompt,
            "response": response,
            "offered": sorted(right + wrong),
        },
        "solution": {"right": ", ".join([*r, "END"])},
        "choices": {
            "counted": [(t, True, "") for t in right]
            + [
                (
                    t,
                    False,
                    "marks the turn, isn't written by the model" if t == "ASSISTANT" else "belongs to the prompt",
                )
                for t in wrong
            ],
        },
        "answers": {},
    }


def verify(params):
    import torch

    tokens = params["shown"].split()
    labels = torch.arange(len(tokens))
    labels[: tokens.index("ASSISTANT") + 1] = -100
    counted = [tokens[i] for i in labels.tolist() if i != -100]
    return {"counted": [t for t in counted if t in params["offered"]]}
