"""Whose score changes, in which check, and why: two gradings of a class, or what the platform had recorded.

Submissions are matched by id, checks by number and then by name. The reason is what is known: another course, grader
or seed, another hand-in, or the grader's own words about the check.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from autograder.batch.export import hand_in, read_results
from autograder.batch.fingerprint import changed_questions
from autograder.batch.source import open_source
from autograder.batch.store import Recorded, Store
from autograder.errors import CourseError
from autograder.model import Verdict
from autograder.report.student import number_key

__all__ = ["Change", "CheckScore", "Scores", "compare", "read_scores", "why"]


@dataclass(frozen=True, slots=True)
class CheckScore:
    """One check's points. points: None where they are open or unknown · said: verdict and mistakes, in words."""

    number: str
    name: str
    points: Fraction | None
    said: str = ""


@dataclass(frozen=True, slots=True)
class Scores:
    """One submission's points. total: None where open · people: names for the list."""

    submission: str
    people: str
    total: Fraction | None
    checks: tuple[CheckScore, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """One submission that differs. before, after: totals, None where open or not there · checks: (check, before,
    after), those that differ only."""

    submission: str
    people: str
    before: Fraction | None
    after: Fraction | None
    checks: tuple[tuple[str, CheckScore | None, CheckScore | None], ...]

    @property
    def difference(self) -> Fraction | None:
        return None if self.before is None or self.after is None else self.after - self.before


def read_scores(path: Path) -> Iterator[Scores]:
    """From a folder of results, or from Gradescope's export. Raises CourseError for anything else."""
    if (path / "class.sqlite").is_file():
        with Store(path) as store:
            for recorded in store.results():
                yield _from_result(recorded, store)
        return
    with open_source(path) as source:
        for block in source.exported():
            head = hand_in(block, path)
            people = ", ".join(person.name for person in head.people)
            yield _from_export(head.id, people, head.score, read_results(block, path))


def _from_result(recorded: Recorded, store: Store) -> Scores:
    report = recorded.report
    submitted = store.submission(recorded.submission)
    people = ", ".join(person.name for person in submitted.hand_in.people) if submitted else ""
    checks = tuple(
        CheckScore(
            o.spec.number,
            o.spec.name,
            None if o.verdict is Verdict.GRADER_FAULT else o.earned,
            " ".join(filter(None, (str(o.verdict), ", ".join(o.mistakes) or str(o.reason or "")))),
        )
        for o in report.outcomes
    )
    return Scores(recorded.submission, people, None if report.faults else report.earned, checks)


def _from_export(key: str, people: str, score: float | None, results: Mapping[str, Any] | None) -> Scores:
    tests = (results or {}).get("tests")
    checks = tuple(_exported_check(test) for test in tests or () if isinstance(test, dict) and "max_score" in test)
    total = (results or {}).get("score", score)
    return Scores(key, people, _fraction(total), checks)


def _exported_check(test: Mapping[str, Any]) -> CheckScore:
    extra = test.get("extra_data")
    said = str(extra.get("verdict") or "") if isinstance(extra, dict) else str(test.get("status") or "")
    points = None if said == Verdict.GRADER_FAULT else _fraction(test.get("score"))
    return CheckScore(str(test.get("number") or ""), str(test.get("name") or ""), points, said)


def _fraction(value: object) -> Fraction | None:
    """A recorded float as the short decimal that it stands for."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) > 1e9:
        return None
    return Fraction(repr(round(value, 6)))


def compare(old: Path, new: Path) -> Iterator[Change]:
    """Submissions whose total or checks differ, in the order of `new`; then those that only `old` has."""
    before = {one.submission: one for one in read_scores(old)}
    if not before:
        raise CourseError("there are no scores in it", where=old)
    for after in read_scores(new):
        change = _change(before.pop(after.submission, None), after)
        if change is not None:
            yield change
    for gone in before.values():
        yield Change(gone.submission, gone.people, gone.total, None, ())


def _change(before: Scores | None, after: Scores) -> Change | None:
    if before is None:
        return Change(after.submission, after.people, None, after.total, ())
    checks = tuple(sorted(_checks(before, after), key=lambda found: number_key(found[0])))
    if not checks and _same(before.total, after.total):
        return None
    return Change(after.submission, after.people or before.people, before.total, after.total, checks)


def _checks(before: Scores, after: Scores) -> Iterator[tuple[str, CheckScore | None, CheckScore | None]]:
    left = list(before.checks)
    for check in after.checks:
        match = next((o for o in left if o.number and o.number == check.number), None)
        match = match or next((o for o in left if o.name and o.name == check.name), None)
        if match is not None:
            left.remove(match)
        if match is None and before.checks:
            yield check.number, None, check
        elif match is not None and not _same(match.points, check.points):
            yield check.number, match, check
    yield from ((check.number, check, None) for check in left)


def _same(a: Fraction | None, b: Fraction | None) -> bool:
    """Equal up to the rounding of recorded floats."""
    return a == b or (a is not None and b is not None and abs(a - b) < Fraction(1, 10**5))


def why(old: Path, new: Path) -> str:
    """What is known to differ between two gradings; empty when nothing is."""
    if not ((old / "class.sqlite").is_file() and (new / "class.sqlite").is_file()):
        return ""
    with Store(old) as first, Store(new) as second:
        a, b = (next(iter(store.results()), None) for store in (first, second))
        if a is None or b is None:
            return ""
        parts = [
            f"{name} {x} → {y}"
            for name, x, y in (
                ("assignment", a.key.assignment, b.key.assignment),
                ("grader", a.key.grader, b.key.grader),
                ("seed", a.key.seed, b.key.seed),
            )
            if x != y
        ]
        parts += [_course_change(first.fingerprint(a.key.course), second.fingerprint(b.key.course))]
    return "; ".join(filter(None, parts))


def _course_change(old: Mapping[str, str] | None, new: Mapping[str, str] | None) -> str:
    if old is None or new is None or old == new:
        return ""
    changed = sorted(name.partition("=")[0] for name in {*old, *new} if old.get(name) != new.get(name))
    questions = changed_questions(old, new)
    where = "any question" if questions is None else f"question {', '.join(sorted(questions)) or '(none)'}"
    return f"changed: {', '.join(changed)} (touches {where})"
