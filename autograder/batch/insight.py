"""From the store to what a class page shows: who is who, how hard each check was, which mistakes were common."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from autograder.batch.gradebook import Gradebook, Row
from autograder.batch.people import HandIn, Person, identity
from autograder.batch.store import Recorded, Store
from autograder.model import Outcome, Report, Verdict
from autograder.report.class_report import CheckView, ClassView, Judged, MistakeView, QuestionView, StudentView
from autograder.report.student import number_key

__all__ = ["class_view", "correlation"]

_FEW = 10
_MOST_SAMPLES = 40
_SAMPLE_LINES = 60
_LARGEST_NOTEBOOK = 64 * 2**20


@dataclass
class _One:
    """What the page keeps of one submission."""

    judged: tuple[Judged, ...]
    notes: tuple[str, ...]
    seconds: float
    problem: str
    total: Fraction | None
    practice: bool


@dataclass
class _Made:
    """Who made a mistake, in which checks, at what cost."""

    hint: str
    submissions: list[str] = field(default_factory=list)
    checks: set[str] = field(default_factory=set)
    lost: Fraction = Fraction(0)


def class_view(store: Store, book: Gradebook, *, anonymous: bool = False) -> ClassView:
    """Read the results one by one and keep what the page needs."""
    ones: dict[str, _One] = {}
    made: dict[tuple[str, str], _Made] = {}
    versions: set[str] = set()
    for recorded in store.results():
        ones[recorded.submission] = _one(recorded)
        _count_mistakes(recorded, made)
        versions.add(f"{recorded.key.assignment}, grader {recorded.key.grader}, seed {recorded.key.seed}")
    people = {one.id: _people(one.hand_in) for one in store.submissions()}
    template = store.template()
    graded = [one for one in ones.values() if one.total is not None]
    return ClassView(
        title=store.meta("title") or "A class",
        total=template.total if template else Fraction(store.meta("total") or 0),
        totals=tuple(one.total for one in graded if one.total is not None),
        submissions=len(people),
        people=len(frozenset().union(*people.values())),
        students=() if anonymous else tuple(_student(row, ones, store) for row in book.rows),
        questions=tuple(_questions(template, graded)) if template else (),
        checks=tuple(_checks(template, list(ones.values()))) if template else (),
        mistakes=tuple(_mistakes(made, people, store, anonymous)),
        notes=() if anonymous else book.notes,
        facts=_facts(store, versions, anonymous),
        practice=any(one.practice for one in ones.values()),
        anonymous=anonymous,
    )


def _people(hand_in: HandIn) -> frozenset[str]:
    return frozenset(identity(person, hand_in.id) for person in hand_in.people or (Person(),))


def _facts(store: Store, versions: set[str], anonymous: bool) -> tuple[tuple[str, str], ...]:
    made = ("Made", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"))
    if anonymous:
        return (made,)
    source = ("Source", f"{store.meta('source')} ({store.meta('kind')})")
    return (made, source, ("Graded with", "; ".join(sorted(versions)) or "nothing yet"))


# ── one submission ────────────────────────────────────────────────────────────────────────────────────────────
def _sorted(report: Report) -> list[Outcome]:
    return sorted(report.outcomes, key=lambda o: number_key(o.spec.number))


def _one(recorded: Recorded) -> _One:
    report = recorded.report
    open_points = bool(report.faults) or not report.complete
    notes = tuple(note.text for note in report.notes if note.staff_only or note.needs_human)
    return _One(
        tuple(_judged(outcome) for outcome in _sorted(report)),
        notes,
        report.seconds,
        _problem(recorded),
        None if open_points else report.earned,
        report.practice_only,
    )


def _judged(outcome: Outcome) -> Judged:
    fault = outcome.verdict is Verdict.GRADER_FAULT
    reason = outcome.reason.value if outcome.reason else ""
    return Judged(outcome.verdict, None if fault else outcome.earned, outcome.mistakes, reason)


def _problem(recorded: Recorded) -> str:
    """Why staff should look at this run; empty when they need not."""
    report = recorded.report
    if report.refused is not None:
        return f"not graded: {report.refused}"
    if report.faults and len(report.faults) == len(report.outcomes):
        return next((note.text for note in report.notes if note.needs_human), "every check met a grader fault")
    if report.faults:
        return f"grader fault in {', '.join(o.spec.number for o in report.faults)}"
    return next((note.text for note in report.notes if note.needs_human), "")


def _student(row: Row, ones: Mapping[str, _One], store: Store) -> StudentView:
    one = ones.get(row.submission or "")
    link = f"submissions/{row.submission}" if row.submission and store.files_of(row.submission).is_dir() else ""
    student = row.student
    return StudentView(
        name=f"{student.first} {student.last}".strip(),
        sid=student.sid,
        email=student.email,
        section=student.sections,
        submission=row.submission or "",
        status=row.status,
        total=row.total,
        seconds=one.seconds if one else None,
        judged=one.judged if one else (),
        notes=one.notes if one else (),
        link=link,
        problem=one.problem if one else "",
    )


# ── checks ────────────────────────────────────────────────────────────────────────────────────────────────────
def _questions(template: Report, graded: Sequence[_One]) -> Iterator[QuestionView]:
    outcomes = _sorted(template)
    for question in template.questions:
        places = [place for place, outcome in enumerate(outcomes) if outcome.spec.question == question.id]
        points = sum((outcomes[place].spec.points for place in places), Fraction(0))
        earned = [sum((one.judged[place].earned or Fraction(0) for place in places), Fraction(0)) for one in graded]
        share = float(sum(earned, Fraction(0)) / (points * len(earned))) if earned and points else None
        yield QuestionView(question.id, question.title, points, share)


def _checks(template: Report, ones: Sequence[_One]) -> Iterator[CheckView]:
    outcomes = _sorted(template)
    fitting = [one for one in ones if len(one.judged) == len(outcomes)]
    for place, outcome in enumerate(outcomes):
        verdicts = [one.judged[place].verdict for one in fitting]
        pairs = [(one.judged[place].earned, one.total) for one in fitting]
        known = [(float(own), float(total - own)) for own, total in pairs if own is not None and total is not None]
        points = float(outcome.spec.points)
        share = sum(own for own, _ in known) / (points * len(known)) if known and points else None
        yield CheckView(
            number=outcome.spec.number,
            question=outcome.spec.question,
            name=outcome.spec.name,
            points=outcome.spec.points,
            passed=verdicts.count(Verdict.PASSED),
            failed=verdicts.count(Verdict.FAILED),
            blocked=verdicts.count(Verdict.BLOCKED),
            faults=verdicts.count(Verdict.GRADER_FAULT),
            share=share,
            discrimination=correlation(known) if len(known) >= _FEW else None,
        )


def correlation(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Pearson's; None where one side does not vary."""
    n = len(pairs)
    if n < 2:
        return None
    mean_x, mean_y = sum(x for x, _ in pairs) / n, sum(y for _, y in pairs) / n
    xx = sum((x - mean_x) ** 2 for x, _ in pairs)
    yy = sum((y - mean_y) ** 2 for _, y in pairs)
    if xx <= 1e-12 * n or yy <= 1e-12 * n:
        return None
    return sum((x - mean_x) * (y - mean_y) for x, y in pairs) / math.sqrt(xx * yy)


# ── mistakes ──────────────────────────────────────────────────────────────────────────────────────────────────
def _count_mistakes(recorded: Recorded, made: dict[tuple[str, str], _Made]) -> None:
    for outcome in recorded.report.outcomes:
        for place, name in enumerate(outcome.mistakes):
            hint = outcome.hints[place] if place < len(outcome.hints) else ""
            entry = made.setdefault((outcome.spec.question, name), _Made(hint))
            if recorded.submission not in entry.submissions[-1:]:
                entry.submissions.append(recorded.submission)
            entry.checks.add(outcome.spec.number)
            entry.lost += (outcome.spec.points - outcome.earned) / len(outcome.mistakes)


def _mistakes(
    made: Mapping[tuple[str, str], _Made], people: Mapping[str, frozenset[str]], store: Store, anonymous: bool
) -> Iterator[MistakeView]:
    """Commonest first. On the anonymous page a sample stands only where at least two submissions hold the mistake."""
    students = {key: len(frozenset().union(*(people[one] for one in entry.submissions))) for key, entry in made.items()}
    ranked = sorted(made.items(), key=lambda item: (-students[item[0]], item[0]))
    words = _words_of(store) if anonymous else frozenset()
    for rank, ((question, name), entry) in enumerate(ranked):
        alone = anonymous and len(entry.submissions) < 2
        sample = "" if alone or rank >= _MOST_SAMPLES else _sample(store, entry.submissions, question)
        yield MistakeView(
            name=name,
            question=question,
            hint=entry.hint,
            students=students[question, name],
            checks=tuple(sorted(entry.checks, key=number_key)),
            lost=float(entry.lost / len(entry.submissions)),
            sample=_without_persons(sample, words) if anonymous else sample,
        )


def _sample(store: Store, submissions: Sequence[str], question: str) -> str:
    """The shortest answer among the first few that make the mistake."""
    found = [answer for one in submissions[:3] if (answer := _answer(store.files_of(one), question))]
    best = min(found, key=len, default="").splitlines()
    return "\n".join(best[:_SAMPLE_LINES]) + ("\n…" if len(best) > _SAMPLE_LINES else "")


def _answer(folder: Path, question: str) -> str:
    """The answer's code, from the notebook that was run."""
    path = folder / "executed.ipynb"
    try:
        if path.stat().st_size > _LARGEST_NOTEBOOK:
            return ""
        cells: Any = json.loads(path.read_bytes()).get("cells", [])
    except (OSError, ValueError, AttributeError):
        return ""
    sources = []
    for cell in cells if isinstance(cells, list) else ():
        mark = cell.get("metadata", {}).get("softmark", {})
        if mark.get("role") == "answer" and mark.get("question") == question:
            source = cell.get("source", "")
            sources.append(source if isinstance(source, str) else "".join(source))
    return "\n\n".join(sources).strip()


def _words_of(store: Store) -> frozenset[str]:
    """All parts of names, SIDs and addresses that could tell who somebody is."""
    words: set[str] = set()
    for submitted in store.submissions():
        for person in submitted.hand_in.people:
            text = " ".join(filter(None, (person.name, person.sid, person.email)))
            words |= {word for word in re.findall(r"\w{3,}", text.lower()) if not word.isdigit() or len(word) > 4}
    return frozenset(words)


def _without_persons(code: str, words: frozenset[str]) -> str:
    """Code without comments and texts; nothing at all when a name is left in it, or when it is no Python."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError):
        return ""
    plain = ast.unparse(_WithoutTexts().visit(tree))
    return "" if words & set(re.findall(r"[^\W_]{3,}", plain.lower())) else plain


class _WithoutTexts(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant("…") if isinstance(node.value, str | bytes) else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.Constant:
        return ast.Constant("…")

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return ast.Pass()
        return self.generic_visit(node)
