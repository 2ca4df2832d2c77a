"""Everything about one check of one submission, for staff only: hidden inputs, both values, the nearest mistakes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from autograder.checks.compare import distance
from autograder.checks.desk import Mode, Record
from autograder.checks.diagnose import matches
from autograder.checks.judge import called
from autograder.checks.load import Checks
from autograder.checks.mistakes import Hypothesis
from autograder.checks.perform import Take
from autograder.checks.runner import Examination
from autograder.errors import CourseError
from autograder.model import Outcome, Reply, ReplyKind, Run, Session
from autograder.plan import Plan

__all__ = ["Asked", "Candidate", "Explanation", "explain_check"]


@dataclass(frozen=True)
class Asked:
    """One call of the check. plan: with the real inputs · given: the student's answer · expected: the reference's.

    distance: largest absolute difference, inf where types or shapes differ, None where no values are compared.
    """

    text: str
    plan: Plan
    given: Reply
    expected: Reply | None
    distance: float | None


@dataclass(frozen=True)
class Candidate:
    """A named mistake or pair. distance: largest over all calls to what the student gave · fits: reproduces all."""

    name: str
    keeps: Fraction
    distance: float
    fits: bool


@dataclass(frozen=True)
class Explanation:
    """seed: "course", or staff's number · candidates: nearest first."""

    outcome: Outcome
    seed: str
    asked: tuple[Asked, ...]
    candidates: tuple[Candidate, ...]


def explain_check(
    checks: Checks,
    session: Session,
    run: Run,
    number: str,
    *,
    secret: bytes,
    seed: int | None = None,
    student_id: str | None = None,
    most: int = 12,
) -> Explanation:
    """Judge up to this check's question again and keep what was seen. CourseError for an unknown number."""
    spec = next((spec for spec in checks.specs if spec.number == number), None)
    if spec is None:
        known = ", ".join(spec.number for spec in checks.specs)
        raise CourseError(f"there is no check {number!r}; this assignment has {known}", key=number)
    examination = Examination(checks, session, run, secret=secret, seed=seed, student_id=student_id)
    outcomes: list[Outcome] = []
    for question in checks.assignment.questions:
        outcomes += examination.question(question.id)
        if question.id == spec.question:
            break
    examination.close()
    outcome = next(outcome for outcome in outcomes if outcome.spec.number == number)
    judged = examination.judged.get(number)
    take = judged.take if judged is not None else None
    return Explanation(
        outcome,
        "course" if seed is None else str(seed),
        tuple(_asked(checks, take, record) for record in _records(take)) if take else (),
        tuple(_candidates(checks, take)[:most]) if take else (),
    )


def _records(take: Take | None) -> list[Record]:
    return [r for r in take.desk.records if r.reply is not None and r.mode != Mode.ASIDE] if take else []


def _asked(checks: Checks, take: Take, record: Record) -> Asked:
    given = record.reply or Reply(ReplyKind.TIME)
    if record.mode == Mode.GIVEN:
        expected: Reply | None = Reply(ReplyKind.VALUE, record.expected)
    else:
        expected = checks.oracle.expected(record.plan, take.desk.served, record.key)
    return Asked(called(record.plan), record.plan, given, expected, _distance(record, expected, given))


def _distance(record: Record, expected: Reply | None, given: Reply) -> float | None:
    if expected is None or expected.kind is not ReplyKind.VALUE or given.kind is not ReplyKind.VALUE:
        return None
    wanted = expected.value if record.mode == Mode.GIVEN else record.seen(expected.value)
    return distance(wanted, record.seen(given.value))


def _candidates(checks: Checks, take: Take) -> list[Candidate]:
    records = _records(take)
    functions = frozenset(record.plan.function for record in records)
    found = [
        _candidate(checks, take, records, hypothesis)
        for hypothesis in checks.hypotheses_for(take.check.spec.question, functions)
        if hypothesis.answer is None
    ]
    return sorted(found, key=lambda c: (not c.fits, c.distance))


def _candidate(checks: Checks, take: Take, records: Sequence[Record], hypothesis: Hypothesis) -> Candidate:
    would = [checks.oracle.under(hypothesis, r.plan, take.desk.served, r.key) for r in records]
    pairs = [(r, w, r.reply) for r, w in zip(records, would, strict=True) if r.reply is not None]
    gaps = [_distance(record, w, given) for record, w, given in pairs]
    farthest = max((math.inf if gap is None else gap for gap in gaps), default=math.inf)
    fits = bool(pairs) and all(matches(record, w, given, False) for record, w, given in pairs)
    return Candidate(hypothesis.name, hypothesis.keeps, farthest, fits)
