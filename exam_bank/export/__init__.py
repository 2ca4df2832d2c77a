"""Variants → files for learning management systems. Every format is written from the same items, never from another.

canvas-qti12   zip, IMS QTI 1.2 as Canvas reads it      moodle   one XML file
qti21          zip, IMS QTI 2.1 items                   gift     one text file
json           everything, for programs
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import PurePath

from exam_bank.export import canvas, gift, jsons, moodle, qti21
from exam_bank.export.items import LmsItem

__all__ = ["FORMATS", "MOST_ITEMS", "LmsItem", "bundles", "export"]

MOST_ITEMS = 500

# Name → (file name, function of title and items).
FORMATS: dict[str, tuple[str, Callable[[str, Sequence[LmsItem]], bytes]]] = {
    "canvas-qti12": ("canvas-qti12.zip", canvas.write),
    "qti21": ("qti21.zip", qti21.write),
    "moodle": ("moodle.xml", moodle.write),
    "gift": ("questions.gift", gift.write),
    "json": ("questions.json", jsons.write),
}


def bundles(items: Sequence[LmsItem], most: int = MOST_ITEMS) -> list[list[LmsItem]]:
    """The items in files of at most this many; the variants of one part stay together, however many they are."""
    found: list[list[LmsItem]] = [[]]
    for _, group in groupby(items, key=lambda item: item.group):
        together = list(group)
        if found[-1] and len(found[-1]) + len(together) > most:
            found.append([])
        found[-1] += together
    return found


def export(name: str, title: str, items: Sequence[LmsItem], most: int = MOST_ITEMS) -> list[tuple[str, int, bytes]]:
    """(file name, number of items, bytes) of one format; numbered files when one would hold too many items."""
    file, make = FORMATS[name]
    parts = bundles(items, most)
    if len(parts) == 1:
        return [(file, len(items), make(title, items))]
    path = PurePath(file)
    return [
        (f"{path.stem}-{i}{path.suffix}", len(part), make(f"{title}, part {i} of {len(parts)}", part))
        for i, part in enumerate(parts, start=1)
    ]
