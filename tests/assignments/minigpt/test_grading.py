"""Is the grader right? Right answers get all points, each named mistake loses what it should and is named.

Question 8 trains a model in each grading, so the tests ask for the questions that they are about.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import math
from typing import Any

import pytest
import torch

from autograder.checks import sibling
from autograder.checks.mistakes import Hypothesis
from autograder.model import Verdict
from autograder.plan import Build, Call, Load
from autograder.seeds import Draw
from tests.assignments.grading import COURSE, Grading, describe, earned, same

CHEAP = ("1", "2", "3", "4", "5", "6", "7", "9")
grading = Grading("minigpt")
grade, variant = grading.grade, grading.variant
module = sibling(str(COURSE / "reference/minigpt/solution.py"), "checks")


# ── right and empty ─────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_reference_gets_all_points_and_a_place_on_the_leaderboard() -> None:
    """100 of 100; the validation loss lies between the entropy rate and the upper limit."""
    outcomes, examination = grading.examine(grading.reference())
    assert earned(outcomes) == 100, describe(outcomes)
    (row,) = examination.leaderboard
    assert (row.name, row.order) == ("validation loss", "asc")
    assert 0.26 < row.value < 0.85


@pytest.mark.parametrize("secret", [b"test-only: %d" % n for n in range(4)])
def test_the_reference_gets_all_points_on_other_secrets(secret: bytes) -> None:
    """Everything but the training, whatever the draws."""
    outcomes = grade(grading.reference(), *CHEAP, secret=secret)
    assert earned(outcomes) == 92, describe(outcomes)


def test_points_are_a_hundred() -> None:
    """The checks' points, and those of each question."""
    assert sum(spec.points for spec in grading.checks.specs) == 100
    assert [float(q.points) for q in grading.checks.assignment.questions] == [8, 16, 8, 20, 8, 12, 8, 8, 12]


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


@pytest.mark.parametrize("constant", [None, 0.0, "tensor", {}, [(1, 2)]])
def test_constants_get_nothing(constant: Any) -> None:
    """Functions that return one thing, whatever they are asked, earn nothing and break no check."""
    value = torch.zeros(3, dtype=torch.float64) if constant == "tensor" else constant
    outcomes = grade(grading.constant(value))
    assert not any(o.verdict is Verdict.GRADER_FAULT for o in outcomes.values()), describe(outcomes)
    assert earned(outcomes) == 0, describe(outcomes)


def zeros(value: Any) -> Any:
    """The same value with nothing but zeros in it."""
    if isinstance(value, torch.Tensor):
        return torch.zeros_like(value)
    return type(value)(map(zeros, value)) if isinstance(value, tuple | list) else type(value)(0)


def without_values(right: Any) -> Any:
    return lambda *given: zeros(right(*given))


def empty_model(right: Any) -> Any:
    """A module with all its parts, whose output is 0."""

    class Empty(right):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return zeros(super().forward(x))

    return Empty


@pytest.mark.slow
def test_zeros_of_the_right_shape_get_next_to_nothing() -> None:
    """Types and shapes alone earn nothing: whatever is asked, the same number comes back. But for Q8, which trains."""
    space = grading.reference()
    right = {name: space[name] for name in grading.functions if callable(space[name]) and name != "train"}
    for name, one in right.items():
        space[name] = empty_model(one) if isinstance(one, type) else without_values(one)
    outcomes = grade(space | {"hand": {}}, *CHEAP)
    assert not any(o.verdict is Verdict.GRADER_FAULT for o in outcomes.values()), describe(outcomes)
    assert earned(outcomes) < 1, describe(outcomes)


# ── mistakes ────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_there_are_enough_mistakes_and_alternatives() -> None:
    """More than a hundred named mistakes; at least three other right ways for each question with code."""
    assert len(grading.singles()) >= 110
    assert grading.fewest_alternatives(map(str, range(1, 9))) >= 3


@pytest.mark.parametrize("hypothesis", grading.singles(*CHEAP), ids=lambda h: h.key)
def test_each_mistake_loses_what_it_should_and_is_named(hypothesis: Hypothesis) -> None:
    """Failing checks of its question lose exactly 1 − keeps, and say its name."""
    grading.assert_loses_what_it_should(hypothesis, grade(variant(hypothesis), hypothesis.question))


@pytest.mark.slow
@pytest.mark.parametrize("hypothesis", grading.singles("8"), ids=lambda h: h.key)
def test_each_mistake_of_training_is_named_on_the_one_window(hypothesis: Hypothesis) -> None:
    """Where nothing is random the losses name the mistake; the long run declares what it loses."""
    grading.assert_loses_what_it_should(hypothesis, grade(variant(hypothesis), "8"))


@pytest.mark.parametrize(("key", "number"), [("1:low-precision", "1.4"), ("2:low-precision", "2.4")])
def test_speeds_of_16_bits_are_noticed_at_far_positions(key: str, number: str) -> None:
    """bfloat16 keeps three digits of a speed: the check with positions near 1000 fails and says so."""
    outcome = grade(variant(grading.single(key)), number[0])[number]
    assert (outcome.verdict, outcome.mistakes) == (Verdict.FAILED, ("low-precision",))


FOLLOWED = ["1:half-exponent", "1:all-ones", "1:base-fixed", "2:interleaved", "2:no-minus", "2:positions-ignored"]


@pytest.mark.parametrize("name", [*FOLLOWED, "4:cyclic", "6:post-norm", "6:relu"])
def test_a_mistake_costs_its_points_once(name: str) -> None:
    """Later questions are right on top of a student's own wrong function or class, and lose nothing."""
    hypothesis = grading.single(name)
    outcomes = grade(variant(hypothesis), *CHEAP)
    grading.assert_loses_what_it_should(hypothesis, outcomes)


@pytest.mark.parametrize("name", ["1:from-one", "1:half-exponent", "1:reversed"])
def test_a_mistake_costs_its_points_once_for_who_takes_one_row_of_speeds(name: str) -> None:
    """Positions times `rope_angles(1, d, base, 1)`: another right way to turn by the table of Q1."""
    assert grading.lost_on_the_way(name, "2:on-one-row-of-speeds") == ()


@pytest.mark.parametrize(("name", "later"), [("1:half-exponent", "2"), ("2:interleaved", "4"), ("4:cyclic", "6")])
def test_follow_through_says_on_top_of_what(name: str, later: str) -> None:
    """One test for each dependency: the later question passes, on top of the student's own."""
    hypothesis = grading.single(name)
    outcomes = grade(variant(hypothesis), *[str(q) for q in range(1, int(later) + 1)])
    on_top = [o for o in outcomes.values() if o.spec.question == later and o.on_top_of]
    assert on_top, describe(outcomes)
    assert all(o.earned == o.spec.points for o in on_top)


def test_steps_follow_the_students_own_model() -> None:
    """A model with another activation, and a step that agrees with it: the step loses nothing."""
    change = dict(grading.single("6:relu").change)
    text = grading.checks.source.definition("step")
    assert text.count("block.mlp(block.norm2(x))") == 1
    own = grading.reference(change)
    outcomes = grade(own, "6", "7")
    assert earned(outcomes, "7") == 8, describe(outcomes)
    alone = grading.reference(
        {"step": text.replace("block.mlp(block.norm2(x))", "block.mlp.proj(block.mlp.fc(block.norm2(x)).relu())")}
    )
    assert earned(grade(alone, "7"), "7") < 5, "without such a model the same step is wrong"


@pytest.mark.parametrize("names", [("2:interleaved", "4:not-scaled"), ("4:cyclic", "6:relu")])
def test_a_right_step_loses_nothing_where_two_earlier_answers_are_wrong(names: tuple[str, str]) -> None:
    """It is right on top of the student's own rotation and MLP, though neither the model nor the reference gives it."""
    outcomes = grade(variant(*map(grading.single, names)), "7")
    assert earned(outcomes, "7") == 8, describe(outcomes)


def test_a_wrong_step_is_named_beside_a_wrong_model() -> None:
    """The step is held against the right one where the student's own model does not explain it."""
    outcomes = grade(variant(grading.single("4:cyclic"), grading.single("7:square-mask")), "7")
    assert outcomes["7.3"].mistakes == ("square-mask",), describe(outcomes)


INLINE = """(lambda a, b, w: torch.cat([a * w.cos() - b * w.sin(), b * w.cos() + a * w.sin()], -1))(
                *z.chunk(2, -1), positions[:, None] * self.base ** (-2 * torch.arange(d // 2).double() / d))"""


def test_a_right_step_inline_loses_nothing_beside_a_wrong_helper() -> None:
    """Whoever writes out what an earlier answer gets wrong loses points for that answer only."""
    source = grading.checks.source
    packed = next(a for a in grading.checks.alternatives if a.name == "complex-numbers")
    rotation = grading.checks.alternative_change(packed)
    outcomes = grade(grading.reference({**rotation, **grading.single("1:half-exponent").change}), "1", "2")
    assert earned(outcomes, "2") == 16, describe(outcomes)

    text = source.definition("GroupedQueryAttention")
    attention = text.replace("self.apply_rope(z, positions, self.base)", INLINE + ".to(z.dtype)")
    assert attention != text
    change = {"GroupedQueryAttention": attention, **grading.single("2:interleaved").change}
    outcomes = grade(grading.reference(change), "2", "4")
    assert earned(outcomes, "4") == 20, describe(outcomes)
    assert earned(outcomes, "2") < 16

    space = grading.reference(grading.single("4:cyclic").change)
    exec(text.replace("GroupedQueryAttention", "Right"), space)
    exec(source.definition("GPT").replace("GroupedQueryAttention(config)", "Right(config)"), space)
    outcomes = grade(space, "4", "6")
    assert earned(outcomes, "6") == 12, describe(outcomes)
    assert earned(outcomes, "4") < 20


def test_a_model_that_forgets_gives_no_credit_for_steps() -> None:
    """Steps that agree with the student's own model earn nothing if that model ignores what was said before."""
    forgets = """class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        inner = Block(config, GroupedQueryAttention(config))
        self.config, self.tok = config, nn.Embedding(config["vocab"], config["width"])
        others = [Block(config, GroupedQueryAttention(config)) for _ in range(config["layers"] - 1)]
        self.blocks = nn.ModuleList([inner, *others])
        self.norm, self.head = nn.LayerNorm(config["width"]), nn.Linear(config["width"], config["vocab"], bias=False)

    def forward(self, ids):
        return self.head(self.norm(self.tok(ids)))
"""
    step = """def step(model, ids_new, cache):
    return model(ids_new), cache
"""
    outcomes = grade(grading.reference({"GPT": forgets, "step": step}), "7")
    assert outcomes["7.3"].earned == outcomes["7.5"].earned == 0, describe(outcomes)


def test_an_empty_helper_earns_nothing_on_top() -> None:
    """On top of a rotation that returns zeros everything looks right, so attention gets little credit for it."""
    space = grading.reference({"apply_rope": "def apply_rope(x, positions, base):\n    return torch.zeros_like(x)\n"})
    outcomes = grade(space, "1", "2", "4")
    assert earned(outcomes, "4") <= 12, describe(outcomes)
    assert not any(o.verdict is Verdict.GRADER_FAULT for o in outcomes.values())


def test_a_mistake_on_top_of_an_earlier_one_is_not_a_pair() -> None:
    """A wrong rotation in Q2 and no mask in Q4: Q4 loses for the mask only, and says on top of what."""
    outcomes = grade(variant(grading.single("2:other-direction"), grading.single("4:no-mask")), "1", "2", "4")
    assert outcomes["4.3"].mistakes == ("no-mask",), describe(outcomes)
    assert outcomes["4.3"].on_top_of == ("apply_rope",)
    assert outcomes["4.3"].earned == 3


def told_apart(question: str) -> list[Hypothesis]:
    """Pairs of which both members change the outputs, a sample of every seventh for the large question."""
    found = grading.pairs(question)
    return found[::7] if question == "4" else found[::5]


@pytest.mark.parametrize("hypothesis", told_apart("4") + told_apart("6") + told_apart("2"), ids=lambda h: h.name)
def test_pairs_are_named(hypothesis: Hypothesis) -> None:
    """Two choices at once: both are named and the losses add, or one makes the other moot and is named alone."""
    outcomes = grade(variant(hypothesis), hypothesis.question)
    failed = [o for o in outcomes.values() if o.verdict is not Verdict.PASSED]
    assert failed
    said = {o.mistakes for o in failed}
    assert len(said) == 1, describe(outcomes)
    names = set(itertools.chain.from_iterable(name.replace("|", "+").split("+") for name in said.pop()))
    assert names & set(hypothesis.names), describe(outcomes)


# ── alternatives ────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    "alternative", [a for a in grading.checks.alternatives if a.question != "8"], ids=lambda a: f"{a.question}-{a.name}"
)
def test_other_right_ways_lose_nothing(alternative: Any) -> None:
    """Loops, einsum, library functions, complex numbers, another layout of classes: all points."""
    change = grading.checks.alternative_change(alternative)
    outcomes = grade(grading.reference(change), alternative.question)
    assert all(o.earned == o.spec.points for o in outcomes.values()), describe(outcomes)


@pytest.mark.slow
@pytest.mark.parametrize(
    "alternative", [a for a in grading.checks.alternatives if a.question == "8"], ids=lambda a: a.name
)
def test_other_ways_to_train_lose_nothing(alternative: Any) -> None:
    """Another order of random numbers, other optimiser settings that mean the same: all points."""
    outcomes = grade(grading.reference(grading.checks.alternative_change(alternative)), "8")
    assert all(o.earned == o.spec.points for o in outcomes.values()), describe(outcomes)


# ── threads ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_one_thread_and_two_give_the_same_verdicts() -> None:
    """A mistake of each class that works with matrices."""
    grading.assert_threads_change_nothing(grading.with_mistakes(map(grading.single, ("4:not-scaled", "6:gelu-exact"))))


@pytest.mark.slow
def test_threads_change_no_verdict_of_mistakes_and_alternatives() -> None:
    """All of them, the training with its bands too: no verdict, no name and no point depends on threads."""
    mistakes = grading.singles(*(str(q) for q in range(1, 9)))
    grading.assert_threads_change_nothing(grading.with_mistakes(mistakes) + grading.with_alternatives())


# ── draws ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
def test_all_combinations_of_the_attention_layers_choices_differ() -> None:
    """Every combination of the wrong values of the axes of Q4 that can matter gives an output of its own."""
    axes: dict[str | None, list[Hypothesis]] = {}
    for hypothesis in grading.singles("4"):
        if hypothesis.axis is not None and hypothesis.name not in ("no-out-proj", "masked-to-zero"):
            axes.setdefault(hypothesis.axis, []).append(hypothesis)
    config, weights, x = module.usual_layers(Draw(7))[0]
    plan = module.attention_plan(config, weights, x)
    from autograder.checks.session import answer

    outputs = []
    for combination in itertools.product(*([None, *values] for values in axes.values())):
        chosen = [h for h in combination if h]
        if overlapping(chosen):
            continue
        spans = tuple(span for h in chosen for span in h.spans)
        space = dict(grading.checks.oracle.reference)
        exec(grading.checks.source.edited(spans).get("GroupedQueryAttention", "pass"), space)
        reply = answer(plan, space)
        outputs.append(torch.nan_to_num(reply.value, nan=1e3))
    assert len(outputs) > 5000
    flat = torch.stack(outputs).flatten(1)
    order = (flat @ torch.sin(torch.arange(flat.shape[1]).double())).argsort()  # equal ones become neighbours
    gaps = (flat[order][1:] - flat[order][:-1]).abs().amax(1)
    assert gaps.min() > 1e-6


def overlapping(chosen: list[Hypothesis]) -> bool:
    spans = [span for h in chosen for span in h.spans]
    return any(a.overlaps(b) for a, b in itertools.combinations(spans, 2))


# ── bands of the training ───────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("last", "unseen", "sentence"),
    [
        (0.60, [5.0, 0.62, 4.0], ""),
        (0.07, [5.0, 0.08, 4.0], module.LEAKS),
        (0.004, [0.01, 9.0, 9.0], module.COPIES),
        (0.86, [5.0, 4.0, 0.9], module.AHEAD),
        (0.10, [9.0, 6.0, 9.0], module.REPEATS),
        (1.10, [5.0, 1.1, 4.0], module.BANDS[2][2]),
        (1.49, [5.0, 1.5, 4.0], module.BANDS[3][2]),
        (2.55, [3.0, 2.6, 3.0], module.BANDS[4][2]),
        (2.79, [3.0, 2.8, 3.0], module.BANDS[5][2]),
        (3.23, [3.3, 3.2, 3.3], module.BANDS[6][2]),
        (math.nan, [9.0, 6.0, 9.0], module.REPEATS),
    ],
)
def test_each_band_of_losses_has_its_sentence(last: float, unseen: list[float], sentence: str) -> None:
    """Losses as they were measured for planted mistakes lead to the sentence about that mistake."""
    share, said = module.verdict(last, unseen)
    assert said == sentence
    assert (share == 1) == (sentence == "")


def test_no_loss_is_compared_exactly() -> None:
    """Losses are compared where nothing is random, and with a tolerance; those of the model fall into bands."""
    compared = [r for q in ("8.1", "8.3") for r in grading.recorded(grading.check(q))]
    assert compared
    assert all(r.tolerance.rtol is not None and r.tolerance.rtol >= 1e-5 for r in compared)
    assert {step.cls for r in compared for step in r.plan.steps if isinstance(step, Build)} == {"BigramModel"}
    trained = [r for q in ("8.4", "8.5") for r in grading.recorded(grading.check(q))]
    assert {r.mode for r in trained} == {"free"}, "only fetched, to be looked at from afar"


PLANTED = {
    "4:no-mask": module.LEAKS,
    "4:no-rope": module.BANDS[2][2],
    "4:not-transposed-back": module.BANDS[3][2],
    "6:no-residuals": module.BANDS[5][2],
    "8:not-shifted": module.COPIES,
    "8:two-ahead": module.AHEAD,
    "8:hardly-trained": module.BANDS[4][2],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTED)
def test_planted_mistakes_are_told_by_their_loss(name: str) -> None:
    """200 steps with a planted mistake end in its band, keep a part of the points, and the sentence says why."""
    outcome = grade(variant(grading.single(name)), "8")["8.5"]
    assert outcome.verdict is Verdict.FAILED
    assert 0 < outcome.earned < outcome.spec.points
    assert any(PLANTED[name] in text for _, text in outcome.explanation), outcome


#: Parts of the model with which it learns less, sees its target, learns nothing, gives NaN, or no logits.
UNTRAINABLE = ["2:not-rotated", "4:no-mask", "4:not-itself", "6:attention-not-residual", "6:hidden-returned"]


@pytest.mark.slow
@pytest.mark.parametrize("name", UNTRAINABLE)
def test_a_wrong_part_of_the_model_costs_nothing_in_training(name: str) -> None:
    """A right `train` keeps all points of Q8, whatever it makes of a model that has lost its own points before."""
    hypothesis = grading.single(name)
    outcomes = grade(variant(hypothesis), hypothesis.question, "8")
    assert earned(outcomes, "8") == next(q.points for q in grading.checks.assignment.questions if q.id == "8")
    assert earned(outcomes, hypothesis.question) < sum(
        o.spec.points for o in outcomes.values() if o.spec.question == hypothesis.question
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "wrong", ["8:not-shifted", "8:two-ahead", "8:last-position-only", "8:gradients-add-up", "8:no-step"]
)
def test_a_wrong_part_of_the_model_excuses_no_wrong_training(wrong: str) -> None:
    """Beside a wrong model, a `train` that is wrong by itself loses the points of the long run as well."""
    both = variant(grading.single("4:no-mask"), grading.single(wrong))
    outcome = grade(both, "4", "8")["8.5"]
    assert outcome.verdict is Verdict.FAILED
    assert outcome.earned < outcome.spec.points


@pytest.mark.slow
@pytest.mark.parametrize("question", grading.questions)
def test_the_whole_catalogue_on_other_seeds(question: str) -> None:
    """Singles, pairs, alternatives and mutants of a question, on the course's draws and two other seeds."""
    result = grading.validate(question, (None, 1, 2))
    assert result.ok, "\n".join(str(row) for row in result.failures)


# ── one source ──────────────────────────────────────────────────────────────────────────────────────────────────────
def test_public_checks_of_the_notebook_use_the_graders_inputs() -> None:
    """The notebook's public checks call, build and load exactly what the grader's public checks do."""
    calls, said = pasted()
    assert said.count("passes") == 8
    for record in grading.public_records():
        for wanted in arguments_of(record.plan):
            assert any(same(wanted, given) for given in calls), (record.plan.function, wanted)


def arguments_of(plan: Any) -> list[Any]:
    """Plain arguments, configs and weights of a plan; what refers to registers is left out."""
    steps = [s for s in plan.steps if isinstance(s, Build | Call) and s.args and getattr(s, "on", None) != "layer"]
    found = [s.args for s in steps if all(not hasattr(a, "__dataclass_fields__") and a is not None for a in s.args)]
    return found + [(s.state,) for s in plan.steps if isinstance(s, Load)]


def pasted() -> tuple[list[tuple[Any, ...]], str]:
    """Run the notebook's public checks over functions and classes that note how they are called."""
    space, calls = dict(grading.checks.oracle.reference), []

    def noting(inner: Any) -> Any:
        def call(*args: Any) -> Any:
            calls.append(args)
            made = inner(*args)
            if isinstance(made, torch.nn.Module):
                load, forward = made.load_state_dict, made.forward
                made.load_state_dict = lambda state: (calls.append((dict(state),)), load(state))[1]
                made.forward = lambda *given: (calls.append(given), forward(*given))[1]
            return made

        return call

    for name in ("BigramModel", *grading.functions):
        space[name] = noting(space[name])
    with contextlib.redirect_stdout(io.StringIO()) as said:
        for cell in grading.public_cells():
            exec(cell, space)
    return calls, said.getvalue()
