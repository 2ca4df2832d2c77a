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

grading = Grading("lstm")
grade, variant = grading.grade, grading.variant


# ── right and empty ─────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("secret", [b"test-only: %d" % n for n in range(5)])
def test_the_reference_gets_all_points_on_five_secrets(secret: bytes) -> None:
    """100 of 100, whatever the draws."""
    outcomes = grade(grading.reference(), secret=secret)
    assert earned(outcomes) == 100, describe(outcomes)


def test_points_are_a_hundred_and_split_as_promised() -> None:
    """About 20 % special cases and 10 % laws where a question is about a function of inputs."""
    assert sum(spec.points for spec in grading.checks.specs) == 100
    grading.assert_shares(grading.questions[1:5], within=1, edge=0.2, property=0.1)


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
    """Functions that return one thing, whatever they are asked, earn nothing."""
    value = torch.zeros(3, dtype=torch.float64) if constant == "tensor" else constant
    outcomes = grade(grading.constant(value))
    assert {o.verdict for o in outcomes.values()} <= {Verdict.FAILED, Verdict.BLOCKED}, describe(outcomes)
    assert earned(outcomes) == 0, describe(outcomes)


def zeros(value: Any) -> Any:
    """The same value with nothing but zeros in it."""
    if isinstance(value, torch.Tensor):
        return torch.zeros_like(value)
    if isinstance(value, dict):
        return {key: zeros(item) for key, item in value.items()}
    return tuple(map(zeros, value)) if isinstance(value, tuple) else type(value)(0)


def without_values(right: Any) -> Any:
    return lambda *given: zeros(right(*given))


def test_zeros_of_the_right_shape_get_nothing() -> None:
    """Types and shapes alone earn nothing, and weights that nobody has set have no name among the mistakes."""
    space = grading.reference()
    for name in set(grading.functions) - {"hand"}:
        space[name] = without_values(space[name])
    outcomes = grade(space | {"hand": {}})
    assert not any(o.verdict is Verdict.GRADER_FAULT for o in outcomes.values()), describe(outcomes)
    assert earned(outcomes) == 0, describe(outcomes)


# ── mistakes ────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_there_are_enough_mistakes_and_alternatives() -> None:
    """At least 15 named mistakes; at least three other right ways for each question with code."""
    assert len(grading.singles()) >= 110
    assert grading.fewest_alternatives(map(str, range(1, 8))) >= 3


@pytest.mark.parametrize("hypothesis", grading.singles(), ids=lambda h: h.key)
def test_each_mistake_loses_what_it_should_and_is_named(hypothesis: Hypothesis) -> None:
    """Failing checks of its question lose exactly 1 − keeps, and say its name."""
    grading.assert_loses_what_it_should(hypothesis, grade(variant(hypothesis), hypothesis.question))


@pytest.mark.parametrize("name", ["4:order-ifog", "4:ih-only", "4:linear-candidate", "4:old-cell"])
def test_a_mistake_costs_its_points_once(name: str) -> None:
    """The batch of Q5 is right on top of a student's own wrong cell, and loses nothing."""
    hypothesis = grading.single(name)
    outcomes = grade(variant(hypothesis), "4", "5")
    grading.assert_loses_what_it_should(hypothesis, outcomes)
    assert any(o.on_top_of for o in outcomes.values())


def test_a_right_step_inline_loses_nothing_beside_a_wrong_cell() -> None:
    """Whoever calls the library in Q5 and gets the cell of Q4 wrong loses points in Q4 only."""
    packed = next(a for a in grading.checks.alternatives if a.name == "packed")
    wrong = grading.single("4:order-ifog")
    outcomes = grade(grading.reference({**grading.checks.alternative_change(packed), **wrong.change}), "4", "5")
    assert earned(outcomes, "5") == 14, describe(outcomes)
    assert earned(outcomes, "4") < 20


def test_both_mistakes_are_named_when_the_cell_and_the_batch_are_wrong() -> None:
    """A wrong batch on top of a wrong cell: each is named in its own question."""
    found = [grading.single(key) for key in ("4:order-ifog", "5:ignores-h0")]
    outcomes = grade(grading.reference({**found[0].change, **found[1].change}), "4", "5")
    values = outcomes["4.3"], outcomes["5.3"]
    assert [o.mistakes for o in values] == [("order-ifog",), ("ignores-h0",)], describe(outcomes)
    assert values[1].on_top_of == ("lstm_cell",)


def test_an_empty_cell_earns_nothing_on_top() -> None:
    """On top of a cell that returns zeros nothing can be told, and right shapes alone are worth nothing."""
    text = "def lstm_cell(x, h, c, W_ih, W_hh, b_ih, b_hh):\n    return torch.zeros_like(h), torch.zeros_like(c)\n"
    outcomes = grade(grading.reference({"lstm_cell": text}), "4", "5")
    assert earned(outcomes) == 0, describe(outcomes)


SAMPLE = grading.pairs("4")[::9]


@pytest.mark.parametrize("hypothesis", SAMPLE, ids=lambda h: h.name)
def test_pairs_of_cell_mistakes_are_named(hypothesis: Hypothesis) -> None:
    """Every ninth of the pairs of choices of lstm_cell (the slow sweep takes all): both are named, the losses add."""
    outcomes = grade(variant(hypothesis), "4")
    names = {h.name for h in grading.pairs("4") if alike(h, hypothesis)}
    for outcome in outcomes.values():
        if outcome.verdict is not Verdict.PASSED:
            assert set("+".join(outcome.mistakes).split("|")) & names, describe(outcomes)
            assert outcome.earned == hypothesis.keeps * outcome.spec.points


def alike(one: Hypothesis, other: Hypothesis) -> bool:
    """The same pair, or its twin with i and g exchanged beside a sigmoid candidate."""
    twins = [set(same.names) for same in grading.checks.same]
    return one is other or {one.name, other.name} in twins


# ── weights set by hand ─────────────────────────────────────────────────────────────────────────────────────────────
def floats(**tables: list) -> dict[str, torch.Tensor]:
    return {name: torch.tensor(rows) for name, rows in tables.items()}


@pytest.mark.parametrize(
    ("name", "weights"),
    [
        ("or-instead-of-and", floats(Whx=[[3.0, 0.0], [0.0, 2.0]], bh=[0.0, 0.0], Wyh=[[5.0, 4.0]], by=[0.0])),
        ("or-instead-of-and", floats(Whx=[[1.0, 1.0], [0.0, 0.0]], bh=[0.0, 0.0], Wyh=[[2.0, 0.0]], by=[0.0])),
        ("needs-same-time", floats(Whx=[[1.0, 1.0], [0.0, 0.0]], bh=[-1.0, 0.0], Wyh=[[1.0, 0.0]], by=[0.0])),
        ("first-input-only", floats(Whx=[[0.0, 1.0], [1.0, 0.0]], bh=[0.0, 0.0], Wyh=[[0.0, 3.0]], by=[0.0])),
    ],
)
def test_a_mistake_is_known_by_what_the_network_does(name: str, weights: dict[str, torch.Tensor]) -> None:
    """Other numbers, same behaviour: the name and the share of the catalogue's own weights."""
    outcomes = grade({"rnn_both_seen": lambda: weights}, "1")
    assert outcomes["1.3"].mistakes == (name,), describe(outcomes)


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("accumulates", [[30.0, 0.0, -15.0], [44.0, 0.0, 22.0], [0.0, 0.0, 18.0], [0.0, 0.0, 25.0]]),
        ("leaks", [[40.0, -80.0, -20.0], [40.0, 0.0, 0.7], [0.0, 0.0, 20.0], [0.0, 0.0, 20.0]]),
        ("output-half-open", [[50.0, -190.0, -25.0], [50.0, 0.0, 25.0], [0.0, 0.0, 30.0], [0.0, 0.0, 0.0]]),
        ("weights-too-small", [[18.0, -36.0, -9.0], [18.0, 0.0, 9.0], [0.0, 0.0, 9.0], [0.0, 0.0, 9.0]]),
        ("weights-far-too-small", [[10.0, -20.0, -5.0], [10.0, 0.0, 5.0], [0.0, 0.0, 5.0], [0.0, 0.0, 5.0]]),
        ("never-resets", [[60.0, -99.0, -30.0], [5.0, 0.0, 40.0], [0.0, 0.0, 40.0], [0.0, 0.0, 40.0]]),
    ],
)
def test_a_wrong_latch_is_known_by_what_it_does(name: str, rows: list) -> None:
    """The same for the latch: the gates are looked at through their effect."""
    table = torch.tensor(rows)
    outcomes = grade({"latch": lambda: {"W_ih": table[:, :1], "W_hh": table[:, 1:2], "b": table[:, 2]}}, "6")
    assert outcomes["6.3"].mistakes == (name,), describe(outcomes)


def test_weights_without_a_name_get_their_share_of_the_sequences() -> None:
    """4 points times the share of right sequences, when no mistake explains the rest."""
    weights = floats(Whx=[[1.0, 0.5], [0.0, 1.0]], bh=[0.0, 0.0], Wyh=[[1.0, 1.0]], by=[-1.0])
    outcome = grade({"rnn_both_seen": lambda: weights}, "1")["1.3"]
    assert outcome.mistakes == ()
    assert 0 < outcome.earned < 4


@pytest.mark.parametrize("value", [{}, {"Whx": 1}, floats(Whx=[[1.0]], bh=[0.0], Wyh=[[1.0]], by=[math.nan]), 7])
def test_malformed_weights_fail_and_break_nothing(value: Any) -> None:
    """Missing keys, wrong shapes, nan, no dict: FAILED throughout, never a fault of the grader."""
    outcomes = grade({"rnn_both_seen": lambda: value, "latch": lambda: value}, "1", "6")
    assert {o.verdict for o in outcomes.values()} == {Verdict.FAILED}, describe(outcomes)
    assert earned(outcomes) == 0


# ── alternatives ────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("alternative", grading.checks.alternatives, ids=lambda a: f"{a.question}-{a.name}")
def test_other_right_ways_lose_nothing(alternative: Any) -> None:
    """Loops, einsum, library functions: all points, but for what an alternative declares to forfeit."""
    grading.assert_loses_nothing(alternative)


# ── threads ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_one_thread_and_two_give_the_same_verdicts() -> None:
    """Every twentieth mistake: no verdict, no name and no point depends on threads."""
    grading.assert_threads_change_nothing(grading.with_mistakes(grading.singles()[::20]))


@pytest.mark.slow
def test_threads_change_no_verdict_of_mistakes_and_alternatives() -> None:
    """All of them."""
    grading.assert_threads_change_nothing(grading.with_mistakes(grading.singles()) + grading.with_alternatives())


# ── draws ───────────────────────────────────────────────────────────────────────────────────────────────────────────
ORDERS = list(itertools.permutations(range(4)))


def cell_outputs(x: Any, h: Any, c: Any, W_ih: Any, W_hh: Any, b_ih: Any, b_hh: Any, full: bool) -> torch.Tensor:
    """Outputs of a cell for all combinations of its choices, written apart from the reference. → (combinations, …)"""
    sig, tanh = torch.sigmoid, torch.tanh
    plain = x @ W_ih.T + h @ W_hh.T
    biases = [b_ih + b_hh, b_ih, b_hh, 0 * b_ih] if full else [b_ih + b_hh, b_ih]
    candidates = [tanh, sig, lambda z: z] if full else [tanh, sig]
    shows = [tanh, lambda z: z, sig] if full else [tanh, lambda z: z]
    updates = [lambda i, f, g: f * c + i * g]
    if full:
        updates += [
            lambda i, f, g: f * c + (1 - f) * g,
            lambda i, f, g: c + i * g,
            lambda i, f, g: f * c + g,
        ]
    found = []
    for bias, order, candidate, show, update in itertools.product(biases, ORDERS, candidates, shows, updates):
        parts = (plain + bias).chunk(4, dim=1)
        i, f, g, o = (parts[k] for k in order)
        new = update(sig(i), sig(f), candidate(g))
        for source in (new, c) if full else (new,):
            found.append(torch.cat([sig(o) * show(source), new]).flatten())
    return torch.stack(found)


@pytest.mark.parametrize(("full", "combinations", "distinct"), [(False, 192, 144), (True, 6912, 6336)])
def test_the_drawn_cells_tell_all_combinations_of_choices_apart(full: bool, combinations: int, distinct: int) -> None:
    """All outputs differ, but where i and g can be exchanged because both go through a sigmoid: 144, and 6336."""
    module = grading.checks.checks[0].function.__globals__
    for arguments in module["usual_cells"](Draw(7))[1:]:
        outputs = cell_outputs(*arguments, full=full)
        assert len(outputs) == combinations
        assert len(torch.unique(outputs.round(decimals=5), dim=0)) == distinct


def test_the_catalogue_holds_the_choices_of_the_product() -> None:
    """34 single edits of the cell in six axes, 300 pairs, and 11 twins."""
    of_axes = [h for h in grading.singles() if h.question == "4" and h.axis is not None]
    axes = [len(list(group)) for _, group in itertools.groupby(of_axes, key=lambda h: h.axis)]
    assert axes == [23, 3, 2, 2, 3, 1]
    assert len([same for same in grading.checks.same if same.question == "4"]) == 11


@pytest.mark.slow
@pytest.mark.parametrize("question", grading.questions)
def test_the_whole_catalogue_on_other_seeds(question: str) -> None:
    """Singles, pairs, alternatives and mutants of a question, on the course's draws and three other seeds."""
    result = grading.validate(question, (None, 1, 2, 3))
    assert result.ok, "\n".join(str(row) for row in result.failures)


# ── one source ──────────────────────────────────────────────────────────────────────────────────────────────────────
def test_public_checks_of_the_notebook_use_the_graders_inputs() -> None:
    """The notebook's public checks call each function with exactly the inputs of the grader's public checks."""
    grading.assert_public_checks_agree(7)
