"""What a variant prints, piece by piece; and the error for a piece that can't be shown, with its file and line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from exam_bank.errors import BankError
from exam_bank.model import OPEN_TYPES, Variant
from exam_bank.render.tree import Store, TreeFault

__all__ = ["prepare", "texts"]


def texts(variant: Variant) -> Iterator[str]:
    """Every piece of Markdown that a paper, its solutions, a page or an export prints."""
    yield from (variant.stem, variant.solution)
    for part in variant.parts:
        yield from (part.text, *part.rows, *part.columns)
        yield from (text for choice in part.choices for text in (choice.text, choice.why))
        yield from (line.text for line in part.spec.rubric or ())
        if part.spec.type in OPEN_TYPES:
            yield from part.expected


def prepare(variants: Iterable[Variant], store: Store) -> None:
    """Parse all pieces in one go. Raises BankError for the first one that can't be shown."""
    listed = list(variants)
    store.prepare(source for variant in listed for source in texts(variant))
    for variant in listed:
        for source in texts(variant):
            for fault in store.faults.get(source, []):
                raise _refusal(fault, variant)


def _refusal(fault: TreeFault, variant: Variant) -> BankError:
    path = variant.question.path
    return BankError(
        fault.reason,
        where=path,
        line=_line(fault, path),
        key=variant.id,
        way_out="Write it in Markdown and TeX that every target knows; `lint` shows all such places.",
        rule=fault.rule,
    )


def _line(fault: TreeFault, path: Path) -> int | None:
    """The first line that holds what the fault quotes, or else the start of its piece; None if it was computed."""
    lines = path.read_text(encoding="utf-8").splitlines()
    quoted = [piece for sign in "$'" for piece in fault.reason.split(sign)[1:2] if piece]
    for wanted in (*quoted, next(iter(fault.source.strip().splitlines()), "")):
        for number, line in enumerate(lines, start=1):
            if wanted and wanted in line:
                return number
    return None
