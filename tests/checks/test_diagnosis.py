"""Named mistakes, pairs of them, and what they leave; follow-through with its guard."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from autograder.checks.mistakes import hypotheses
from autograder.errors import CourseError
from autograder.model import Verdict

from .conftest import Scripted

SOLUTION = """
import torch

def scores(q, k):
    d = q.shape[-1]
    raw = q @ k.transpose(-2, -1)
    return raw / d**0.5

def weights(q, k, *, scores=scores):
    s = scores(q, k)
    e = torch.exp(s - s.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)
"""

CHECKS = '''
def pairs(draw):
    return draw.normal(5, 8), draw.normal(7, 8)

class A(Question):
    question = "1"
    @number("1.1")
    @weight(1)
    def test_shape(self):
        """One score a pair."""
        for q, k in self.draws(pairs, times=2):
            self.contract("scores", q, k)
    @number("1.2")
    @weight(3)
    def test_values(self):
        """Scores are scaled products."""
        for q, k in self.draws(pairs, times=4):
            self.agree("scores", q, k)

class B(Question):
    question = "2"
    @number("2.1")
    @weight(2)
    def test_values(self):
        """Weights are a softmax of the scores."""
        for q, k in self.draws(pairs, times=3):
            self.agree("weights", q, k)
    @number("2.2")
    @weight(1)
    def test_rows(self):
        """Rows sum to 1."""
        for q, k in self.draws(pairs, times=2):
            w = self.tensor(self.call("weights", q, k), 5, 7)
            self.expect(torch.allclose(w.sum(-1), torch.ones(5, dtype=w.dtype)), "Rows sum to 1.")
'''

MISTAKES = """
MISTAKES = [
    Axis("scale", question="1", function="scores", mistakes=[
        Mistake("not-scaled", replace=" / d**0.5", by="", keeps=0.7, hint="Divide by √d."),
        Mistake("by-d", replace="d**0.5", by="d", keeps=0.6, hint="√d, not d."),
    ]),
    Axis("sign", question="1", function="scores", mistakes=[
        Mistake("negative", replace="raw = q", by="raw = -q", keeps=0.6, hint="No minus."),
    ]),
    Mistake("flat", question="1", function="scores", replace="raw / d**0.5", by="raw.sum() / d**0.5", keeps=0.2,
            hint="One score a pair.", spills=("2",)),
    Mistake("not-normalised", question="2", function="weights", replace=" / e.sum(-1, keepdim=True)", by="", keeps=0.5,
            hint="Divide by the sum."),
    Mistake("over-queries", question="2", function="weights", replace="e.sum(-1,", by="e.sum(-2,", keeps=0.4,
            hint="One row per query."),
]
"""
POINTS = {"1": 4, "2": 3}


@pytest.fixture
def tiny(course: Any) -> Any:
    return course(
        CHECKS,
        solution=SOLUTION,
        mistakes=MISTAKES,
        points=POINTS,
        functions={"1": ("scores",), "2": ("weights",)},
    )


def student(tiny: Any, text: str, *names: str) -> Any:
    """A student who wrote these definitions, in the order of the reference."""
    change = dict.fromkeys(names[1:], "") | {names[0]: text}
    return tiny.outcomes(Scripted(tiny.checks.source.namespace(change)))


def test_every_single_and_pair_loses_exactly_what_it_should(tiny: Any) -> None:
    """Each failing check leaves keeps × its points; for a pair the losses add, and never fall below 0."""
    singles = {h.name: h.keeps for h in tiny.checks.hypotheses if h.size == 1}
    seen = set()
    for hypothesis in tiny.checks.hypotheses:
        outcomes = tiny.outcomes(Scripted(tiny.checks.source.namespace(hypothesis.change)))
        failing = [
            o for o in outcomes.values() if o.verdict is Verdict.FAILED and o.spec.question == hypothesis.question
        ]
        assert failing, hypothesis.name
        losses = sum((1 - singles[name] for name in hypothesis.names), Fraction(0))
        for outcome in failing:
            assert outcome.mistakes == hypothesis.names
            assert outcome.earned == max(Fraction(0), 1 - losses) * outcome.spec.points
        seen.add(hypothesis.size)
    assert seen == {1, 2}


def test_pairs_join_edits_of_different_axes_at_different_places(tiny: Any) -> None:
    """Edits of one axis exclude each other; overlapping edits can't both be made."""
    pairs = {h.name for h in tiny.checks.hypotheses if h.size == 2}
    assert pairs == {"not-scaled+negative", "by-d+negative", "negative+flat"}


def test_the_hints_of_both_mistakes_are_given(tiny: Any) -> None:
    """One sentence for each."""
    outcomes = student(tiny, "def scores(q, k):\n    return -q @ k.mT\n", "scores")
    assert outcomes["1.2"].hints == ("Divide by √d.", "No minus.")
    assert outcomes["1.2"].earned == Fraction(3, 10) * 3


def test_without_a_diagnosis_nothing_is_left(tiny: Any) -> None:
    """A mistake that nobody listed."""
    outcomes = student(tiny, "def scores(q, k):\n    return q @ k.mT + 3 * q.sum()\n", "scores")
    assert (outcomes["1.2"].earned, outcomes["1.2"].mistakes) == (0, ())


def test_a_mistake_has_to_fit_all_draws_of_the_failing_checks(tiny: Any) -> None:
    """Right on most, one mistake's on some: no name."""
    text = "def scores(q, k):\n    s = q @ k.mT\n    return s if q[0, 0] > 0 else 2 * s\n"
    assert student(tiny, text, "scores")["1.2"].mistakes == ()


def test_an_exception_is_a_mistake_like_any_other(course: Any) -> None:
    """A student's exception comes back as a class name, and so does an edit's."""
    solution = "def double(x):\n    return 0 if x == 0 else 2 / x\n"
    checks = '''
class A(Question):
    question = "1"
    @number("1.1")
    @weight(2)
    def test_zero(self):
        """0 gives 0."""
        for x in (0, 1, 0.5):
            self.agree("double", x)
'''
    mistakes = """
MISTAKES = [
    Mistake("divides", question="1", function="double", replace="0 if x == 0 else ", by="", keeps=0.5, hint="h")
]
"""
    tiny = course(checks, solution=solution, mistakes=mistakes)
    outcome = tiny.outcomes(Scripted(tiny.namespace(double=lambda x: 2 / x)))["1.1"]
    assert (outcome.mistakes, outcome.earned) == (("divides",), 1)


def test_equal_hypotheses_are_reported_together(course: Any) -> None:
    """What can't be told apart is joined, and the milder share counts."""
    checks = '''
class A(Question):
    question = "1"
    @number("1.1")
    @weight(2)
    def test_it(self):
        """The claim."""
        self.agree("double", 2)
'''
    mistakes = """
MISTAKES = [
    Mistake("adds", question="1", function="double", replace="x * 2", by="x + 3", keeps=0.25, hint="a"),
    Mistake("five", question="1", function="double", replace="x * 2", by="5", keeps=0.5, hint="b"),
]
"""
    tiny = course(checks, mistakes=mistakes)
    outcome = tiny.outcomes(Scripted(tiny.namespace(double=lambda x: 5)))["1.1"]
    assert (outcome.mistakes, outcome.hints, outcome.earned) == (("adds|five",), ("a", "b"), 1)


# ── follow-through ────────────────────────────────────────────────────────────────────────────────────────────
def test_one_bug_costs_its_own_points_once(tiny: Any) -> None:
    """Question 2 is right on top of the student's own scores."""
    outcomes = student(tiny, "def scores(q, k):\n    return q @ k.mT\n", "scores")
    assert outcomes["1.2"].mistakes == ("not-scaled",)
    assert (outcomes["2.1"].verdict, outcomes["2.1"].earned) == (Verdict.PASSED, 2)
    assert outcomes["2.1"].on_top_of == ("scores",)
    assert outcomes["2.1"].explanation[0][1] == "Q2 is right on top of your own `scores`; repair Q1."


def test_whoever_writes_the_right_step_inline_is_right_too(tiny: Any) -> None:
    """Agreement with the plain reference counts, whatever the earlier function does."""
    text = """
def scores(q, k):
    return q @ k.mT

def weights(q, k):
    return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1)
"""
    outcomes = student(tiny, text, "scores", "weights")
    assert (outcomes["2.1"].verdict, outcomes["2.1"].on_top_of) == (Verdict.PASSED, ())


def test_a_mistake_on_top_of_an_own_function_is_named_and_keeps_its_share(tiny: Any) -> None:
    """Two bugs in two questions cost each its own points."""
    text = """
def scores(q, k):
    return q @ k.mT

def weights(q, k):
    return torch.exp(scores(q, k) - scores(q, k).amax(-1, keepdim=True))
"""
    outcomes = student(tiny, text, "scores", "weights")
    assert (outcomes["2.1"].mistakes, outcomes["2.1"].earned) == (("not-normalised",), 1)
    assert outcomes["2.1"].on_top_of == ("scores",)


def test_nothing_is_earned_on_top_of_an_empty_helper(tiny: Any) -> None:
    """On top of zeros every answer of one number looks right, so it earns nothing."""
    text = """
def scores(q, k):
    return torch.zeros(q.shape[-2], k.shape[-2], dtype=q.dtype)

def weights(q, k):
    return torch.full((q.shape[-2], k.shape[-2]), 1 / k.shape[-2], dtype=q.dtype)
"""
    outcome = student(tiny, text, "scores", "weights")["2.1"]
    assert (outcome.verdict, outcome.earned) == (Verdict.FAILED, 0)
    assert "repair Q1 first" in outcome.explanation[0][1]


def test_credit_on_top_is_the_lowest_of_all_that_give_the_same(course: Any) -> None:
    """A helper that hides which axis was summed hides the mistake too."""
    tiny = course(
        CHECKS.replace("draw.normal(7, 8)", "draw.normal(5, 8)").replace("5, 7)", "5, 5)"),
        solution=SOLUTION,
        mistakes=MISTAKES,
        points=POINTS,
        functions={"1": ("scores",), "2": ("weights",)},
    )
    outcome = student(tiny, "def scores(q, k):\n    return 3 * torch.eye(5, dtype=q.dtype)\n", "scores")["2.1"]
    assert outcome.on_top_of == ("scores",)
    assert outcome.earned == Fraction(4, 10) * 2


@pytest.mark.parametrize(("axis", "earned"), [(-1, (2, 1)), (-2, (Fraction(8, 10), Fraction(4, 10)))])
def test_what_one_check_hides_another_may_show(course: Any, axis: int, earned: tuple[Any, Any]) -> None:
    """A candidate that another check refutes is out; one that explains that check, too, is not."""
    square = """    @number("2.2")
    @weight(1)
    def test_square(self):
        '''As many queries as keys.'''
        for q, _ in self.draws(pairs, times=2):
            self.agree("weights", q, q)
"""
    tiny = course(
        CHECKS.partition('    @number("2.2")')[0] + square,
        solution=SOLUTION,
        mistakes=MISTAKES,
        points=POINTS,
        functions={"1": ("scores",), "2": ("weights",)},
    )
    text = f"""
def scores(q, k):
    return 3 * torch.eye(len(q), len(k), dtype=q.dtype)

def weights(q, k):
    e = torch.exp(scores(q, k) - 3)
    return e / e.sum({axis}, keepdim=True)
"""
    outcomes = student(tiny, text, "scores", "weights")
    assert (outcomes["2.1"].earned, outcomes["2.2"].earned) == earned


def test_a_helper_of_another_shape_ends_follow_through(tiny: Any) -> None:
    """Shape, dtype and size are checked before the reference sees a student's value."""
    text = """
def scores(q, k):
    return (q @ k.mT)[None]

def weights(q, k):
    return torch.softmax(scores(q, k)[0], -1)
"""
    outcome = student(tiny, text, "scores", "weights")["2.1"]
    assert (outcome.verdict, outcome.on_top_of) == (Verdict.FAILED, ())


def test_a_helper_that_cuts_a_text_into_more_pieces_is_followed(course: Any) -> None:
    """How many texts a helper gives is its answer, not a shape: what builds on it can be right on top."""
    solution = (
        "def cut(s):\n    return s.split('-')\n\ndef sizes(s, *, cut=cut):\n    return [len(x) for x in cut(s)]\n"
    )
    checks = CHECKS.partition("class A")[0]
    for question, name in (("1", "cut"), ("2", "sizes")):
        checks += f'''
class Q{question}(Question):
    question = "{question}"
    @number("{question}.1")
    @weight({"4" if question == "1" else "3"})
    def test_values(self):
        """A claim."""
        self.agree("{name}", "ab-c-def")
'''
    functions = {"1": ("cut",), "2": ("sizes",)}
    tiny = course(checks, solution=solution, mistakes="", points=POINTS, functions=functions)
    text = "def cut(s):\n    return list(s)\n\ndef sizes(s):\n    return [len(x) for x in cut(s)]\n"
    outcomes = student(tiny, text, "cut", "sizes")
    assert (outcomes["1.1"].verdict, outcomes["1.1"].earned) == (Verdict.FAILED, 0)
    assert (outcomes["2.1"].earned, outcomes["2.1"].on_top_of) == (3, ("cut",))


def test_the_calls_of_follow_through_are_bounded(course: Any) -> None:
    """At most 256 a check; a reference that needs more leaves the plain verdict."""
    solution = "def double(x):\n    return 2 * x\n"
    solution += "def shift(x, *, double=double):\n    return sum(double(x + i) for i in range(300))\n"
    checks = CHECKS.replace('"scores", q, k', '"double", q').replace('"weights", q, k', '"shift", q')
    tiny = course(checks, solution=solution, points=POINTS)
    session = Scripted(tiny.checks.source.namespace({"double": "def double(x):\n    return 3 * x\n"}))
    outcomes = tiny.outcomes(session)
    alone = [names for names, _ in session.journeys if names == ("double",)]
    assert len(alone) == 2 * 256
    assert (outcomes["2.1"].verdict, outcomes["2.1"].on_top_of) == (Verdict.FAILED, ())


WAYS = {
    "solution": SOLUTION
    + """
def mixed(q, k, v, *, scores=scores):
    shares = torch.softmax(scores(q, k), -1)
    return shares @ v
""",
    "mistakes": MISTAKES
    + """
MISTAKES += [
    Mistake("backwards", question="3", function="mixed", replace="@ v", by="@ v.flip(-2)", keeps=0.5, hint="Forwards."),
    Mistake("unsoftened", question="3", function="mixed", replace="torch.softmax(scores(q, k), -1)",
            by="scores(q, k)", keeps=0.5, hint="Softmax."),
]
""",
    "alternatives": """
ALTERNATIVES = [
    Alternative("3", "on-weights", function="mixed", replace="torch.softmax(scores(q, k), -1)", by="weights(q, k)",
                on=["weights"]),
]
""",
    "points": POINTS | {"3": 2},
    "functions": {"1": ("scores",), "2": ("weights",), "3": ("mixed",)},
}
WAYS_CHECKS = (
    CHECKS
    + '''
class Third(Question):
    question = "3"
    @number("3.1")
    @weight(2)
    def test_values(self):
        """Rows of v, mixed."""
        for q, k in self.draws(pairs, times=2):
            self.agree("mixed", q, k, k + 1)
'''
)
OTHER_AXIS = "def weights(q, k):\n    return torch.softmax(scores(q, k), -2)\n"


def test_one_bug_costs_once_whatever_earlier_function_an_answer_is_built_on(course: Any) -> None:
    """The reference goes by `scores`; this student goes by `weights`, which an alternative says is a way, too."""
    mixed = "def mixed(q, k, v):\n    return weights(q, k) @ v\n"
    outcomes = student(course(WAYS_CHECKS, **WAYS), OTHER_AXIS + mixed, "weights", "mixed")
    assert outcomes["2.1"].verdict is Verdict.FAILED
    assert (outcomes["3.1"].verdict, outcomes["3.1"].earned) == (Verdict.PASSED, 2)
    assert outcomes["3.1"].on_top_of == ("weights",)
    alone = student(course(WAYS_CHECKS, **{**WAYS, "alternatives": ""}), OTHER_AXIS + mixed, "weights", "mixed")
    assert alone["3.1"].earned < 2


def test_a_mistake_is_named_on_another_way_too(course: Any) -> None:
    """Two bugs in two questions cost each its own points."""
    mixed = "def mixed(q, k, v):\n    return weights(q, k) @ v.flip(-2)\n"
    outcome = student(course(WAYS_CHECKS, **WAYS), OTHER_AXIS + mixed, "weights", "mixed")["3.1"]
    assert (outcome.mistakes, outcome.earned, outcome.on_top_of) == (("backwards",), 1, ("weights",))


def test_a_helper_that_hides_a_mistake_hides_it_on_another_way_too(course: Any) -> None:
    """On top of equal weights the order of the rows can't be told: the lowest credit of all that give the same."""
    text = """
def weights(q, k):
    return torch.full((q.shape[-2], k.shape[-2]), 1 / k.shape[-2], dtype=q.dtype)

def mixed(q, k, v):
    return weights(q, k) @ v
"""
    outcome = student(course(WAYS_CHECKS, **WAYS), text, "weights", "mixed")["3.1"]
    assert (outcome.earned, outcome.on_top_of) == (1, ("weights",))


def test_slow_calls_of_follow_through_are_bounded(course: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The student's calls may take so many seconds a check, however many ways there are."""
    monkeypatch.setattr("autograder.checks.follow._SECONDS", 0.3)
    solution = "def double(x):\n    return 2 * x\n"
    solution += "def shift(x, *, double=double):\n    return sum(double(x + i) for i in range(50))\n"
    checks = CHECKS.replace('"scores", q, k', '"double", q').replace('"weights", q, k', '"shift", q')
    tiny = course(checks, solution=solution, points=POINTS)
    slow = "import time\ndef double(x):\n    time.sleep(0.1)\n    return 3 * x\n"
    session = Scripted(tiny.checks.source.namespace({"double": slow}))
    outcomes = tiny.outcomes(session)
    alone = [names for names, _ in session.journeys if names == ("double",)]
    assert 2 <= len(alone) <= 2 * 5
    assert (outcomes["2.1"].verdict, outcomes["2.1"].on_top_of) == (Verdict.FAILED, ())


@pytest.mark.parametrize(
    ("alternative", "reason"),
    [
        ('Alternative("3", "whole", source="def mixed(q, k, v): return weights(q, k) @ v", on=["weights"])', "an edit"),
        ('Alternative("3", "typo", function="mixed", replace="@ v", by="@ v", on=["weight"])', "does not define"),
    ],
)
def test_a_way_that_is_no_edit_or_names_nothing_is_refused(course: Any, alternative: str, reason: str) -> None:
    """A whole text could not carry the mistakes that the guard tries."""
    tiny = course(WAYS_CHECKS, **{**WAYS, "alternatives": f"ALTERNATIVES = [{alternative}]"})
    with pytest.raises(CourseError, match=reason):
        _ = tiny.checks.alternatives


def test_a_reference_that_raises_on_a_students_value_leaves_the_plain_verdict(course: Any) -> None:
    """Follow-through never turns into a fault."""
    solution = SOLUTION.replace("    e = torch", "    assert float(s.max()) < 100\n    e = torch")
    tiny = course(
        CHECKS, solution=solution, mistakes="", points=POINTS, functions={"1": ("scores",), "2": ("weights",)}
    )
    outcomes = student(
        tiny,
        "def scores(q, k):\n    return q @ k.mT * 1e6\n"
        "def weights(q, k):\n    return torch.softmax(scores(q, k), -1)\n",
        "scores",
        "weights",
    )
    assert (outcomes["2.1"].verdict, outcomes["2.1"].on_top_of) == (Verdict.FAILED, ())


def test_an_edit_that_overlaps_itself_is_refused(tiny: Any) -> None:
    """Two edits of one mistake can't touch the same text."""
    from autograder.checks import Mistake

    bad = Mistake("bad", question="1", function="scores", edits=[("raw / d", "d"), ("/ d**0.5", "")], keeps=0, hint="h")
    with pytest.raises(CourseError, match="overlap"):
        hypotheses([bad], tiny.checks.source, "mistakes.py")


MODEL = """
import torch
from torch import nn

def turn(x, k):
    return x * k

class Model(nn.Module):
    def __init__(self, size, *, turn=turn):
        super().__init__()
        self.size, self.turn = size, turn
    def forward(self, x):
        return self.turn(x, self.size) + 1

def twice(x, *, Model=Model):
    model = Model(3)
    return model(model(x))
"""

MODEL_CHECKS = '''
from autograder.plan import Build, Call, Plan

def plan(x, size=3):
    return Plan((Build("m", "Model", (size,)), Call("y", "__call__", (x,), on="m")), "y", "Model")

class A(Question):
    question = "1"
    @number("1.1")
    @weight(1)
    def test_turn(self):
        """Turning multiplies."""
        for (x,) in self.draws(vectors, times=2):
            self.agree("turn", x, 5)

class B(Question):
    question = "2"
    @number("2.1")
    @weight(1)
    def test_model(self):
        """The model turns and adds one."""
        for (x,) in self.draws(vectors, times=2):
            self.agree_plan(plan(x))

class C(Question):
    question = "3"
    @number("3.1")
    @weight(1)
    def test_twice(self):
        """Twice through the model."""
        for (x,) in self.draws(vectors, times=2):
            self.agree("twice", x)

    def own(self, name, run):
        return lambda size: lambda x: run(plan(x, size))
'''


def test_follow_through_reaches_classes(course: Any) -> None:
    """A class on top of the student's function, and a function on top of the student's class, by a plan."""
    tiny = course(
        MODEL_CHECKS,
        solution=MODEL,
        points={"1": 1, "2": 1, "3": 1},
        functions={"1": ("turn",), "2": ("Model",), "3": ("twice",)},
    )
    outcomes = tiny.outcomes(
        Scripted(tiny.checks.source.namespace({"turn": "def turn(x, k):\n    return x * k + x\n"}))
    )
    assert [outcome.earned for outcome in outcomes.values()] == [0, 1, 1]
    assert [outcome.on_top_of for outcome in outcomes.values()] == [(), ("turn",), ("Model",)]


# ── values that are judged by what they do ──────────────────────────────────────────────────────────────────────────
SLOPES = "def slope():\n    sign = 1.0\n    return {'a': 2.0 * sign}\n"
BY_EFFECT = '''
def rises(value):
    a = value.get("a") if isinstance(value, dict) else None
    return [x * a > 0 for x in (1, 2)] if isinstance(a, float) else None

class A(Question):
    question = "1"
    @number("1.1")
    @weight(1)
    def test_recorded(self):
        """The line rises."""
        self.agree_plan(call("slope"), through=rises)
    @number("1.2")
    @partial_credit(1)
    def test_fetched(self):
        """The line rises at both points."""
        seen = self.call_plan(call("slope"), through=rises)
        self.expect(seen is not None, "A dict with a float a.")
        self.set_score(sum(seen) / 2)
'''
FALLS = """
MISTAKES = [Mistake("falls", question="1", function="slope", replace="sign = 1.0", by="sign = -1.0", keeps=0.5,
                    hint="The line falls.")]
"""


@pytest.mark.parametrize(
    ("value", "earned", "names"),
    [
        ({"a": 7.0}, 2, ()),  # another right answer
        ({"a": -9.0}, 1, ("falls",)),  # the mistake, made with another number
        ({"b": 7.0}, 0, ()),
        (None, 0, ()),
    ],
)
def test_through_judges_and_names_a_value_by_what_it_does(course: Any, value: Any, earned: int, names: Any) -> None:
    """Right answers that look different pass, and a mistake is known again whatever numbers it was made with."""
    tiny = course(BY_EFFECT, solution=SLOPES, mistakes=FALLS, points={"1": 2}, functions={"1": ("slope",)})
    outcomes = tiny.outcomes(Scripted(tiny.namespace(slope=lambda: value)))
    assert sum(o.earned for o in outcomes.values()) == earned
    assert {o.mistakes for o in outcomes.values()} == {names}
