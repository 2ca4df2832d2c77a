"""`run_autograder` as the platform starts it: the packed mini course in the emulator, by its folder."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from autograder.emulator import InFolder, Moment, Payload, advice, view
from autograder.emulator.starters import CANARY
from autograder.gradescope import grading_seconds
from autograder.pipeline import Course
from autograder.release import with_answers
from autograder.report.gradescope import validate_bytes, validate_results
from tests.hand_ins import insert, write

from .conftest import Site

TOTAL = 20

#: Stops with an exception exactly when it finds something of the platform's.
NOSY = f"""
import os, pathlib
text = str(dict(os.environ)) + str(globals())
for name in ("/proc/self/environ", f"/proc/{{os.getppid()}}/environ", "/proc/self/cmdline"):
    try:
        text += pathlib.Path(name).read_text(errors="replace")
    except OSError:
        pass
canary, address = {CANARY[:5]!r} + {CANARY[5:]!r}, "example" + ".edu"  # in pieces: this text is among the globals
assert canary not in text and address not in text, "found"
"""
CLOSED = """
import pathlib
for name in ("submission_metadata.json", "results/results.json", "results/stdout", "source/package.json", "source"):
    path = pathlib.Path(ROOT) / name
    try:
        list(path.iterdir()) if name == "source" else path.read_bytes()
    except OSError:
        continue
    raise RuntimeError(name)
"""


def student(mini: Course, folder: Path, *cells: str, **answers: str) -> Path:
    """The reference as a hand-in, with some answers exchanged and some cells put in front of question 1."""
    notebook = with_answers(mini.assignment, answers)
    for source in cells:
        insert(notebook, source, before="1")
    return write(notebook, folder, "mini.ipynb")


def metadata(**changes: Any) -> dict[str, Any]:
    """One student without a number, on time; previous submissions and dates as asked."""
    return {
        "created_at": "2026-03-04T12:00:00.000000-05:00",
        "assignment": {"due_date": "2026-03-04T23:59:00.000000-05:00"},
        "users": [{"id": 1, "email": "a@example.edu", "name": "A"}],
        "previous_submissions": [],
        **changes,
    }


def assert_sound(payload: Payload) -> dict[str, Any]:
    """No code, no warning, valid, the declared total; returns the results."""
    assert payload.error_code is None, payload
    assert payload.results is not None, payload.stdout
    assert advice(payload.results) == []
    assert validate_bytes((payload.raw_results or "").encode(), TOTAL) == []
    results: dict[str, Any] = payload.results
    return results


def test(results: dict[str, Any], number: str) -> dict[str, Any]:
    return next(one for one in results["tests"] if one["number"] == number)


test.__test__ = False  # type: ignore[attr-defined]


def settings(site: Site, toml: str) -> None:
    """Give the packed assignment settings of its own."""
    path = site.work / "source/course/assignments/mini/assignment.toml"
    before, questions = path.read_text().split("[[questions]]", 1)
    path.write_text(f"{before}{toml}\n[[questions]]{questions}")


# ── a normal run ──────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_right_hand_in_by_the_platform(site: Site, mini: Course, tmp_path: Path) -> None:
    """Its points, its earlier result, a finished file; of the platform's environment and folder nothing gets inside."""
    earlier = {
        "score": 3.0,
        "tests": [{"number": "1.3", "name": "x", "score": 0.0, "max_score": 3.0, "status": "failed"}],
        "extra_data": {"assignment": "mini"},
    }
    before = {"submission_time": "2026-03-03T12:00:00Z", "score": 3.0, "autograder_error": False, "results": earlier}
    closed = CLOSED.replace("ROOT", repr(str(site.work)))
    path = student(mini, tmp_path, NOSY, *([closed] if os.geteuid() == 0 else []))
    payload = site.run(path, metadata=metadata(previous_submissions=[before]))
    results = assert_sound(payload)
    assert results["score"] == TOTAL
    assert test(results, "0")["status"] == "passed", test(results, "0")["output"]
    assert "Since your last submission" in results["output"]
    assert results["extra_data"]["complete"] is True
    assert payload.exit_status == 0
    assert "1.3  PASSED" in payload.stdout
    assert CANARY not in payload.stdout + (payload.raw_results or "")
    assert "example.edu" not in payload.stdout + (payload.raw_results or "")
    for moment in Moment:
        assert view(payload, moment).total == "20 / 20"
    for name in ("results", "source"):
        assert (site.work / name).stat().st_mode & 0o077 == 0
    assert (site.work / "submission_metadata.json").stat().st_mode & 0o077 == 0


def test_lateness_costs_what_the_assignment_says(site: Site, mini: Course, tmp_path: Path) -> None:
    """A tenth for each started day, on every check, in a valid file; the student reads why."""
    settings(site, "[gradescope.late]\npercent_per_day = 10\n")
    payload = site.run(student(mini, tmp_path), metadata=metadata(created_at="2026-03-06T12:00:00.000000-05:00"))
    results = assert_sound(payload)
    assert results["score"] == pytest.approx(TOTAL * 0.8)
    assert "20 % of the points" in results["output"]
    assert test(results, "2.1")["status"] == "passed"
    assert "Handed in late" in test(results, "2.1")["output"]


def test_over_the_rate_limit_the_earlier_result_stands(site: Site, mini: Course, tmp_path: Path) -> None:
    """Nothing runs; the earlier result comes again under a message. A rerun of it grades alike."""
    settings(site, "[gradescope.rate_limit]\nsubmissions = 1\nhours = 24\n")
    path = student(mini, tmp_path)
    first = assert_sound(site.run(path, metadata=metadata()))
    before = {"submission_time": "2026-03-04T01:00:00-05:00", "score": 18.0, "autograder_error": False}
    again = metadata(previous_submissions=[{**before, "results": first}])
    payload = site.run(path, metadata=again)
    results = assert_sound(payload)
    assert payload.elapsed_time < 20
    assert results["score"] == first["score"]
    assert results["extra_data"]["outcome"] == "repeated"
    assert results["output"].startswith("Not graded: at most 1 submission")
    assert payload.exit_status == 0


def test_what_is_no_notebook_is_refused_with_the_declared_total(site: Site, tmp_path: Path) -> None:
    """Every check BLOCKED with a way out; no fault of ours, so the status is 0."""
    (tmp_path / "essay.txt").write_bytes(b"not a notebook")
    payload = site.run(tmp_path / "essay.txt")
    results = assert_sound(payload)
    assert results["score"] == 0
    assert results["extra_data"]["outcome"] == "refused"
    assert {one["extra_data"]["verdict"] for one in results["tests"] if "max_score" in one} == {"BLOCKED"}
    assert payload.exit_status == 0


# ── time ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(("limit", "left"), [(600, 540), (300, 240), (299, 239.2), (20, 16), (2400, 2340)])
def test_the_reserve(limit: float, left: float) -> None:
    """A minute, or a fifth of a short limit."""
    assert grading_seconds(limit) == pytest.approx(left)


def test_a_notebook_that_sleeps_is_finished_before_the_limit(site: Site, mini: Course, tmp_path: Path) -> None:
    """A limit of 20 s: our deadline comes first, undecided checks are BLOCKED, the file is complete."""
    path = student(mini, tmp_path, *["import time\nwhile True:\n    time.sleep(1)"] * 6)
    began = time.monotonic()
    payload = site.run(path, seconds=20)
    assert time.monotonic() - began < 20
    results = assert_sound(payload)
    assert results["extra_data"]["complete"] is True
    assert "no time left" in json.dumps(results).lower() or "time" in json.dumps(results["tests"]).lower()
    assert payload.exit_status == 0


# ── whatever kills the grader ─────────────────────────────────────────────────────────────────────────────────────
class Killing(InFolder):
    """Kills the supervisor or the grader at a moment of its own."""

    def __init__(self, after: float, victim: str, number: int = signal.SIGKILL) -> None:
        super().__init__()
        self.after, self.victim, self.number = after, victim, number

    def __call__(self, work: Path, log: Any, seconds: float) -> tuple[int, bool]:
        script = f"sleep {self.after}; exec {sys.executable} -I {work / 'kill.py'} {self.victim} {self.number}"
        (work / "kill.py").write_text(_KILL)
        helper = subprocess.Popen(["sh", "-c", script], env={**os.environ, "ROOT": str(work)})
        try:
            return super().__call__(work, log, seconds)
        finally:
            helper.kill()
            helper.wait()


_KILL = """
import os, pathlib, sys, time
victim, number = sys.argv[1], int(sys.argv[2])
root = os.environ["ROOT"]
deadline = time.monotonic() + 30
while time.monotonic() < deadline:
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            command = (entry / "cmdline").read_bytes().replace(b"\\0", b" ").decode()
            parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            above = pathlib.Path(f"/proc/{parent}/cmdline").read_bytes().replace(b"\\0", b" ").decode()
        except (OSError, ValueError):
            continue
        supervisor = f"gradescope --root {root}" in command and "-c" not in command
        grader = "autograder.worker" in command and f"gradescope --root {root}" in above
        if supervisor if victim == "supervisor" else grader:
            os.kill(int(entry.name), number)
            sys.exit()
    time.sleep(0.05)
"""


def assert_nothing_lost(payload: Payload) -> dict[str, Any]:
    results = assert_sound(payload)
    assert validate_results(results, TOTAL) == []
    for one in results["tests"]:
        verdict = one["extra_data"]["verdict"] if "extra_data" in one else "none"
        assert verdict in ("PASSED", "FAILED", "BLOCKED", "GRADER_FAULT", "none")
        assert verdict != "FAILED" or one["number"] == "4.1"  # what was not reached is never held against the student
    return results


@pytest.mark.parametrize(("victim", "after"), [("supervisor", 0.0), ("grader", 0.0), ("grader", 3.0)])
def test_a_kill_at_any_moment_leaves_a_valid_file(
    site: Site, mini: Course, tmp_path: Path, victim: str, after: float
) -> None:
    """The file is valid, has the declared total, keeps what was earned; an unfinished one makes the status say so."""
    payload = site.run(student(mini, tmp_path), starter=Killing(after, victim), seconds=60)
    results = assert_nothing_lost(payload)
    assert (payload.exit_status == 0) == results["extra_data"]["complete"] or victim == "supervisor"


@pytest.mark.slow
def test_a_hundred_kills(site: Site, mini: Course, tmp_path: Path) -> None:
    """SIGKILL to the supervisor or the grader at a hundred random moments."""
    path, chance = student(mini, tmp_path), random.Random(0)
    for _ in range(100):
        victim = chance.choice(["supervisor", "grader"])
        assert_nothing_lost(site.run(path, starter=Killing(chance.uniform(0, 5), victim), seconds=60))


def test_sigterm_ends_the_run_in_order(site: Site, mini: Course, tmp_path: Path) -> None:
    """What was judged stands, the rest is open, the status is not 0."""
    path = student(mini, tmp_path, "import time\ntime.sleep(4)")
    payload = site.run(path, starter=Killing(3.0, "supervisor", signal.SIGTERM), seconds=60)
    results = assert_nothing_lost(payload)
    if not results["extra_data"]["complete"]:
        assert payload.exit_status not in (0, -9)


def test_no_process_of_the_student_outlives_the_run(site: Site, mini: Course, tmp_path: Path) -> None:
    """A cell that leaves a process behind: gone when run_autograder has ended."""
    mark = f"sleep-{time.time_ns()}"
    leave = (
        f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(300)', {mark!r}])"
    )

    class Looking(InFolder):
        def end(self) -> None:
            for entry in Path("/proc").iterdir():
                with contextlib.suppress(OSError):
                    assert mark.encode() not in (entry / "cmdline").read_bytes()
            super().end()

    assert_sound(site.run(student(mini, tmp_path, leave), starter=Looking()))


def test_python_that_does_not_start_leaves_the_fallback(site: Site, mini: Course, tmp_path: Path) -> None:
    """All points open, nobody blamed."""
    payload = site.run(student(mini, tmp_path), python="/bin/false")
    results = assert_sound(payload)
    assert payload.exit_status == 1
    assert {one["extra_data"]["verdict"] for one in results["tests"]} == {"GRADER_FAULT"}


def test_a_broken_course_is_told_to_staff_and_blames_nobody(site: Site, mini: Course, tmp_path: Path) -> None:
    """An instructor's error: status not 0, the log says what, the file has all points open."""
    (site.work / "source/course/reference/mini/checks.py").write_text("import nothing_of_the_kind\n")
    payload = site.run(student(mini, tmp_path))
    results = assert_sound(payload)
    assert payload.exit_status == 2
    assert "nothing_of_the_kind" in payload.stdout
    assert {one["extra_data"]["verdict"] for one in results["tests"]} == {"GRADER_FAULT"}
