"""Bank questions inside assignments: each student's own numbers, checked by machine.

The numbers follow from the course's salt, the assignment and the student's id, so that a regrade draws the same ones.
What a student writes is compared by the part's own tolerance.
"""

from __future__ import annotations

from fractions import Fraction

from exam_bank.errors import BankError
from exam_bank.instantiate import instantiate
from exam_bank.model import OPEN_TYPES, Part, Question, Variant
from exam_bank.scoring import score

__all__ = ["grade", "personal", "prompt"]


def personal(question: Question, assignment: str, student: str, salt: str = "") -> Variant:
    """The variant of this student. `salt`: the course's secret, so that numbers can't be computed ahead."""
    return instantiate(question, f"{salt}\x1f{assignment}", student.strip().casefold())


def prompt(variant: Variant) -> str:
    """The question as Markdown for a notebook, without key and solution."""
    pieces = [variant.stem]
    for i, part in enumerate(variant.parts):
        name = f"**({chr(ord('a') + i)})** " if len(variant.parts) > 1 else ""
        pieces.append(name + part.text)
        pieces += [f"{chr(ord('A') + j)}. {choice.text}" for j, choice in enumerate(part.choices)]
    return "\n\n".join(piece for piece in pieces if piece.strip()) + "\n"


def grade(variant: Variant, answers: dict[str, object]) -> dict[str, Fraction]:
    """Points by part for a student's answers: a number, a text, or a list of them; choices by printed letter.

    Raises BankError for parts that a person has to read.
    """
    return {part.spec.key: _grade(part, answers.get(part.spec.key)) for part in variant.parts}


def _grade(part: Part, answer: object) -> Fraction:
    if part.spec.type in OPEN_TYPES:
        raise BankError(f"part {part.spec.key!r} has to be read by a person.", way_out="Use a part with a key.")
    given = [] if answer is None else answer if isinstance(answer, (list, tuple)) else [answer]
    if part.choices:
        letters = {str(item).strip()[:1].upper() for item in given}
        marks = [
            choice.text[0] if part.spec.type == "true-false" else chr(ord("A") + i)
            for i, choice in enumerate(part.choices)
        ]
        earned = score(part, frozenset(c.index for c, mark in zip(part.choices, marks, strict=True) if mark in letters))
    else:
        earned = score(part, [str(item) for item in given])
    assert earned is not None
    return earned
