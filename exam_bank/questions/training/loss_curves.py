"""Lowest held-out loss. `verify` finds where the differences turn positive."""

from fractions import Fraction

from exam_bank.figures import curve


def generate(rng):
    steps, best = 6, rng.randint(2, 5)
    train, held = [Fraction(rng.randint(40, 60), 10)], [Fraction(rng.randint(45, 65), 10)]
    if held[0] <= train[0]:
        held[0] = train[0] + Fraction(1, 5)
    for t in range(2, steps + 1):
        fall = Fraction(rng.randint(3, 6), 10)
        train.append(train[-1] - fall)
        held.append(held[-1] - fall / 2 if t <= best else held[-1] + Fraction(rng.randint(1, 3), 10))
    other = best + 1 if best < 5 else best - 1
    choices = [
        (f"After epoch {best}; later it overfits", True, ""),
        (f"After epoch {best}; later it underfits", False, "a falling training loss is no underfitting"),
        (f"After epoch {steps}; it improves until the end", False, "looks at the training loss"),
        (f"After epoch {other}; later it overfits", False, "misses the minimum of the held-out loss"),
    ]
    lines = [
        ("training", [(t + 1, float(v)) for t, v in enumerate(train)]),
        ("held-out", [(t + 1, float(v)) for t, v in enumerate(held)]),
    ]
    words = ". ".join(
        f"The {name} loss is " + ", ".join(f"{y:.2f} after epoch {x:g}" for x, y in points) for name, points in lines
    )
    return {
        "params": {"steps": steps}
        | {f"h{t + 1}": t + 1 for t in range(steps)}
        | {f"v{t + 1}": f"{float(v):.2f}" for t, v in enumerate(held)},
        "solution": {"best": best, "low": f"{float(held[best - 1]):.2f}"},
        "choices": {"stop": choices},
        "answers": {},
        "figures": {"curves": curve(lines, alt=f"Two loss curves over epochs 1 to {steps}. {words}.", x_name="epoch")},
    }


def verify(params):
    import numpy as np

    held = np.array([float(params[f"v{t + 1}"]) for t in range(params["steps"])])
    rises = np.diff(held) > 0
    return {"stop": f"After epoch {int(rises.argmax()) + 1}; later it overfits"}
