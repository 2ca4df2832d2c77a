"""The 24 situations in which gradescope-utils' own runner was measured, both ways.

S: the student's function does it while a check calls it (as the session reports it). C: the check's own code does it.
Declared are 2 points; the first check, worth 1, is right and keeps its point.
"""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from autograder.checks import LocalSession
from autograder.errors import CourseError
from autograder.model import (
    CellRecord,
    CellStatus,
    Isolation,
    Level,
    Outcome,
    Reason,
    Reply,
    ReplyKind,
    Run,
    Verdict,
)

from .conftest import HEAD, SECRET, SOLUTION, Scripted

FIRST = '''
class A(Question):
    question = "1"
    @number("1.1")
    @weight(1)
    def test_ok(self):
        """Doubling doubles."""
        self.agree("double", torch.ones(3))
'''


def second(*body: str, decorator: str = "@weight(1)", signature: str = "self") -> str:
    """A second check, worth one point, with this body."""
    lines = "".join(f"        {line}\n" for line in body)
    head = f'    @number("1.2")\n    {decorator}\n    def test_situation({signature}):\n        """The claim."""\n'
    return FIRST + head + lines


ASKS = second('self.agree("double", torch.arange(4.0))')


def assert_kept(outcomes: dict[str, Outcome]) -> None:
    """The right check keeps its point, and no point is gained or lost in the total."""
    assert outcomes["1.1"].verdict is Verdict.PASSED
    assert outcomes["1.1"].earned == 1
    assert sum(outcome.spec.points for outcome in outcomes.values()) == 2
    assert all(0 <= outcome.earned <= outcome.spec.points for outcome in outcomes.values())


def student(course: Any, *replies: Reply) -> tuple[Outcome, Scripted]:
    """Way S: calls with four numbers end like this, the first time, the second time …; the last one stays."""
    tiny, queue = course(ASKS), list(replies)

    def script(plan: Any, forked: bool) -> Reply | None:
        if plan.steps[0].args[0].numel() != 4:
            return None
        return queue.pop(0) if len(queue) > 1 else queue[0]

    session = Scripted(tiny.namespace(), script)
    outcomes = tiny.outcomes(session)
    assert_kept(outcomes)
    return outcomes["1.2"], session


def check(course: Any, *body: str, **options: Any) -> Outcome:
    """Way C: the check's own code does it."""
    outcomes = course(second(*body, **options)).outcomes()
    assert_kept(outcomes)
    return outcomes["1.2"]


def said(outcome: Outcome) -> str:
    return " ".join(text for _, text in outcome.explanation)


# ── S ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_1_all_pass(course: Any) -> None:
    """Right answers get all points."""
    outcomes = course(ASKS).outcomes()
    assert all(outcome.verdict is Verdict.PASSED for outcome in outcomes.values())
    assert sum(outcome.earned for outcome in outcomes.values()) == 2


def test_2_a_wrong_value_is_failed_without_showing_it(course: Any) -> None:
    """A hidden check shows its claim's failure and no number of either side."""
    import torch

    outcome, _ = student(course, Reply(ReplyKind.VALUE, torch.tensor([7.5, 1.25, 3.5, 9.75])))
    assert (outcome.verdict, outcome.reason, outcome.earned) == (Verdict.FAILED, Reason.WRONG, 0)
    assert not any(character.isdigit() for character in said(outcome))
    assert "7.5" in outcome.staff


def test_3_an_exception_is_failed_with_its_class_only(course: Any) -> None:
    """The class is shown; the message, which the student chose, goes to staff."""
    reply = Reply(ReplyKind.RAISED, name="KeyError", message="tensor([0., 1., 2., 3.])", function="double", line=3)
    outcome, _ = student(course, reply)
    assert (outcome.verdict, outcome.reason) == (Verdict.FAILED, Reason.RAISED)
    assert "KeyError" in said(outcome)
    assert "tensor" not in said(outcome)
    assert "tensor([0." in outcome.staff


def test_4_sys_exit_is_failed(course: Any) -> None:
    """`sys.exit` in a function: the text says that it ended the program."""
    outcome, _ = student(course, Reply(ReplyKind.RAISED, name="SystemExit", function="double"))
    assert outcome.verdict is Verdict.FAILED
    assert "ended the program" in said(outcome)


def test_5_os_exit_is_failed_after_a_second_try_in_a_replayed_kernel(course: Any) -> None:
    """A kernel that dies is held against the student only after it died again, unforked."""
    outcome, session = student(course, Reply(ReplyKind.DIED, step=0))
    assert (outcome.verdict, outcome.reason) == (Verdict.FAILED, Reason.KERNEL_DIED)
    assert "ended the program" in said(outcome)
    assert session.restarts >= 1
    assert session.journeys[-1][1] is False


def test_5_a_crash_that_does_not_come_again_costs_nothing(course: Any) -> None:
    """What fails only in a fork is not the student's fault."""
    import torch

    outcome, session = student(
        course, Reply(ReplyKind.DIED, step=0, signal=11), Reply(ReplyKind.VALUE, torch.arange(4.0) * 2)
    )
    assert outcome.verdict is Verdict.PASSED
    assert session.restarts == 1


def test_6_keyboard_interrupt_raised_by_a_student_is_failed(course: Any) -> None:
    """It is an exception like any other."""
    outcome, _ = student(course, Reply(ReplyKind.RAISED, name="KeyboardInterrupt", function="double"))
    assert outcome.verdict is Verdict.FAILED


def test_7_a_segfault_is_failed_and_named(course: Any) -> None:
    """The text names signal 11."""
    outcome, _ = student(course, Reply(ReplyKind.DIED, step=0, signal=11))
    assert outcome.verdict is Verdict.FAILED
    assert "crashed Python (signal 11)" in said(outcome)


def test_10_a_failed_cell_blocks_with_its_cause(course: Any) -> None:
    """The cell that should define the function stopped: BLOCKED, with class and line, and what to repair."""
    import nbformat

    tiny = course(ASKS)
    source = "x = 1\n1 / 0\ndef double(x):\n    return 2 * x"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    cell = CellRecord(0, "c", CellStatus.ERROR, 0.1, "cell 1 (Q1)", "1", "answer", "ZeroDivisionError", "x", 2)
    space = {name: value for name, value in tiny.namespace().items() if name != "double"}
    outcomes = tiny.outcomes(Scripted(space), Run((cell,), notebook, Isolation(Level.C, ())))
    for outcome in outcomes.values():
        assert (outcome.verdict, outcome.reason) == (Verdict.BLOCKED, Reason.CELL_FAILED)
        assert "cell 1 (Q1)" in said(outcome)
        assert "ZeroDivisionError" in said(outcome)
        assert "line 2" in said(outcome)


def test_19_an_endless_loop_is_failed_with_the_limit(course: Any) -> None:
    """Stopped at the call's limit; the text says how long was waited."""
    outcome, session = student(course, Reply(ReplyKind.TIME, step=0))
    assert (outcome.verdict, outcome.reason) == (Verdict.FAILED, Reason.LIMIT_TIME)
    assert "did not end within 1 s" in said(outcome)
    assert session.restarts >= 1


def test_20_memory_error_names_the_limit(course: Any) -> None:
    """Both the exception and the kill by the watchdog are the memory limit."""
    raised, _ = student(course, Reply(ReplyKind.RAISED, name="MemoryError", function="double"))
    assert (raised.verdict, raised.reason) == (Verdict.FAILED, Reason.LIMIT_MEMORY)
    assert "4 GiB" in said(raised)


def test_21_recursion_error_is_short(course: Any) -> None:
    """One sentence, no thousand-line traceback."""
    outcome, _ = student(course, Reply(ReplyKind.RAISED, name="RecursionError", message="x" * 9999, function="double"))
    assert outcome.verdict is Verdict.FAILED
    assert len(said(outcome)) < 200


@pytest.mark.parametrize("kind", [ReplyKind.PROTOCOL, ReplyKind.DIED])
def test_23_a_kernel_out_of_reach_is_failed(course: Any, kind: ReplyKind) -> None:
    """Closed descriptors: no answer comes, the kernel is replayed for the other checks."""
    outcome, session = student(course, Reply(kind, step=0))
    assert outcome.verdict is Verdict.FAILED
    assert session.restarts >= 1


@pytest.mark.parametrize("situation", ["closes stdout", "a thread keeps printing"])
def test_22_and_24_what_is_printed_has_no_say(course: Any, situation: str) -> None:
    """The value counts."""
    import torch

    outcome, _ = student(course, Reply(ReplyKind.VALUE, torch.arange(4.0) * 2))
    assert outcome.verdict is Verdict.PASSED, situation


# ── C ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    "body",
    [
        "1 / 0",
        "sys.exit(0)",
        "raise KeyboardInterrupt",
        "raise MemoryError",
        "exec('def f(): return f()\\nf()')",
    ],
    ids=["raises", "sys.exit", "KeyboardInterrupt", "MemoryError", "RecursionError"],
)
def test_an_error_of_check_code_is_a_fault_of_ours(course: Any, body: str) -> None:
    """Rows 3, 4, 6, 20, 21: GRADER_FAULT of that check only; the student reads that it is not their fault."""
    outcome = check(course, body)
    assert (outcome.verdict, outcome.reason, outcome.earned) == (Verdict.GRADER_FAULT, Reason.GRADER, 0)
    assert "not your fault" in said(outcome)
    assert outcome.staff


def test_2_an_assertion_of_a_check_is_failed(course: Any) -> None:
    """unittest's assertions work; their text, which may hold values, goes to staff."""
    outcome = check(course, "self.assertEqual(self.call('double', 3), 7)")
    assert (outcome.verdict, outcome.reason) == (Verdict.FAILED, Reason.WRONG)
    assert "6 != 7" not in said(outcome)
    assert "6 != 7" in outcome.staff


def test_8_set_up_class_costs_its_class_only(course: Any) -> None:
    """Every check of the class is a GRADER_FAULT, other classes run."""
    tiny = course(
        FIRST
        + '''
class B(Question):
    question = "1"
    @classmethod
    def setUpClass(cls): raise RuntimeError("no corpus")
    @number("1.2")
    @weight(1)
    def test_situation(self):
        """The claim."""
'''
    )
    outcomes = tiny.outcomes()
    assert_kept(outcomes)
    assert outcomes["1.2"].verdict is Verdict.GRADER_FAULT
    assert "no corpus" in outcomes["1.2"].staff


def test_9_set_up_module_costs_all_its_checks(course: Any) -> None:
    """Every check of the module is a GRADER_FAULT, each with its points in the total."""
    tiny = course("def setUpModule(): raise RuntimeError\n" + FIRST, points={"1": 1})
    outcomes = tiny.outcomes()
    assert outcomes["1.1"].verdict is Verdict.GRADER_FAULT
    assert outcomes["1.1"].spec.points == 1


def test_11_sub_tests_are_one_entry_that_lists_the_failing_ones(course: Any) -> None:
    """One outcome, FAILED, with the names of the sub-cases."""
    outcome = check(
        course,
        "for name, right in (('empty', False), ('one', True), ('two', False)):",
        "    with self.subTest(name): self.expect(right, 'It holds.')",
    )
    assert outcome.verdict is Verdict.FAILED
    assert ("failing cases", "empty, two") in outcome.explanation


def test_12_a_skip_is_blocked_with_its_reason(course: Any) -> None:
    """The points stay in the total."""
    outcome = check(course, "self.skipTest('no GPU here')")
    assert (outcome.verdict, outcome.reason) == (Verdict.BLOCKED, Reason.SKIPPED)
    assert "no GPU here" in said(outcome)


@pytest.mark.parametrize("decorator", ["@unittest.skip('x')", "@unittest.expectedFailure"])
def test_12_and_13_skip_and_expected_failure_are_refused_at_load(course: Any, decorator: str) -> None:
    """A check with points can't vanish or turn round."""
    with pytest.raises(CourseError, match=r"check 1\.2"):
        course(second("pass", decorator=f"@weight(1)\n    {decorator}"))


@pytest.mark.parametrize(("body", "verdict"), [("self.fail()", Verdict.FAILED), ("pass", Verdict.PASSED)])
def test_14_tear_down_changes_no_verdict(course: Any, body: str, verdict: Verdict) -> None:
    """One entry with the test's own verdict; staff are told about tearDown."""
    tiny = course(
        FIRST
        + f'''
class B(Question):
    question = "1"
    def tearDown(self): 1 / 0
    @number("1.2")
    @weight(1)
    def test_situation(self):
        """The claim."""
        {body}
'''
    )
    result = tiny.run()
    assert [outcome.verdict for outcome in result.outcomes] == [Verdict.PASSED, verdict]
    assert any(note.staff_only and note.needs_human and "tearDown" in note.text for note in result.notes)


@pytest.mark.parametrize(
    "score", ["float('nan')", "float('inf')", "6", "-1", "'hello'", "None", "[]"], ids=lambda score: score
)
@pytest.mark.parametrize("way", ["set_score({})", "self.set_score({})"])
def test_15_and_16_an_odd_score_is_a_fault_of_ours(course: Any, score: str, way: str) -> None:
    """Never more than the maximum, never NaN, never full marks by accident."""
    outcome = check(course, way.format(score), decorator="@partial_credit(1)", signature="self, set_score=None")
    assert (outcome.verdict, outcome.earned) == (Verdict.GRADER_FAULT, 0)


@pytest.mark.parametrize(
    "score", ["Decimal('0.5')", "torch.tensor(0.5)", "torch.tensor(0.5).numpy()", "0.5"], ids=lambda score: score
)
def test_17_any_kind_of_number_is_taken_as_the_number_it_is(course: Any, score: str) -> None:
    """Half a point is half a point, exactly."""
    outcome = check(course, f"self.set_score({score})", decorator="@partial_credit(1)")
    assert outcome.earned == Fraction(1, 2)
    assert outcome.verdict is Verdict.FAILED


def test_17_a_score_stays_when_the_check_says_what_is_missing(course: Any) -> None:
    """set_score first, then `expect`: part of the points, and the author's sentence for the student."""
    body = "self.set_score(0.5); self.expect(False, 'The third part is missing.')"
    outcome = check(course, body, decorator="@partial_credit(1)")
    assert (outcome.verdict, outcome.earned) == (Verdict.FAILED, Fraction(1, 2))
    assert "The third part is missing." in str(outcome.explanation)


def test_a_check_may_ask_what_an_earlier_question_lost(course: Any) -> None:
    """`lost_before` is true where a check of that function failed before, and nowhere else; unknown names are ours."""
    tiny = course(
        """
        class One(Question):
            question = "1"
            @number("1.1")
            @weight(1)
            def test_values(self):
                "Twice."
                self.agree("double", torch.ones(2))

        class Two(Question):
            question = "2"
            @number("2.1")
            @weight(1)
            def test_values(self):
                "Not both."
                self.expect(not self.lost_before("double"), "Q1 was right.")
            @number("2.2")
            @weight(1)
            def test_typing(self):
                "A name that nobody defines."
                self.lost_before("duoble")
        """,
        points={"1": 1, "2": 2},
    )
    verdicts = {
        name: [o.verdict for o in tiny.outcomes(LocalSession(tiny.namespace(change))).values()]
        for name, change in {
            "right": {},
            "wrong": {"double": "def double(x):\n    return x"},
            "later": {"shift": "def shift(x):\n    return x"},
        }.items()
    }
    passed, failed, ours = Verdict.PASSED, Verdict.FAILED, Verdict.GRADER_FAULT
    assert verdicts == {
        "right": [passed, passed, ours],
        "wrong": [failed, failed, ours],
        "later": [passed, passed, ours],
    }


def test_18_set_score_never_called_is_a_fault_of_ours(course: Any) -> None:
    """Never full marks."""
    assert check(course, "pass", decorator="@partial_credit(1)").verdict is Verdict.GRADER_FAULT


def test_18_a_score_of_an_earlier_run_does_not_stay(course: Any) -> None:
    """gradescope-utils keeps the score on the function: the second student must not inherit it."""
    tiny = course(
        second(
            "if self.call('double', 1) == 2: set_score(1)",
            decorator="@partial_credit(1)",
            signature="self, set_score=None",
        )
    )
    assert tiny.outcomes()["1.2"].earned == 1
    wrong = tiny.outcomes(Scripted(tiny.namespace(double=lambda x: x * 2 if not isinstance(x, int) else 0)))
    assert wrong["1.2"].verdict is Verdict.GRADER_FAULT


def test_19_an_endless_check_is_stopped(course: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the check's limit, as a fault of ours."""
    monkeypatch.setattr("autograder.checks.perform.CHECK_SECONDS", 0.2)
    outcome = check(course, "while True: pass")
    assert outcome.verdict is Verdict.GRADER_FAULT
    assert "did not end" in outcome.staff


@pytest.mark.parametrize("body", ["os._exit(0)", "__import__('ctypes').string_at(0)"])
def test_5_and_7_what_was_judged_before_the_grader_died_stands(tmp_path: Path, body: str) -> None:
    """Each question is handed over as soon as it is judged, so that the file on disk keeps it."""
    later = f'''
class B(Question):
    question = "2"
    @number("2.1")
    @weight(1)
    def test_situation(self):
        """The claim."""
        {body}
'''
    (tmp_path / "solution.py").write_text(SOLUTION)
    (tmp_path / "checks.py").write_text(HEAD + FIRST + later)
    program = f"""
from fractions import Fraction
from pathlib import Path
from autograder.checks import LocalSession, load_checks, run_checks
from autograder.model import *
here = Path({str(tmp_path)!r})
one = QuestionSpec("1", "One", Fraction(1), ("double",))
two = QuestionSpec("2", "Two", Fraction(1), ())
checks = load_checks(Assignment("t", "T", "1", Fraction(2), (one, two), here, here, "t.ipynb"))
run = Run((), None, Isolation(Level.C, ()))
def keep(outcomes):
    with (here / "judged").open("a") as file:
        file.writelines(f"{{o.spec.number}} {{o.verdict}}\\n" for o in outcomes)
session = LocalSession(checks.source.namespace())
run_checks(checks, session, run, secret={SECRET!r}, on_question=keep)
keep([])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, timeout=60)
    assert (tmp_path / "judged").read_text() == "1.1 PASSED\n", done.stderr.decode()
