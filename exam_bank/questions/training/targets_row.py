"""The text shifted by one. `verify` reads off, for each input, the symbol that follows it."""

POOL = ["we", "read", "long", "books", "at", "night", "they", "write", "short", "poems", "in", "spring"]


def generate(rng):
    words = rng.sample(POOL, rng.randint(3, 4))

    def show(items):
        return ", ".join(items)

    right = [*words[1:], "END"]
    choices = [
        (show([words[0], *right]), True, ""),
        (show(["START", *words]), False, "copies the input instead of predicting the next symbol"),
        (show([*right, "END"]), False, "shifted by two"),
        (show([*reversed(words), "END"]), False, "reversed"),
    ]
    return {
        "params": {"sentence": " ".join(words), "inputs": show(words)},
        "solution": {"targets": show([*words, "END"])},
        "choices": {"target": choices},
        "answers": {},
    }


def verify(params):
    text = ["START", *params["sentence"].split(), "END"]
    follow = {text[i]: text[i + 1] for i in range(len(text) - 1)}
    return {"target": ", ".join(follow[w] for w in ["START", *params["inputs"].split(", ")])}
