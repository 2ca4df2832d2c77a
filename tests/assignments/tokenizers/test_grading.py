"""Is the grader right? Right answers get all points, each named mistake loses what it should and is named."""

from __future__ import annotations

from typing import Any

import pytest

from autograder.model import Verdict
from tests.assignments.grading import Grading, describe, earned

grading = Grading("tokenizers")
grade = grading.grade


@pytest.mark.parametrize("secret", [b"test-only: %d" % n for n in range(5)])
def test_the_reference_gets_all_points_on_five_secrets(secret: bytes) -> None:
    """100 of 100, whatever the draws."""
    outcomes = grade(grading.reference(), secret=secret)
    assert earned(outcomes) == 100, describe(outcomes)


def test_points_are_a_hundred_and_split_as_promised() -> None:
    """Per question about 20 % special cases and 10 % laws; the rest are types and values."""
    specs = grading.checks.specs
    assert sum(spec.points for spec in specs) == 100
    for question in grading.checks.assignment.questions[:8]:
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


@pytest.mark.parametrize("constant", [None, [], {"a": 1}, 0.0, ([], 0.0), ["[UNK]"], [["a", "b"]]], ids=repr)
def test_constants_earn_nothing(constant: Any) -> None:
    """Functions that return one thing, whatever they are asked, break no check and earn nothing."""
    outcomes = grade(grading.constant(constant))
    assert not any(o.verdict is Verdict.GRADER_FAULT for o in outcomes.values()), describe(outcomes)
    assert earned(outcomes) == 0, describe(outcomes)


def test_one_bit_everywhere_earns_the_public_example_only() -> None:
    """The notebook's example of bits per character is 1.0; that number earns half a point and no more."""
    outcomes = grade(grading.constant(1.0))
    assert {number for number, o in outcomes.items() if o.earned} == {"7.1"}, describe(outcomes)


def test_there_are_enough_mistakes_and_alternatives() -> None:
    """At least 85 named mistakes; at least three other right ways for each question with code."""
    assert len(grading.singles()) >= 85
    assert grading.fewest_alternatives(map(str, range(1, 9))) >= 3


@pytest.mark.parametrize("question", grading.questions)
def test_the_whole_catalogue(question: str) -> None:
    """Singles and pairs are noticed, named and cost what they should; alternatives nothing; mutants lose points."""
    result = grading.validate(question)
    assert result.ok, "\n".join(str(row) for row in result.failures)


@pytest.mark.slow
@pytest.mark.parametrize("question", grading.questions)
def test_the_whole_catalogue_on_other_seeds(question: str) -> None:
    """The same on five other seeds."""
    result = grading.validate(question, (1, 2, 3, 4, 5), mutants=0)
    assert result.ok, "\n".join(str(row) for row in result.failures)


@pytest.mark.parametrize("key", ["3:highest-rank", "3:longest-match", "8:digits-grouped", "8:space-alone"])
def test_a_wrong_part_costs_its_points_once(key: str) -> None:
    """encode_text is right on top of a student's own wrong encode_bpe or pretokenize, and loses nothing."""
    hypothesis = grading.single(key)
    outcomes = grade(grading.variant(hypothesis), "3", "8")
    for number in ("8.6", "8.7", "8.8"):
        assert outcomes[number].earned == outcomes[number].spec.points, describe(outcomes)
    assert outcomes["8.7"].on_top_of
    wrong = [o for o in outcomes.values() if o.verdict is Verdict.FAILED]
    assert wrong
    assert {o.mistakes for o in wrong} == {hypothesis.names}


def test_the_right_step_inline_loses_nothing_beside_a_wrong_helper() -> None:
    """An encode_text that cuts and merges by itself is right, although pretokenize and encode_bpe are wrong."""
    space = grading.variant(grading.single("3:highest-rank"), grading.single("8:digits-grouped"))
    space["encode_text"] = grading.checks.oracle.reference["encode_text"]
    outcomes = grade(space, "8")
    assert all(outcomes[number].earned == outcomes[number].spec.points for number in ("8.6", "8.7", "8.8"))
    assert not any(o.on_top_of for o in outcomes.values())


@pytest.mark.parametrize("helper", ["pretokenize", "encode_bpe"])
def test_an_empty_helper_earns_nothing_on_top(helper: str) -> None:
    """On top of pieces that are the same for every text all texts are alike, so no credit follows from that."""
    change = {helper: f"def {helper}(*args):\n    return ['a']\n"}
    outcomes = grade(grading.reference(change), "3", "8")
    assert sum(outcomes[number].earned for number in ("8.6", "8.7", "8.8")) == 0, describe(outcomes)


def test_public_checks_of_the_notebook_use_the_graders_inputs() -> None:
    """The notebook's public checks call each function with exactly the inputs of the grader's public checks."""
    grading.assert_public_checks_agree(8)
