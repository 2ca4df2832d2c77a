"""An exam → paper.pdf and solutions.pdf (PDF/UA-1), and where every box and bubble is.

One Typst document, compiled twice (see exam.typ). Positions are asked from the compiler, not computed here; the
solutions are refused when a mark moved or an answer doesn't fit its box.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typst

from exam_bank.errors import BankError
from exam_bank.model import CHOICE_TYPES, OPEN_TYPES, Exam, Item, Part, points_in_pt
from exam_bank.render.texts import texts
from exam_bank.render.tree import Store
from exam_bank.render.typst import literal, write, write_inline

__all__ = ["PAGES", "Papers", "exam_source", "render_exam"]

PAGES = {"us-letter": (612.0, 792.0), "a4": (595.28, 841.89)}
_TEMPLATE = (Path(__file__).parent / "exam.typ").read_text(encoding="utf-8")
_MARGIN = {"plain": 54.0, "gradescope": 54.0, "crowdmark": 113.4}
_SIDE, _BOTTOM = 54.0, 50.0
_NO_SIGN = re.compile(r'the text `"(.+?)"` could not be displayed')
_SMALL, _LARGE = 28.35, 62.0


@dataclass(frozen=True)
class Papers:
    """The two PDFs, and the marks: id, kind, page (from 1), x, y, width, height in pt from the top left corner."""

    paper: bytes
    solutions: bytes
    boxes: list[dict[str, Any]]
    pages: int


def render_exam(exam: Exam, store: Store, slots: Mapping[str, float] | None = None) -> Papers:
    """Both papers of one version. slots: fixed heights in pt by label (layout `gradescope`)."""
    document = exam_source(exam, store, slots or {})
    with tempfile.TemporaryDirectory() as folder:
        main = Path(folder) / "exam.typ"  # a file, because the binding's `query` forgets a document given as bytes
        main.write_text(document, encoding="utf-8")
        return _compile(typst.Compiler(str(main), ignore_system_fonts=True), exam)


def _compile(compiler: typst.Compiler, exam: Exam) -> Papers:
    try:
        paper = compiler.compile(format="pdf", sys_inputs={"solutions": "no"}, pdf_standards=["ua-1"])  # type: ignore[list-item]
        (marks,) = _query(compiler, "<pos>")
        solutions = compiler.compile(format="pdf", sys_inputs={"solutions": "yes"}, pdf_standards=["ua-1"])  # type: ignore[list-item]
        (again,) = _query(compiler, "<pos>")
        fits = _query(compiler, "<fit>")
    except typst.TypstError as fault:
        raise _refusal(str(fault.message), exam) from fault
    _check_fits(fits, exam)
    _check_pages(marks, exam)
    if marks != again:
        moved = next(a["id"] for a, b in zip(marks, again, strict=False) if a != b)
        raise BankError(f"the solutions of version {exam.version} move {moved}.", key=moved, rule="Q024")
    assert isinstance(paper, bytes)
    assert isinstance(solutions, bytes)
    return Papers(paper, solutions, marks, max(mark["page"] for mark in marks))


def _refusal(message: str, exam: Exam) -> BankError:
    """What Typst says, with the question that holds the sign it has no picture for."""
    missing = _NO_SIGN.search(message)
    if missing is None:
        return BankError(f"Typst can't set {exam.title}, version {exam.version}: {message}.", rule="Q005")
    sign = missing[1]
    item = next((item for item in exam.items if any(sign in text for text in texts(item.variant))), None)
    return BankError(
        f"the fonts of the papers have no sign for {sign!r}.",
        where=item.variant.question.path if item else exam.title,
        key=item.label if item else None,
        way_out="Write Latin, Greek or Cyrillic letters, a formula, or draw it as a figure.",
        rule="Q005",
    )


def _query(compiler: typst.Compiler, selector: str) -> Any:
    """The values of the metadata with this label, with numbers of two decimals."""
    return json.loads(compiler.query(selector, field="value"), parse_float=lambda text: round(float(text), 2))


def _check_fits(fits: Sequence[dict[str, Any]], exam: Exam) -> None:
    for fit in fits:
        if fit["need"] > fit["have"] + 0.5 or fit["wide"] > fit["room"] + 0.5:
            raise BankError(
                f"the answer needs {fit['wide']:.0f} × {fit['need']:.0f} pt, its box has {fit['room']:.0f} × {fit['have']:.0f} pt.",
                where=_path(fit["id"], exam),
                key=fit["id"],
                way_out="Enlarge `box`, or shorten the answer.",
                rule="Q024",
            )


def _path(mark: str, exam: Exam) -> Path | None:
    """The file of the question that a mark belongs to."""
    label = mark.split("/", maxsplit=1)[0]
    return next((item.variant.question.path for item in exam.items if item.label == label), None)


def _check_pages(marks: Sequence[dict[str, Any]], exam: Exam) -> None:
    bottom = PAGES[exam.paper][1] - _BOTTOM + 1
    for mark in marks:
        if mark["kind"] == "end" and mark["y"] > bottom:
            raise BankError(
                "the question is longer than a page.",
                where=_path(mark["id"], exam),
                key=mark["id"],
                way_out="Shorten it, or make its boxes smaller.",
                rule="Q024",
            )


# ---------------------------------------------------------------------------------------------- the document


def exam_source(exam: Exam, store: Store, slots: Mapping[str, float]) -> str:
    """The whole Typst document."""
    top = _MARGIN[exam.layout]
    title = f"{exam.title}, version {exam.version}"
    head = f"""
#set document(title: {literal(title)}, date: none)
#set page(paper: "{exam.paper}", margin: (top: {top}pt, bottom: {_BOTTOM}pt, x: {_SIDE}pt), footer: context align(center, text(size: 8.5pt)[
  #{literal(title)} #h(1fr) #{{
    let last = counter(page).at(locate(<exam-end>)).first()
    let now = counter(page).get().first()
    if now <= last [page #now of #last] else [explanations, page #(now - last)]
  }}]))
#set text(font: "New Computer Modern", size: 10.5pt, lang: "en")
#set par(leading: 0.6em)
#set list(spacing: 0.6em)
#set table(stroke: 0.5pt + rgb("#666666"), inset: 5pt)
#show table.cell.where(y: 0): set text(weight: "bold")
#show raw: set text(font: "DejaVu Sans Mono", size: 8.6pt)
#show heading.where(level: 1): set text(size: 17pt)
#show heading.where(level: 2): set text(size: 13pt)
#show heading.where(level: 3): set text(size: 10.5pt)
"""
    body = [_TEMPLATE, head, _cover(exam, title)]
    for section in exam.sections:
        first = True
        for item in section.items:
            heading = (
                f"#heading(level: 2, {literal(f'{section.id}. {section.title} ({_points(section.points)})')})\n"
                if first
                else ""
            )
            body.append(_item(item, store, heading, slots.get(item.label)))
            first = False
    body.append("#[#metadata(none) <exam-end>#marks]")
    body.append(_explanations(exam, store))
    return "\n".join(body)


def _points(count: int) -> str:
    return "1 point" if count == 1 else f"{count} points"


def _minutes(value: float) -> str:
    return "1 minute" if value == 1 else f"{value:g} minutes"


def _cover(exam: Exam, title: str) -> str:
    lines = "".join(
        f'[#{literal(name)}:], box(width: 100%, height: 20pt, stroke: (bottom: rule))[#place(top + left, mark({literal("cover/" + name)}, "field", 300pt, 20pt))],'
        for name in ("Name", "Student id")
    )
    rows = "".join(
        f"[#{literal(section.id)}], [#{literal(section.title)}], [{section.points}]," for section in exam.sections
    )
    return f"""#heading(level: 1, {literal(title)})
#v(10pt)
#grid(columns: (70pt, 300pt), row-gutter: 12pt, align: bottom, {lines})
#v(14pt)
{write_inline(f"{_points(exam.points)} in {_minutes(exam.minutes)}. {exam.instructions}")}
#v(10pt)
#table(columns: 3, align: (left, left, right), table.header([*Section*], [*Title*], [*Points*]), {rows} [], [Total], [{exam.points}])
#pagebreak()
"""


def _item(item: Item, store: Store, heading: str, slot: float | None) -> str:
    variant = item.variant
    pieces = [heading, f"#heading(level: 3, {literal(f'{item.label}. ({_points(variant.points)})')})"]
    if variant.stem:
        pieces.append(write(store, variant.stem, variant.figures))
    lone = len(variant.parts) == 1
    for i, part in enumerate(variant.parts):
        pieces += _part(item, part, "" if lone else chr(ord("a") + i), store)
    inner = "\n\n".join(pieces)
    height = "auto" if slot is None else f"{slot:.2f}pt"
    return f"#question({literal(item.label)}, {height}, [{inner}])"


def _part(item: Item, part: Part, letter: str, store: Store) -> Iterator[str]:
    name = f"{item.label}/{part.spec.key}"
    text = write(store, part.text, item.variant.figures) if part.text else ""
    hint = _hint(part)
    said = f"{text} #note[{write_inline(hint)}]" if hint else text
    if letter:
        yield f"#part({literal(letter)}, {literal(_points(part.spec.points))}, [{said}])"
    elif said:
        yield f"#lone[{said}]"
    yield _BODIES[part.spec.type](name, part, store)


def _hint(part: Part) -> str:
    """How to answer, in small print."""
    spec = part.spec
    if spec.type in ("single", "multi"):
        words = "Select all that apply." if spec.type == "multi" else "Select one."
        return "" if words.rstrip(".").casefold() in part.text.casefold() else words
    told = "decimal" in part.text.casefold()
    if spec.tolerance is not None and spec.decimals is not None and spec.tolerance.around(1.0) > 0 and not told:
        return f"({spec.decimals} decimals)" if spec.decimals != 1 else "(1 decimal)"
    return ""


def _truefalse(name: str, part: Part, store: Store) -> str:
    truth = "true" if part.right_letters == "T" else "false"
    return f"#truefalse({literal(name + '/T')}, {literal(name + '/F')}, {truth})"


def _choices(name: str, part: Part, store: Store) -> str:
    round_ = "true" if part.spec.type == "single" else "false"
    lines = []
    for i, choice in enumerate(part.choices):
        letter = chr(ord("A") + i)
        filled = "true" if choice.right else "false"
        lines.append(
            f'#choice({literal(f"{name}/{letter}")}, "{letter}", {round_}, {filled}, [{write(store, choice.text)}])'
        )
    return "\n".join(lines)


def _height(part: Part, default: float) -> float:
    return points_in_pt(part.spec.box) if part.spec.box else default


def _box(name: str, width: float, height: float, key: str, stroke: str = "rule") -> str:
    return f"#answer-box({literal(name)}, {width:.2f}pt, {height:.2f}pt, [{key}], stroke: {stroke})"


def _unit(part: Part) -> str:
    return f" {write_inline(part.spec.unit)}" if part.spec.unit else ""


def _numeric(name: str, part: Part, store: Store) -> str:
    return f"#block(above: 6pt, below: 6pt)[{_box(name, 150, _height(part, _SMALL), write_inline(part.expected[0]))}{_unit(part)}]"


def _vector(name: str, part: Part, store: Store) -> str:
    height, count = _height(part, _SMALL), len(part.expected)
    width = min(110.0, 470.0 / min(count, 6) - 8)
    cells = []
    for i, key in enumerate(part.expected):
        label = write(store, part.rows[i]) if part.rows else f"{i + 1}"
        cells.append(f"[#note[{label}] #linebreak() {_box(f'{name}/{i + 1}', width, height, write_inline(key))}]")
    return f"#block(above: 6pt, below: 6pt)[#grid(columns: {min(count, 6)}, column-gutter: 8pt, row-gutter: 8pt, {', '.join(cells)}){_unit(part)}]"


def _table(name: str, part: Part, store: Store) -> str:
    columns = len(part.columns)
    width = min(100.0, 380.0 / columns)
    height = _height(part, 22.0)
    head = "".join(f", [*{write(store, label)}*]" for label in part.columns)
    cells = []
    for r, row in enumerate(part.rows):
        cells.append(f"[{write(store, row)}]")
        for c in range(columns):
            key = write_inline(part.expected[r * columns + c])
            cells.append(f"table.cell(inset: 0pt)[{_box(f'{name}/{r + 1}/{c + 1}', width, height, key, 'none')}]")
    return f"#block(above: 6pt, below: 6pt)[#table(columns: {columns + 1}, align: left + horizon, table.header([#note[{_corner(part)}]]{head}), {', '.join(cells)})]"


def _corner(part: Part) -> str:
    return write_inline(part.spec.unit or "Row")


def _match(name: str, part: Part, store: Store) -> str:
    left = []
    for i, row in enumerate(part.rows):
        key = chr(ord("A") + part.columns.index(part.expected[i]))
        left.append(f"[{_box(f'{name}/{i + 1}', 22, 20, f'#{literal(key)};')}], [{write(store, row)}]")
    right = [f"[*{chr(ord('A') + i)}.*], [{write(store, column)}]" for i, column in enumerate(part.columns)]
    return f"""#block(above: 6pt, below: 6pt)[#grid(columns: (1fr, 1.4fr), column-gutter: 14pt,
  grid(columns: (24pt, 1fr), column-gutter: 4pt, row-gutter: 6pt, align: left + horizon, {", ".join(left)}),
  grid(columns: (14pt, 1fr), column-gutter: 4pt, row-gutter: 8pt, {", ".join(right)}))]"""


def _short(name: str, part: Part, store: Store) -> str:
    return f"#block(above: 6pt, below: 6pt)[{_box(name, 300, _height(part, _SMALL), write_inline(part.expected[0]))}]"


def _open(name: str, part: Part, store: Store) -> str:
    return f"#block(above: 6pt, below: 6pt)[{_box(name, 478, _height(part, _LARGE), write(store, part.expected[0]))}]"


_BODIES = {
    "true-false": _truefalse, "single": _choices, "multi": _choices, "numeric": _numeric, "numeric-vector": _vector,
    "table": _table, "match": _match, "short": _short, "code": _open, "derivation": _open, "essay": _open,
}  # fmt: skip


# ---------------------------------------------------------------------------------------------- explanations


def _explanations(exam: Exam, store: Store) -> str:
    pieces = []
    for item in exam.items:
        variant = item.variant
        answers = write_inline(_answers(item))
        whys = "".join(_whys(part, store) for part in variant.parts)
        rubric = "".join(_rubric(part, store) for part in variant.parts)
        body = f"{write(store, variant.solution, variant.figures)}\n\n{whys}\n\n{rubric}"
        pieces.append(f"#explained({literal(item.label)}, [{answers}], [{body}])")
    inner = "\n".join(pieces)
    return f'#if solved [\n#pagebreak()\n#heading(level: 2, "Explanations")\n{inner}\n]'


def _answers(item: Item) -> str:
    """The keys in one line."""
    said = []
    for i, part in enumerate(item.variant.parts):
        name = f"({chr(ord('a') + i)}) " if len(item.variant.parts) > 1 else ""
        said.append(name + _key(part))
    return "; ".join(said) + "."


def _key(part: Part) -> str:
    spec = part.spec
    if spec.type in CHOICE_TYPES:
        return (
            {"T": "true", "F": "false"}.get(part.right_letters, part.right_letters)
            if spec.type == "true-false"
            else ", ".join(part.right_letters)
        )
    if spec.type in OPEN_TYPES:
        return "in the box"
    if spec.type == "match":
        return ", ".join(f"{i + 1}: {chr(ord('A') + part.columns.index(key))}" for i, key in enumerate(part.expected))
    unit = f" {spec.unit}" if spec.unit else ""
    return (" or " if spec.type == "short" else ", ").join(part.expected) + unit


def _whys(part: Part, store: Store) -> str:
    lines = [
        f"[#{literal(chr(ord('A') + i))}: {write(store, choice.why)}]"
        for i, choice in enumerate(part.choices)
        if choice.why
    ]
    return f"#list({', '.join(lines)})\n" if lines else ""


def _rubric(part: Part, store: Store) -> str:
    lines = [
        f"[{write_inline(f'{_points(line.points)}: ')}{write(store, line.text)}]" for line in part.spec.rubric or ()
    ]
    return f"#list({', '.join(lines)})\n" if lines else ""
