"""Is the grader right? Right answers get all points, each named mistake loses what it should and is named."""

from __future__ import annotations

import contextlib
import io
import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from autograder.assignment import load_assignment
from autograder.checks import Checks, Examination, LocalSession, load_checks
from autograder.checks.mistakes import Hypothesis
from autograder.checks.perform import perform
from autograder.checks.room import Room
from autograder.model import Isolation, Level, Outcome, Run, Verdict
from autograder.solution import read_solution
from autograder.validate import validate

COURSE = Path(__file__).parents[3]
SECRET = b"test-only: noisy_channel"
STUDENT = "ada"
ZERO = Fraction(0)
CODE = [str(n) for n in range(1, 10)]

Outcomes = dict[str, Outcome]


@cache
def checks() -> Checks:
    return load_checks(load_assignment(COURSE, "noisy_channel"))


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def grade(namespace: Mapping[str, Any], *questions: str, secret: bytes = SECRET) -> Outcomes:
    """Grade a namespace as if a notebook had defined it; all questions, or only these."""
    run = Run((), None, Isolation(Level.C, ()))
    examination = Examination(checks(), LocalSession(namespace), run, secret=secret, student_id=STUDENT)
    asked = questions or tuple(question.id for question in checks().assignment.questions)
    return {o.spec.number: o for question in asked for o in examination.question(question)}


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


def single(key: str) -> Hypothesis:
    return next(h for h in singles() if h.key == key)


def assert_loses_what_it_should(hypothesis: Hypothesis, outcomes: Outcomes) -> None:
    """Failing checks of its question keep exactly `keeps`, under its name; what else fails, it declares."""
    failed = 0
    for outcome in outcomes.values():
        if outcome.spec.question != hypothesis.question:
            right = outcome.earned == outcome.spec.points
            assert right or outcome.spec.question in hypothesis.spills, describe(outcomes)
        elif outcome.verdict is not Verdict.PASSED:
            assert outcome.verdict is Verdict.FAILED, describe(outcomes)
            assert outcome.mistakes == hypothesis.names, describe(outcomes)
            assert outcome.earned == hypothesis.keeps * outcome.spec.points
            failed += 1
    assert failed


# ── right and empty ─────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("secret", [b"test-only: %d" % n for n in range(2)])
def test_the_reference_gets_all_points(secret: bytes) -> None:
    """100 of 100, whatever the draws."""
    outcomes = grade(checks().source.namespace(), secret=secret)
    assert earned(outcomes) == 100, describe(outcomes)


def test_points_are_a_hundred_and_split_as_promised() -> None:
    """Per question about 20 % special cases and 10 % laws; the rest are types, values and effort."""
    specs = checks().specs
    assert sum(spec.points for spec in specs) == 100
    for question in checks().assignment.questions[:9]:
        mine = [spec for spec in specs if spec.question == question.id]
        for tag, share in (("edge", 0.2), ("property", 0.1)):
            points = float(sum(spec.points for spec in mine if tag in spec.tags))
            assert abs(points - share * float(question.points)) <= 1.5, (question.id, tag)


def test_an_empty_notebook_gets_nothing() -> None:
    """Functions that raise NotImplementedError and a hand of Nones: 0 points, and every check says what to write."""

    def unwritten(*args: Any, **kwargs: Any) -> None:
        raise NotImplementedError

    names = [name for question in checks().assignment.questions for name in question.functions]
    space: dict[str, Any] = dict.fromkeys(names, unwritten) | {"hand": {"H1": None, "H2": None, "H3": None}}
    outcomes = grade(space)
    assert earned(outcomes) == 0
    assert {o.verdict for o in outcomes.values()} == {Verdict.BLOCKED}, describe(outcomes)


@pytest.mark.parametrize("constant", [None, 0.0, 1.0, "table", {}, [], "pair", -math.inf], ids=str)
def test_constants_get_next_to_nothing(constant: Any) -> None:
    """Functions that return one thing, whatever they are asked, break no check and earn types and chance only."""
    value = {"table": torch.full((3, 4), 0.25), "pair": ({}, {})}.get(constant, constant) if constant else constant
    names = [name for question in checks().assignment.questions for name in question.functions]
    outcomes = grade({name: lambda *args, **kwargs: value for name in names} | {"hand": {}})
    assert not any(o.verdict is Verdict.GRADER_FAULT for o in outcomes.values()), describe(outcomes)
    assert earned(outcomes) <= 6, describe(outcomes)


# ── mistakes ────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_there_are_enough_mistakes_and_alternatives() -> None:
    """At least 90 named mistakes; at least three other right ways for each question with code."""
    assert len(singles()) >= 90
    counts = [sum(a.question == q for a in checks().alternatives) for q in CODE]
    assert min(counts) >= 3


@pytest.mark.parametrize("hypothesis", singles(), ids=lambda h: h.key)
def test_each_mistake_loses_what_it_should_and_is_named(hypothesis: Hypothesis) -> None:
    """Failing checks of its question lose exactly 1 − keeps, and say its name."""
    assert_loses_what_it_should(hypothesis, grade(variant(hypothesis), hypothesis.question))


@pytest.mark.parametrize(
    ("name", "helper", "question"),
    [
        ("2:joint", "mle_prob", "4"),
        ("2:no-vocabulary", "addk_prob", "4"),
        ("2:v-not-times-k", "addk_prob", "9"),
        ("1:several-end-symbols", "count_ngrams", "9"),
        ("1:once-per-sentence", "count_ngrams", "9"),
        ("2:counts-start", "vocab_size", "9"),
        ("6:not-sorted", "candidates", "9"),
        ("7:sub-reversed", "channel_logprob", "9"),
        ("8:forgets-end", "decode", "9"),
    ],
)
def test_a_mistake_costs_its_points_once(name: str, helper: str, question: str) -> None:
    """Later questions are right on top of a student's own wrong function, and lose nothing."""
    hypothesis = single(name)
    assert hypothesis.functions == {helper}
    outcomes = grade(variant(hypothesis), hypothesis.question, question)
    assert_loses_what_it_should(hypothesis, outcomes)
    assert earned(outcomes, question) == checks().assignment.question(question).points, describe(outcomes)


def test_the_right_step_inline_loses_nothing_beside_a_wrong_helper() -> None:
    """A perplexity that does its own right division is right, although mle_prob and addk_prob are wrong."""
    space = variant(single("2:joint"))
    space["perplexity"] = checks().oracle.reference["perplexity"]
    outcomes = grade(space, "2", "4")
    assert earned(outcomes, "4") == 10, describe(outcomes)
    assert earned(outcomes, "2") < 14


def test_an_empty_helper_earns_nothing_on_top() -> None:
    """On top of probabilities that are all 0 every perplexity is inf, so no credit follows from that."""
    change = {
        "mle_prob": "def mle_prob(w, h, c, ctx):\n    return 0.0\n",
        "addk_prob": "def addk_prob(w, h, c, ctx, V, k):\n    return 0.0\n",
    }
    outcomes = grade(checks().source.namespace(change), "2", "4")
    assert earned(outcomes, "4") <= 7, describe(outcomes)


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
        outcomes = grade({**checks().source.namespace(), "fit_bigram_autodiff": function}, "5")
        assert outcomes["5.3"].mistakes == (name,), describe(outcomes)
        assert float(outcomes["5.3"].earned) == pytest.approx(6 * keeps)


@pytest.mark.parametrize("question", ["1", "3"])
def test_pairs_are_named(question: str) -> None:
    """All pairs of edits of a question are told apart, and the losses add, unless one edit hides the other."""
    result = validate(checks(), secret=SECRET, seeds=(None,), question=question, with_mutants=False)
    assert result.share("pair")[1] > 15
    assert result.ok, "\n".join(str(row) for row in result.failures)


# ── alternatives ────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("alternative", checks().alternatives, ids=lambda a: f"{a.question}-{a.name}")
def test_other_right_ways_lose_nothing(alternative: Any) -> None:
    """Loops, counters, other searches: all points, but for what an alternative declares to forfeit."""
    change = checks().alternative_change(alternative)
    outcomes = grade(checks().source.namespace(change), alternative.question)
    lost = {number for number, o in outcomes.items() if o.earned != o.spec.points}
    assert lost == set(alternative.forfeits), describe(outcomes)


# ── draws ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("number", ["7.3", "8.3"])
def test_every_two_mistakes_differ_on_two_draws(number: str) -> None:
    """The picked draws separate the reference and all single mistakes from each other at least twice."""
    check = next(check for check in checks().checks if check.spec.number == number)
    perform(check, Room(checks(), SECRET, STUDENT))
    assert checks().rarest[number] == {}


@pytest.mark.slow
@pytest.mark.parametrize("question", [question.id for question in checks().assignment.questions])
def test_the_whole_catalogue_on_other_seeds(question: str) -> None:
    """Singles, pairs, alternatives and mutants of a question, on the course's draws and three other seeds."""
    result = validate(checks(), secret=SECRET, seeds=(None, 1, 2, 3), question=question)
    assert result.ok, "\n".join(str(row) for row in result.failures)


# ── one source ──────────────────────────────────────────────────────────────────────────────────────────────────────
def test_public_checks_of_the_notebook_use_the_graders_inputs() -> None:
    """The notebook's public checks call each function with exactly the inputs of the grader's public checks."""
    public = [check for check in checks().checks if check.spec.public]
    graded = [r for check in public for r in perform(check, Room(checks(), SECRET, STUDENT)).desk.records]
    pasted = pasted_calls()
    assert {record.plan.function for record in graded} == {name for name, _ in pasted}
    for record in graded:
        step = record.plan.steps[0]
        assert any(name == step.function and same(arguments, step.args) for name, arguments in pasted), step


def pasted_calls() -> list[tuple[str, tuple[Any, ...]]]:
    """Run the public cells of solution.py over functions that note how they are called."""
    path = COURSE / "reference/noisy_channel/solution.py"
    cells = [cell for cell in read_solution(path) if cell.role == "public-check"]
    assert len(cells) == 9
    space, calls = dict(checks().oracle.reference), []
    for question in checks().assignment.questions[:9]:
        for name in question.functions:

            def noting(*args: Any, name: str = name, inner: Any = space[name]) -> Any:
                calls.append((name, args))
                return inner(*args)

            space[name] = noting
    with contextlib.redirect_stdout(io.StringIO()) as said:
        for cell in cells:
            exec(cell.source, space)
    assert said.getvalue().count("passes") == 9
    return calls


def same(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    return len(a) == len(b) and all(
        torch.equal(x, y) if isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor) else x == y
        for x, y in zip(a, b, strict=True)
    )
