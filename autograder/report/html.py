"""`report.html`: the same words as the texts, as a page.

One file that opens anywhere: no script, nothing loaded, light and dark, readable on a phone, on paper and by ear.
A verdict is a word and a sign before it is a colour. Checks that students see later stand there without verdict and
without points, unless the page is for staff.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from autograder.model import CellRecord, Outcome, QuestionSpec, Report, Verdict
from autograder.report.page import element, page, prose, safe, style
from autograder.report.student import (
    cell_text,
    explain,
    note_text,
    number_key,
    number_text,
    shown_now,
    stamp,
    stopped_cells,
    student_notes,
    summary,
)
from autograder.report.text import cut, one_line, points_of, points_text

__all__ = ["report_html"]

_VERDICTS = {  # class, sign, words
    Verdict.PASSED: ("right", "✓", "Right"),
    Verdict.FAILED: ("wrong", "✗", "Not right"),
    Verdict.BLOCKED: ("blocked", "–", "Not tried"),
    Verdict.GRADER_FAULT: ("fault", "!", "The grader failed; the points are open"),
}
_SAID_BY_THE_VERDICT = {"", "Right.", "Partly right."}
_SENTENCES = {
    "hint",
    "built on",
    "you keep",
    "why",
    "must hold",
    "where",
    "did you mean",
    "failing cases",
}  # rows that are prose, not values
_LEVELS = {
    "A": "Level A: the notebook ran under its own user, with the kernel's file and system-call filters.",
    "B": "Level B: the notebook ran under its own user, without the kernel's file and system-call filters.",
    "C": "Level C: the notebook ran as the same user as the grader. Good for practice, not for grades.",
}


def report_html(report: Report, staff: bool = False, previous: Mapping[str, Any] | None = None) -> str:
    """The whole page. Pure.

    staff: with hidden checks, notes for staff and details that students may not read · previous: `results` of the
    last submission, for "since your last submission".
    """
    body = "\n".join(
        [
            element("a", "Skip to the checks", class_="skip", href="#checks"),
            _header(report),
            element("main", *_main(report, staff, previous)),
            _footer(report),
        ]
    )
    return page(f"{one_line(report.title)}: report", body, style("page.css", "report.css"))


def _header(report: Report) -> str:
    file = f"{one_line(report.submission)} · {one_line(report.assignment)}, version {one_line(report.version)}"
    return element("header", element("h1", safe(one_line(report.title))), element("p", safe(file), class_="quiet"))


def _main(report: Report, staff: bool, previous: Mapping[str, Any] | None) -> Iterator[str]:
    yield _summary(report, staff, previous)
    yield element("div", *(_question(q, o, staff) for q, o in _by_question(report)), id="checks")
    if report.cells and report.refused is None:
        yield _cells(report)
    notes = list(report.notes) if staff else student_notes(report)
    if notes:
        items = (element("li", prose(note_text(note) + (" (staff only)" if note.staff_only else ""))) for note in notes)
        yield _section("notes", "Notes", element("ul", *items, class_="notes"))
    yield _how_it_was_run(report)


def _section(id: str, title: str, *inner: str) -> str:
    return element("section", element("h2", safe(title), id=f"{id}-title"), *inner, aria_labelledby=f"{id}-title")


# ── summary ───────────────────────────────────────────────────────────────────────────────────────────────────
def _summary(report: Report, staff: bool, previous: Mapping[str, Any] | None) -> str:
    parts = [element("p", prose(cut(summary(report, previous))), class_="said")]
    if report.practice_only:
        parts.insert(0, element("p", safe(stamp(report)), class_="stamp"))
    if report.refused is None:
        parts = [_points(report, staff), *parts]
        if len(_by_question(report)) > 1:
            parts.append(_question_table(report, staff))
    return _section("summary", "Summary", *parts)


def _visible(outcomes: Iterable[Outcome], staff: bool) -> list[Outcome]:
    return [outcome for outcome in outcomes if staff or shown_now(outcome.spec)]


def _earned(outcomes: Iterable[Outcome]) -> Fraction:
    return sum((outcome.earned for outcome in outcomes), Fraction(0))


def _possible(outcomes: Iterable[Outcome]) -> Fraction:
    return sum((outcome.spec.points for outcome in outcomes), Fraction(0))


def _points(report: Report, staff: bool) -> str:
    """The sum in words, a bar for the eye, and a key that gives every part of the bar as a number."""
    shown = _visible(report.outcomes, staff)
    earned = _earned(shown)
    opened = _possible(outcome for outcome in shown if outcome.verdict is Verdict.GRADER_FAULT)
    later = report.total - _possible(shown)
    lost = report.total - earned - opened - later
    parts = [("right", "earned", earned), ("open", "open", opened), ("later", "shown later", later)]
    keys = [*((name, word, points) for name, word, points in parts if points), ("back", "not earned", lost)]
    total = element("strong", f"{points_text(earned)} / {points_text(report.total)}")
    return (
        element(
            "p", total, element("span", "points" if not later else "points, as far as they are shown"), class_="sum"
        )
        + _bar([(name, points / report.total if report.total else Fraction(0)) for name, _, points in parts])
        + element("ul", *(_key(*key) for key in keys), class_="key", aria_label="What the bar shows")
    )


def _bar(parts: list[tuple[str, Fraction]]) -> str:
    drawn, start = ['<rect class="bar-back" width="1000" height="16"/>'], Fraction(0)
    for name, share in parts:
        x, width = float(start * 1000), float(share * 1000)
        drawn.append(f'<rect class="bar-{name}" x="{x:.2f}" width="{width:.2f}" height="16"/>' if share else "")
        start += share
    return (
        '<svg class="bar" viewBox="0 0 1000 16" preserveAspectRatio="none" aria-hidden="true" focusable="false">'
        + "".join(drawn)
        + "</svg>"
    )


def _key(name: str, word: str, points: Fraction) -> str:
    sign = f'<svg viewBox="0 0 1 1" aria-hidden="true"><rect class="bar-{name}" width="1" height="1"/></svg>'
    return element("li", sign, safe(f"{points_text(points)} {word}"))


def _question_table(report: Report, staff: bool) -> str:
    rows = []
    for question, outcomes in _by_question(report):
        shown = _visible(outcomes, staff)
        score = f"{points_text(_earned(shown))} / {points_text(_possible(shown))}" if shown else "shown later"
        if shown and len(shown) < len(outcomes):
            score += f", {points_text(_possible(outcomes) - _possible(shown))} later"
        link = element("a", prose(_question_title(question)), href=f"#{_anchor(question)}")
        right = sum(outcome.verdict is Verdict.PASSED for outcome in shown)
        cells = [element("td", f"{right} of {len(shown)}" if shown else "–", class_="number")]
        cells.append(element("td", score, class_="number"))
        rows.append(element("tr", element("th", link, scope="row"), *cells))
    heads = element("th", "Question", scope="col") + element("th", "Checks passed", scope="col", class_="number")
    heads += element("th", "Points", scope="col", class_="number")
    caption = element("caption", "Points by question")
    return element("table", caption, element("thead", element("tr", heads)), element("tbody", *rows))


# ── questions and checks ──────────────────────────────────────────────────────────────────────────────────────
def _by_question(report: Report) -> list[tuple[QuestionSpec, list[Outcome]]]:
    """Questions in the assignment's order, each with its checks by number; unknown questions at the end."""
    known = {question.id: question for question in report.questions}
    groups: dict[str, list[Outcome]] = {key: [] for key in known}
    for outcome in sorted(report.outcomes, key=lambda outcome: number_key(outcome.spec.number)):
        groups.setdefault(outcome.spec.question, []).append(outcome)
    blank = Fraction(0)
    return [(known.get(key) or QuestionSpec(key, "", blank), group) for key, group in groups.items() if group]


def _question_title(question: QuestionSpec) -> str:
    return one_line(f"{number_text(question.id)} {question.title}")


def _anchor(question: QuestionSpec) -> str:
    return "q-" + "".join(c if c.isascii() and c.isalnum() else "-" for c in question.id)


def _question(question: QuestionSpec, outcomes: list[Outcome], staff: bool) -> str:
    shown = _visible(outcomes, staff)
    score = points_of(_earned(shown), _possible(shown)) if shown else "shown later"
    title = prose(_question_title(question)) + " " + element("span", safe(score), class_="score")
    checks = (_check(outcome, staff) for outcome in outcomes)
    anchor = _anchor(question)
    return element("section", element("h2", title, id=anchor, class_="question-head"), *checks, aria_labelledby=anchor)


def _check(outcome: Outcome, staff: bool) -> str:
    name = f"{number_text(outcome.spec.number)} {one_line(outcome.spec.name)}"
    if not (staff or shown_now(outcome.spec)):
        score = f"{points_text(outcome.spec.points)} points"
        return _article("later", name, score, "… Shown later")
    kind, sign, word = _VERDICTS[outcome.verdict]
    if outcome.earned < outcome.spec.points and outcome.earned > 0:
        sign, word = "◐", "Partly right"
    open_points = outcome.verdict is Verdict.GRADER_FAULT
    score = f"{'?' if open_points else points_text(outcome.earned)} / {points_text(outcome.spec.points)}"
    hidden = "" if shown_now(outcome.spec) else f" (students: {outcome.spec.visibility.value})"
    lead, rows = explain(outcome)
    inner = [element("p", prose(lead), class_="lead")] if lead not in _SAID_BY_THE_VERDICT else []
    inner += [element("dl", *(_row(label, text) for label, text in rows))] if rows else []
    inner += [_staff_details(outcome)] if staff and (outcome.staff or outcome.mistakes) else []
    return _article(kind, name, score, f"{sign} {word}{hidden}", *inner)


def _article(kind: str, name: str, score: str, verdict: str, *inner: str) -> str:
    spoken = element("span", "Points: ", class_="unseen")
    head = element("h3", prose(name)) + element("span", spoken, safe(score), class_="score")
    return element(
        "article",
        element("div", head, class_="check-head"),
        element("p", safe(verdict), class_="verdict"),
        *inner,
        class_=f"check {kind}",
    )


def _row(label: str, text: str) -> str:
    inner = prose(cut(text)) if label in _SENTENCES else element("span", safe(cut(text)), class_="value")
    return element("dt", safe(label)) + element("dd", inner)


def _staff_details(outcome: Outcome) -> str:
    diagnosed = f"Diagnosis: {' + '.join(outcome.mistakes)}. " if outcome.mistakes else ""
    head = element("strong", "Staff only. ") + safe(f"{diagnosed}{outcome.seconds:.2f} s")
    details = element("pre", safe(cut(outcome.staff))) if outcome.staff else ""
    return element("div", head, details, class_="staff")


# ── notebook, run, footer ─────────────────────────────────────────────────────────────────────────────────────
def _cells(report: Report) -> str:
    stopped = stopped_cells(report)
    if not stopped:
        return _section("cells", "Your notebook", element("p", f"All {len(report.cells)} code cells ran."))
    intro = f"{len(stopped)} of {len(report.cells)} code cells did not run to the end. What others defined counts."
    heads = element("th", "Cell", scope="col") + element("th", "What happened", scope="col")
    table = element(
        "table",
        element("caption", "Cells that stopped"),
        element("thead", element("tr", heads)),
        element("tbody", *map(_cell_row, stopped)),
    )
    return _section("cells", "Your notebook", element("p", safe(intro)), table)


def _cell_row(cell: CellRecord) -> str:
    label = one_line(cell.label, 80)
    said = cell_text(cell).removeprefix(label).strip()
    return element("tr", element("th", safe(label), scope="row"), element("td", safe(said[:1].upper() + said[1:])))


def _how_it_was_run(report: Report) -> str:
    facts = [("Time", f"{report.seconds:.1f} s"), ("Grader", f"Softmark {report.grader_version}".strip())]
    if report.isolation is not None:
        facts.append(("Isolation", _LEVELS[report.isolation.level.value]))
        facts.append(("Layers that held", ", ".join(report.isolation.layers) or "none"))
        facts += [(f"Without {layer}", why) for layer, why in report.isolation.missing.items()]
    if report.practice_only:
        facts.append(("Stamp", "practice only, not for grades"))
    if report.seed != "course":
        facts.append(("Inputs", "drawn from a seed that staff chose, not the course's own"))
    facts.append(("File's SHA-256", report.sha256))
    rows = (element("tr", element("th", safe(k), scope="row"), element("td", safe(one_line(v, 500)))) for k, v in facts)
    caption = element("caption", "How this report was made", class_="unseen")
    return _section("run", "How it was run", element("table", caption, element("tbody", *rows), class_="facts"))


def _footer(report: Report) -> str:
    state = "" if report.complete else "This report is not complete. "
    human = "Notes marked so are read by the course staff. " if any(n.needs_human for n in report.notes) else ""
    return element("footer", element("p", safe(f"{state}{human}Questions? Ask the course staff and show this page.")))
