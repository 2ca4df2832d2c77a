"""Variants → files for learning management systems. Every format is written from the same items, never from another.

canvas-qti12   zip, IMS QTI 1.2 as Canvas reads it      moodle   one XML file
qti21          zip, IMS QTI 2.1 items                   gift     one text file
json           everything, for programs
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from exam_bank.export import canvas, gift, jsons, moodle, qti21
from exam_bank.export.items import LmsItem

__all__ = ["FORMATS", "LmsItem"]

# Name → (file name, function of title and items).
FORMATS: dict[str, tuple[str, Callable[[str, Sequence[LmsItem]], bytes]]] = {
    "canvas-qti12": ("canvas-qti12.zip", canvas.write),
    "qti21": ("qti21.zip", qti21.write),
    "moodle": ("moodle.xml", moodle.write),
    "gift": ("questions.gift", gift.write),
    "json": ("questions.json", jsons.write),
}
