"""f(a) = b - a. `verify` tests each statement about numbers with numpy."""


def generate(rng):
    while True:
        a, b = ([rng.randint(-6, 9) for _ in range(3)] for _ in range(2))
        diff = [q - p for p, q in zip(a, b)]
        total = [q + p for p, q in zip(a, b)]
        if any(a) and any(b) and len({tuple(v) for v in (a, b, diff, total, [0, 0, 0])}) == 5:
            break

    def show(v):
        return ", ".join(map(str, v))

    statements = [
        (f"$f(a)$ must be $({show(diff)})$", True, ""),
        (f"$f(a)$ must be $({show(b)})$", False, "the input is added to it"),
        (f"With $f(a)=(0, 0, 0)$ the output is $({show(a)})$", True, ""),
        (f"With $f(a)=(0, 0, 0)$ the output is $({show([0, 0, 0])})$", False, "the input is passed on"),
        (f"$f(a)$ must be $({show(total)})$", False, "takes the sum for the difference"),
    ]
    return {
        "params": {"a": show(a), "b": show(b), "offered": [s[0] for s in statements]},
        "solution": {"diff": show(diff)},
        "choices": {"facts": statements},
        "answers": {},
    }


def verify(params):
    import re

    import numpy as np

    a, b = (np.array(params[k].split(", "), int) for k in "ab")
    right = []
    for text in params["offered"]:
        vectors = [np.array(v.split(", "), int) for v in re.findall(r"\(([-\d]+(?:, [-\d]+)+)\)", text)]
        ok = (vectors[0] + a == b) if "must" in text else (vectors[0] + a == vectors[1])
        if ok.all():
            right.append(text)
    return {"facts": right}
