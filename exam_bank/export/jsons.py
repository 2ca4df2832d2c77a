"""Everything about the items as JSON, for programs that no other format fits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from exam_bank.export.items import LmsItem, decimal
from exam_bank.manifest import describe, dump

__all__ = ["write"]


def write(title: str, items: Sequence[LmsItem]) -> bytes:
    """One document; texts as Markdown and as HTML with MathML."""
    return dump({"format": 1, "title": title, "items": [_item(item) for item in items]}).encode()


def _item(item: LmsItem) -> dict[str, Any]:
    head = item.variant.question.head
    return {
        "id": item.id,
        "group": item.group,
        "title": item.title,
        "points": decimal(item.points),
        "question": {"id": head.id, "version": head.version, "topic": head.topic, "difficulty": head.difficulty},
        "seed": item.variant.seed,
        "number": item.variant.number,
        "params": dict(item.variant.params),
        "markdown": {"stem": item.variant.stem, "part": item.part.text, "solution": item.variant.solution},
        "html": {"text": item.text(), "explanation": item.explanation()},
        "figures": {name: {"svg": figure.svg, "alt": figure.alt} for name, figure in item.figures.items()},
        "part": describe(item.part),
    }
