"""What an answer earns: one rule for the practice page, for regrading and for answers in notebooks.

A response is, by type: choice types the set of chosen source indexes (true/false: 0 is True); numeric, vector, table,
match, short a list of strings in the order of `Part.expected`. Open types are read by people: no score here.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from exam_bank.model import CHOICE_TYPES, OPEN_TYPES, Part, PartSpec
from exam_bank.printed import normal, parse

__all__ = ["cell_is_right", "score"]


def score(part: Part, response: Sequence[Any] | frozenset[int] | set[int]) -> Fraction | None:
    """Points for a response, from 0 to the part's points; None where a person has to read it."""
    spec = part.spec
    if spec.type in OPEN_TYPES:
        return None
    if spec.type in CHOICE_TYPES:
        return _choices(part, frozenset(response))
    given = [str(item) for item in response]
    if spec.type == "short":
        return Fraction(spec.points) if given and _spelled(spec, part.expected, given[0]) else Fraction(0)
    right = sum(cell_is_right(spec, key, answer) for key, answer in zip(part.expected, given, strict=False))
    if spec.type in ("table", "match"):
        return Fraction(spec.points * right, len(part.expected))
    return Fraction(spec.points) * (right == len(part.expected))


def _choices(part: Part, chosen: frozenset[int]) -> Fraction:
    right = frozenset(choice.index for choice in part.choices if choice.right)
    if part.spec.credit == "all":
        return Fraction(part.spec.points) * (chosen == right)
    return Fraction(part.spec.points) * max(0, len(chosen & right) - len(chosen - right)) / len(right)


def cell_is_right(spec: PartSpec, key: str, answer: str) -> bool:
    """Whether one component is right: within the tolerance, or spelled like the key."""
    number, given = parse(key), parse(answer)
    if spec.tolerance is None or number is None:
        return normal(key) == normal(answer)
    # One part in 10¹² is rounding of the tolerance itself, not of the answer.
    return given is not None and abs(given - number) <= Fraction(spec.tolerance.around(float(number))) * Fraction(
        10**12 + 1, 10**12
    )


def _spelled(spec: PartSpec, accepted: Sequence[str], answer: str) -> bool:
    if spec.case == "exact":
        return answer.strip() in {text.strip() for text in accepted}
    return " ".join(answer.casefold().split()) in {" ".join(text.casefold().split()) for text in accepted}
