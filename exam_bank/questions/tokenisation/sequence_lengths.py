"""Three counts. `verify` uses the string's length, its spaces and a set difference."""

SUBJECTS = ["Matt", "Our class", "The robot", "A student", "My friend"]
VERBS = ["reads", "writes", "explains", "translates", "forgets"]
OBJECTS = ["long letters", "a short poem", "old lecture notes", "the new rules", "every second word"]
ENDS = ["at night", "in the garden", "on the train", "without any help", "before breakfast"]


def generate(rng):
    while True:
        words = " ".join(rng.choice(part) for part in (SUBJECTS, VERBS, OBJECTS, ENDS)).split()
        known = [w for w in rng.sample(words, len(words)) if rng.randint(0, 2)]
        missing = [w for w in words if w not in known]
        if len(set(words)) == len(words) and 1 <= len(missing) <= 4:
            break
    letters = sum(map(len, words))
    chars = letters + len(words) - 1
    answer = [str(chars), str(len(words)), str(len(missing))]
    return {
        "params": {"sentence": " ".join(words), "vocab": ", ".join(known)},
        "solution": {
            "w": len(words),
            "letters": letters,
            "gaps": len(words) - 1,
            "chars": chars,
            "oov": len(missing),
            "missing": ", ".join(missing),
            "factor": f"{chars / len(words):.1f}",
        },
        "answers": {"counts": answer},
        "wrong": {
            "counts": [[str(letters), *answer[1:]], [*answer[:2], str(len(known))]]
            if len(known) != len(missing)
            else [[str(letters), *answer[1:]]]
        },
    }


def verify(params):
    text = params["sentence"]
    return {"counts": [len(text), text.count(" ") + 1, len(set(text.split()) - set(params["vocab"].split(", ")))]}
