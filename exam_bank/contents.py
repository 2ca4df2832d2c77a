"""The numbers of a build: each question is drawn once for each version, and no two versions share a set of parameters.

Keys that the course's reference computes need torch, and importing torch takes longer than all other drawing. So a
process of its own imports it and draws those questions, while this one draws the others and converts their texts.
A question's draws depend on its own earlier draws only, so that who draws what changes nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

from exam_bank.course import asked
from exam_bank.errors import BankError
from exam_bank.instantiate import instantiate
from exam_bank.model import Question, Variant

__all__ = ["Drawn", "Order", "draw", "draw_all"]

REDRAWS = 60


@dataclass(frozen=True)
class Order:
    """What to draw of one question.

    versions: those that ask it; taken: hashes of the parameters that it must not have; more: how many new variants
    for the practice page.
    """

    question: Question
    seed: int | str
    versions: tuple[int, ...]
    taken: frozenset[str] = frozenset()
    more: int = 0


@dataclass(frozen=True)
class Drawn:
    """A question's variants by version, and new ones for the practice page (the same for every version)."""

    shown: Mapping[int, Variant]
    more: tuple[Variant, ...] = ()

    @property
    def variants(self) -> tuple[Variant, ...]:
        """All of them."""
        return (*self.shown.values(), *self.more)


def draw(order: Order) -> Drawn:
    """Draw one question. Raises BankError and GeneratorError."""
    taken = set(order.taken)
    shown = {}
    for version in order.versions:
        shown[version] = _unused(order.question, order.seed, version, taken)
        taken.add(shown[version].params_hash)
    numbers = range(1, order.more + 1) if order.question.generator_path is not None else ()
    return Drawn(shown, tuple(instantiate(order.question, order.seed, f"practice {number}") for number in numbers))


def _unused(question: Question, seed: int | str, version: int, taken: set[str]) -> Variant:
    """The variant of this version, drawn again while its numbers are taken and the question has others."""
    variant = instantiate(question, seed, version)
    if question.generator_path is None:
        return variant
    for attempt in range(1, REDRAWS):
        if variant.params_hash not in taken:
            break
        variant = instantiate(question, seed, f"{version}+{attempt}")
    return variant


def _draw_each(orders: Sequence[Order]) -> dict[str, Drawn]:
    return {order.question.id: draw(order) for order in orders}


def draw_all(orders: Sequence[Order]) -> Iterator[dict[str, Drawn]]:
    """The drawn questions by id: in one piece, or in two where a second process draws those that ask the course.

    Where Python starts processes anew (outside of Linux), a script that calls this needs `if __name__ == "__main__"`.
    """
    # Where torch is imported already, a process that imports it again would only be waited for.
    here: list[Order] = []
    there: list[Order] = []
    for order in orders:
        (there if "torch" not in sys.modules and asked(order.question) else here).append(order)
    if not there:
        yield _draw_each(here)
        return
    with ProcessPoolExecutor(1) as process:
        waiting = process.submit(_draw_each, there)
        yield _draw_each(here)
        try:
            yield waiting.result()
        except BrokenProcessPool:
            raise BankError(
                "a generator ended the process that drew it.",
                where=there[0].question.path.parent.parent,
                key=", ".join(order.question.id for order in there),
                way_out="`lint` each of them to find which.",
            ) from None
