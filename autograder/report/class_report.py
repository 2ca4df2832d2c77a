"""`class.html`: what a class understood and what it did not, as one page that opens anywhere.

Everything that matters is in the markup and can be read without a script: distribution, checks, named mistakes, runs
to look at, the table of students. The script adds search, sorting and a page per student, which it draws from data in
the page with text nodes only. The policy allows exactly this script and this style sheet, by hash; so a student's text
could do nothing even if it got past the escaping. Nothing is loaded from anywhere.

The anonymous page, for showing in class, is made without whatever could tell who is who: no student, no file, no note.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from autograder.model import Verdict
from autograder.report.page import element, prose, safe, style, text_of
from autograder.report.text import clean, cut, one_line, points_text

__all__ = ["CheckView", "ClassView", "Judged", "MistakeView", "QuestionView", "StudentView", "class_html"]

_BINS = 20
_SHOWN = 12  # entries of a list that stand open
_TELLING = ("SID", "Section")  # columns that stand there when somebody has one
_FEW = 10  # below, a correlation says nothing
_CODES = {Verdict.PASSED: "p", Verdict.FAILED: "f", Verdict.BLOCKED: "b", Verdict.GRADER_FAULT: "g"}


@dataclass(frozen=True, slots=True)
class Judged:
    """One check of one student. earned: None where the points are open."""

    verdict: Verdict
    earned: Fraction | None
    mistakes: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class StudentView:
    """One student's row. total: None when open or missing · judged: in the order of the checks · link: folder of the
    submission, relative to the page · problem: why the run is to be looked at, if it is."""

    name: str
    sid: str
    email: str
    section: str
    submission: str
    status: str
    total: Fraction | None
    seconds: float | None = None
    judged: tuple[Judged, ...] = ()
    notes: tuple[str, ...] = ()
    link: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class CheckView:
    """One check over the class. share: mean share of its points, over judged submissions · discrimination: its
    correlation with the points of all other checks, None when it can't be told."""

    number: str
    question: str
    name: str
    points: Fraction
    passed: int
    failed: int
    blocked: int
    faults: int
    share: float | None
    discrimination: float | None


@dataclass(frozen=True, slots=True)
class QuestionView:
    id: str
    title: str
    points: Fraction
    share: float | None


@dataclass(frozen=True, slots=True)
class MistakeView:
    """A named mistake. students: how many people made it, each member of a group counted · lost: points that it cost
    them on average · sample: an answer that makes it."""

    name: str
    question: str
    hint: str
    students: int
    checks: tuple[str, ...]
    lost: float
    sample: str = ""


@dataclass(frozen=True, slots=True)
class ClassView:
    """All that the page shows. totals: of submissions whose points are all known · people: those who handed in ·
    facts: how it was made, label and text."""

    title: str
    total: Fraction
    totals: tuple[Fraction, ...]
    submissions: int
    people: int
    students: tuple[StudentView, ...]
    questions: tuple[QuestionView, ...]
    checks: tuple[CheckView, ...]
    mistakes: tuple[MistakeView, ...]
    notes: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    practice: bool = False
    anonymous: bool = False


def class_html(view: ClassView) -> str:
    """The whole page. Pure."""
    body = "\n".join(
        [
            element(
                "a",
                "Skip to the students" if not view.anonymous else "Skip to the checks",
                class_="skip",
                href="#checks" if view.anonymous else "#students",
            ),
            _header(view),
            element("main", *_overview(view), id="overview"),
            element("main", id="one", hidden="hidden") if not view.anonymous else "",
            element("footer", element("p", _footer(view))),
        ]
    )
    return _page(f"{one_line(view.title)}: the class", body, "" if view.anonymous else _data(view))


def _footer(view: ClassView) -> str:
    if view.anonymous:
        return "Anonymous: no names, numbers, files or notes of students are in this page."
    return "For course staff only: this page holds names and points of students."


def _header(view: ClassView) -> str:
    graded = f"{len(view.totals)} of {view.submissions} submissions are fully graded"
    return element(
        "header",
        element("h1", safe(one_line(view.title))),
        element("p", safe(graded), class_="quiet"),
        element("p", "Practice only, not for grades: this machine could not keep the reference apart.", class_="stamp")
        if view.practice
        else "",
    )


def _overview(view: ClassView) -> Iterable[str]:
    yield _distribution(view)
    yield _mistakes(view)
    yield _questions(view)
    yield _checks(view)
    if not view.anonymous:
        yield _runs(view)
        yield _students(view)
    yield _facts(view)


def _section(key: str, title: str, *inner: str) -> str:
    return element("section", element("h2", safe(title), id=key), *inner, aria_labelledby=key)


# ── distribution ──────────────────────────────────────────────────────────────────────────────────────────────
def _distribution(view: ClassView) -> str:
    if not view.totals:
        return _section("points", "Points", element("p", "No submission is fully graded yet."))
    ordered = sorted(view.totals)
    figures = [
        ("mean", sum(ordered, Fraction(0)) / len(ordered)),
        ("median", _quantile(ordered, 0.5)),
        ("lower quarter", _quantile(ordered, 0.25)),
        ("upper quarter", _quantile(ordered, 0.75)),
        ("lowest", ordered[0]),
        ("highest", ordered[-1]),
    ]
    key = (element("li", element("strong", f"{float(v):.1f}".removesuffix(".0")), " ", safe(k)) for k, v in figures)
    full = element("li", element("strong", points_text(view.total)), " possible")
    return _section("points", "Points", element("ul", *key, full, class_="figures"), _histogram(ordered, view.total))


def _quantile(ordered: Sequence[Fraction], share: float) -> Fraction:
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * Fraction(place - low)


def _histogram(totals: Sequence[Fraction], most: Fraction) -> str:
    """Columns of a twentieth of the total each; full marks fall into the last."""
    counts = [0] * _BINS
    for total in totals:
        counts[min(_BINS - 1, int(_BINS * total / most)) if most else 0] += 1
    tallest = max(counts)
    step = 40
    bars, labels = [], []
    for place, count in enumerate(counts):
        height = 150 * count / tallest
        low, high = most * place / _BINS, most * (place + 1) / _BINS
        title = element("title", safe(f"{points_text(low)} to {points_text(high)} points: {count}"))
        bars.append(
            element("rect", title, x=place * step + 3, y=f"{170 - height:.1f}", width=step - 6, height=f"{height:.1f}")
        )
        if count:
            labels.append(
                element("text", str(count), x=place * step + step // 2, y=f"{164 - height:.1f}", class_="count")
            )
    ticks = [
        element("text", points_text(most * i / 4), x=_BINS * step * i // 4, y=190, class_=f"tick t{i}")
        for i in range(5)
    ]
    base = element("line", x1=0, y1=170.5, x2=_BINS * step, y2=170.5)
    spoken = (
        f"Distribution of points, {len(totals)} submissions in {_BINS} columns from 0 to {points_text(most)} points"
    )
    picture = element(
        "svg",
        *bars,
        *labels,
        base,
        *ticks,
        viewBox=f"-6 -12 {_BINS * step + 12} 210",
        role="img",
        aria_label=spoken,
        class_="histogram",
    )
    return element("figure", picture)


# ── mistakes ──────────────────────────────────────────────────────────────────────────────────────────────────
def _mistakes(view: ClassView) -> str:
    title = "The commonest mistakes"
    if not view.mistakes:
        return _section("mistakes", title, element("p", "No named mistake was found in any submission."))
    items = [_mistake(mistake, view) for mistake in view.mistakes]
    shown = element("ol", *items[:_SHOWN], class_="mistakes")
    if len(items) > _SHOWN:
        more = element("summary", f"{len(items) - _SHOWN} more, less common")
        shown += element("details", more, element("ol", *items[_SHOWN:], class_="mistakes"))
    return _section("mistakes", title, shown)


def _mistake(mistake: MistakeView, view: ClassView) -> str:
    people = "student" if mistake.students == 1 else "students"
    share = f"{100 * mistake.students / view.people:.0f} %" if view.people else ""
    head = element(
        "div",
        element("strong", safe(mistake.name)),
        element("span", f"{mistake.students} {people} · {share}", class_="score"),
        class_="check-head",
    )
    checks = (
        f"Question {mistake.question} · check {', '.join(mistake.checks)} · costs {mistake.lost:.1f} points on average"
    )
    sample = ""
    if mistake.sample:
        sample = element(
            "details", element("summary", "An answer that makes it"), element("pre", safe(cut(mistake.sample, 6000)))
        )
    return element(
        "li", head, element("p", prose(mistake.hint), class_="lead"), element("p", safe(checks), class_="quiet"), sample
    )


# ── questions and checks ──────────────────────────────────────────────────────────────────────────────────────
def _bar(share: float | None) -> str:
    if share is None:
        return "–"
    rects = '<rect class="bar-back" width="100" height="10"/>'
    rects += f'<rect class="bar-right" width="{100 * share:.1f}" height="10"/>'
    picture = f'<svg class="mini" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">{rects}</svg>'
    return picture + element("span", f"{100 * share:.0f} %")


def _table(caption: str, heads: Sequence[tuple[str, str]], rows: Iterable[str], **attributes: object) -> str:
    """heads: (text, kind); kind `number` or `text` says how the column is sorted."""
    cells = "".join(element("th", safe(text), scope="col", class_=kind, data_sort=kind) for text, kind in heads)
    spoken = element("caption", safe(caption), class_="unseen")
    body = element("table", spoken, element("thead", element("tr", cells)), element("tbody", *rows), **attributes)
    return element("div", body, class_="wide")


def _cell(inner: str, *, value: object = None, number: bool = False) -> str:
    more: dict[str, object] = {"class_": "number"} if number else {}
    more |= {} if value is None else {"data_value": value}
    return element("td", inner, **more)


def _questions(view: ClassView) -> str:
    rows = (
        element(
            "tr",
            element("th", prose(f"{q.id} {q.title}"), scope="row"),
            _cell(_bar(q.share), value=_or(q.share)),
            _cell(points_text(q.points), value=float(q.points), number=True),
        )
        for q in view.questions
    )
    heads = (("Question", "text"), ("Points earned", "number left"), ("Points", "number"))
    return _section(
        "questions", "Questions", _table("Mean share of points by question", heads, rows, class_="sortable")
    )


def _or(value: float | None) -> float:
    return -9.0 if value is None else round(value, 4)


def _checks(view: ClassView) -> str:
    heads = (
        ("Check", "text"),
        ("Points earned", "number left"),
        ("Passed", "number"),
        ("Failed", "number"),
        ("Not tried", "number"),
        ("Faults", "number"),
        ("Discrimination", "number"),
    )
    intro = (
        "Discrimination is the correlation of a check's points with the points of all other checks. Near or below 0 "
        "the check may be broken, or ask for something else than the rest; it needs at least "
        f"{_FEW} submissions."
    )
    table = _table(
        "Difficulty and discrimination of each check", heads, map(_check_row, view.checks), class_="sortable"
    )
    return _section("checks", "Checks", element("p", safe(intro), class_="quiet"), table)


def _check_row(check: CheckView) -> str:
    told = "–" if check.discrimination is None else f"{check.discrimination:.2f}".replace("-", "−")
    odd = check.discrimination is not None and check.discrimination < 0.1
    return element(
        "tr",
        element("th", prose(f"{check.number} {check.name}"), scope="row", data_value=check.number),
        _cell(_bar(check.share), value=_or(check.share)),
        *(_cell(str(n), value=n, number=True) for n in (check.passed, check.failed, check.blocked, check.faults)),
        _cell(element("strong", f"{told} !") if odd else told, value=_or(check.discrimination), number=True),
    )


# ── runs and students ─────────────────────────────────────────────────────────────────────────────────────────
def _runs(view: ClassView) -> str:
    problems = [(place, one) for place, one in enumerate(view.students) if one.problem]
    problems.sort(key=lambda pair: pair[1].total is not None)  # open points first: they wait for somebody
    timed = [(place, one) for place, one in enumerate(view.students) if one.seconds is not None]
    slow = sorted(timed, key=lambda pair: -(pair[1].seconds or 0))[:10]
    parts = []
    if problems:
        items = [element("li", _link(place, one), ": ", safe(one_line(one.problem, 400))) for place, one in problems]
        parts += [element("h3", f"To look at ({len(problems)})"), _folded(items)]
    if view.notes:
        parts += [element("h3", "Notes"), _folded([element("li", safe(one_line(n, 400))) for n in view.notes])]
    if slow:
        items = [element("li", _link(place, one), f": {one.seconds:.1f} s") for place, one in slow]
        parts += [element("h3", "Slowest"), element("ul", *items, class_="notes columns")]
    return _section("runs", "Runs", *(parts or [element("p", "Nothing to look at.")]))


def _folded(items: Sequence[str]) -> str:
    """A list whose first entries stand open."""
    shown = element("ul", *items[:_SHOWN], class_="notes")
    if len(items) <= _SHOWN:
        return shown
    more = element("summary", f"{len(items) - _SHOWN} more")
    return shown + element("details", more, element("ul", *items[_SHOWN:], class_="notes"))


def _link(place: int, student: StudentView) -> str:
    return element("a", safe(one_line(student.name, 80) or student.submission), href=f"#student-{place}")


def _students(view: ClassView) -> str:
    hint = "name, SID, e-mail, mistake, status"
    field = f'<input type="search" id="search" autocomplete="off" placeholder="{hint}">'
    field = element("label", "Search ", field, class_="search")
    count = element("span", f"{len(view.students)} students", id="found", role="status", class_="quiet")
    told = [head for head in _TELLING if any(getattr(one, head.lower()) for one in view.students)]
    heads = (
        ("Student", "text"),
        *((head, "text") for head in told),
        ("Points", "number"),
        ("Status", "text"),
        ("Mistakes", "text"),
        ("Seconds", "number"),
    )
    rows = (_student_row(place, one, told) for place, one in enumerate(view.students))
    table = _table("All students", heads, rows, class_="sortable", id="list")
    return _section("students", "Students", element("div", field, count, class_="tools"), table)


def _student_row(place: int, one: StudentView, told: Sequence[str]) -> str:
    names = list(dict.fromkeys(name for judged in one.judged for name in judged.mistakes))
    shown = ", ".join(names[:3]) + (f" +{len(names) - 3}" if len(names) > 3 else "")
    points = "–" if one.total is None else points_text(one.total)
    return element(
        "tr",
        element("th", _link(place, one), scope="row", data_value=one_line(one.name, 80).lower()),
        *(_cell(safe(text), value=text) for text in (one_line(getattr(one, head.lower()), 40) for head in told)),
        _cell(points, value=-1.0 if one.total is None else float(one.total), number=True),
        _cell(safe(one.status), value=one.status),
        _cell(safe(shown), value=shown),
        _cell("" if one.seconds is None else f"{one.seconds:.1f}", value=one.seconds or 0.0, number=True),
    )


def _facts(view: ClassView) -> str:
    rows = (
        element("tr", element("th", safe(k), scope="row"), element("td", safe(one_line(v, 500)))) for k, v in view.facts
    )
    table = element(
        "table", element("caption", "How this page was made", class_="unseen"), element("tbody", *rows), class_="facts"
    )
    return _section("facts", "How it was made", table)


# ── the frame ─────────────────────────────────────────────────────────────────────────────────────────────────
def _data(view: ClassView) -> str:
    """What the script draws a student's page from. `<` never stands in it, so it can't end its element."""
    mistakes = {m.name: m.hint for m in view.mistakes}
    data = {
        "total": points_text(view.total),
        "checks": [[c.number, clean(c.name), points_text(c.points), c.question] for c in view.checks],
        "questions": {q.id: clean(q.title) for q in view.questions},
        "hints": {clean(name): clean(hint) for name, hint in mistakes.items()},
        "students": [_student_data(one) for one in view.students],
    }
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("&", "\\u0026")


def _student_data(one: StudentView) -> dict[str, object]:
    judged = [
        [_CODES[j.verdict], "?" if j.earned is None else points_text(j.earned), j.reason, *map(clean, j.mistakes)]
        for j in one.judged
    ]
    values = {
        "name": one_line(one.name, 80),
        "sid": one_line(one.sid, 40),
        "email": one_line(one.email, 80),
        "section": one_line(one.section, 40),
        "id": one.submission,
        "status": one.status,
        "points": "" if one.total is None else points_text(one.total),
        "seconds": one.seconds,
        "link": one.link,
        "problem": one_line(one.problem, 1000),
        "notes": [one_line(note, 500) for note in one.notes[:50]],
        "judged": judged,
    }
    return {key: value for key, value in values.items() if value not in ("", None, [])}


@cache
def _script() -> str:
    return text_of("class.js")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _page(title: str, body: str, data: str) -> str:
    css, script = style("page.css", "report.css", "class.css"), _script()
    policy = (
        f"default-src 'none'; style-src 'sha256-{_hash(css)}'; script-src 'sha256-{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    block = f'<script type="application/json" id="data">{data}</script>\n' if data else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{safe(title)}</title>\n<style>{css}</style>\n</head>\n<body>\n{body}\n{block}"
        f"<script>{script}</script>\n</body>\n</html>\n"
    )
