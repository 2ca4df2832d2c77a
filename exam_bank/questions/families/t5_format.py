"""Sentinels and removed words. `verify` keeps the offered target with which the source becomes the sentence again."""

SENTENCES = [
    "we met the teacher at the old station",
    "the children built a boat from thin paper",
    "my brother sold his red bicycle last summer",
    "every morning the baker opens his small shop",
    "the choir sang two songs before the long break",
    "a heavy storm broke the roof of the barn",
    "our neighbour plants beans and peas near a stone wall",
    "nobody in this village remembers such cold winters",
    "two engineers repaired a broken bridge within one week",
    "she sent long letters from every port along her route",
]


def generate(rng):
    while True:
        words = rng.choice(SENTENCES).split()
        i = rng.randint(1, len(words) - 4)
        j = rng.randint(i + 2, len(words) - 1)
        a, b = words[i], words[j]
        if words.count(a) == words.count(b) == 1:
            break
    source = [*words[:i], "X", *words[i + 1 : j], "Y", *words[j + 1 :]]
    options = [
        (f"X {a} Y {b} Z", True, ""),
        (f"{a} {b}", False, "has no sentinels"),
        (f"X {b} Y {a} Z", False, "exchanges the two words"),
        (f"{a} X {b} Y Z", False, "puts each sentinel after its word"),
    ]
    return {
        "params": {
            "sentence": " ".join(words),
            "a": a,
            "b": b,
            "source": " ".join(source),
            "offered": [o[0] for o in options],
        },
        "solution": {"right": options[0][0]},
        "choices": {"target": options},
        "answers": {},
    }


def verify(params):
    import re

    for target in params["offered"]:
        found = re.fullmatch(r"X (.*) Y (.*) Z", target)
        if found:
            text = re.sub(r"\bX\b", found[1], params["source"])
            if re.sub(r"\bY\b", found[2], text) == params["sentence"]:
                return {"target": target}
    return {}
