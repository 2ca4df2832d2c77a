"""Points never vanish and never appear."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder import score
from autograder.errors import CourseError, GraderFault
from autograder.model import CheckSpec, Outcome, Verdict

SPECS = tuple(CheckSpec(f"1.{n}", "1", f"claim {n}", Fraction(n, 3)) for n in range(1, 7))
TOTAL = sum((spec.points for spec in SPECS), Fraction(0))


def passed(spec: CheckSpec) -> Outcome:
    return Outcome(spec, Verdict.PASSED, spec.points)


@given(st.sets(st.sampled_from(SPECS)))
@settings(deadline=None)
def test_every_declared_check_stands_exactly_once(judged: set[CheckSpec]) -> None:
    """Whatever was judged so far; the rest is GRADER_FAULT with open points, and the sum is exact."""
    outcomes = score.settle(SPECS, [passed(spec) for spec in judged], TOTAL)
    assert [outcome.spec for outcome in outcomes] == list(SPECS)
    assert score.earned(outcomes) == sum((spec.points for spec in judged), Fraction(0))
    assert {o.spec for o in outcomes if o.verdict is Verdict.GRADER_FAULT} == set(SPECS) - judged


def test_thirds_add_up_exactly() -> None:
    """No floats before the file is written."""
    assert score.earned([passed(spec) for spec in SPECS]) == TOTAL == 7


def test_a_total_that_is_not_the_sum_is_refused() -> None:
    """The instructor's files are inconsistent."""
    with pytest.raises(CourseError, match="declared total is 8"):
        score.settle(SPECS, [], Fraction(8))


@pytest.mark.parametrize(
    "outcomes",
    [
        [passed(SPECS[0]), passed(SPECS[0])],
        [passed(CheckSpec("9.9", "9", "unknown", Fraction(1)))],
        [replace(passed(SPECS[0]), earned=Fraction(5))],
        [replace(passed(SPECS[0]), earned=Fraction(-1))],
        [replace(passed(SPECS[0]), earned=Fraction(0))],
        [replace(passed(SPECS[0]), verdict=Verdict.BLOCKED)],
        [replace(passed(SPECS[0]), verdict=Verdict.GRADER_FAULT)],
        [passed(replace(SPECS[0], points=Fraction(99)))],
    ],
    ids=["twice", "undeclared", "too much", "negative", "passed with nothing", "blocked", "fault", "other points"],
)
def test_an_outcome_that_cannot_be_is_a_fault_of_ours(outcomes: list[Outcome]) -> None:
    """Never a number."""
    with pytest.raises(GraderFault):
        score.fill(SPECS, outcomes)


def test_a_hand_in_that_cannot_be_graded_keeps_the_declared_total() -> None:
    """Every check BLOCKED with the reason."""
    outcomes = score.block_all(SPECS, "The file is no notebook.")
    assert score.settle(SPECS, outcomes, TOTAL) == outcomes
    assert all(outcome.explanation[0][1] == "The file is no notebook." for outcome in outcomes)
