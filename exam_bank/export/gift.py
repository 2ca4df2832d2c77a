"""GIFT: plain text with signs that need escapes; formulas as TeX, whose backslashes are doubled."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from exam_bank.export.items import Cell, LmsItem, decimal, split_cells
from exam_bank.export.moodle import share
from exam_bank.printed import parse

__all__ = ["escaped", "write"]


def write(title: str, items: Sequence[LmsItem]) -> bytes:
    """All items; a component of a vector or table is an item of its own."""
    pieces = [f"// {' '.join(title.split())}", ""]
    for item in items:
        if item.part.spec.type in ("numeric-vector", "table"):
            pieces += [_cell(item, cell) for cell in split_cells(item)]
        else:
            pieces.append(
                _entry(f"{item.title} [{item.id}]", item.text("tex"), _KINDS.get(item.part.spec.type, _essay)(item))
            )
    return ("\n".join(pieces).rstrip() + "\n").encode()


def escaped(text: str) -> str:
    """The text with GIFT's own signs escaped, in one line."""
    out = "".join("\\" + sign if sign in "\\~=#{}:" else sign for sign in text)
    return out.replace("\n", "\\n")


def _entry(title: str, html: str, answer: str) -> str:
    return f"::{escaped(title)}::[html]{escaped(html)}{{{answer}}}\n"


def _feedback(item: LmsItem, why: str) -> str:
    return f"#{escaped(item.html(why, 'tex', inline=True))}" if why else ""


def _truefalse(item: LmsItem) -> str:
    return "TRUE" if item.part.right_letters == "T" else "FALSE"


def _single(item: LmsItem) -> str:
    lines = [
        f"{'=' if c.right else '~'}{escaped(item.html(c.text, 'tex', inline=True))}{_feedback(item, c.why)}"
        for c in item.part.choices
    ]
    return "\n" + "\n".join(lines) + "\n"


def _multi(item: LmsItem) -> str:
    good = share(Fraction(1, sum(choice.right for choice in item.part.choices)))
    bad = "-100" if item.part.spec.credit == "all" else f"-{good}"
    lines = [
        f"~%{good if c.right else bad}%{escaped(item.html(c.text, 'tex', inline=True))}{_feedback(item, c.why)}"
        for c in item.part.choices
    ]
    return "\n" + "\n".join(lines) + "\n"


def _number(key: str, item: LmsItem) -> str:
    number, tolerance = parse(key), item.part.spec.tolerance
    if number is None or tolerance is None:
        return f"={escaped(key)}"
    return f"#{float(number):.10g}:{decimal(tolerance.around(float(number)))}"


def _numeric(item: LmsItem) -> str:
    return _number(item.part.expected[0], item)


def _cell(item: LmsItem, cell: Cell) -> str:
    text = f"{item.text('tex')}<p>Give the value for {item.html(cell.label, 'tex', inline=True)}.</p>"
    return _entry(f"{item.title} [{cell.id}]", text, _number(cell.key, item))


def _short(item: LmsItem) -> str:
    return " ".join(f"={escaped(text)}" for text in item.part.expected)


def _match(item: LmsItem) -> str:
    part = item.part
    pairs = [(item.html(row, "tex", inline=True), key) for row, key in zip(part.rows, part.expected, strict=True)]
    pairs += [("", column) for column in part.columns if column not in part.expected]
    lines = [f"={escaped(left)} -> {escaped(_bare(right))}" for left, right in pairs]
    return "\n" + "\n".join(lines) + "\n"


def _bare(text: str) -> str:
    """Menu entries hold no HTML."""
    return " ".join(text.replace("$", "").replace("`", "").split())


def _essay(item: LmsItem) -> str:
    return ""


_KINDS = {
    "true-false": _truefalse, "single": _single, "multi": _multi, "numeric": _numeric, "match": _match, "short": _short,
}  # fmt: skip
