"""Is the grader right? Right answers get all points, each named mistake loses what it should and is named."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
import torch

from autograder.checks.mistakes import Hypothesis
from autograder.model import Verdict
from autograder.plan import Ref, Seeded
from tests.assignments.grading import Grading, describe, earned, same

grading = Grading("decoding")
grade, variant = grading.grade, grading.variant


# ── right and empty ─────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_reference_gets_all_points() -> None:
    """100 of 100."""
    outcomes = grade(grading.reference())
    assert earned(outcomes) == 100, describe(outcomes)


@pytest.mark.slow
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


@pytest.mark.parametrize("constant", [None, 0, "tensor", [0], ([], 0.0, [])], ids=str)
def test_constants_get_nothing(constant: Any) -> None:
    """Functions that return one thing, whatever they are asked, earn nothing and break no check."""
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


@pytest.mark.parametrize("name", ["6:multiplied", "6:p-before-k", "7:base-two", "7:end-missing", "7:mean"])
def test_a_mistake_costs_its_points_once(name: str) -> None:
    """`sample_one` and `rescore` are right on top of a student's own wrong function, and lose nothing."""
    hypothesis = grading.single(name)
    outcomes = grade(variant(hypothesis), hypothesis.question)
    grading.assert_loses_what_it_should(hypothesis, outcomes)
    assert any(o.on_top_of for o in outcomes.values()), describe(outcomes)


def test_the_right_step_inline_beats_a_wrong_helper() -> None:
    """A student whose `sequence_logprob` is wrong, and who scores right inside `rescore`, loses nothing there."""
    hypothesis = grading.single("7:base-two")
    inline = next(a for a in grading.checks.alternatives if a.name == "inline-scores")
    change = {**hypothesis.change, **grading.checks.alternative_change(inline)}
    outcomes = grade(grading.reference(change), "7")
    assert all(o.verdict is Verdict.PASSED for n, o in outcomes.items() if "rescore" in grading.about(n)), describe(
        outcomes
    )


def test_an_empty_helper_earns_nothing_on_top() -> None:
    """On top of a warp that returns zeros everything looks right, so `sample_one` gets next to nothing for it."""
    outcomes = grade(
        grading.reference({"warp": "def warp(logits, *knobs):\n    return torch.zeros_like(logits)\n"}), "6"
    )
    assert earned(outcomes, "6") <= 2, describe(outcomes)


@pytest.mark.parametrize("question", ["6", "8"])
def test_pairs_of_mistakes_are_named(question: str) -> None:
    """Some pairs of choices, spread over the list: both names are told, and the losses add."""
    for hypothesis in [h for h in grading.pairs(question) if not moot(h)][::9]:
        grading.assert_loses_what_it_should(hypothesis, grade(variant(hypothesis), question))


def moot(hypothesis: Hypothesis) -> bool:
    """One of its edits makes the other one pointless."""
    silent = {"top-p-ignored", "residual-softmax", "residual-p"} & set(hypothesis.names)
    return bool(silent) or any(name.endswith("-ignored") for name in hypothesis.names)


@pytest.mark.slow
def test_no_verdict_depends_on_the_number_of_threads() -> None:
    """The reference, and two mistakes in arithmetic: with two threads the same as with one."""
    mistakes = map(grading.single, ("6:p-before-k", "8:residual-softmax"))
    grading.assert_threads_change_nothing([(grading.reference(), None), *grading.with_mistakes(mistakes)])


# ── effort and chance ───────────────────────────────────────────────────────────────────────────────────────────────
def test_a_trace_that_was_made_up_is_noticed_by_the_calls() -> None:
    """Exhaustive search that forges the trace of Dijkstra's passes all but the check that counts calls."""
    forged = """
def best_path(lm, L):
    level, every = [(0.0, [])], []
    while level:
        every += level
        level = [
            (cost - log_p, [*prefix, s])
            for cost, prefix in level
            if len(prefix) < L and prefix[-1:] != [lm.end]
            for s, log_p in enumerate(lm(prefix).tolist())
        ]
    best = min(one for one in every if len(one[1]) == L or one[1][-1:] == [lm.end])
    return best[1], best[0], [prefix for cost, prefix in sorted(every) if cost <= best[0]]
"""
    outcomes = grade(grading.reference({"best_path": forged}), "3")
    assert [n for n, o in outcomes.items() if o.verdict is not Verdict.PASSED] == ["3.7"], describe(outcomes)


def test_a_sampler_of_ones_own_is_recognised_by_its_distribution() -> None:
    """A sharpened sampler that draws quite differently from ours is named, although no sample is the same."""
    own = """
def ancestral(lm, L, gen):
    ids = []
    while len(ids) < L and lm.end not in ids:
        noise = -torch.log(-torch.log(torch.rand(lm.V, generator=gen, dtype=torch.float64)))
        ids.append(int((1.25 * lm(ids) + noise).argmax()))
    return ids
"""
    outcomes = grade(grading.reference({"ancestral": own}), "2")
    assert outcomes["2.3"].mistakes == ("sharpened",), describe(outcomes)
    assert earned(outcomes) == 12 - Fraction(4, 10) * outcomes["2.3"].spec.points


# ── alternatives ────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("alternative", grading.checks.alternatives, ids=lambda a: f"{a.question}-{a.name}")
def test_other_right_ways_lose_nothing(alternative: Any) -> None:
    """Loops, einsum, library functions: all points, but for what an alternative declares to forfeit."""
    grading.assert_loses_nothing(alternative)


# ── draws ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_no_pair_of_search_mistakes_is_left_unseparated() -> None:
    """The pools of the separating draws tell every two mistakes of a function apart."""
    grade(grading.reference(), "1", "3", "4", "5")
    assert [pair for pairs in grading.checks.rarest.values() for pair, times in pairs.items() if times < 1] == []


@pytest.mark.slow
@pytest.mark.parametrize("question", grading.questions)
def test_the_whole_catalogue_on_other_seeds(question: str) -> None:
    """Singles, pairs, alternatives and mutants of a question, on the course's draws and three other seeds."""
    result = grading.validate(question, (None, 1, 2, 3))
    assert result.ok, "\n".join(str(row) for row in result.failures)


# ── one source ──────────────────────────────────────────────────────────────────────────────────────────────────────
def test_public_checks_of_the_notebook_use_the_graders_inputs() -> None:
    """The notebook's public checks call each function with exactly the inputs of the grader's public checks."""
    graded = grading.public_records()
    pasted = [(name, [shown(argument) for argument in given]) for name, given in grading.pasted_calls()]
    assert len(grading.public_cells()) == 8
    assert {record.plan.function for record in graded} == {name for name, _ in pasted}
    for record in graded:
        step: Any = record.plan.steps[-1]
        given = [bound(argument, record.plan.steps) for argument in step.args]
        assert any(same((step.function, given), call) for call in pasted), step.function


def bound(argument: Any, steps: Any) -> Any:
    """A register as what it was built from; a seeded generator as its kind."""
    if isinstance(argument, Ref):
        return next(tuple(step.args) for step in steps if step.out == argument.name)
    return Seeded if isinstance(argument, Seeded) else argument


def shown(argument: Any) -> Any:
    """A pasted argument, written as `bound` does."""
    kind = type(argument).__name__  # by name: `toy` was built by the first of several equal classes
    if kind == "TableLM":
        return argument.V, argument.end, argument.rows
    if kind == "TableHeuristic":
        return (argument.rows,)
    return Seeded if isinstance(argument, torch.Generator) else argument


@pytest.mark.parametrize(
    ("name", "lost"),
    [
        ("greedy", {"1.2"}),
        ("ancestral", {"2.2", "2.3"}),  # 4000 texts of tensors are too many to send; the notebook's check stops before
        ("best_path", {"3.2"}),
        ("beam", {"5.2"}),
    ],
)
def test_tensors_in_place_of_numbers_cost_the_points_of_types(name: str, lost: set[str]) -> None:
    """Ids and costs as tensors of one number are a wrong type, and nothing else."""

    def in_tensors(*args: Any) -> Any:
        result = grading.checks.oracle.reference[name](*args)
        if name == "ancestral":
            return [torch.tensor(symbol) for symbol in result]
        ids, cost, *rest = result
        return ([torch.tensor(symbol) for symbol in ids], torch.tensor(cost, dtype=torch.float64), *rest)

    outcomes = grade(grading.reference() | {name: in_tensors}, min(lost)[0])
    assert {o.spec.number for o in outcomes.values() if o.earned != o.spec.points} == lost, describe(outcomes)
