"""From checks and a session to outcomes: batches, what blocks, what students read."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import nbformat
import pytest
import torch

from autograder.errors import Interrupted
from autograder.model import CellRecord, CellStatus, Isolation, Level, Reason, Reply, ReplyKind, Run, Verdict

from .conftest import NOTHING_RAN, SECRET, Scripted

TWO = '''
class A(Question):
    question = "1"
    @number("1.1")
    @weight(1)
    def test_double(self):
        """Doubling doubles."""
        for (x,) in self.draws(vectors, times=5):
            self.agree("double", x)
    @number("1.2")
    @weight(1)
    def test_linear(self):
        """Doubling is linear."""
        for (x,) in self.draws(vectors, times=3):
            a, b = self.call("double", x), self.call("double", -x)
            self.expect(torch.allclose(a, -b), "double(−x) = −double(x).")

class B(Question):
    question = "2"
    @number("2.1")
    @weight(1)
    def test_shift(self):
        """Shifting adds one to the double."""
        for (x,) in self.draws(vectors, times=4):
            self.agree("shift", x)
'''
POINTS = {"1": 2, "2": 1}


@pytest.fixture
def two(course: Any) -> Any:
    return course(TWO, points=POINTS)


def said(outcome: Any) -> str:
    return " ".join(text for _, text in outcome.explanation)


# ── calls ─────────────────────────────────────────────────────────────────────────────────────────────────────
def test_all_calls_of_a_question_travel_as_one_batch(two: Any) -> None:
    """Recorded calls and foreseen ones (needed while a check runs) go over once, together: one journey a question."""
    session = Scripted(two.namespace())
    two.run(session)
    assert len(session.journeys) == 2
    assert set(session.journeys[0][0]) == {"double"}
    assert [names for names, _ in session.journeys if "shift" in names] == [("shift",) * 4]


def test_each_question_is_handed_over_when_it_is_judged(two: Any) -> None:
    """So that the file on disk keeps what is known."""
    seen: list[list[str]] = []
    two.run(on_question=lambda outcomes: seen.append([outcome.spec.number for outcome in outcomes]))
    assert seen == [["1.1", "1.2"], ["2.1"]]


def test_a_regrade_draws_the_same_inputs_and_a_seed_of_staff_others(two: Any) -> None:
    """Scores compare between students; staff's seed is another stream."""

    def inputs(**options: Any) -> list[bytes]:
        got: list[bytes] = []
        space = two.namespace(double=lambda x: got.append(x.numpy().tobytes()) or x * 2)
        two.run(Scripted(space), **options)
        return got

    assert inputs() == inputs()
    assert inputs() != inputs(seed=1)
    assert inputs(seed=1) == inputs(seed=1)


def test_the_reference_is_asked_once_for_all_students(two: Any) -> None:
    """A second right submission costs no evaluation on the grader's side."""
    two.run()
    before = two.checks.oracle.evaluations
    two.run()
    assert two.checks.oracle.evaluations == before


def test_judging_a_right_answer_costs_little(two: Any) -> None:
    """Less than half a millisecond a call beyond the calls themselves (measured a tenth of that)."""
    session = Scripted(two.namespace())
    two.run(session)
    spent, call = 0.0, session.call

    def timed(*args: Any, **kwargs: Any) -> Any:
        nonlocal spent
        started = time.process_time()
        replies = call(*args, **kwargs)
        spent += time.process_time() - started
        return replies

    session.call = timed  # type: ignore[method-assign]
    started = time.process_time()
    for _ in range(10):
        two.run(session)
    assert (time.process_time() - started - spent) / 10 < 15 * 0.0005 + 0.005


def test_a_crash_costs_its_check_only(two: Any) -> None:
    """The batch breaks in one check; the others go again in children of their own and pass."""
    two.run()
    crash = next(value[0] for key, value in two.checks.drawn.items() if key[1] == "1.1")

    def script(plan: Any, forked: bool) -> Reply | None:
        strikes = plan.function == "double" and torch.equal(plan.steps[0].args[0], crash)
        return Reply(ReplyKind.DIED, step=0, signal=11) if strikes else None

    outcomes = two.outcomes(Scripted(two.namespace(), script))
    assert outcomes["1.1"].reason is Reason.KERNEL_DIED
    assert outcomes["1.2"].verdict is outcomes["2.1"].verdict is Verdict.PASSED


def test_after_two_time_outs_of_a_function_its_other_checks_are_blocked(course: Any) -> None:
    """A hang costs a few limits, not one a check."""
    body = "".join(
        f'''
    @number("1.{n}")
    @weight(1)
    def test_{n}(self):
        """Claim {n}."""
        self.agree("double", torch.ones({n}))
'''
        for n in range(1, 7)
    )
    tiny = course(f'class A(Question):\n    question = "1"\n{body}', points={"1": 6})
    session = Scripted(tiny.namespace(), lambda plan, forked: Reply(ReplyKind.TIME, step=0))
    outcomes = list(tiny.outcomes(session).values())
    assert [outcome.reason for outcome in outcomes] == [Reason.LIMIT_TIME] * 2 + [Reason.OUT_OF_TIME] * 4
    assert [outcome.verdict for outcome in outcomes] == [Verdict.FAILED] * 2 + [Verdict.BLOCKED] * 4
    assert len(session.journeys) <= 5


def test_after_the_deadline_checks_are_blocked(two: Any) -> None:
    """Not tried, and nobody's fault."""
    session = Scripted(two.namespace(), seconds_left=0.0)
    outcomes = two.outcomes(session).values()
    assert {outcome.reason for outcome in outcomes} == {Reason.OUT_OF_TIME}
    assert not session.journeys


def test_a_call_that_the_deadline_cut_short_is_not_held_against_the_student(two: Any) -> None:
    """The time-out came earlier than the call's own limit."""
    session = Scripted(two.namespace(), lambda plan, forked: Reply(ReplyKind.TIME, step=0), seconds_left=0.5)
    assert {o.verdict for o in two.outcomes(session).values()} == {Verdict.BLOCKED}


# ── questions share a child ───────────────────────────────────────────────────────────────────────────────────
@dataclass
class Shared(Scripted):
    """Like a kernel whose calls of question 1 leave something behind, which breaks or mends `shift` afterwards."""

    broken: dict[str, Any] = field(default_factory=dict)
    spoilt: bool = False

    def call(self, plans: Any, *, shared: bool = False, **options: Any) -> list[Reply]:
        own, self.namespace = self.namespace, self.broken if shared and self.spoilt else self.namespace
        try:
            return super().call(plans, shared=shared, **options)
        finally:
            self.namespace = own
            self.spoilt = shared

    def part(self) -> None:
        super().part()
        self.spoilt = False

    def restart(self) -> None:
        super().restart()
        self.spoilt = False


def test_what_another_question_left_behind_costs_nothing(two: Any) -> None:
    """A question that isn't right in the shared child is asked for again in a child of its own, and that counts."""
    session = Shared(two.namespace(), broken=two.namespace(shift=lambda *args: torch.zeros(1)))
    assert {outcome.verdict for outcome in two.outcomes(session).values()} == {Verdict.PASSED}
    assert session.parted == 1


def test_a_wrong_answer_is_asked_for_again_once(two: Any) -> None:
    """The verdict is that of the question's own child; a question that is the first there isn't asked twice."""
    session = Shared(two.namespace(shift=lambda *args: torch.zeros(1)), broken=two.namespace(shift=lambda *args: 1))
    outcomes = two.outcomes(session)
    assert outcomes["2.1"].reason is not Reason.TYPE
    assert outcomes["2.1"].verdict is Verdict.FAILED
    assert session.parted == 1
    first = Shared(two.namespace(double=lambda *args: torch.zeros(1)))
    two.outcomes(first)
    calls = [functions for functions, _ in first.journeys if set(functions) == {"double"}]
    assert len(calls) == 1


def test_being_asked_again_is_no_second_guess(two: Any) -> None:
    """Who answers otherwise when the question comes again is asked in a fresh kernel, where it is new; that counts."""
    right, parted = two.namespace()["shift"], 0

    def shift(x: Any) -> Any:
        return right(x) if session.parted > parted else torch.zeros_like(x)

    class Anew(Shared):
        def restart(self) -> None:
            nonlocal parted
            super().restart()
            parted = self.parted

    namespace = two.namespace(shift=shift)
    session = Anew(namespace, broken=namespace)
    assert two.outcomes(session)["2.1"].verdict is Verdict.FAILED
    assert (session.parted, session.restarts) == (1, 1)


def test_the_same_wrong_answer_costs_no_fresh_kernel(two: Any) -> None:
    """A wrong answer that stays the same is asked for twice, and no kernel is replayed for it."""
    namespace = two.namespace(shift=lambda x: x / 0)
    session = Shared(namespace, broken=namespace)
    assert two.outcomes(session)["2.1"].verdict is Verdict.FAILED
    assert (session.parted, session.restarts) == (1, 0)


# ── what blocks ───────────────────────────────────────────────────────────────────────────────────────────────
def notebook(*sources: str) -> Any:
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])


def without(two: Any, *names: str, **values: Any) -> dict[str, Any]:
    return {name: value for name, value in two.namespace(**values).items() if name not in names}


def test_a_missing_function_is_blocked_with_a_suggestion(two: Any) -> None:
    """Renamed functions are found by their likeness."""
    run = Run((), notebook("def doubel(x):\n    return x"), Isolation(Level.C, ()))
    outcome = two.outcomes(Scripted(without(two, "double")), run)["1.1"]
    assert (outcome.verdict, outcome.reason) == (Verdict.BLOCKED, Reason.NOT_DEFINED)
    assert "no `double`" in said(outcome)
    assert "`doubel`" in said(outcome)


def stub(*args: Any) -> Any:
    raise NotImplementedError


def test_a_stub_is_blocked(two: Any) -> None:
    """`raise NotImplementedError` is no answer yet."""
    stub.__qualname__ = "double"
    outcome = two.outcomes(Scripted(two.namespace(double=stub)))["1.1"]
    assert (outcome.verdict, outcome.reason, outcome.earned) == (Verdict.BLOCKED, Reason.NOT_ANSWERED, 0)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (
            Reply(ReplyKind.RAISED, name="NotImplementedError", function="double"),
            "which has no answer yet. Write question 1 first.",
        ),
        (
            Reply(ReplyKind.RAISED, name="NameError", message="name 'double' is not defined", function="shift"),
            "which your notebook does not define. Look at question 1 first.",
        ),
    ],
    ids=["stub", "missing"],
)
def test_a_later_question_names_the_earlier_one_that_has_no_answer(two: Any, reply: Reply, words: str) -> None:
    """BLOCKED, and what to write first."""
    session = Scripted(two.namespace(), lambda plan, forked: reply if plan.function == "shift" else None)
    outcome = two.outcomes(session)["2.1"]
    assert (outcome.verdict, outcome.reason) == (Verdict.BLOCKED, Reason.NEEDS_EARLIER)
    assert words in said(outcome)


def test_an_exception_in_an_earlier_function_is_failed_and_names_its_question(two: Any) -> None:
    """It was called and raised."""
    reply = Reply(ReplyKind.RAISED, name="ValueError", function="double")
    session = Scripted(two.namespace(), lambda plan, forked: reply if plan.function == "shift" else None)
    outcome = two.outcomes(session)["2.1"]
    assert outcome.verdict is Verdict.FAILED
    assert "your `double` of question 1" in said(outcome)


@pytest.mark.parametrize("status", [s for s in CellStatus if s is not CellStatus.OK])
def test_every_way_in_which_a_cell_fails_has_a_text(two: Any, status: CellStatus) -> None:
    """The text names the cell; a cell that was not run is the time's fault."""
    cell = CellRecord(0, "c", status, 1.0, "cell 1 (Q1)", "1", "answer")
    run = Run((cell,), notebook("def double(x): ..."), Isolation(Level.C, ()))
    outcome = two.outcomes(Scripted(without(two, "double")), run)["1.1"]
    assert outcome.verdict is Verdict.BLOCKED
    assert outcome.reason is (Reason.OUT_OF_TIME if status is CellStatus.NOT_RUN else Reason.CELL_FAILED)
    assert "cell 1 (Q1)" in said(outcome)


def test_a_changed_signature_is_failed_with_both(two: Any) -> None:
    """The parameters come from the notebook's text, never from the kernel."""
    run = Run((), notebook("def double(x, factor, *, secret='q'):\n    return x"), Isolation(Level.C, ()))
    outcome = two.outcomes(Scripted(two.namespace(double=lambda x, factor: x)), run)["1.1"]
    assert outcome.verdict is Verdict.FAILED
    assert ("you have", "double(x, factor, secret)") in outcome.explanation
    assert ("expected", "double(x)") in outcome.explanation


def test_a_forgotten_return_is_named(two: Any) -> None:
    """None where a tensor is expected."""
    outcome = two.outcomes(Scripted(two.namespace(double=lambda x: None)))["1.1"]
    assert outcome.reason is Reason.TYPE
    assert "`return`" in said(outcome)


def test_a_check_that_trips_over_a_students_type_is_no_fault_of_ours(two: Any) -> None:
    """The check's code met text where the reference gives a tensor: FAILED, not GRADER_FAULT."""
    outcome = two.outcomes(Scripted(two.namespace(double=lambda x: "text")))["1.2"]
    assert (outcome.verdict, outcome.reason) == (Verdict.FAILED, Reason.TYPE)


def test_a_reference_that_fails_on_a_draw_is_a_fault_of_ours(course: Any) -> None:
    """Never the student's zero."""
    tiny = course(
        '''
class A(Question):
    question = "1"
    @number("1.1")
    @weight(2)
    def test_it(self):
        """The claim."""
        self.agree("double", None)
'''
    )
    outcome = tiny.outcomes(Scripted(tiny.namespace(double=lambda x: 0)))["1.1"]
    assert outcome.verdict is Verdict.GRADER_FAULT
    assert "reference itself fails" in outcome.staff


# ── silence ───────────────────────────────────────────────────────────────────────────────────────────────────
NASTY = {
    "values": lambda x: x + 12345.678,
    "shape": lambda x: torch.ones(12345),
    "text": lambda x: "secret 12345",
    "keys": lambda x: {"12345": x},
    "list": lambda x: [12345.0] * 7,
    "message": lambda x: (_ for _ in ()).throw(ValueError(f"12345 {x}")),
    "class": lambda x: (_ for _ in ()).throw(type("E12345", (Exception,), {})()),
    "type": lambda x: type("T12345", (), {})(),
    "nan": lambda x: x * float("nan"),
}


@pytest.mark.parametrize("how", NASTY)
def test_nothing_that_the_student_returns_or_raises_is_repeated_by_a_hidden_check(two: Any, how: str) -> None:
    """`return q` would print the hidden input."""
    outcomes = two.outcomes(Scripted(two.namespace(double=NASTY[how])))
    for number in ("1.1", "1.2"):
        outcome = outcomes[number]
        assert outcome.verdict is Verdict.FAILED
        shown = said(outcome) + "".join(outcome.hints) + "".join(outcome.mistakes)
        assert not any(character.isdigit() for character in shown)


def test_a_public_check_shows_call_value_and_expectation(mini: Any) -> None:
    """Its inputs are public."""
    outcome = mini.outcomes(Scripted(mini.namespace(softmax=lambda s, dim: s)))["1.1"]
    shown = dict(outcome.explanation)
    assert shown["called"] == "softmax(tensor([0.0, 0.0]), 0)"
    assert shown["you gave"] == "tensor([0.0, 0.0])"
    assert shown["expected"] == "tensor([0.5, 0.5])"


# ── the other words of checks ─────────────────────────────────────────────────────────────────────────────────
def single(body: str, decorator: str = "@weight(2)") -> str:
    return f'''
class A(Question):
    question = "1"
    @number("1.1")
    {decorator}
    def test_it(self):
        """The claim."""
        {body}
'''


def test_served_callables_are_counted_by_the_grader(course: Any) -> None:
    """Effort is proved by calls that the grader sees."""
    solution = "def double(f):\n    return f(1)\n"
    body = "f = self.served('f', lambda x: x + 1)\n        self.agree('double', f)\n        "
    body += "self.at_most(f, 1, 'One call is enough.')"
    tiny = course(single(body), solution=solution)
    assert tiny.outcomes()["1.1"].verdict is Verdict.PASSED
    outcome = tiny.outcomes(Scripted(tiny.namespace(double=lambda f: [f(1), f(1)][0])))["1.1"]
    assert outcome.verdict is Verdict.FAILED
    assert "One call is enough." in said(outcome)


def test_rejects_wants_one_of_the_named_exceptions(course: Any) -> None:
    """Raising the right class passes; a value, or another class, fails."""
    solution = "def double(x):\n    if x < 0:\n        raise ValueError\n    return 2 * x\n"
    tiny = course(single("self.rejects('double', -1)"), solution=solution)
    assert tiny.outcomes()["1.1"].verdict is Verdict.PASSED
    for wrong in (lambda x: 0, lambda x: {}[x]):
        assert tiny.outcomes(Scripted(tiny.namespace(double=wrong)))["1.1"].verdict is Verdict.FAILED


def test_unchanged_catches_work_in_place(course: Any) -> None:
    """The arguments are left as they are."""
    tiny = course(single("self.unchanged('double', torch.ones(3))"))
    assert tiny.outcomes()["1.1"].verdict is Verdict.PASSED
    outcome = tiny.outcomes(Scripted(tiny.namespace(double=lambda x: x.mul_(2))))["1.1"]
    assert outcome.verdict is Verdict.FAILED


def test_a_leaderboard_check_keeps_its_points_and_verdict(course: Any) -> None:
    """One row more, nothing less."""
    tiny = course(single("self.set_leaderboard_value(0.123456789)", '@leaderboard("loss", "asc")\n    @weight(2)'))
    result = tiny.run()
    assert result.outcomes[0].earned == 2
    assert [(row.name, row.value, row.order) for row in result.leaderboard] == [("loss", 0.123457, "asc")]


def test_hand_calculations_use_personal_numbers(mini: Any) -> None:
    """Another student's right answer is wrong; none at all is BLOCKED; a planned wrong answer keeps its share."""
    a, b = mini.checks.oracle.reference["my_numbers"]("s1", "H1")

    def grade(value: Any, **options: Any) -> Any:
        session = Scripted(mini.namespace(hand={"H1": value}, STUDENT_ID=options.pop("typed", "s1")))
        return mini.run(session, **options)

    def fourth(result: Any) -> Any:
        return next(outcome for outcome in result.outcomes if outcome.spec.number == "4.1")

    assert fourth(grade(a * b, student_id="s1")).earned == 2
    assert fourth(grade(a * b)).earned == 2
    assert fourth(grade(a * b, student_id="s2")).earned in (0, 1)
    planned = fourth(grade(a + b, student_id="s1"))
    assert (planned.earned, planned.mistakes) == (1, ("added",))
    for nothing in (None, ...):
        assert fourth(grade(nothing, student_id="s1")).verdict is Verdict.BLOCKED
    assert fourth(grade(a * b, typed="")).verdict is Verdict.BLOCKED
    result = grade(a * b, student_id="s1", typed="somebody")
    assert fourth(result).earned == 2
    assert [note.staff_only for note in result.notes] == [False, True]


def test_secret_and_question_decide_the_draws(two: Any) -> None:
    """Whoever lacks the secret can't compute an input."""
    two.run()
    keys = {key[0] for key in two.checks.drawn}
    assert keys == {SECRET}
    assert NOTHING_RAN.cells == ()


def test_what_cannot_be_sent_is_a_fault_of_that_check_only(course: Any) -> None:
    """A set, or a dict with numbers as keys, among the arguments: the other checks are graded."""
    other = TWO.split("class B", maxsplit=1)[0].replace("class A", "class C")
    other = other.replace('"1.1"', '"1.3"').replace('"1.2"', '"1.4"')
    for odd in ("{1, 2}", "{1: 2}", "Decimal(1)"):
        tiny = course(single(f"self.agree('double', {odd})") + other, points={"1": 4})
        outcomes = tiny.outcomes()
        assert outcomes["1.1"].verdict is Verdict.GRADER_FAULT
        assert outcomes["1.3"].verdict is outcomes["1.4"].verdict is Verdict.PASSED


def test_a_mistake_whose_own_code_fails_leaves_the_verdict(mini: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """FAILED without a name, and staff are told."""

    def broken(*args: Any) -> Any:
        raise KeyError("odd")

    monkeypatch.setattr("autograder.checks.runner.diagnose", broken)
    result = mini.run(Scripted(mini.namespace(softmax=lambda s, dim: s)))
    assert {o.verdict for o in result.outcomes if o.spec.question == "1"} == {Verdict.FAILED, Verdict.PASSED}
    assert any(note.staff_only and note.needs_human and "no diagnosis" in note.text for note in result.notes)


def test_whoever_stops_the_run_is_obeyed(course: Any) -> None:
    """A real signal, unlike a KeyboardInterrupt of a check's own code, ends everything."""
    tiny = course(single("from autograder.errors import Interrupted; raise Interrupted"))
    with pytest.raises(Interrupted):
        tiny.run()
