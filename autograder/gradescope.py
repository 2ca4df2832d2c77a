"""One run inside Gradescope: what `run_autograder` becomes.

Theory of operation. The platform makes `submission/`, `results/` and the metadata anew, starts us as root, and at its
limit kills one process and overwrites the result with a zero. So this process, the *supervisor*, stays small and
outermost. It writes a valid "not finished" result before anything else, closes the doors that students must not pass,
starts a grader process with a clean environment, and watches the clock: the grader's deadline comes first, then
ours, both before the platform's. Whatever becomes of the grader, the last file that it wrote is valid and keeps what
was earned. At the end everything that student code left running is killed, and the exit status says whether staff
have to look: it is not 0 for a fault of the grader, a note that needs them, or a file that is not complete.

Of the platform's environment only TIMEOUT_SECONDS is used. Its tokens and addresses stay in this process, which
belongs to root; neither the grader nor student code inherits them.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder import policy
from autograder.assignment import load_assignment
from autograder.errors import CourseError, GraderFault, Interrupted
from autograder.metadata import Metadata, read_metadata
from autograder.model import Assignment, Level, Limits, Note, Report
from autograder.report.gradescope import validate_bytes, write_atomic
from autograder.sandbox import sweep

if TYPE_CHECKING:
    from autograder.sandbox import Zygote

__all__ = ["FALLBACK", "PACKAGE", "Place", "box_memory", "grade_orders", "grading_seconds", "run"]

#: Files that `package` puts into `source/`.
PACKAGE, FALLBACK = "package.json", "results.fallback.json"
_DEFAULT_SECONDS = 600.0
_RESERVE_SECONDS = 60.0
_SHORT_LIMIT = 300.0
#: What the grader process and its zygote hold while a student's kernel runs, measured at 310 MB with the kernel.
_GRADERS_MEMORY = 340 * 2**20
_LEAST_MEMORY = 192 * 2**20
_CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_PR_SET_CHILD_SUBREAPER = 36

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Place:
    """The platform's folder. root: `/autograder`, or a stand-in."""

    root: Path

    @property
    def source(self) -> Path:
        return self.root / "source"

    @property
    def course(self) -> Path:
        return self.source / "course"

    @property
    def submission(self) -> Path:
        return self.root / "submission"

    @property
    def results(self) -> Path:
        return self.root / "results"

    @property
    def file(self) -> Path:
        return self.results / "results.json"

    @property
    def metadata(self) -> Path:
        return self.root / "submission_metadata.json"


@dataclass(slots=True)
class _Situation:
    """What is known before anything is graded. template: results.json with every check undecided."""

    place: Place
    assignment: Assignment
    template: dict[str, Any]
    metadata: Metadata
    started: float
    limit: float
    notes: list[str] = field(default_factory=list)

    @property
    def total(self) -> Fraction:
        return self.assignment.total


# ── the supervisor ────────────────────────────────────────────────────────────────────────────────────────────────
def run(root: Path, environ: Mapping[str, str] = os.environ, *, say: Say) -> int:
    """Grade what lies in `root/submission` into `root/results/results.json`; returns the exit status.

    say: takes lines for the log, which only staff see. Never raises for anything that a student did.
    """
    started, place = time.monotonic(), Place(root)
    notes = _close_the_doors(place)
    template = _first_write(place)
    try:
        situation = _look_around(place, template, environ, started)
    except CourseError as error:
        say(f"course error: {error}")
        return 2
    situation.notes[:0] = notes
    if (text := _repeated(situation)) is not None:
        say(text)
        return 0
    return _conclude(situation, _supervise(situation, say), say)


def _close_the_doors(place: Place) -> list[str]:
    """Modes first, before anything of a student's runs. What can't be set is noted; the sandbox decides then."""
    problems = []
    for path, mode in ((place.source, 0o700), (place.results, 0o700), (place.metadata, 0o600)):
        try:
            path.resolve().chmod(mode)
        except OSError as error:
            if path != place.metadata or path.exists():
                problems.append(f"{path.name} can't get mode {mode:o}: {error.strerror}")
    return problems


def _first_write(place: Place) -> dict[str, Any]:
    """Every check undecided, all points open. Returns what was written; raises GraderFault when nothing can be."""
    try:
        data = (place.source / FALLBACK).read_bytes()
        template: dict[str, Any] = json.loads(data)
        place.results.mkdir(exist_ok=True)
        write_atomic(place.file, data)
    except (OSError, ValueError) as error:
        raise GraderFault(f"the package's {FALLBACK} can't be read or written: {error}") from error
    return template


def _look_around(place: Place, template: dict[str, Any], environ: Mapping[str, str], started: float) -> _Situation:
    try:
        name = json.loads((place.source / PACKAGE).read_bytes())["assignment"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CourseError(f"this is no package of `softmark package`: {error}", where=place.source / PACKAGE) from error
    assignment = load_assignment(place.course, str(name))
    metadata = read_metadata(place.metadata)
    limit, problem = _platform_limit(environ, assignment)
    return _Situation(
        place, assignment, template, metadata, started, limit, [*metadata.problems, *([problem] if problem else [])]
    )


def _platform_limit(environ: Mapping[str, str], assignment: Assignment) -> tuple[float, str | None]:
    """When the platform ends us, in seconds from the start, and what was wrong with what it said."""
    text = environ.get("TIMEOUT_SECONDS")
    own = assignment.limits.run_seconds or _DEFAULT_SECONDS
    if text is None:
        return own, None
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 1 <= seconds < 1e6:
        return own, f"TIMEOUT_SECONDS is {text[:40]!r}, which is no number of seconds"
    return seconds, None


def grading_seconds(limit: float) -> float:
    """How long grading may take when the platform ends it after `limit` seconds: a minute or a fifth is kept back."""
    return limit - (_RESERVE_SECONDS if limit >= _SHORT_LIMIT else limit / 5)


def _repeated(situation: _Situation) -> str | None:
    """Over the rate limit: write the result of the submission before this one, and return what was said."""
    settings = situation.assignment.settings.get("gradescope", {})
    message = policy.over_the_limit(situation.metadata, settings)
    if message is None:
        return None
    previous = situation.metadata.previous
    again = policy.repeated(previous, situation.template, message) if previous else None
    if again is not None:
        data = json.dumps(again, allow_nan=False).encode()
        if not validate_bytes(data, situation.total):
            write_atomic(situation.place.file, data)
            return message
    situation.notes.append("over the rate limit, but the earlier result can't be repeated: graded all the same")
    return None


def _supervise(situation: _Situation, say: Say) -> int:
    """Run a grader process until it ends or has to be ended; returns its status, which is not 0 when it was killed."""
    _be_the_reaper()
    soft, platform = situation.started + grading_seconds(situation.limit), situation.started + situation.limit
    ends = soft + (platform - soft) / 3
    with _grader(_orders(situation)) as process:
        status = _wait(process, ends, say)
    if time.monotonic() < ends:  # else our own end, and with it the container's, comes before tidiness
        _leave_nothing_running(say)
    return status


def _orders(situation: _Situation) -> dict[str, Any]:
    """What the grader process needs to know: none of the platform's environment, no names of people."""
    place, assignment = situation.place, situation.assignment
    settings = assignment.settings.get("gradescope", {})
    price = policy.penalty(situation.metadata, settings)
    late = policy.lateness(situation.metadata, settings.get("group_dates", "latest"))
    notes = list(situation.notes)
    if late and price is None:
        notes.append(f"handed in {late.total_seconds() / 60:.0f} minutes late; nothing is taken off")
    return {
        "command": "gradescope",
        "submission": str(place.submission),
        "course": str(place.course),
        "assignment": assignment.name,
        "out": str(place.results),
        "deadline": situation.started + grading_seconds(situation.limit),
        "student": next((person.sid for person in situation.metadata.people if person.sid), None),
        "previous": situation.metadata.previous,
        "penalty": [str(price.share), price.text] if price else None,
        "notes": notes,
        "memory_bytes": _memory(assignment.limits, box_memory()),
    }


def box_memory() -> int | None:
    """The memory that this container may use, in bytes; None without a limit."""
    for path in _CGROUP_LIMITS:
        with contextlib.suppress(OSError, ValueError):
            found = int(Path(path).read_text())
            if found < 2**50:
                return found
    return None


def _memory(limits: Limits, box: int | None) -> int:
    """What student code may use: the assignment's limit, or what the box leaves beside the grader."""
    return limits.memory_bytes if box is None else min(limits.memory_bytes, max(_LEAST_MEMORY, box - _GRADERS_MEMORY))


@contextlib.contextmanager
def _grader(orders: Mapping[str, Any]) -> Iterator[subprocess.Popen[bytes]]:
    """A grader process that got its orders. SIGTERM and SIGINT to us are handed on to it."""
    from autograder.worker import start_grader

    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            process = start_grader(theirs, start_new_session=True)
        handlers = {}
        for number in (signal.SIGTERM, signal.SIGINT):
            handlers[number] = signal.signal(number, lambda *_: process.terminate())
        try:
            with contextlib.suppress(OSError):  # it died at once: its status tells
                ours.sendall(json.dumps(orders).encode() + b"\n")
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait()
            for number, handler in handlers.items():
                signal.signal(number, handler)


def _wait(process: subprocess.Popen[bytes], ends: float, say: Say) -> int:
    try:
        status = process.wait(max(0.0, ends - time.monotonic()))
    except subprocess.TimeoutExpired:
        say("grader fault: the grader did not end by its deadline and was killed")
        return 3
    if status < 0:
        say(f"grader fault: the grader was killed by signal {-status}")
        return 3
    return status


def _be_the_reaper() -> None:
    """Orphans of the grader come to us, not to a process that may not care."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _leave_nothing_running(say: Say) -> None:
    """A grader that died could not clean up: kill what its student's uid runs, remove what it wrote."""
    try:
        if swept := sweep():
            say(f"cleaned up after {swept} unfinished run(s)")
    except GraderFault as error:
        say(f"grader fault: {error}")
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _conclude(situation: _Situation, status: int, say: Say) -> int:
    """Look at the file as the platform will find it; the exit status."""
    place = situation.place
    try:
        data = place.file.read_bytes()
        problems = validate_bytes(data, situation.total)
    except OSError as error:
        problems = [str(error)]
    if problems:
        say(f"grader fault: results.json was not valid ({problems[0]}); every check is open")
        _first_write(place)
        return 3
    if not json.loads(data)["extra_data"]["complete"]:
        say("grader fault: the run did not finish; the checks that were not reached are open")
        return status or 3
    return status


# ── inside the grader process ─────────────────────────────────────────────────────────────────────────────────────
def grade_orders(orders: Mapping[str, Any], zygote: Zygote, say: Say) -> int:
    """Carry out the supervisor's orders; the exit status. results.json is replaced after each question."""
    from dataclasses import replace

    from autograder.output import write_results
    from autograder.pipeline import Watcher, grade, open_course

    out = Path(orders["out"])
    price = policy.Penalty(Fraction(orders["penalty"][0]), orders["penalty"][1]) if orders["penalty"] else None
    notes = tuple(Note(text, staff_only=True) for text in orders["notes"])

    def write(report: Report) -> None:
        lowered = policy.with_penalty(report, price)
        write_results(replace(lowered, notes=(*lowered.notes, *notes)), out, previous=orders["previous"])

    signal.signal(signal.SIGTERM, _interrupt)
    try:
        course = open_course(Path(orders["course"]), orders["assignment"])
        limits = replace(course.assignment.limits, memory_bytes=orders["memory_bytes"])
        course = replace(course, assignment=replace(course.assignment, limits=limits))
        graded = grade(
            Path(orders["submission"]),
            course,
            zygote,
            require=Level.B if os.geteuid() == 0 else None,  # not root: a trial elsewhere, the assignment decides
            student_id=orders["student"],
            seconds=max(1.0, orders["deadline"] - time.monotonic()),
            watcher=Watcher(write=write),
        )
        if graded.report.refused is not None:
            write(graded.report)
    except Interrupted:
        say("stopped from outside; what was judged so far stands")
        return 3
    return _log(graded.report, say)


def _interrupt(number: int, frame: object) -> None:
    raise Interrupted(signal.Signals(number).name)


def _log(report: Report, say: Say) -> int:
    """For staff: what holds, and each check's verdict. No value of a hidden check, and no text of a student's."""
    if report.refused is not None:
        say(f"not graded: {report.refused}")
    if report.isolation is not None:
        say(f"isolation level {report.isolation.level}: {', '.join(report.isolation.layers)}")
        for layer, why in report.isolation.missing.items():
            say(f"missing layer {layer}: {why}")
    for outcome in report.outcomes:
        say(
            f"{outcome.spec.number:>6}  {outcome.verdict:<12}  {float(outcome.earned):g}/{float(outcome.spec.points):g}"
        )
    for outcome in report.faults:
        say(f"grader fault in check {outcome.spec.number}; `softmark explain` shows it")
    look = [note for note in report.notes if note.staff_only and note.needs_human]
    for note in look:
        say(f"staff should look: {note.text.splitlines()[0][:300]}")
    return 3 if report.faults or look else 0
