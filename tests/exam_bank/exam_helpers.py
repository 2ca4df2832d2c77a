"""What several test files of the exam bank share and can't get as a fixture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from exam_bank.bank import Bank
from exam_bank.contents import Order, draw
from exam_bank.instantiate import instantiate
from exam_bank.model import Exam, ExamSection, Item, Variant

BANK = Path(__file__).parent / "bank"
Plant = Callable[..., Path]

SAMPLER = """
[exam]
title = "Sampler"
points = 31
minutes = 40
across_versions = "params"
[[section]]
id = "A"
title = "All types"
slots = [
    {points = 4, topics = ["attention/*"]}, {points = 3, topics = ["efficiency/*"]},
    {points = 4, topics = ["decoding/*"]}, {points = 4, topics = ["block/*"]},
]
[[section]]
id = "B"
title = "More"
slots = [
    {points = 3, topics = ["families/*"]}, {points = 4, topics = ["position/*"]},
    {points = 4, topics = ["code/*"]}, {points = 5, topics = ["lm/*"]},
]
"""


def exam_of(bank: Bank, seed: int = 7, version: int = 1, layout: str = "plain", paper: str = "us-letter") -> Exam:
    """One exam with every question of the bank."""
    items = tuple(
        Item(f"A{i}", instantiate(question, seed, version)) for i, question in enumerate(bank.questions, start=1)
    )
    section = ExamSection("A", "Everything, with √ and “signs”", items)
    return Exam("Sampler", version, seed, 40, paper, layout, "Answer all questions.", (section,))


def new_variants(bank: Bank, seed: int = 7) -> dict[str, tuple[Variant, ...]]:
    """Three more variants of each question of the bank, by id."""
    return {question.id: draw(Order(question, seed, (), more=3)).more for question in bank.questions}
