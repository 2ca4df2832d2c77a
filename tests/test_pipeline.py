"""A submission from end to end, at the best level that this machine has."""

from __future__ import annotations

import json
import re
import secrets
import shutil
import time
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from autograder.model import CellStatus, Outcome, Reason, Report, Verdict
from autograder.service import Grader, Request
from tests.hand_ins import ROOT, SECRET, STUDENT, answered, insert, write

pytestmark = pytest.mark.level_a

Grade = Callable[..., Report]


@pytest.fixture(scope="session")
def quick_course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The course with short limits, so that hangs cost little, and with the same checks."""
    root = tmp_path_factory.mktemp("course")
    for folder in ("assignments", "reference"):
        shutil.copytree(ROOT / folder / "attention", root / folder / "attention")
    settings = root / "assignments/attention/assignment.toml"
    text = settings.read_text()
    settings.write_text(
        re.sub(r"^call_seconds = .*$", "call_seconds = 3\ncell_seconds = 5\nrun_seconds = 90", text, flags=re.M)
    )
    return root


@pytest.fixture
def grade(grader: Grader, quick_course: Path, tmp_path: Path) -> Grade:
    """Grade a notebook and return the report; the files are in tmp_path / "out"."""

    def run(notebook: Any, **options: Any) -> Report:
        path = write(notebook, tmp_path)
        request = Request(
            str(path),
            str(options.pop("course", quick_course)),
            "attention",
            out=str(tmp_path / "out"),
            pages=True,
            secret=SECRET,
            student=STUDENT,
            **options,
        )
        return grader.grade(request)

    return run


def by_question(report: Report) -> Mapping[str, Fraction]:
    earned: dict[str, Fraction] = {}
    for outcome in report.outcomes:
        earned[outcome.spec.question] = earned.get(outcome.spec.question, Fraction(0)) + outcome.earned
    return earned


def of_question(report: Report, question: str) -> list[Outcome]:
    return [outcome for outcome in report.outcomes if outcome.spec.question == question]


def everything_seen(folder: Path) -> str:
    """All that a student may read of a graded submission."""
    return "".join(path.read_text(errors="replace") for path in sorted(folder.iterdir()))


# ── right and empty ───────────────────────────────────────────────────────────────────────────────────────────
def test_the_reference_gets_all_points(grade: Grade) -> None:
    """A right notebook earns the declared total, and every check is PASSED."""
    report = grade(answered("attention"))
    assert report.earned == report.total == 100
    assert {outcome.verdict for outcome in report.outcomes} == {Verdict.PASSED}


def test_a_regrade_agrees(grade: Grade) -> None:
    """The same hand-in twice gives the same verdicts, points and texts."""
    notebook = answered(
        "attention", {"softmax": "def softmax(s, dim):\n    return torch.exp(s) / torch.exp(s).sum(dim)"}
    )
    first, second = grade(notebook), grade(notebook)
    plain = [
        [(o.spec.number, o.verdict, o.earned, o.explanation, o.mistakes) for o in r.outcomes] for r in (first, second)
    ]
    assert plain[0] == plain[1]
    assert first.earned < first.total


# ── what breaks stays where it is ─────────────────────────────────────────────────────────────────────────────
LOOP = "def swap_effect(X, Wq, Wk, Wv, i, j, causal, layers):\n    while True:\n        pass"


def test_an_endless_loop_costs_its_question_only(grade: Grade) -> None:
    """A hang in Q5 keeps the points of all other questions; after two time-outs its other checks are BLOCKED."""
    report = grade(answered("attention", {"swap_effect": LOOP}))
    earned = by_question(report)
    assert earned["5"] == 0
    assert sum(earned.values()) == 92
    verdicts = [outcome.verdict for outcome in of_question(report, "5")]
    assert verdicts.count(Verdict.FAILED) == 2
    assert set(verdicts) == {Verdict.FAILED, Verdict.BLOCKED}
    assert {o.reason for o in of_question(report, "5") if o.verdict is Verdict.FAILED} == {Reason.LIMIT_TIME}
    stopped = [cell for cell in report.cells if cell.status is CellStatus.TIME]
    assert [cell.question for cell in stopped] == ["5"]
    assert stopped[0].seconds < 5 + 1


def test_a_dead_kernel_costs_what_it_takes_along(grade: Grade) -> None:
    """A cell that ends Python before Q3 costs nothing: the notebook is replayed without it."""
    notebook = insert(answered("attention"), "import os\nos._exit(1)", before="3")
    report = grade(notebook)
    assert report.earned == 100
    assert [cell.status for cell in report.cells].count(CellStatus.DIED) == 1


def test_an_answer_that_ends_python_blocks_its_question(grade: Grade) -> None:
    """When the answer's own cell kills the kernel, its question is BLOCKED, and the text names the cell."""
    source = "import os\ndef attention_one_query(q, K, V):\n    return K @ q\nos._exit(1)"
    report = grade(answered("attention", {"2": source}))
    assert by_question(report)["2"] == 0
    assert {o.verdict for o in of_question(report, "2")} == {Verdict.BLOCKED}
    assert sum(by_question(report).values()) == 90
    assert any("cell" in text for o in of_question(report, "2") for _, text in o.explanation)


def test_sys_exit_in_a_cell_costs_nothing(grade: Grade) -> None:
    """`sys.exit(0)` and `exit()` in cells end neither the run nor any question."""
    notebook = insert(answered("attention"), "import sys\nsys.exit(0)", before="2")
    assert grade(insert(notebook, "exit()", before="4")).earned == 100


def test_a_fault_of_a_check_is_nobodys_zero(grade: Grade, quick_course: Path, tmp_path: Path) -> None:
    """A check that raises is a GRADER_FAULT; all other checks are judged, and the total stays."""
    course = tmp_path / "broken"
    shutil.copytree(quick_course, course)
    checks = course / "reference/attention/checks.py"
    checks.write_text(
        checks.read_text().replace(
            '"""Softmax is exp(s) divided by its sum along `dim`."""', '"""Softmax is broken."""\n        1 / 0'
        )
    )
    report = grade(answered("attention"), course=course)
    assert [o.spec.number for o in report.faults] == ["1.3"]
    assert report.earned == 96
    results = json.loads((tmp_path / "out/results.json").read_text())
    fault = next(test for test in results["tests"] if test["number"] == "1.3")
    assert fault["extra_data"]["verdict"] == "GRADER_FAULT"
    assert "not your fault" in fault["output"]
    assert sum(test.get("max_score", 0) for test in results["tests"]) == 100


# ── borders ───────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture
def canary_course(quick_course: Path, tmp_path: Path) -> tuple[Path, str]:
    """The course with a random string in every hidden file."""
    course, canary = tmp_path / "canary", f"canary{secrets.token_hex(8)}"
    shutil.copytree(quick_course, course)
    for path in (course / "reference").rglob("*"):
        if path.suffix == ".py":
            path.write_text(path.read_text() + f"\nCANARY = {canary!r}\n")
        elif path.is_file():
            path.write_text(path.read_text() + f"\n# {canary}\n")
    (course / "reference/.secret").write_text(f"test-only:{canary}\n")
    return course, canary


@pytest.fixture(scope="session")
def honest(grader: Grader, quick_course: Path, tmp_path_factory: pytest.TempPathFactory) -> Fraction:
    """What the wrong notebook earns without an attack."""
    path = write(answered("attention", WRONG), tmp_path_factory.mktemp("honest"))
    report = grader.grade(Request(str(path), str(quick_course), "attention", secret=SECRET, student=STUDENT))
    assert report.earned < report.total
    return report.earned


WRONG = {"score_stats": "def score_stats(Q, K):\n    return 0.0, 0.0, 0.0, 0.0"}
ATTACKS = {
    "open the course": """
import glob, os, pathlib
for root in ("/autograder", "/root", "/home", "/tmp", "/var/tmp", os.getcwd(), "/opt"):
    for folder, _, names in os.walk(root):
        for name in names:
            if name in ("solution.py", "checks.py", "mistakes.py", ".secret", "results.json"):
                print(name, pathlib.Path(folder, name).read_text())
""",
    "ancestors": """
import os
pid = os.getpid()
for _ in range(8):
    try:
        pid = int(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[1])
    except OSError as error:
        print(error); pid = os.getppid()
    for name in ("environ", "cmdline", "maps"):
        try: print(open(f"/proc/{pid}/{name}", errors="replace").read())
        except OSError as error: print(error)
    try: print([os.readlink(f"/proc/{pid}/fd/{n}") for n in os.listdir(f"/proc/{pid}/fd")])
    except OSError as error: print(error)
""",
    "own memory": """
import ctypes, re
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
print(open("/proc/self/environ", errors="replace").read())
found = []
memory = open("/proc/self/mem", "rb", 0)
for line in open("/proc/self/maps"):
    low, high = (int(x, 16) for x in line.split()[0].split("-"))
    if "rw" in line and high - low < 2**28:
        try:
            memory.seek(low)
            found += re.findall(rb"canary[0-9a-f]{16}", memory.read(high - low))
        except (OSError, ValueError, OverflowError): pass
print(found)
""",
    "imports": """
import sys
for name in ("reference", "solution", "checks", "mistakes", "autograder.checks", "autograder.pipeline"):
    try: print(__import__(name))
    except Exception as error: print(error)
print([name for name in sys.modules if "_course_" in name])
""",
    "objects": """
import gc, inspect
print([str(o)[:300] for o in gc.get_objects() if "CANARY" in str(type(o)) or isinstance(o, str) and "CANARY" in o])
print(inspect.stack())
""",
    "patched builtins": """
import builtins, json, torch
torch.allclose = lambda *a, **k: True
torch.equal = lambda *a, **k: True
builtins.isinstance = lambda *a: True
json.loads = lambda *a, **k: {"score": 100}
""",
    "forged results": """
import os, json
for path in ("/autograder/results/results.json", "results.json", "../results.json", "../../results.json"):
    try: open(path, "w").write(json.dumps({"score": 100, "tests": []}))
    except OSError as error: print(error)
print(json.dumps({"score": 100, "tests": []}))
""",
    "trace and signal": """
import ctypes, os, signal
libc = ctypes.CDLL(None, use_errno=True)
print(libc.ptrace(16, os.getppid(), 0, 0), ctypes.get_errno())
for number in (signal.SIGSTOP, signal.SIGKILL):
    try: os.kill(os.getppid(), number)
    except OSError as error: print(error)
""",
    "network": """
import socket
for family in (socket.AF_INET, socket.AF_INET6):
    try: socket.socket(family)
    except OSError as error: print(error)
""",
    "late writer": """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(2)
        open("/tmp/softmark-late-writer", "w").write("late")
    os._exit(0)
""",
    "lying objects": """
class Liar:
    def __eq__(self, other): return True
    def __float__(self): return 1.0
    def __array__(self, *a): return None
    def __reduce__(self): return (open, ("/tmp/softmark-unpickled", "w"))
def score_stats(Q, K): return Liar()
""",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_gains_nothing_and_leaks_nothing(
    attack: str, grade: Grade, honest: Fraction, canary_course: tuple[Path, str], tmp_path: Path
) -> None:
    """With a wrong answer to Q7, an attack cell adds no point to what that notebook earns; no canary shows."""
    course, canary = canary_course
    report = grade(insert(answered("attention", WRONG), ATTACKS[attack]), course=course)
    assert report.earned <= honest
    assert not report.faults
    assert report.complete
    assert canary not in everything_seen(tmp_path / "out")
    assert not Path("/tmp/softmark-late-writer").exists()
    assert not Path("/tmp/softmark-unpickled").exists()


def test_a_hidden_input_never_comes_back(grade: Grade, tmp_path: Path) -> None:
    """`return q`, a raised value and a printed value put no hidden number into anything that is written."""
    probe = "import torch as t\nTHE_MARK = 0.123456789"
    seen_first = "str(float(Q.flatten()[0])).replace('.', '_').replace('-', 'm')"
    marks = {
        "softmax": "def softmax(s, dim):\n    seen = 'SEEN ' + str(s.flatten()[:3].tolist())\n"
        "    print(seen)\n    raise ValueError(seen)",
        "attention_one_query": "def attention_one_query(q, K, V):\n    return q",
        "score_stats": f"def score_stats(Q, K):\n    raise type('SEEN' + {seen_first}, (Exception,), {{}})(Q)",
    }
    report = grade(insert(answered("attention", marks), probe))
    hidden = [o for o in report.outcomes if not o.spec.public]
    assert all("SEEN" not in text for o in hidden for _, text in o.explanation)
    seen = json.loads((tmp_path / "out/results.json").read_text())
    public = {o.spec.number for o in report.outcomes if o.spec.public}
    for test in seen["tests"]:
        if test["number"] not in public and test["number"] != "0":
            assert "SEEN" not in json.dumps(test)
            assert not re.search(r"-?\d+\.\d{4,}", test.get("output", "")), test["output"]


# ── files ─────────────────────────────────────────────────────────────────────────────────────────────────────
def test_results_are_valid_before_any_student_code_and_after_each_question(
    grader: Grader, quick_course: Path, tmp_path: Path
) -> None:
    """While the run is on, results.json is complete JSON with the declared total, undecided checks open."""
    import threading

    path = write(insert(answered("attention"), "import time\ntime.sleep(1.5)", before="1"), tmp_path)
    seen: list[dict[str, Any]] = []
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            if (tmp_path / "out/results.json").exists():
                seen.append(json.loads((tmp_path / "out/results.json").read_text()))
            time.sleep(0.005)

    thread = threading.Thread(target=watch)
    thread.start()
    out = str(tmp_path / "out")
    grader.grade(
        Request(str(path), str(quick_course), "attention", out=out, partial=True, secret=SECRET, student=STUDENT)
    )
    done.set()
    thread.join()
    assert not seen[0]["extra_data"]["complete"]
    assert seen[0]["score"] == 0
    assert {t["extra_data"]["verdict"] for t in seen[0]["tests"] if "max_score" in t} == {"GRADER_FAULT"}
    assert all(sum(t.get("max_score", 0) for t in one["tests"]) == 100 for one in seen)
    scores = [one["score"] for one in seen]
    assert scores == sorted(scores)


def test_a_refused_hand_in_has_results_too(grader: Grader, quick_course: Path, tmp_path: Path) -> None:
    """What is no notebook gives a valid file with the reason, every check BLOCKED, and the declared total."""
    path = tmp_path / "page.ipynb"
    path.write_text("<!DOCTYPE html><html><body>Sign in</body></html>")
    report = grader.grade(Request(str(path), str(quick_course), "attention", secret=SECRET))
    assert report.refused is not None
    assert report.total == 100
    assert {o.verdict for o in report.outcomes} == {Verdict.BLOCKED}
