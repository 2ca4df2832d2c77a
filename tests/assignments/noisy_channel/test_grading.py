"""Is the grader right? Right answers get all points, each named mistake loses what it should and is named."""

from __future__ import annotations

import contextlib
import inspect
import math
import re
from typing import Any

import pytest
import torch

from autograder.checks import sibling
from autograder.checks.mistakes import Hypothesis
from autograder.model import Verdict
from autograder.seeds import Draw
from tests.assignments.grading import COURSE, Grading, describe, earned

grading = Grading("noisy_channel")
grade, variant = grading.grade, grading.variant
CODE = [str(n) for n in range(1, 10)]


# ── right and empty ─────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("secret", [b"test-only: %d" % n for n in range(2)])
def test_the_reference_gets_all_points(secret: bytes) -> None:
    """100 of 100, whatever the draws."""
    outcomes = grade(grading.reference(), secret=secret)
    assert earned(outcomes) == 100, describe(outcomes)


def test_points_are_a_hundred_and_split_as_promised() -> None:
    """Per question about 20 % special cases and 10 % laws; the rest are types, values and effort."""
    assert sum(spec.points for spec in grading.checks.specs) == 100
    grading.assert_shares(grading.questions[:9], within=1.5, edge=0.2, property=0.1)


def test_an_empty_notebook_gets_nothing() -> None:
    """Functions that raise NotImplementedError and a hand of Nones: 0 points, and every check says what to write."""
    outcomes = grade(grading.unwritten())
    assert earned(outcomes) == 0
    assert {o.verdict for o in outcomes.values()} == {Verdict.BLOCKED}, describe(outcomes)


@pytest.mark.parametrize("constant", [None, 0.0, 1.0, "table", [], "pair", -math.inf, ["we", "sing"]], ids=str)
def test_constants_get_nothing(constant: Any) -> None:
    """Functions that return one thing, whatever they are asked, earn nothing and break no check."""
    made = {"table": torch.full((3, 4), 0.25), "pair": ({}, {})}
    value = made.get(constant, constant) if isinstance(constant, str) else constant
    outcomes = grade(grading.constant(value))
    assert not any(o.verdict is Verdict.GRADER_FAULT for o in outcomes.values()), describe(outcomes)
    assert earned(outcomes) == 0, describe(outcomes)


# ── mistakes ────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_there_are_enough_mistakes_and_alternatives() -> None:
    """At least 90 named mistakes; at least three other right ways for each question with code."""
    assert len(grading.singles()) >= 90
    assert grading.fewest_alternatives(CODE) >= 3


@pytest.mark.parametrize("hypothesis", grading.singles(), ids=lambda h: h.key)
def test_each_mistake_loses_what_it_should_and_is_named(hypothesis: Hypothesis) -> None:
    """Failing checks of its question lose exactly 1 − keeps, and say its name."""
    grading.assert_loses_what_it_should(hypothesis, grade(variant(hypothesis), hypothesis.question))


@pytest.mark.parametrize(
    ("name", "helper", "question"),
    [
        ("2:joint", "mle_prob", "4"),
        ("2:unseen-is-uniform", "mle_prob", "4"),
        ("2:no-vocabulary", "addk_prob", "4"),
        ("2:v-not-times-k", "addk_prob", "9"),
        ("1:several-end-symbols", "count_ngrams", "9"),
        ("1:once-per-sentence", "count_ngrams", "9"),
        ("2:counts-start", "vocab_size", "9"),
        ("6:not-sorted", "candidates", "9"),
        ("6:no-substitution", "candidates", "9"),
        ("7:sub-reversed", "channel_logprob", "9"),
        ("7:not-log", "channel_logprob", "9"),
        ("8:forgets-end", "decode", "9"),
        ("8:greedy", "decode", "9"),
    ],
)
def test_a_mistake_costs_its_points_once(name: str, helper: str, question: str) -> None:
    """Later questions are right on top of a student's own wrong function, and lose nothing."""
    hypothesis = grading.single(name)
    assert hypothesis.functions == {helper}
    outcomes = grade(variant(hypothesis), hypothesis.question, question)
    grading.assert_loses_what_it_should(hypothesis, outcomes)
    assert earned(outcomes, question) == grading.checks.assignment.question(question).points, describe(outcomes)


def test_the_right_step_inline_loses_nothing_beside_a_wrong_helper() -> None:
    """A perplexity that does its own right division is right, although mle_prob and addk_prob are wrong."""
    space = variant(grading.single("2:joint"))
    space["perplexity"] = grading.checks.oracle.reference["perplexity"]
    outcomes = grade(space, "2", "4")
    assert earned(outcomes, "4") == 10, describe(outcomes)
    assert earned(outcomes, "2") < 14


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0])
def test_an_empty_helper_earns_nothing_on_top(p: float) -> None:
    """On top of probabilities that are all one number every text is alike, so no credit follows from that."""
    change = {
        "mle_prob": f"def mle_prob(w, h, c, ctx):\n    return {p}\n",
        "addk_prob": f"def addk_prob(w, h, c, ctx, V, k):\n    return {p}\n",
    }
    outcomes = grade(grading.reference(change), "2", "4")
    assert earned(outcomes, "4") == 0, describe(outcomes)


def test_a_training_is_judged_by_where_it_ends_not_by_its_optimiser() -> None:
    """Adam that maximises something else is named like plain descent that does."""

    def joint(N: torch.Tensor, steps: int) -> torch.Tensor:
        theta = torch.zeros(N.shape, dtype=torch.float64, requires_grad=True)
        for _ in range(steps):
            (gradient,) = torch.autograd.grad((N * theta.flatten().log_softmax(0).view_as(N)).sum(), theta)
            with torch.no_grad():
                theta += 4 * gradient / N.sum()
        return theta.detach().flatten().softmax(0).view_as(N)

    def slow(N: torch.Tensor, steps: int) -> torch.Tensor:
        return 0.7 / N.shape[1] + 0.3 * N / N.sum(1, keepdim=True)

    for function, name, keeps in ((joint, "joint-softmax", 0.4), (slow, "not-converged", 0.6)):
        outcomes = grade({**grading.reference(), "fit_bigram_autodiff": function}, "5")
        assert outcomes["5.3"].mistakes == (name,), describe(outcomes)
        assert float(outcomes["5.3"].earned) == pytest.approx(6 * keeps)


@pytest.mark.slow
def test_no_verdict_depends_on_the_number_of_threads() -> None:
    """The reference, and two mistakes in arithmetic: with two threads the same as with one."""
    mistakes = map(grading.single, ("3:hard-em", "5:joint-softmax"))
    grading.assert_threads_change_nothing([(grading.reference(), None), *grading.with_mistakes(mistakes)])


@pytest.mark.parametrize("question", ["1", "3"])
def test_pairs_are_named(question: str) -> None:
    """All pairs of edits of a question are told apart, and the losses add, unless one edit hides the other."""
    result = grading.validate(question, mutants=0)
    assert result.share("pair")[1] > 15
    assert result.ok, "\n".join(str(row) for row in result.failures)


# ── alternatives ────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("alternative", grading.checks.alternatives, ids=lambda a: f"{a.question}-{a.name}")
def test_other_right_ways_lose_nothing(alternative: Any) -> None:
    """Loops, counters, other searches: all points, but for what an alternative declares to forfeit."""
    grading.assert_loses_nothing(alternative)


# ── draws ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("seed", range(3))
def test_no_named_mistake_below_hides_what_correct_does(seed: int) -> None:
    """On the drawn sentences each mistake of `correct` shows, alone and on top of each named mistake below it."""
    module = grading.checks.checks[0].function.__globals__
    cases = module["telling"](Draw(seed))
    wrong, below = module["wrong_ways"]()
    assert len(below) > 45
    right = module["answers"](grading.checks.oracle.reference["correct"], cases, {})
    shown = [way for way in wrong if module["answers"](way, cases, {}) != right]
    assert len(shown) == len(wrong) - 1, "all but the one about words without candidates"
    assert not any(module["hides"](helpers, cases, right, shown) for helpers in below)
    assert all(module["clear"](*case) for case in cases)


def test_a_tie_of_two_sentences_is_noticed() -> None:
    """Here two sentences are equally likely to the last digit: such draws are not used."""
    module = grading.checks.checks[0].function.__globals__
    assert [module["clear"](*case) for case in module["misspelt"](Draw(1363))] == [True] * 5 + [False] + [True]


@pytest.mark.parametrize("number", ["7.3", "8.3"])
def test_every_two_mistakes_differ_on_two_draws(number: str) -> None:
    """The picked draws separate the reference and all single mistakes from each other at least twice."""
    grading.recorded(grading.check(number))
    assert grading.checks.rarest[number] == {}


@pytest.mark.slow
@pytest.mark.parametrize("question", grading.questions)
def test_the_whole_catalogue_on_other_seeds(question: str) -> None:
    """Singles, pairs, alternatives and mutants of a question, on the course's draws and three other seeds."""
    result = grading.validate(question, (None, 1, 2, 3))
    assert result.ok, "\n".join(str(row) for row in result.failures)


# ── one source ──────────────────────────────────────────────────────────────────────────────────────────────────────
def test_public_checks_of_the_notebook_use_the_graders_inputs() -> None:
    """The notebook's public checks call each function with exactly the inputs of the grader's public checks."""
    grading.assert_public_checks_agree(9)


@pytest.mark.parametrize(
    ("function", "old", "new", "said"),
    [
        ("count_ngrams", "for sent in sents:", "for sent in filter(None, sents):", "n = 1"),
        ("em_lambda", "dtype=P.dtype", "dtype=torch.float32", "float64"),
        ("em_lambda", "m, T = P.shape", "P = P.T\n    m, T = P.shape", "two weights"),
        ("candidates", "range(len(x) + 1)", "range(1, len(x) + 1)", "the first letter"),
        ("channel_logprob", " if total > 0 else -math.inf", "", "never occurred"),
        ("channel_logprob", "sum(explanations())", "next(explanations(), 0.0)", "two explanations"),
        ("channel_logprob", '"#"', '"<"', "KeyError"),
        ("decode", '.get(f"{u} {v}", -math.inf)', '[f"{u} {v}"]', "he ran"),
    ],
)
def test_public_checks_notice_plain_mistakes(function: str, old: str, new: str, said: str) -> None:
    """They fail, and the message tells where to look."""
    with pytest.raises((AssertionError, KeyError), match=re.escape(said)):
        exec(public_check(function), grading.reference({function: changed(function, old, new)}))


@pytest.mark.parametrize(
    ("function", "parameter"),
    [
        ("mle_prob", "ctx: dict"),
        ("perplexity", "c: dict"),
        ("channel_logprob", "conf: dict"),
        ("decode", "bigram: dict"),
        ("em_lambda", "P: Tensor"),
    ],
)
def test_public_checks_leave_no_names_behind(function: str, parameter: str) -> None:
    """An answer that gives a parameter another name and uses the old one fails in the notebook, as in the grader."""
    space = grading.reference({function: changed(function, parameter, "other" + parameter[parameter.index(":") :])})
    for cell in grading.public_cells():
        with contextlib.suppress(NameError):
            exec(cell, space)
    with pytest.raises(NameError, match=parameter.partition(":")[0]):
        exec(public_check(function), space)


def public_check(function: str) -> str:
    return next(cell for cell in grading.public_cells() if f"{function}(" in cell)


def changed(function: str, old: str, new: str) -> str:
    """The source of a function of the reference with a change in it."""
    reference = sibling(COURSE / "reference/noisy_channel/checks.py", "solution")
    source = inspect.getsource(getattr(reference, function))
    assert source.count(old) == 1
    return source.replace(old, new)
