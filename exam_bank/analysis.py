"""Item analysis: a table of results → how hard each part was, whether it tells strong from weak, which wrong choices work.

    p      mean points / possible points of those who answered          r      correlation of the part with the rest score
    upper, lower   p among the best and the weakest 27 %                 alpha  Cronbach's, over all parts
A blank is not a wrong answer: it earns 0 in the total, and it is counted apart. Definitions as in Lord and Novick,
Statistical Theories of Mental Test Scores (1968), chapter 15, and Cronbach (1951).
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from exam_bank.errors import BankError
from exam_bank.manifest import recall
from exam_bank.model import CHOICE_TYPES, Part
from exam_bank.stats import correlation, mean, variance

__all__ = ["Analysis", "ChoiceCount", "PartResult", "Results", "alpha", "analyse", "read_results", "report_html"]

_GRADESCOPE = re.compile(r"(?P<name>[^:()]+?)(?::.*)?\s*\((?P<max>\d+(?:\.\d+)?) ?pts?\)\s*\Z")
_CANVAS = re.compile(r"\d+: ")
_ANSWER = ":answer"
_HARD, _EASY, _WEAK = 0.2, 0.95, 0.1


@dataclass(frozen=True)
class Results:
    """A class's points. points[i][name] is None for a blank; answers[i][name] holds printed letters or text.

    versions[i]: which version student i had. possible: points that each part can earn.
    """

    possible: dict[str, float]
    points: list[dict[str, float | None]]
    answers: list[dict[str, str]]
    versions: list[int]


@dataclass(frozen=True)
class ChoiceCount:
    """How often a choice was taken, and how it goes with the rest score."""

    text: str
    right: bool
    count: int
    r: float | None


@dataclass(frozen=True)
class PartResult:
    """One part over the class."""

    name: str
    question: str
    difficulty: int
    possible: float
    answered: int
    blank: int
    p: float | None
    r: float | None
    upper: float | None
    lower: float | None
    choices: tuple[ChoiceCount, ...] = ()
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Analysis:
    """A whole exam over the class."""

    title: str
    students: int
    parts: tuple[PartResult, ...]
    totals: tuple[float, ...]
    possible: float
    alpha: float | None
    notes: tuple[str, ...] = field(default=())


# ---------------------------------------------------------------------------------------------- reading


def read_results(path: Path, manifest: Mapping[str, Any]) -> Results:
    """Read a CSV of Gradescope, of Canvas (student analysis), or one with a column for each part (`B3/ratio`).

    A column `Version` says who had which version (1 without it). Columns `B3/ratio:answer` hold chosen letters.
    Raises BankError with the line or column that can't be read.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as fault:
        raise BankError(f"can't be read: {fault}.", where=path, way_out="Export it as UTF-8 CSV.") from None
    rows = list(csv.reader(io.StringIO(text)))
    if len(rows) < 2:
        raise BankError("holds no students.", where=path, way_out="Give a table with a header line.")
    parts = _part_points(manifest)
    columns, answer_columns = _columns(rows[0], parts, manifest, path)
    if not columns:
        raise BankError(
            f"no column names a part of {manifest['title']!r}.",
            where=path,
            line=1,
            way_out=f"Expected columns like {next(iter(parts))!r} or 'A1: Title (4.0 pts)'.",
        )
    _check_shape(rows, path)
    version_at = next((i for i, name in enumerate(rows[0]) if name.strip().casefold() == "version"), None)
    results = Results({name: most for name, (_, most) in columns.items()}, [], [], [])
    for number, row in enumerate(rows[1:], start=2):
        if not any(cell.strip() for cell in row):
            continue
        points = {name: _points(row[i].strip(), name, most, path, number) for name, (i, most) in columns.items()}
        results.points.append(points)
        results.answers.append({name: row[i].strip() for name, i in answer_columns.items()})
        results.versions.append(_version(row, version_at, path, number))
    return results


def _version(row: Sequence[str], at: int | None, path: Path, line: int) -> int:
    text = "1" if at is None else row[at].strip()
    if not text.isdigit():
        raise BankError(f"the version is {text!r}.", where=path, line=line, way_out="Write a whole number.")
    return int(text)


def _check_shape(rows: Sequence[Sequence[str]], path: Path) -> None:
    """Every row has a cell for each column."""
    for number, row in enumerate(rows[1:], start=2):
        if any(cell.strip() for cell in row) and len(row) != len(rows[0]):
            raise BankError(
                f"the line has {len(row)} cells, the header has {len(rows[0])}.",
                where=path,
                line=number,
                way_out="Export the table again; quote cells that hold commas.",
            )


def _points(text: str, name: str, most: float, path: Path, line: int) -> float | None:
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= most:
        raise BankError(
            f"the points are {text!r}.",
            where=path,
            line=line,
            key=name,
            way_out=f"Write a number from 0 to {most:g}, or nothing for a blank.",
        )
    return value


def _part_points(manifest: Mapping[str, Any]) -> dict[str, float]:
    """Points by part name, in printed order."""
    first = manifest["versions"][0]
    return {
        f"{q['label']}/{p['spec']['key']}": float(p["spec"]["points"]) for q in first["questions"] for p in q["parts"]
    }


def _columns(
    head: Sequence[str], parts: Mapping[str, float], manifest: Mapping[str, Any], path: Path
) -> tuple[dict[str, tuple[int, float]], dict[str, int]]:
    """Where points and answers of each part (or whole question) stand."""
    names = _aliases(parts, manifest)
    columns: dict[str, tuple[int, float]] = {}
    answers: dict[str, int] = {}

    def add(name: str, at: int, most: float) -> None:
        if name in columns:
            raise BankError(f"two columns hold {name}.", where=path, line=1, way_out="Delete one of them.")
        columns[name] = (at, most)

    canvas = iter(parts)
    for i, title in enumerate(map(str.strip, head)):
        graded = _GRADESCOPE.match(title)
        if graded and graded["name"].strip() in names:
            add(names[graded["name"].strip()], i, float(graded["max"]))
        elif title in parts:
            add(title, i, parts[title])
        elif title.endswith(_ANSWER) and title.removesuffix(_ANSWER) in parts:
            answers[title.removesuffix(_ANSWER)] = i
        elif _CANVAS.match(title) and i + 1 < len(head) and (name := next(canvas, None)):
            add(name, i + 1, float(head[i + 1] or parts[name]))
            answers[name] = i
    return columns, answers


def _aliases(parts: Mapping[str, float], manifest: Mapping[str, Any]) -> dict[str, str]:
    """The names under which graders list parts: `B3/ratio`, `B3.2`, Gradescope's `12.2`, and whole questions."""
    names = {name: name for name in parts}
    for i, question in enumerate(manifest["versions"][0]["questions"], start=1):
        keys = [f"{question['label']}/{part['spec']['key']}" for part in question["parts"]]
        for j, key in enumerate(keys, start=1):
            names |= {f"{i}.{j}": key, f"{question['label']}.{j}": key}
        whole = keys[0] if len(keys) == 1 else question["label"]
        names |= {str(i): whole, question["label"]: whole}
    return names


# ---------------------------------------------------------------------------------------------- analysing


def alpha(columns: Sequence[Sequence[float]]) -> float | None:
    """Cronbach's alpha: k / (k − 1) · (1 − Σ var(part) / var(total)); None where it isn't defined."""
    k = len(columns)
    if k < 2 or len(columns[0]) < 2:
        return None
    whole = variance([sum(row) for row in zip(*columns, strict=True)])
    return k / (k - 1) * (1 - sum(variance(column) for column in columns) / whole) if whole > 0 else None


def analyse(results: Results, manifest: Mapping[str, Any]) -> Analysis:
    """All statistics. A part is one place of the exam, whatever version a student had."""
    names = list(results.possible)
    totals = [sum(row[name] or 0.0 for name in names) for row in results.points]
    columns = [[row[name] or 0.0 for row in results.points] for name in names]
    parts = tuple(_part(name, results, totals, manifest) for name in names)
    return Analysis(
        title=str(manifest["title"]),
        students=len(results.points),
        parts=parts,
        totals=tuple(totals),
        possible=sum(results.possible.values()),
        alpha=alpha(columns),
        notes=tuple(_notes(results)),
    )


def _notes(results: Results) -> Iterator[str]:
    if len(results.points) < 20:
        yield f"Only {len(results.points)} students: discrimination and alpha are rough."
    if len(set(results.versions)) > 1:
        yield f"{len(set(results.versions))} versions are taken together."


def _part(name: str, results: Results, totals: Sequence[float], manifest: Mapping[str, Any]) -> PartResult:
    most = results.possible[name]
    given = [(row[name], total) for row, total in zip(results.points, totals, strict=True)]
    answered = [(points, total - points) for points, total in given if points is not None]
    p = mean([points for points, _ in answered]) / most if answered else None
    r = correlation([points for points, _ in answered], [rest for _, rest in answered]) if len(answered) > 1 else None
    upper, lower = _groups(answered, most)
    question = _question(name, manifest)
    choices = _choices(name, results, totals, manifest)
    difficulty = int(question["difficulty"])
    return PartResult(
        name,
        str(question["id"]),
        difficulty,
        most,
        len(answered),
        len(given) - len(answered),
        p,
        r,
        upper,
        lower,
        choices,
        tuple(_flags(p, r, choices, difficulty)),
    )


def _groups(answered: Sequence[tuple[float, float]], most: float) -> tuple[float | None, float | None]:
    """p of the best and of the weakest 27 % by rest score."""
    count = round(0.27 * len(answered))
    if count < 1:
        return None, None
    ranked = sorted(answered, key=lambda pair: pair[1])
    return mean([points for points, _ in ranked[-count:]]) / most, mean([points for points, _ in ranked[:count]]) / most


def _question(name: str, manifest: Mapping[str, Any], version: int = 1) -> Mapping[str, Any]:
    label = name.split("/", maxsplit=1)[0]
    for each in manifest["versions"]:
        if each["version"] == version:
            for question in each["questions"]:
                if question["label"] == label:
                    found: Mapping[str, Any] = question
                    return found
    raise BankError(f"the manifest has no {label} in version {version}.", way_out="Check the column `Version`.")


def _choices(
    name: str, results: Results, totals: Sequence[float], manifest: Mapping[str, Any]
) -> tuple[ChoiceCount, ...]:
    """Choices over all versions that ask the same question here, told apart by their place in the source."""
    key = name.rsplit("/", maxsplit=1)[-1]
    parts: dict[int, Part] = {}
    for version in set(results.versions):
        described = next((p for p in _question(name, manifest, version)["parts"] if p["spec"]["key"] == key), None)
        if described is not None:
            parts[version] = recall(described)
    first = parts.get(min(parts, default=0))
    if first is None or first.spec.type not in CHOICE_TYPES or not any(name in row for row in results.answers):
        return ()
    taken: list[tuple[frozenset[int], float]] = []
    for answers, version, total, row in zip(results.answers, results.versions, totals, results.points, strict=True):
        text = answers.get(name, "")
        if text and version in parts:
            taken.append((_taken(parts[version], text), total - (row[name] or 0.0)))
    counts = Counter(index for chosen, _ in taken for index in chosen)
    rests = [rest for _, rest in taken]
    found = []
    for choice in sorted(first.choices, key=lambda each: each.index):
        marks = [1.0 if choice.index in chosen else 0.0 for chosen, _ in taken]
        r = correlation(marks, rests) if len(taken) > 1 else None
        found.append(ChoiceCount(choice.text, choice.right, counts[choice.index], r))
    return tuple(found)


def _taken(part: Part, text: str) -> frozenset[int]:
    """Which choices an answer names: printed letters (`BD`, `B, D`), or the texts themselves."""
    known = {choice.text.casefold(): choice.index for choice in part.choices}
    if text.casefold() in known:
        return frozenset({known[text.casefold()]})
    if part.spec.type == "true-false":
        return frozenset(choice.index for choice in part.choices if choice.text[0] == text[:1].upper())
    letters = re.sub(r"[^A-Za-z]", "", text).upper()
    return frozenset(part.choices[ord(letter) - 65].index for letter in letters if ord(letter) - 65 < len(part.choices))


def _flags(p: float | None, r: float | None, choices: Sequence[ChoiceCount], difficulty: int) -> Iterator[str]:
    if p is not None and p < _HARD:
        yield f"very hard (p = {p:.2f})"
    if p is not None and p > _EASY:
        yield f"very easy (p = {p:.2f})"
    if r is not None and r < _WEAK:
        yield f"doesn't tell strong from weak (r = {r:.2f})"
    for choice in choices:
        if not choice.right and choice.r is not None and choice.r > _WEAK and choice.count > 1:
            yield f"strong students take the wrong choice “{choice.text}” (r = {choice.r:.2f}): is the key right?"
    expected = {1: (0.6, 1.0), 2: (0.35, 0.9), 3: (0.0, 0.7)}[difficulty]
    if p is not None and not expected[0] <= p <= expected[1]:
        yield f"difficulty {difficulty} was stated, p = {p:.2f} was seen (Q026)"


# ---------------------------------------------------------------------------------------------- the report

_STYLE = """body{font:1rem/1.5 Georgia,serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
table{border-collapse:collapse;margin:1rem 0}th,td{border:1px solid #767f8c;padding:.25rem .6rem;text-align:right}
th:first-child,td:first-child,td.words,th.words{text-align:left}.scroll{overflow-x:auto}tr.flag td:first-child{border-left:.4rem solid #9b1c1c}
svg{max-width:100%;height:auto}svg text{font:11px Georgia,serif;fill:#1a1a1a}@media print{table{break-inside:avoid}}"""


def report_html(found: Analysis) -> str:
    """One page without scripts; plots are SVG."""
    score = mean(found.totals) if found.totals else 0.0
    facts = f"{found.students} students, mean {score:.1f} of {found.possible:g} points, alpha {_number(found.alpha)}."
    notes = "".join(f"<p>{escape(note)}</p>" for note in found.notes)
    rows = "".join(map(_row, found.parts))
    tables = "".join(_choice_table(part) for part in found.parts if part.choices)
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Item analysis: {escape(found.title)}</title><style>{_STYLE}</style></head><body>
<h1>Item analysis: {escape(found.title)}</h1><p>{facts}</p>{notes}
<h2>Totals</h2>{_histogram(found)}
<h2>Difficulty and discrimination</h2>{_scatter(found)}
<div class="scroll"><table><thead><tr><th class="words">Part</th><th class="words">Question</th><th>Level</th><th>Points</th><th>Answered</th><th>Blank</th><th>p</th><th>r</th><th>Upper 27 %</th><th>Lower 27 %</th><th class="words">Look at</th></tr></thead>
<tbody>{rows}</tbody></table></div>
<h2>Choices</h2>{tables or "<p>The table has no answers, only points.</p>"}
</body></html>
"""


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value + 0.0:.2f}".replace("-0.00", "0.00")


def _row(part: PartResult) -> str:
    flags = "<br>".join(map(escape, part.flags))
    css = ' class="flag"' if part.flags else ""
    return (
        f'<tr{css}><td>{escape(part.name)}</td><td class="words">{escape(part.question)}</td><td>{part.difficulty}</td><td>{part.possible:g}</td>'
        f"<td>{part.answered}</td><td>{part.blank}</td><td>{_number(part.p)}</td><td>{_number(part.r)}</td>"
        f'<td>{_number(part.upper)}</td><td>{_number(part.lower)}</td><td class="words">{flags}</td></tr>'
    )


def _choice_table(part: PartResult) -> str:
    total = max(sum(choice.count for choice in part.choices), 1)
    rows = "".join(
        f'<tr><td class="words">{"✓ " if c.right else ""}{escape(c.text)}</td><td>{c.count}</td><td>{_number(c.r)}</td><td class="words">{_bar(c.count / total, c.right)}</td></tr>'
        for c in part.choices
    )
    return f'<h3>{escape(part.name)}</h3><div class="scroll"><table><thead><tr><th class="words">Choice</th><th>Taken</th><th>r</th><th class="words">Share</th></tr></thead><tbody>{rows}</tbody></table></div>'


def _bar(share: float, right: bool) -> str:
    fill = "#14602f" if right else "#8a94a6"
    return f'<svg width="120" height="12" role="img" aria-label="{share:.0%}"><rect width="{120 * share:.1f}" height="12" fill="{fill}"/></svg>'


def _histogram(found: Analysis) -> str:
    bins = Counter(min(int(10 * total / found.possible), 9) if found.possible else 0 for total in found.totals)
    most = max(bins.values(), default=1)
    bars = "".join(
        f'<rect x="{30 + 36 * i}" y="{120 - 100 * bins[i] / most:.1f}" width="32" height="{100 * bins[i] / most:.1f}" fill="#1f4e8c"/>'
        f'<text x="{46 + 36 * i}" y="134" text-anchor="middle">{10 * i}</text>'
        f'<text x="{46 + 36 * i}" y="{116 - 100 * bins[i] / most:.1f}" text-anchor="middle">{bins[i] or ""}</text>'
        for i in range(10)
    )
    words = ", ".join(f"{bins[i]} from {10 * i} %" for i in range(10) if bins[i])
    return f'<svg width="410" height="150" viewBox="0 0 410 150" role="img" aria-label="Students by share of points: {words}"><line x1="28" y1="120" x2="394" y2="120" stroke="#1a1a1a"/>{bars}<text x="205" y="148" text-anchor="middle">per cent of the points</text></svg>'


def _scatter(found: Analysis) -> str:
    """p across, r up; flagged parts are squares with their names, where there is room for a name."""
    marks: list[str] = []
    named: list[tuple[float, float]] = []
    for part in sorted(found.parts, key=lambda each: bool(each.flags)):
        if part.p is None or part.r is None:
            continue
        x, y = 50 + 600 * min(max(part.p, 0), 1), 180 - 160 * min(max(part.r, -1), 1)
        name = escape(part.name)
        if not part.flags:
            marks.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#1f4e8c"><title>{name}</title></circle>')
            continue
        marks.append(
            f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" fill="#9b1c1c"><title>{name}</title></rect>'
        )
        if all(abs(x - u) > 75 or abs(y - v) > 11 for u, v in named):
            named.append((x, y))
            marks.append(f'<text x="{x + 7:.1f}" y="{y + 4:.1f}">{name}</text>')
    flagged = ", ".join(part.name for part in found.parts if part.flags) or "none"
    axes = '<line x1="50" y1="180" x2="650" y2="180" stroke="#767f8c"/><line x1="50" y1="20" x2="50" y2="340" stroke="#767f8c"/><text x="44" y="24" text-anchor="end">r = 1</text><text x="44" y="184" text-anchor="end">0</text><text x="44" y="344" text-anchor="end">−1</text><text x="50" y="358">p = 0</text><text x="650" y="358" text-anchor="end">p = 1</text>'
    return f'<svg width="740" height="365" viewBox="0 0 740 365" role="img" aria-label="Difficulty against discrimination; flagged: {escape(flagged)}">{axes}{"".join(marks)}</svg>'
