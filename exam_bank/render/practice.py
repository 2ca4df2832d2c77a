"""An exam → practice.html: one file that works from disk, with feedback, new variants and progress.

The first variant of each question stands in the page, others in `template` elements. The policy in the head lets run
exactly one script and one style sheet, by their hashes, and no request to anywhere. Formulas are MathML with a font
that brings a MATH table; it is embedded under a name of its own (a subset of Latin Modern Math).
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from exam_bank.model import CHOICE_TYPES, OPEN_TYPES, Exam, Item, Part, Variant
from exam_bank.render.html import write
from exam_bank.render.tree import Store

__all__ = ["Shelf", "render_practice"]

_HERE = Path(__file__).parent


@functools.lru_cache(maxsize=1)
def _assets() -> tuple[str, str]:
    """(style, script)."""
    font = base64.b64encode((_HERE / "latin-modern-math.woff2").read_bytes()).decode()
    style = (_HERE / "practice.css").read_text(encoding="utf-8").replace("@FONT@", f"data:font/woff2;base64,{font}")
    return style, (_HERE / "practice.js").read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


class Shelf:
    """Question bodies that were written before: other versions of an exam offer the same new variants."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.bodies: dict[tuple[str, int | str, int | str, str], str] = {}

    def body(self, variant: Variant, name: str) -> str:
        """The HTML of a variant, with input names that start with `name`."""
        key = (variant.id, variant.seed, variant.number, name)
        if key not in self.bodies:
            self.bodies[key] = _body(variant, name, self.store)
        return self.bodies[key]


def render_practice(exam: Exam, shelf: Shelf, others: Mapping[str, Sequence[Variant]]) -> str:
    """The page. others: new variants by question id."""
    style, script = _assets()
    policy = f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; font-src data:; img-src data:; base-uri 'none'; form-action 'none'"
    title = escape(f"{exam.title}, version {exam.version}")
    identity = hashlib.sha256(f"{exam.title}\x1f{exam.seed}\x1f{exam.version}".encode()).hexdigest()[:12]
    body = "".join(_sections(exam, shelf, others))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body data-exam="softmark-{identity}" data-minutes="{exam.minutes:g}">
<header><h1>{title}</h1>
<p>{escape(f"{exam.points} points in {exam.minutes:g} minutes. Check a part to see whether it is right, and why.")}</p></header>
<div class="bar"><span id="score" role="status"></span><span id="clock" role="timer"></span>
<button type="button" class="quiet" id="timer" aria-pressed="false">Start timer</button>
<button type="button" class="quiet" id="again">Start over</button></div>
<main>{body}</main>
<script>{script}</script>
</body>
</html>
"""


def _sections(exam: Exam, shelf: Shelf, others: Mapping[str, Sequence[Variant]]) -> Iterator[str]:
    for section in exam.sections:
        yield f'<section><h2>{escape(f"{section.id}. {section.title}")} <span class="points">({section.points} points)</span></h2>'
        for item in section.items:
            yield _article(item, shelf, others.get(item.variant.id, ()))
        yield "</section>"


def _article(item: Item, shelf: Shelf, others: Sequence[Variant]) -> str:
    variant = item.variant
    seen = {variant.params_hash}
    fresh = [other for other in others if other.params_hash not in seen and not seen.add(other.params_hash)]  # type: ignore[func-returns-value]
    templates = "".join(
        f'<template id="{item.label}-v{i}">{shelf.body(other, item.label)}</template>'
        for i, other in enumerate(fresh, start=1)
    )
    button = '<button type="button" class="variant" hidden>New variant</button>' if fresh else ""
    return (
        f'<article class="question" id="{item.label}"><h3 tabindex="-1">{item.label} <span class="points">({_points(variant.points)})</span></h3>'
        f'<div class="body">{shelf.body(variant, item.label)}</div>{button}{templates}</article>'
    )


def _points(count: int) -> str:
    return "1 point" if count == 1 else f"{count} points"


def _body(variant: Variant, name: str, store: Store) -> str:
    figures = variant.figures
    parts = []
    for i, part in enumerate(variant.parts):
        letter = f"({chr(ord('a') + i)})" if len(variant.parts) > 1 else "Answer"
        parts.append(_part(part, f"{name}-{part.spec.key}", letter, variant, store))
    solution = (
        f'<details class="solution"><summary>Explanation</summary>{write(store, variant.solution, figures)}</details>'
    )
    html = _scrolled(write(store, variant.stem, figures) if variant.stem else "") + "".join(parts) + _scrolled(solution)
    return _STYLE.sub(lambda found: _CELLS.get(found[1], ""), html)


# The page's policy allows no style attributes: pandoc's few become classes.
_STYLE = re.compile(r' style="(text-align: [^"]*)"')
_CELLS = {
    "text-align: right; padding-right: 0": ' class="to-right"',
    "text-align: left; padding-left: 0": ' class="to-left"',
}


def _scrolled(html: str) -> str:
    return html.replace("<table>", '<div class="scroll"><table>').replace("</table>", "</table></div>")


def _part(part: Part, name: str, letter: str, variant: Variant, store: Store) -> str:
    spec = part.spec
    text = _scrolled(write(store, part.text, variant.figures)) if part.text else ""
    gradable = "" if spec.type in OPEN_TYPES else " data-gradable"
    check = "" if spec.type in OPEN_TYPES else '<button type="button" class="check">Check</button>'
    key = escape(json.dumps(_key(part), ensure_ascii=False, sort_keys=True))
    hint = _hint(part)
    return (
        f'<fieldset data-part="{spec.key}"{gradable} data-key="{key}"><legend>{letter} <span class="points">{_points(spec.points)}</span></legend>'
        f"{text}{f'<p class=hint>{hint}</p>' if hint else ''}{_inputs(part, name, store)}{check}"
        f'<output aria-live="polite"></output><details><summary>Answer</summary>{_answer(part, store)}</details></fieldset>'
    )


def _hint(part: Part) -> str:
    spec = part.spec
    if spec.type == "multi":
        return "" if "all that apply" in part.text.casefold() else "Select all that apply."
    told = "decimal" in part.text.casefold()
    if spec.tolerance is not None and spec.decimals and spec.tolerance.around(1.0) > 0 and not told:
        return "One decimal." if spec.decimals == 1 else f"{spec.decimals} decimals."
    return ""


def _key(part: Part) -> dict[str, Any]:
    """What the script needs to judge a part."""
    spec = part.spec
    if spec.type in OPEN_TYPES:
        return {"kind": "open", "points": spec.points}
    if spec.type in CHOICE_TYPES:
        return {"kind": "choice", "points": spec.points, "credit": spec.credit}
    if spec.type == "match":
        letters = [chr(ord("A") + part.columns.index(key)) for key in part.expected]
        return {"kind": "match", "points": spec.points, "key": letters, "cells": True}
    if spec.type == "short":
        return {"kind": "short", "points": spec.points, "key": list(part.expected), "exact": spec.case == "exact"}
    tolerance = spec.tolerance.model_dump() if spec.tolerance else None
    return {
        "kind": "cells",
        "points": spec.points,
        "key": list(part.expected),
        "tolerance": tolerance,
        "cells": spec.type == "table",
    }


def _inputs(part: Part, name: str, store: Store) -> str:
    kind = part.spec.type
    if kind in CHOICE_TYPES:
        return "".join(_choice(part, name, i, store) for i in range(len(part.choices)))
    if kind == "match":
        return _match(part, name, store)
    if kind == "table":
        return _table(part, store)
    if kind in OPEN_TYPES:
        return '<textarea aria-label="Your answer"></textarea>'
    unit = f" {escape(part.spec.unit)}" if part.spec.unit else ""
    if kind == "short":
        return '<input type="text" class="wide" aria-label="Your answer" autocomplete="off" autocapitalize="off" spellcheck="false">'
    if kind == "numeric":
        return f'<input type="text" inputmode="text" aria-label="Your answer" autocomplete="off">{unit}'
    labels = [write(store, row, inline=True) for row in part.rows] or [f"{i + 1}" for i in range(len(part.expected))]
    fields = "".join(f'<label><span>{label}</span><input type="text" autocomplete="off"></label>' for label in labels)
    return f'<div class="vector">{fields}{unit}</div>'


def _choice(part: Part, name: str, i: int, store: Store) -> str:
    choice = part.choices[i]
    kind = "checkbox" if part.spec.type == "multi" else "radio"
    why = f' data-why="{escape(_plain(choice.why))}"' if choice.why and not choice.right else ""
    right = "1" if choice.right else "0"
    letter = f"{chr(ord('A') + i)}. " if part.spec.type != "true-false" else ""
    return (
        f'<label class="choice"><input type="{kind}" name="{name}" value="{choice.index}" data-right="{right}"{why}>'
        f"<span>{letter}{write(store, choice.text, inline=True)}</span></label>"
    )


def _plain(text: str) -> str:
    return text.replace("$", "").replace("`", "")


def _match(part: Part, name: str, store: Store) -> str:
    letters = [chr(ord("A") + i) for i in range(len(part.columns))]
    options = "".join(f"<option>{letter}</option>" for letter in letters)
    listed = "".join(f"<li>{write(store, column, inline=True)}</li>" for column in part.columns)
    rows = "".join(
        f'<div class="pair"><select aria-labelledby="{name}-{i}"><option value="">–</option>{options}</select>'
        f'<span id="{name}-{i}">{write(store, row, inline=True)}</span></div>'
        for i, row in enumerate(part.rows)
    )
    return f'<ol class="options">{listed}</ol>{rows}'


def _table(part: Part, store: Store) -> str:
    head = "".join(f'<th scope="col">{write(store, column, inline=True)}</th>' for column in part.columns)
    rows = []
    for r, row in enumerate(part.rows):
        cells = "".join(
            f'<td><input type="text" aria-label="Row {r + 1}, column {c + 1}" autocomplete="off"></td>'
            for c in range(len(part.columns))
        )
        rows.append(f'<tr><th scope="row">{write(store, row, inline=True)}</th>{cells}</tr>')
    corner = escape(part.spec.unit) or "Row"
    return f'<div class="scroll"><table><thead><tr><th scope="col">{corner}</th>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _answer(part: Part, store: Store) -> str:
    spec = part.spec
    if spec.type in CHOICE_TYPES:
        items = [write(store, choice.text, inline=True) for choice in part.choices if choice.right]
        return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>"
    if spec.type in OPEN_TYPES:
        rubric = "".join(
            f"<li>{_points(line.points)}: {write(store, line.text, inline=True)}</li>" for line in spec.rubric or ()
        )
        return f"{write(store, part.expected[0])}<ul>{rubric}</ul>"
    if spec.type == "match":
        pairs = zip(part.rows, part.expected, strict=True)
        lines = [f"<li>{write(store, row, inline=True)}: {write(store, key, inline=True)}</li>" for row, key in pairs]
        return f"<ul>{''.join(lines)}</ul>"
    joined = (" or " if spec.type == "short" else ", ").join(part.expected)
    return f"<p>{escape(joined)}{f' {escape(spec.unit)}' if spec.unit else ''}</p>"
