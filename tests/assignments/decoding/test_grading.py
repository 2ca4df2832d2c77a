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
import torch

from autograder.assignment import load_assignment
from autograder.checks import Checks, Examination, LocalSession, load_checks
from autograder.checks.mistakes import Hypothesis
from autograder.checks.perform import perform
from autograder.checks.room import Room
from autograder.model import Isolation, Level, Outcome, Run, Verdict
from autograder.plan import Ref, Seeded
from autograder.solution import read_solution
from autograder.validate import validate

COURSE = Path(__file__).parents[3]
SECRET = b"test-only: decoding"
STUDENT = "ada"
ZERO = Fraction(0)

Outcomes = dict[str, Outcome]


@cache
def checks() -> Checks:
    return load_checks(load_assignment(COURSE, "decoding"))


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


def pairs(question: str) -> list[Hypothesis]:
    return [h for h in checks().hypotheses if h.size == 2 and h.question == question]


def owner(number: str) -> str:
    """The function that a check of questions 6 and 7 is about; elsewhere a question has one."""
    question, _, rest = number.partition(".")
    functions = checks().assignment.question(question).functions
    return functions[-1] if question not in ("6", "7") or int(rest) > 5 else functions[0]


def assert_loses_what_it_should(hypothesis: Hypothesis, outcomes: Outcomes) -> None:
    """Failing checks of its function keep exactly `keeps`, under its name; what else fails, it declares."""
    failed = 0
    for outcome in outcomes.values():
        if owner(outcome.spec.number) not in hypothesis.functions:
            right = outcome.earned == outcome.spec.points
            assert right or outcome.spec.question in hypothesis.spills, describe(outcomes)
        elif outcome.verdict is not Verdict.PASSED:
            assert outcome.verdict is Verdict.FAILED, describe(outcomes)
            assert outcome.mistakes == hypothesis.names, describe(outcomes)
            assert outcome.earned == hypothesis.keeps * outcome.spec.points
            failed += 1
    assert failed


# ── right and empty ─────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_reference_gets_all_points() -> None:
    """100 of 100."""
    outcomes = grade(checks().source.namespace())
    assert earned(outcomes) == 100, describe(outcomes)


@pytest.mark.slow
@pytest.mark.parametrize("secret", [b"test-only: %d" % n for n in range(5)])
def test_the_reference_gets_all_points_on_five_secrets(secret: bytes) -> None:
    """100 of 100, whatever the draws."""
    outcomes = grade(checks().source.namespace(), secret=secret)
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
    """Failing checks of its question lose exactly 1 − keeps, and say its name."""
    assert_loses_what_it_should(hypothesis, grade(variant(hypothesis), hypothesis.question))


@pytest.mark.parametrize("name", ["6:multiplied", "6:p-before-k", "7:base-two", "7:end-missing", "7:mean"])
def test_a_mistake_costs_its_points_once(name: str) -> None:
    """`sample_one` and `rescore` are right on top of a student's own wrong function, and lose nothing."""
    hypothesis = next(h for h in singles() if h.key == name)
    outcomes = grade(variant(hypothesis), hypothesis.question)
    assert_loses_what_it_should(hypothesis, outcomes)
    assert any(o.on_top_of for o in outcomes.values()), describe(outcomes)


def test_the_right_step_inline_beats_a_wrong_helper() -> None:
    """A student whose `sequence_logprob` is wrong, and who scores right inside `rescore`, loses nothing there."""
    hypothesis = next(h for h in singles() if h.key == "7:base-two")
    inline = next(a for a in checks().alternatives if a.name == "inline-scores")
    change = {**hypothesis.change, **checks().alternative_change(inline)}
    outcomes = grade(checks().source.namespace(change), "7")
    assert all(o.verdict is Verdict.PASSED for n, o in outcomes.items() if owner(n) == "rescore"), describe(outcomes)


def test_an_empty_helper_earns_nothing_on_top() -> None:
    """On top of a warp that returns zeros everything looks right, so `sample_one` gets next to nothing for it."""
    outcomes = grade(
        checks().source.namespace({"warp": "def warp(logits, *knobs):\n    return torch.zeros_like(logits)\n"}), "6"
    )
    assert earned(outcomes, "6") <= 2, describe(outcomes)


@pytest.mark.parametrize("question", ["6", "8"])
def test_pairs_of_mistakes_are_named(question: str) -> None:
    """Some pairs of choices, spread over the list: both names are told, and the losses add."""
    for hypothesis in [h for h in pairs(question) if not moot(h)][::9]:
        assert_loses_what_it_should(hypothesis, grade(variant(hypothesis), question))


def moot(hypothesis: Hypothesis) -> bool:
    """One of its edits makes the other one pointless."""
    silent = {"top-p-ignored", "residual-softmax", "residual-p"} & set(hypothesis.names)
    return bool(silent) or any(name.endswith("-ignored") for name in hypothesis.names)


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
    outcomes = grade(checks().source.namespace({"best_path": forged}), "3")
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
    outcomes = grade(checks().source.namespace({"ancestral": own}), "2")
    assert outcomes["2.3"].mistakes == ("sharpened",), describe(outcomes)
    assert earned(outcomes) == 12 - Fraction(4, 10) * outcomes["2.3"].spec.points


# ── alternatives ────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("alternative", checks().alternatives, ids=lambda a: f"{a.question}-{a.name}")
def test_other_right_ways_lose_nothing(alternative: Any) -> None:
    """Loops, einsum, library functions: all points, but for what an alternative declares to forfeit."""
    change = checks().alternative_change(alternative)
    outcomes = grade(checks().source.namespace(change), alternative.question)
    lost = {number for number, o in outcomes.items() if o.earned != o.spec.points}
    assert lost == set(alternative.forfeits), describe(outcomes)


# ── draws ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_no_pair_of_search_mistakes_is_left_unseparated() -> None:
    """The pools of the separating draws tell every two mistakes of a function apart."""
    grade(checks().source.namespace(), "1", "3", "4", "5")
    assert [pair for pairs in checks().rarest.values() for pair, times in pairs.items() if times < 1] == []


@pytest.mark.slow
@pytest.mark.parametrize("question", [question.id for question in checks().assignment.questions])
def test_the_whole_catalogue_on_other_seeds(question: str) -> None:
    """Singles, pairs, alternatives and mutants of a question, on the course's draws and three other seeds."""
    result = validate(checks(), secret=SECRET, seeds=(None, 1, 2, 3), question=question)
    assert result.ok, "\n".join(str(row) for row in result.failures)


# ── one source ──────────────────────────────────────────────────────────────────────────────────────────────────────
def test_public_checks_of_the_notebook_use_the_graders_inputs() -> None:
    """The notebook's public checks call each function with exactly the inputs of the grader's public checks."""
    graded = [record for check in checks().checks if check.spec.public for record in recorded(check)]
    pasted = pasted_calls()
    assert {record.plan.function for record in graded} == {name for name, _ in pasted}
    for record in graded:
        step = record.plan.steps[-1]
        given = [bound(argument, record.plan.steps) for argument in step.args]
        assert any(name == step.function and same(given, arguments) for name, arguments in pasted), step.function


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


def recorded(check: Any) -> list[Any]:
    room = Room(checks(), SECRET, STUDENT)
    return perform(check, room).desk.records


def pasted_calls() -> list[tuple[str, tuple[Any, ...]]]:
    """Run the public cells of solution.py over functions that note how they are called."""
    cells = [cell for cell in read_solution(COURSE / "reference/decoding/solution.py") if cell.role == "public-check"]
    assert len(cells) == 8
    space, calls = dict(checks().oracle.reference), []
    for question in checks().assignment.questions[:8]:
        for name in question.functions:

            def noting(*args: Any, name: str = name, inner: Any = space[name]) -> Any:
                calls.append((name, args))
                return inner(*args)

            space[name] = noting
    with contextlib.redirect_stdout(io.StringIO()) as said:
        for cell in cells:
            exec(cell.source, space)
    assert said.getvalue().count("passes") == 8
    return calls


def same(given: Any, pasted: Any) -> bool:
    return len(given) == len(pasted) and all(
        torch.equal(x, y) if isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor) else x == shown(y)
        for x, y in zip(given, pasted, strict=True)
    )
