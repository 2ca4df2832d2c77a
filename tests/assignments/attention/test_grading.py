"""Is the grader right? Right answers get all points, each named mistake loses what it should and is named."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch

from autograder.checks.mistakes import Hypothesis
from autograder.model import Verdict
from autograder.seeds import Draw
from tests.assignments.grading import Grading, describe, earned

grading = Grading("attention")
grade, variant = grading.grade, grading.variant


# ── right and empty ─────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("secret", [b"test-only: %d" % n for n in range(5)])
def test_the_reference_gets_all_points_on_five_secrets(secret: bytes) -> None:
    """100 of 100, whatever the draws."""
    outcomes = grade(grading.reference(), secret=secret)
    assert earned(outcomes) == 100, describe(outcomes)


def test_points_are_a_hundred_and_split_as_promised() -> None:
    """Per question about 10 % contract, 20 % special cases, 10 % laws; the rest are values and effort."""
    assert sum(spec.points for spec in grading.checks.specs) == 100
    grading.assert_shares(grading.questions[:8], within=1, edge=0.2, property=0.1)


def test_an_empty_notebook_gets_nothing() -> None:
    """Functions that raise NotImplementedError and a hand of Nones: 0 points, and every check says what to write."""
    outcomes = grade(grading.unwritten())
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
    outcomes = grade(grading.constant(value))
    assert all(o.verdict in (Verdict.FAILED, Verdict.BLOCKED) for o in outcomes.values() if o.earned == 0)
    assert not any(o.verdict is Verdict.GRADER_FAULT for o in outcomes.values()), describe(outcomes)
    assert earned(outcomes) == 0, describe(outcomes)


# ── mistakes ────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_there_are_enough_mistakes_and_alternatives() -> None:
    """At least 15 named mistakes; at least three other right ways for each question with code."""
    assert len(grading.singles()) >= 90
    assert grading.fewest_alternatives(map(str, range(1, 9))) >= 3


@pytest.mark.parametrize("hypothesis", grading.singles(), ids=lambda h: h.key)
def test_each_mistake_loses_what_it_should_and_is_named(hypothesis: Hypothesis) -> None:
    """Failing checks of its question lose exactly 1 − keeps, and say its name."""
    grading.assert_loses_what_it_should(hypothesis, grade(variant(hypothesis), hypothesis.question))


@pytest.mark.parametrize(
    "name", ["1:base-two", "1:eps", "1:overflows", "3:not-scaled", "3:mask-inverted", "4:sees-next"]
)
def test_a_mistake_costs_its_points_once(name: str) -> None:
    """Later questions are right on top of a student's own wrong function, and lose nothing."""
    hypothesis = grading.single(name)
    outcomes = grade(variant(hypothesis))
    grading.assert_loses_what_it_should(hypothesis, outcomes)
    assert any(o.on_top_of for o in outcomes.values())


@pytest.mark.parametrize(
    ("wrong", "way", "lost"),
    [
        ("2:not-scaled", "4:on-one-query", ()),
        ("4:attends-next", "5:on-causal-attention", ()),
        ("4:no-mask", "6:on-causal-attention", ()),
        ("4:attends-next", "6:on-causal-attention", ()),
        ("3:not-scaled", "8:on-attention", ()),
        ("2:not-scaled", "8:on-one-query", ("8.6",)),  # 20 000 calls are too many to ask for
        ("2:by-root-n", "8:on-one-query", ("8.6",)),
    ],
)
def test_a_mistake_costs_its_points_once_whatever_an_answer_is_built_on(
    wrong: str, way: str, lost: tuple[str, ...]
) -> None:
    """Not every student builds on what the reference builds on."""
    assert grading.lost_on_the_way(wrong, way) == lost


@pytest.mark.parametrize(("wrong", "credit"), [("1:base-two", 8), ("1:first-axis-always", 7.5), ("1:log-softmax", 5.6)])
def test_a_wrong_softmax_costs_little_in_the_statistics(wrong: str, credit: float) -> None:
    """Whoever takes their own softmax for Q7 loses there what it hides: with a nan, how weights of 0 are treated."""
    (other,) = (a for a in grading.checks.alternatives if a.name == "on-softmax")
    change = grading.single(wrong).change | grading.checks.alternative_change(other)
    outcomes = grade(grading.reference(change), "1", "7")
    assert earned(outcomes, "1") < 8
    assert float(earned(outcomes, "7")) == pytest.approx(credit, abs=0.06), describe(outcomes)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("softmax", "def softmax(s, dim):\n    return torch.zeros_like(s)\n"),
        ("attention_one_query", "def attention_one_query(q, K, V):\n    return torch.zeros_like(V[0])\n"),
        ("causal_attention", "def causal_attention(Q, K, V):\n    return torch.zeros_like(V)\n"),
    ],
)
def test_an_empty_helper_earns_nothing_on_top(name: str, text: str) -> None:
    """On top of a function that returns zeros everything looks right, so what is built on it gets no credit for it."""
    ways = {a.function: a for a in grading.checks.alternatives if name in a.on}
    change = {name: text}.copy()
    for way in ways.values():
        change |= grading.checks.alternative_change(way)
    outcomes = grade(grading.reference(change))
    for question, most in {"2": 2, "3": 3, "6": 6, "8": 4}.items():
        above = {"softmax": "2368", "attention_one_query": "28", "causal_attention": "6"}[name]
        assert question not in above or earned(outcomes, question) <= most, describe(outcomes)


@pytest.mark.parametrize("hypothesis", grading.pairs("6"), ids=lambda h: h.name)
def test_pairs_of_heads_mistakes_are_named(hypothesis: Hypothesis) -> None:
    """All 81 pairs of choices of multi_head are told apart, and the losses add."""
    grading.assert_loses_what_it_should(hypothesis, grade(variant(hypothesis), "6"))


# ── alternatives ────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("alternative", grading.checks.alternatives, ids=lambda a: f"{a.question}-{a.name}")
def test_other_right_ways_lose_nothing(alternative: Any) -> None:
    """Loops, einsum, library functions: all points, but for what an alternative declares to forfeit."""
    grading.assert_loses_nothing(alternative)


# ── draws ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_all_1536_combinations_of_heads_choices_differ() -> None:
    """On the drawn shapes every combination of the seven choices of multi_head gives another output."""
    axes: dict[str | None, list[Hypothesis]] = {}
    for hypothesis in grading.singles():
        if hypothesis.question == "6":
            axes.setdefault(hypothesis.axis, []).append(hypothesis)
    assert [len(values) for values in axes.values()] == [3, 2, 3, 1, 3, 1, 1]
    module = grading.checks.checks[0].function.__globals__
    arguments = module["usual_heads"](Draw(7))[0]
    source, outputs = grading.checks.source, []
    for combination in itertools.product(*([None, *values] for values in axes.values())):
        spans = tuple(span for hypothesis in combination if hypothesis for span in hypothesis.spans)
        space = dict(grading.checks.oracle.reference)
        exec(source.edited(spans).get("multi_head", source.definition("multi_head")), space)
        outputs.append(space["multi_head"](*arguments))
    assert len(outputs) == 1536
    flat = torch.stack(outputs).flatten(1)
    distances = torch.cdist(flat, flat, p=math.inf) + 9 * torch.eye(len(flat), dtype=flat.dtype)
    assert distances.min() > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("question", grading.questions)
def test_the_whole_catalogue_on_other_seeds(question: str) -> None:
    """Singles, pairs, alternatives and mutants of a question, on the course's draws and three other seeds."""
    result = grading.validate(question, (None, 1, 2, 3))
    assert result.ok, "\n".join(str(row) for row in result.failures)


# ── one source ──────────────────────────────────────────────────────────────────────────────────────────────────────
def test_public_checks_of_the_notebook_use_the_graders_inputs() -> None:
    """The notebook's public checks call each function with exactly the inputs of the grader's public checks."""
    grading.assert_public_checks_agree(8)
