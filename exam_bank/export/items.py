"""What all exports share: one part = one item, with the stem repeated, because most systems lose shared texts.

Identifiers derive from question, part, seed and number: the same variant has the same one in every format and every
run. Scoring in the formats goes by identifiers of choices, never by their texts.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from html import escape
from typing import Literal

from exam_bank.model import Figure, Part, Variant
from exam_bank.render.formulas import Formula
from exam_bank.render.html import write
from exam_bank.render.texts import prepare
from exam_bank.render.tree import Node, Store, nodes

__all__ = ["Cell", "LmsItem", "archive", "decimal", "items_of", "shares", "split_cells"]

Maths = Literal["mathml", "tex"]


@dataclass(frozen=True)
class LmsItem:
    """One part of one variant. group: the same for all variants of one place of an exam."""

    id: str
    group: str
    title: str
    points: Fraction
    variant: Variant
    part: Part
    store: Store

    def text(self, maths: Maths = "mathml") -> str:
        """Stem and part as HTML."""
        pieces = [self.variant.stem, self.part.text]
        return "".join(self.html(piece, maths) for piece in pieces if piece)

    def html(self, source: str, maths: Maths = "mathml", *, inline: bool = False) -> str:
        """HTML of a piece of this variant."""
        shelf = self.store if maths == "mathml" else _TexStore(self.store)
        return write(shelf, source, self.variant.figures, inline=inline)

    def explanation(self, maths: Maths = "mathml") -> str:
        """The solution as HTML."""
        return self.html(self.variant.solution, maths)

    @property
    def figures(self) -> Mapping[str, Figure]:
        """The figures that stem and part show."""
        shown = {
            node["c"][2][0].removeprefix("figure:")
            for piece in (self.variant.stem, self.part.text)
            for node in nodes(self.store[piece])
            if node["t"] == "Image"
        }
        return {name: figure for name, figure in self.variant.figures.items() if name in shown}


class _TexStore(Store):
    """The same pieces with formulas as TeX between `\\(` and `\\)`, for systems that run MathJax."""

    def __init__(self, store: Store) -> None:
        super().__init__(store.pieces, store.formulas, store.faults)

    def formula(self, node: Node) -> Formula:
        made = super().formula(node)
        left, right = (r"\[", r"\]") if made.display else (r"\(", r"\)")
        return replace(made, mathml=escape(left + made.tex + right, quote=False))


def items_of(groups: Iterable[tuple[str, Sequence[Variant]]], store: Store) -> list[LmsItem]:
    """Items of (place, variants) pairs, all variants of one part together; texts are prepared in one go."""
    listed = [(place, variant) for place, variants in groups for variant in variants]
    prepare((variant for _, variant in listed), store)
    grouped: dict[str, list[LmsItem]] = {}
    for place, variant in listed:
        for part in variant.parts:
            item = _item(place, variant, part, store)
            grouped.setdefault(item.group, []).append(item)
    return [item for group in grouped.values() for item in group]


def _item(place: str, variant: Variant, part: Part, store: Store) -> LmsItem:
    name = f"{variant.id}\x1f{part.spec.key}\x1f{variant.seed}\x1f{variant.number}\x1f{variant.params_hash}"
    digest = hashlib.sha256(name.encode()).hexdigest()[:12]
    group = f"{place}-{part.spec.key}"
    title = f"{place} {variant.question.head.title}" + (f" ({part.spec.key})" if len(variant.parts) > 1 else "")
    return LmsItem(f"i{digest}", group, title, Fraction(part.spec.points), variant, part, store)


@dataclass(frozen=True)
class Cell:
    """One component of a vector or table, as an item of its own."""

    id: str
    label: str
    key: str
    points: Fraction


def split_cells(item: LmsItem) -> list[Cell]:
    """The components of a part with several numbers, each with an equal share of the points."""
    part = item.part
    count = len(part.expected)
    if part.spec.type == "table":
        labels = [f"{row} / {column}" for row in part.rows for column in part.columns]
    else:
        labels = list(part.rows) or [f"component {i + 1}" for i in range(count)]
    item.store.prepare(labels)
    return [
        Cell(f"{item.id}c{i + 1}", label, key, share)
        for i, (label, key, share) in enumerate(zip(labels, part.expected, shares(item.points, count), strict=True))
    ]


def shares(points: Fraction, count: int) -> list[Fraction]:
    """Equal shares of six decimals that add up to the points exactly: the last one takes what rounding leaves."""
    share = Fraction(decimal(points / count))
    return [share] * (count - 1) + [points - (count - 1) * share]


def decimal(value: Fraction | float) -> str:
    """A number for XML: at most six decimals, no zeros at the end."""
    text = f"{float(value):.6f}".rstrip("0").rstrip(".")
    return "0" if text in ("", "-0") else text


def archive(files: Mapping[str, str | bytes]) -> bytes:
    """A zip file whose bytes depend on names and contents only: sorted names, one fixed time."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as out:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            entry.create_system = 3
            content = files[name]
            out.writestr(entry, content.encode() if isinstance(content, str) else content)
    return buffer.getvalue()
