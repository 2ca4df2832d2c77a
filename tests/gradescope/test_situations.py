"""The 24 situations in which gradescope-utils loses points or the whole file, through the platform's whole run.

S: a student's function does it while a check calls it. C: the check's own code does it. Each situation is a question
of two points, whose first check is right. What has no effect on others shares one run; what kills the grader has a
run of its own. Rows that concern loading only are in tests/checks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from textwrap import indent

import nbformat
import pytest

from autograder.assignment import load_assignment
from autograder.emulator import Payload, advice
from autograder.pipeline import open_course
from autograder.release import release, with_answers
from autograder.report.gradescope import validate_bytes

from .conftest import SECRET, make_site

AGREES = 'self.agree("f{row}", torch.arange(4.0))'
HEAD = """
from __future__ import annotations
import ctypes, os, sys, threading, time, unittest
from decimal import Decimal
import torch
from autograder.checks import Question, number, partial_credit, weight
"""
CELL = '''
# %% softmark={{"role": "answer", "question": "{row}"}}
def f{row}(x):
    """Twice x."""
    return x * 2
'''
CLASS = '''
class Q{row}(Question):
    """Q{row}"""

    question = "{row}"

    @number("{row}.1")
    @weight(1)
    def test_right(self):
        """Doubling doubles."""
        self.agree("f{row}", torch.ones(3))
'''
SECOND = '''
class R{row}(Question):
    """Q{row}"""

    question = "{row}"
{fixture}
    @number("{row}.2")
    @{weight}(1)
    def test_situation(self{more}):
        """The claim."""
{body}
'''


def write_course(root: Path, bodies: Mapping[int, str], *, fixtures: Mapping[int, str] | None = None) -> Path:
    """A course with one question a row; bodies: code of each second check."""
    questions = "".join(
        f'[[questions]]\nid = "{row}"\ntitle = "Row {row}"\npoints = 2\nfunctions = ["f{row}"]\n' for row in bodies
    )
    limits = "[limits]\ncall_seconds = 2.0\ncell_seconds = 5.0\nrun_seconds = 90.0\n"
    public, hidden = root / "assignments/rows", root / "reference/rows"
    public.mkdir(parents=True)
    hidden.mkdir(parents=True)
    (public / "assignment.toml").write_text(f'title = "Rows"\ntotal = {2 * len(bodies)}\n{limits}{questions}')
    given = '# %% softmark={"role": "given"}\nimport torch\n'
    (hidden / "solution.py").write_text(given + "".join(CELL.format(row=row) for row in bodies))
    checks = HEAD
    for row, body in bodies.items():
        credit = "set_score" in body or row == 18
        checks += CLASS.format(row=row) + SECOND.format(
            row=row,
            fixture=indent((fixtures or {}).get(row, ""), "    "),
            weight="partial_credit" if credit else "weight",
            more=", set_score=None" if credit else "",
            body=indent(body.format(row=row), "        "),
        )
    (hidden / "checks.py").write_text(checks)
    for name in ("mistakes.py", "alternatives.py"):
        (hidden / name).write_text("from autograder.checks import *\n")
    (root / "reference/.secret").write_text(SECRET)
    release(load_assignment(root, "rows"), root / "out")
    return root


def run(tmp_path: Path, root: Path, answers: Mapping[str, str] | None = None) -> Payload:
    """Grade the reference, with some answers exchanged, by the platform."""
    course = open_course(root, "rows")
    site = make_site(tmp_path / "autograder", course)
    notebook = with_answers(course.assignment, answers or {})
    hand_in = tmp_path / "rows.ipynb"
    hand_in.write_text(nbformat.writes(notebook, version=4), encoding="utf-8")
    payload = site.run(hand_in, seconds=200)
    assert payload.error_code is None
    assert advice(payload.results) == []
    total = float(course.assignment.total)
    assert validate_bytes((payload.raw_results or "").encode(), total) == [], payload.stdout
    return payload


def found(payload: Payload, number: str) -> tuple[str, float, str]:
    """Verdict, score and text of one check."""
    test = next(test for test in payload.results["tests"] if test["number"] == number)
    return test["extra_data"]["verdict"], test["score"], test["output"]


# ── S ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
STUDENT: dict[int, tuple[str, str]] = {
    1: ("pass", "PASSED"),
    2: ("x = x + 1", "FAILED"),
    3: ("raise KeyError('tensor ' + str(x))", "FAILED"),
    4: ("import sys; sys.exit(0)", "FAILED"),
    5: ("import os; os._exit(0)", "FAILED"),
    6: ("raise KeyboardInterrupt", "FAILED"),
    7: ("import ctypes; ctypes.string_at(0)", "FAILED"),
    10: ("", "BLOCKED"),
    19: ("while True: pass", "FAILED"),
    20: ("raise MemoryError", "FAILED"),
    21: ("return f21(x)", "FAILED"),
    22: ("import os, sys; os.close(1); sys.stdout.close()", "PASSED"),
    23: ("import os; os.closerange(3, 50)", "FAILED"),
    24: (
        "import threading\n        threading.Thread(target=lambda: [print('x' * 99) for _ in range(10**9)], "
        "daemon=True).start()",
        "PASSED",
    ),
}
SAID = {3: "KeyError", 4: "ended the program", 7: "signal 11", 19: "did not end within", 20: "memory", 10: "Not tried"}


@pytest.fixture(scope="module")
def students(tmp_path_factory: pytest.TempPathFactory) -> Payload:
    """One hand-in in which each function misbehaves on four numbers, and one cell stops."""
    folder = tmp_path_factory.mktemp("students")
    answers = {
        f"f{row}": f"def f{row}(x):\n    if x.numel() == 4:\n        {body}\n    return x * 2\n"
        for row, (body, _) in STUDENT.items()
        if row != 10
    }
    answers["10"] = "import no_such_module\ndef f10(x):\n    return x * 2\n"
    return run(folder, write_course(folder / "course", dict.fromkeys(STUDENT, AGREES)), answers)


@pytest.mark.parametrize("row", list(STUDENT))
def test_a_student_in_situation(students: Payload, row: int) -> None:
    """The right check keeps its point, the other has its verdict, and the text says why."""
    verdict, score, text = found(students, f"{row}.2")
    assert verdict == STUDENT[row][1], (text, students.stdout)
    assert score == (1 if verdict == "PASSED" else 0)
    assert found(students, f"{row}.1")[:2] == (("BLOCKED", 0) if row == 10 else ("PASSED", 1))
    assert SAID.get(row, "").lower() in text.lower()
    assert len(text) < 2000
    assert "tensor [" not in text
    assert "xxxx" not in text


def test_the_run_with_misbehaving_students_is_no_fault_of_ours(students: Payload) -> None:
    """Whatever a student does, the exit status is 0 and the file is complete."""
    assert students.exit_status == 0, students.stdout
    assert students.results["extra_data"]["complete"] is True
    assert students.results["extra_data"]["outcome"] == "graded"


# ── C ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
CHECK: dict[int, tuple[str, str, float]] = {
    2: ("self.assertEqual(1, 2)", "FAILED", 0),
    3: ("1 / 0", "GRADER_FAULT", 0),
    4: ("sys.exit(0)", "GRADER_FAULT", 0),
    6: ("raise KeyboardInterrupt", "GRADER_FAULT", 0),
    8: ("pass", "GRADER_FAULT", 0),
    11: ("for n in (1, 2):\n    with self.subTest(n): self.expect(n == 2, 'It is two.')", "FAILED", 0),
    12: ("self.skipTest('no corpus today')", "BLOCKED", 0),
    14: ("self.fail()", "FAILED", 0),
    15: ("set_score(float('nan'))", "GRADER_FAULT", 0),
    16: ("set_score(6)", "GRADER_FAULT", 0),
    17: ("set_score(Decimal('0.5'))", "FAILED", 0.5),
    18: ("pass", "GRADER_FAULT", 0),
    20: ("raise MemoryError", "GRADER_FAULT", 0),
    21: ("exec('def f(): return f()\\nf()')", "GRADER_FAULT", 0),
    22: ("sys.stdout.close()\n" + AGREES, "PASSED", 1),
    24: ("threading.Thread(target=lambda: [time.sleep(.01) for _ in range(10**9)], daemon=True).start()\n" + AGREES,
         "PASSED", 1),
}  # fmt: skip
FIXTURES = {
    8: "@classmethod\ndef setUpClass(cls): raise RuntimeError('no corpus')\n",
    14: "def tearDown(self): 1 / 0\n",
}


@pytest.fixture(scope="module")
def checks(tmp_path_factory: pytest.TempPathFactory) -> Payload:
    folder = tmp_path_factory.mktemp("checks")
    bodies = {row: body for row, (body, _, _) in CHECK.items()}
    return run(folder, write_course(folder / "course", bodies, fixtures=FIXTURES))


@pytest.mark.parametrize("row", list(CHECK))
def test_a_check_in_situation(checks: Payload, row: int) -> None:
    """One entry for each declared check, the right one keeps its point, nobody is blamed for ours."""
    verdict, score, text = found(checks, f"{row}.2")
    assert (verdict, score) == CHECK[row][1:], text
    assert found(checks, f"{row}.1")[:2] == ("PASSED", 1)
    assert verdict != "GRADER_FAULT" or "not a fault of your" in text or "not your fault" in text


def test_the_run_with_broken_checks_calls_for_staff(checks: Payload) -> None:
    """A finished file, and an exit status that is not 0; the file is not written through stdout."""
    assert checks.exit_status == 3
    assert checks.results["extra_data"]["complete"] is True
    assert checks.results["extra_data"]["outcome"] == "grader_fault"


@pytest.mark.parametrize(
    ("row", "body"),
    [
        pytest.param(5, "os._exit(0)", id="row-5-exit"),
        pytest.param(7, "ctypes.string_at(0)", id="row-7-segfault", marks=pytest.mark.slow),
        pytest.param(23, "os.closerange(3, 50)", id="row-23-closes-descriptors", marks=pytest.mark.slow),
    ],
)
def test_a_check_that_kills_the_grader(tmp_path: Path, row: int, body: str) -> None:
    """What was judged before stands; the rest is open, and staff are called."""
    payload = run(tmp_path, write_course(tmp_path / "course", {1: AGREES, row: body}))
    assert payload.exit_status not in (0, None)
    assert found(payload, "1.1")[:2] == found(payload, "1.2")[:2] == ("PASSED", 1)
    assert found(payload, f"{row}.2")[:2] == ("GRADER_FAULT", 0)
    assert payload.results["extra_data"]["outcome"] == "grader_fault"


def test_row_9_a_module_that_can_not_be_set_up(tmp_path: Path) -> None:
    """All its checks are faults of ours, each with its points in the total."""
    root = write_course(tmp_path / "course", {1: AGREES})
    path = root / "reference/rows/checks.py"
    path.write_text(path.read_text() + "\ndef setUpModule(): raise RuntimeError('no corpus')\n")
    payload = run(tmp_path, root)
    assert found(payload, "1.1")[:2] == found(payload, "1.2")[:2] == ("GRADER_FAULT", 0)
    assert payload.exit_status == 3


def test_every_situation_has_a_test() -> None:
    """All 24: here in one way or both, and those that end at loading among the tests of the checks."""
    alone = {5, 7, 23, 9}
    at_load = Path(__file__).parents[1] / "checks/test_situations.py"
    names = re.findall(r"def test_((?:\d+_and_)?\d+)_", at_load.read_text(encoding="utf-8"))
    loading = {int(number) for name in names for number in name.split("_and_")}
    assert set(STUDENT) | set(CHECK) | alone | {13} == set(range(1, 25))
    assert loading == set(range(1, 25))
