"""Is the grader right? Right answers get all points, each named mistake loses what it should and is named."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from autograder.assignment import load_assignment
from autograder.checks import Checks, Examination, LocalSession, load_checks
from autograder.checks.perform import perform
from autograder.checks.room import Room
from autograder.model import Isolation, Level, Outcome, Run, Verdict
from autograder.solution import read_solution
from autograder.validate import validate

COURSE = Path(__file__).parents[3]
SECRET = b"test-only: tokenizers"
STUDENT = "ada"
QUESTIONS = [str(n) for n in range(1, 10)]

Outcomes = dict[str, Outcome]


@cache
def checks() -> Checks:
    return load_checks(load_assignment(COURSE, "tokenizers"))


def grade(namespace: Mapping[str, Any], *questions: str, secret: bytes = SECRET) -> Outcomes:
    """Grade a namespace as if a notebook had defined it; all questions, or only these."""
    run = Run((), None, Isolation(Level.C, ()))
    examination = Examination(checks(), LocalSession(namespace), run, secret=secret, student_id=STUDENT)
    return {o.spec.number: o for question in questions or QUESTIONS for o in examination.question(question)}


def earned(outcomes: Outcomes, question: str | None = None) -> Fraction:
    return sum((o.earned for o in outcomes.values() if question in (None, o.spec.question)), Fraction(0))


def describe(outcomes: Outcomes) -> str:
    """What a failing test shows."""
    lost = [o for o in outcomes.values() if o.earned != o.spec.points]
    return "\n".join(f"{o.spec.number} {o.verdict} {float(o.earned)} {o.mistakes} {o.explanation}" for o in lost)


@pytest.mark.parametrize("secret", [b"test-only: %d" % n for n in range(5)])
def test_the_reference_gets_all_points_on_five_secrets(secret: bytes) -> None:
    """100 of 100, whatever the draws."""
    outcomes = grade(checks().source.namespace(), secret=secret)
    assert earned(outcomes) == 100, describe(outcomes)


def test_points_are_a_hundred_and_split_as_promised() -> None:
    """Per question about 20 % special cases and 10 % laws; the rest are types and values."""
    specs = checks().specs
    assert sum(spec.points for spec in specs) == 100
    for question in checks().assignment.questions[:8]:
        mine = [spec for spec in specs if spec.question == question.id]
        edge = float(sum(spec.points for spec in mine if "edge" in spec.tags))
        assert 0.15 <= edge / float(question.points) <= 0.35, question.id
        laws = float(sum(spec.points for spec in mine if "property" in spec.tags))
        assert laws <= 0.15 * float(question.points), question.id


def test_a_notebook_without_definitions_gets_nothing() -> None:
    """No names at all: blocked everywhere, never a fault of the grader."""
    outcomes = grade({})
    assert earned(outcomes) == 0
    assert {o.verdict for o in outcomes.values()} == {Verdict.BLOCKED}, describe(outcomes)


@pytest.mark.parametrize("constant", [None, [], {}, 0.0, ([], 0.0), "a", ["[UNK]"]], ids=repr)
def test_constants_earn_next_to_nothing(constant: Any) -> None:
    """Functions that return one thing, whatever they are asked, break no check and earn types at most."""
    names = [name for question in checks().assignment.questions for name in question.functions]
    outcomes = grade({name: lambda *args, **kwargs: constant for name in names} | {"hand": {}})
    assert not any(o.verdict is Verdict.GRADER_FAULT for o in outcomes.values()), describe(outcomes)
    assert earned(outcomes) <= 6, describe(outcomes)


def test_there_are_enough_mistakes_and_alternatives() -> None:
    """At least 85 named mistakes; at least three other right ways for each question with code."""
    assert sum(h.size == 1 for h in checks().hypotheses) >= 85
    counts = [sum(a.question == str(q) for a in checks().alternatives) for q in range(1, 9)]
    assert min(counts) >= 3


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_whole_catalogue(question: str) -> None:
    """Singles and pairs are noticed, named and cost what they should; alternatives nothing; mutants lose points."""
    result = validate(checks(), secret=SECRET, seeds=(None,), question=question)
    assert result.ok, "\n".join(str(row) for row in result.failures)


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS)
def test_the_whole_catalogue_on_other_seeds(question: str) -> None:
    """The same on five other seeds."""
    result = validate(checks(), secret=SECRET, seeds=(1, 2, 3, 4, 5), question=question, with_mutants=False)
    assert result.ok, "\n".join(str(row) for row in result.failures)


@pytest.mark.parametrize("key", ["3:highest-rank", "3:longest-match", "8:digits-grouped", "8:space-alone"])
def test_a_wrong_part_costs_its_points_once(key: str) -> None:
    """encode_text is right on top of a student's own wrong encode_bpe or pretokenize, and loses nothing."""
    hypothesis = next(h for h in checks().hypotheses if h.key == key)
    outcomes = grade(checks().source.namespace(hypothesis.change), "3", "8")
    for number in ("8.6", "8.7", "8.8"):
        assert outcomes[number].earned == outcomes[number].spec.points, describe(outcomes)
    assert outcomes["8.7"].on_top_of
    wrong = [o for o in outcomes.values() if o.verdict is Verdict.FAILED]
    assert wrong
    assert {o.mistakes for o in wrong} == {hypothesis.names}


def test_public_checks_of_the_notebook_use_the_graders_inputs() -> None:
    """The notebook's public checks call each function with exactly the inputs of the grader's public checks."""
    public = [check for check in checks().checks if check.spec.public]
    graded = [record for c in public for record in perform(c, Room(checks(), SECRET, STUDENT)).desk.records]
    pasted = pasted_calls()
    assert {record.plan.function for record in graded} == {name for name, _ in pasted}
    for record in graded:
        step = record.plan.steps[0]
        arguments = (*step.args, *step.kwargs.values())
        assert (step.function, arguments) in pasted, step.function


def pasted_calls() -> list[tuple[str, tuple[Any, ...]]]:
    """Run the public cells of solution.py over functions that note how they are called."""
    source = read_solution(COURSE / "reference/tokenizers/solution.py")
    cells = [cell for cell in source if cell.role == "public-check"]
    assert len(cells) == 8
    space, calls = dict(checks().oracle.reference), []
    for name in [name for question in checks().assignment.questions[:8] for name in question.functions]:

        def noting(*args: Any, name: str = name, inner: Any = space[name], **kwargs: Any) -> Any:
            calls.append((name, (*args, *kwargs.values())))
            return inner(*args, **kwargs)

        space[name] = noting
    with contextlib.redirect_stdout(io.StringIO()) as said:
        for cell in cells:
            exec(cell.source, space)
    assert said.getvalue().count("passes") == 8
    return calls
