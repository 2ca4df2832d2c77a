"""Is the grader right? Right answers get all points, each named mistake loses what it should and is named."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from autograder.assignment import load_assignment
from autograder.checks import Checks, LocalSession, load_checks, run_checks
from autograder.checks.mistakes import Hypothesis
from autograder.model import Isolation, Level, Outcome, Run, Verdict

COURSE = Path(__file__).parents[3]
SECRET = b"test-only: attention"
STUDENT = "ada"
ZERO = Fraction(0)

Outcomes = dict[str, Outcome]


@cache
def checks() -> Checks:
    return load_checks(load_assignment(COURSE, "attention"))


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def grade(namespace: Mapping[str, Any], secret: bytes = SECRET, student: str | None = STUDENT) -> Outcomes:
    """Grade a namespace as if a notebook had defined it."""
    run = Run((), None, Isolation(Level.C, ()))
    result = run_checks(checks(), LocalSession(namespace), run, secret=secret, student_id=student)
    return {outcome.spec.number: outcome for outcome in result.outcomes}


def earned(outcomes: Outcomes, question: str | None = None) -> Fraction:
    return sum((o.earned for o in outcomes.values() if question in (None, o.spec.question)), ZERO)


def describe(outcomes: Outcomes) -> str:
    """What a failing test shows."""
    lines = [
        f"{o.spec.number} {o.verdict} {float(o.earned)}/{float(o.spec.points)} {o.mistakes} {o.on_top_of} "
        f"{o.explanation} {o.staff}"
        for o in outcomes.values()
        if o.verdict is not Verdict.PASSED or o.earned != o.spec.points
    ]
    return "\n".join(lines)


def variant(hypothesis: Hypothesis) -> dict[str, Any]:
    """The namespace of a student who made this mistake; planned wrong answers of the hand calculations go into hand."""
    space = checks().source.namespace(hypothesis.change)
    if hypothesis.answer is not None:
        numbers = space["my_numbers"](STUDENT, hypothesis.part)
        space["hand"] = {**space["hand"], hypothesis.part: hypothesis.answer(numbers)}
    return space


def singles() -> list[Hypothesis]:
    return [h for h in checks().hypotheses if h.size == 1]


def pairs(question: str) -> list[Hypothesis]:
    return [h for h in checks().hypotheses if h.size == 2 and h.question == question]


def owner(number: str) -> str:
    """The function that a check of question 4 is about; elsewhere a question has one."""
    question, _, rest = number.partition(".")
    functions = checks().assignment.question(question).functions
    return functions[-1] if question != "4" or int(rest) > 4 else functions[0]


def assert_loses_what_it_should(hypothesis: Hypothesis, outcomes: Outcomes) -> None:
    """Failing checks of its function keep exactly `keeps`, under its name; later questions lose if it says so."""
    for outcome in outcomes.values():
        if owner(outcome.spec.number) not in hypothesis.functions:
            right = outcome.earned == outcome.spec.points
            assert right or outcome.spec.question in hypothesis.spills, describe(outcomes)
        elif outcome.verdict is not Verdict.PASSED:
            assert outcome.verdict is Verdict.FAILED, describe(outcomes)
            assert outcome.mistakes == hypothesis.names, describe(outcomes)
            assert outcome.earned == hypothesis.keeps * outcome.spec.points
    assert earned(outcomes) < 100


# ── right and empty ─────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("secret", [b"test-only: %d" % n for n in range(5)])
def test_the_reference_gets_all_points_on_five_secrets(secret: bytes) -> None:
    """100 of 100, whatever the draws."""
    outcomes = grade(checks().source.namespace(), secret)
    assert earned(outcomes) == 100, describe(outcomes)


def test_points_are_a_hundred_and_split_as_promised() -> None:
    """Per question about 10 % contract, 20 % special cases, 10 % laws; the rest are values and effort."""
    specs = checks().specs
    assert sum(spec.points for spec in specs) == 100
    for question in checks().assignment.questions[:8]:
        mine = [spec for spec in specs if spec.question == question.id]
        for tag, share in (("edge", 0.2), ("property", 0.1)):
            points = float(sum(spec.points for spec in mine if tag in spec.tags))
            assert abs(points - share * float(question.points)) <= 1, (question.id, tag)


def test_an_empty_notebook_gets_nothing() -> None:
    """Functions that raise NotImplementedError and a hand of Nones: 0 points, and every check says what to write."""

    def unwritten(*args: Any, **kwargs: Any) -> None:
        raise NotImplementedError

    names = [name for question in checks().assignment.questions for name in question.functions]
    space: dict[str, Any] = dict.fromkeys(names, unwritten) | {"hand": {"H1": None, "H2": None, "H3": None}}
    outcomes = grade(space)
    assert earned(outcomes) == 0
    assert {o.verdict for o in outcomes.values()} == {Verdict.BLOCKED}, describe(outcomes)


def test_a_notebook_without_definitions_gets_nothing() -> None:
    """No names at all: blocked everywhere, never a fault of the grader."""
    outcomes = grade({})
    assert earned(outcomes) == 0
    assert {o.verdict for o in outcomes.values()} == {Verdict.BLOCKED}, describe(outcomes)


@pytest.mark.parametrize("constant", [None, 0.0, "tensor", {}])
def test_constants_get_nothing(constant: Any) -> None:
    """Functions that return one thing, whatever they are asked, earn next to nothing and break no check."""
    value = torch.zeros(3, dtype=torch.float64) if constant == "tensor" else constant
    names = [name for question in checks().assignment.questions for name in question.functions]
    outcomes = grade({name: lambda *args, **kwargs: value for name in names} | {"hand": {}})
    assert all(o.verdict in (Verdict.FAILED, Verdict.BLOCKED) for o in outcomes.values() if o.earned == 0)
    assert not any(o.verdict is Verdict.GRADER_FAULT for o in outcomes.values()), describe(outcomes)
    assert earned(outcomes) == 0, describe(outcomes)


# ── mistakes ────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_there_are_enough_mistakes_and_alternatives() -> None:
    """At least 15 named mistakes; at least three other right ways for each question with code."""
    assert len(singles()) >= 90
    counts = [sum(a.question == str(q) for a in checks().alternatives) for q in range(1, 9)]
    assert min(counts) >= 3


@pytest.mark.parametrize("hypothesis", singles(), ids=lambda h: h.key)
def test_each_mistake_loses_what_it_should_and_is_named(hypothesis: Hypothesis) -> None:
    """One mistake in an otherwise right notebook: failing checks lose exactly 1 − keeps, and nothing else does."""
    assert_loses_what_it_should(hypothesis, grade(variant(hypothesis)))


@pytest.mark.parametrize("hypothesis", pairs("6"), ids=lambda h: h.name)
def test_pairs_of_heads_mistakes_are_named(hypothesis: Hypothesis) -> None:
    """All 81 pairs of choices of multi_head are told apart, and the losses add."""
    outcomes = grade(variant(hypothesis))
    assert_loses_what_it_should(hypothesis, outcomes)


# ── alternatives ────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("alternative", checks().alternatives, ids=lambda a: f"{a.question}-{a.name}")
def test_other_right_ways_lose_nothing(alternative: Any) -> None:
    """Loops, einsum, library functions: all points, but for what an alternative declares to forfeit."""
    change = checks().alternative_change(alternative)
    outcomes = grade(checks().source.namespace(change))
    lost = {number for number, o in outcomes.items() if o.earned != o.spec.points}
    assert lost == set(alternative.forfeits), describe(outcomes)
