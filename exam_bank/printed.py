"""Numbers as people print them: `12,288`, `1 024`, `−3.5`, `3/4`, `2.5e-4`; and texts compared as a reader does."""

from __future__ import annotations

import math
import re
from fractions import Fraction

__all__ = ["decimals_of", "exact", "normal", "parse"]

_PLAIN = re.compile(r"[-+]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?([eE][-+]?\d{1,3})?\Z|[-+]?\.\d+\Z")
# Python refuses to read integers of more than 4,300 digits; nobody prints a number near that.
_LONGEST = 1000
_TEX_SPACE = re.compile(r"\{,\}|\\[,:; !]|[\u00a0\u2009\u202f]")


def parse(text: str) -> Fraction | None:
    """The exact value of a printed number, or None if it is no number."""
    plain = _TEX_SPACE.sub("", text.strip().strip("$").strip()).replace("\u2212", "-")
    if plain.count("/") == 1:
        top, bottom = (parse(side) for side in plain.split("/"))
        return None if top is None or not bottom else top / bottom
    if re.fullmatch(r"[-+]?\d{1,3}( \d{3})+(\.\d+)?", plain):
        plain = plain.replace(" ", "")
    return Fraction(plain.replace(",", "")) if len(plain) <= _LONGEST and _PLAIN.match(plain) else None


def exact(value: object) -> Fraction | None:
    """The value of a number of any kind (int, float, Fraction, numpy scalar, printed); None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return parse(value)
    if isinstance(value, (int, Fraction)):
        return Fraction(value)
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return Fraction(number) if math.isfinite(number) else None


def decimals_of(text: str) -> int:
    """How many digits are printed after the point."""
    plain = text.strip().strip("$").lower().split("e")[0]
    return len(plain.split(".")[1]) if "." in plain else 0


def normal(text: str) -> str:
    """The text as a reader takes it: spaces, case and number form don't count."""
    while (number := parse(text)) is None:
        # What is left after one pass may read as a TeX space once more: `\\` and a line break become `\\ `.
        plain = " ".join(_TEX_SPACE.sub("", text).replace("$", "").casefold().split())
        if plain == text:
            return text
        text = plain
    return str(number)
