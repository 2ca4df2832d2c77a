"""Outcomes → totals: exact, and every declared check exactly once.

Points never vanish and never appear: what is not judged yet stands as GRADER_FAULT with its points open, and the sum
of the declared points is the declared total.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

from autograder.errors import CourseError, GraderFault
from autograder.model import CheckSpec, Outcome, Reason, Verdict

__all__ = ["block_all", "earned", "fill", "settle"]

_OPEN = ("", "The grader stopped before this check; it is not your fault. The points are open.")


def fill(specs: Sequence[CheckSpec], judged: Iterable[Outcome]) -> tuple[Outcome, ...]:
    """One outcome a declared check, in their order; undecided ones stand as GRADER_FAULT with open points.

    Raises GraderFault for an outcome that was not declared, twice there, or out of its range.
    """
    known = _by_number(specs, judged)
    return tuple(known.get(spec.number) or _open(spec) for spec in specs)


def settle(specs: Sequence[CheckSpec], judged: Iterable[Outcome], total: Fraction) -> tuple[Outcome, ...]:
    """The final outcomes. CourseError when the declared points are not the declared total."""
    declared = sum((spec.points for spec in specs), Fraction(0))
    if declared != total:
        raise CourseError(f"the checks have {declared} points, the declared total is {total}", key="total")
    return fill(specs, judged)


def block_all(specs: Sequence[CheckSpec], reason: str) -> tuple[Outcome, ...]:
    """Every check BLOCKED for one reason, e.g. a notebook that can't be read."""
    return tuple(Outcome(spec, Verdict.BLOCKED, Fraction(0), Reason.NOT_ANSWERED, (("", reason),)) for spec in specs)


def earned(outcomes: Iterable[Outcome]) -> Fraction:
    """The sum of the points, exactly."""
    return sum((outcome.earned for outcome in outcomes), Fraction(0))


def _open(spec: CheckSpec) -> Outcome:
    return Outcome(
        spec, Verdict.GRADER_FAULT, Fraction(0), Reason.GRADER, (_OPEN,), staff="the grader stopped before this check"
    )


def _by_number(specs: Sequence[CheckSpec], judged: Iterable[Outcome]) -> dict[str, Outcome]:
    declared = {spec.number: spec for spec in specs}
    outcomes = list(judged)
    for number, count in Counter(outcome.spec.number for outcome in outcomes).items():
        if number not in declared:
            raise GraderFault(f"check {number} was judged, but it is not declared")
        if count > 1:
            raise GraderFault(f"check {number} was judged {count} times")
    for outcome in outcomes:
        _in_range(outcome, declared[outcome.spec.number])
    return {outcome.spec.number: outcome for outcome in outcomes}


def _in_range(outcome: Outcome, spec: CheckSpec) -> None:
    points = outcome.earned
    if outcome.spec != spec:
        raise GraderFault(f"check {spec.number} was judged under another declaration")
    if not isinstance(points, Fraction) or not 0 <= points <= spec.points:
        raise GraderFault(f"check {spec.number} earned {points!r} of {spec.points}")
    if outcome.verdict is Verdict.PASSED and points != spec.points:
        raise GraderFault(f"check {spec.number} passed with {points} of {spec.points}")
    if outcome.verdict in (Verdict.BLOCKED, Verdict.GRADER_FAULT) and points:
        raise GraderFault(f"check {spec.number} is {outcome.verdict} and earned {points}")
