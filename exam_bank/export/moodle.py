"""Moodle XML: multichoice, truefalse, numerical, shortanswer, matching, essay; cloze for vectors and tables.

Formulas go over as TeX between `\\(` and `\\)`, which Moodle's MathJax filter reads.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from html import escape

from exam_bank.export.items import LmsItem, decimal, split_cells
from exam_bank.printed import parse

__all__ = ["share", "write"]


def write(title: str, items: Sequence[LmsItem]) -> bytes:
    """One quiz file; all questions in one category."""
    category = f'<question type="category"><category><text>$course$/top/{escape(title.replace("/", "-"))}</text></category></question>'
    body = "\n".join(map(_question, items))
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<quiz>\n{category}\n{body}\n</quiz>\n'.encode()


def _cdata(html: str) -> str:
    return "<text><![CDATA[" + html.replace("]]>", "]]]]><![CDATA[>") + "]]></text>"


def _question(item: LmsItem) -> str:
    kind, body, extra = _KINDS.get(item.part.spec.type, _essay)(item)
    general = (
        f"<name><text>{escape(item.title)} [{item.id}]</text></name>"
        f'<questiontext format="html">{_cdata(item.text("tex") + extra)}</questiontext>'
        f'<generalfeedback format="html">{_cdata(item.explanation("tex"))}</generalfeedback>'
    )
    grade = f"<defaultgrade>{decimal(item.points)}</defaultgrade><penalty>0</penalty><hidden>0</hidden>"
    return f'<question type="{kind}">{general}{grade}<idnumber>{item.id}</idnumber>{body}</question>'


def share(part: Fraction) -> str:
    """A fraction of the grade in per cent, as Moodle lists them: 33.33333, 14.28571, 50."""
    return f"{float(part * 100):.5f}".rstrip("0").rstrip(".")


def _answer(fraction: str, text: str, feedback: str = "", extra: str = "", form: str = "html") -> str:
    return f'<answer fraction="{fraction}" format="{form}">{_cdata(text)}<feedback format="html">{_cdata(feedback)}</feedback>{extra}</answer>'


Made = tuple[str, str, str]


def _truefalse(item: LmsItem) -> Made:
    answers = "".join(
        f'<answer fraction="{100 if choice.right else 0}" format="moodle_auto_format"><text>{choice.text.lower()}</text>'
        f'<feedback format="html">{_cdata(item.html(choice.why, "tex"))}</feedback></answer>'
        for choice in item.part.choices
    )
    return "truefalse", answers, ""


def _choices(item: LmsItem) -> Made:
    part = item.part
    right = sum(choice.right for choice in part.choices)
    multiple = part.spec.type == "multi"
    good = share(Fraction(1, right)) if multiple else "100"
    bad = {"all": "-100", "each": f"-{good}"}[part.spec.credit] if multiple else "0"
    answers = "".join(
        _answer(good if c.right else bad, item.html(c.text, "tex", inline=True), item.html(c.why, "tex", inline=True))
        for c in part.choices
    )
    single = "false" if multiple else "true"
    return (
        "multichoice",
        f"<single>{single}</single><shuffleanswers>false</shuffleanswers><answernumbering>ABCD</answernumbering>{answers}",
        "",
    )


def _numeric(item: LmsItem) -> Made:
    key = item.part.expected[0]
    number, tolerance = parse(key), item.part.spec.tolerance
    assert number is not None
    assert tolerance is not None
    room = f"<tolerance>{decimal(tolerance.around(float(number)))}</tolerance>"
    unit = f"<p>({escape(item.part.spec.unit)})</p>" if item.part.spec.unit else ""
    return "numerical", _answer("100", _number(number), extra=room, form="moodle_auto_format"), unit


def _number(value: Fraction) -> str:
    return f"{float(value):.10g}"


def _short(item: LmsItem) -> Made:
    case = 1 if item.part.spec.case == "exact" else 0
    answers = "".join(
        _answer("100", text.replace("*", r"\*"), form="moodle_auto_format") for text in item.part.expected
    )
    return "shortanswer", f"<usecase>{case}</usecase>{answers}", ""


def _match(item: LmsItem) -> Made:
    part = item.part
    pairs = [(item.html(row, "tex", inline=True), key) for row, key in zip(part.rows, part.expected, strict=True)]
    pairs += [("", column) for column in part.columns if column not in part.expected]
    body = "".join(
        f'<subquestion format="html">{_cdata(left)}<answer>{_cdata(right)}</answer></subquestion>'
        for left, right in pairs
    )
    return "matching", f"<shuffleanswers>true</shuffleanswers>{body}", ""


_CLOZE = re.compile(r'([}#~/"\\])')


def _cloze(item: LmsItem) -> Made:
    """Blanks in the text. Moodle takes the grade of a cloze question from its blanks."""
    lines = []
    for cell in split_cells(item):
        number, tolerance = parse(cell.key), item.part.spec.tolerance
        if number is None or tolerance is None:
            blank = "{1:SHORTANSWER:=" + _escaped(cell.key) + "}"
        else:
            blank = "{1:NUMERICAL:=" + f"{_number(number)}:{decimal(tolerance.around(float(number)))}" + "}"
        lines.append(f"<p>{item.html(cell.label, 'tex', inline=True)}: {blank}</p>")
    return "cloze", "", "".join(lines)


def _escaped(text: str) -> str:
    return _CLOZE.sub(lambda found: "\\" + found[1], text)


def _essay(item: LmsItem) -> Made:
    lines = "".join(
        f"<li>{line.points}: {item.html(line.text, 'tex', inline=True)}</li>" for line in item.part.spec.rubric or ()
    )
    info = f"{item.html(item.part.expected[0], 'tex')}<ul>{lines}</ul>"
    return "essay", f'<responseformat>editor</responseformat><graderinfo format="html">{_cdata(info)}</graderinfo>', ""


_KINDS = {
    "true-false": _truefalse, "single": _choices, "multi": _choices, "numeric": _numeric, "numeric-vector": _cloze,
    "table": _cloze, "match": _match, "short": _short,
}  # fmt: skip
