"""What a worker does: keep a grader process of its own, grade one submission with it, and tell how it went.

Theory of operation. This runs in a thread of the local pool, or in a Dask worker on another machine; both import this
module by name. Each thread has its own grader process, started by exec in a session of its own, so that a Ctrl-C at
the terminal reaches the coordinator only. Whatever a submission does to its grader process comes back as a value: an
`Answer` of kind `died`. Only the coordinator decides what that means. A process that neither answers nor dies is
killed some time after the submission's own deadline, which it should have kept by itself.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from autograder.errors import CourseError, GraderFault
from autograder.model import Report
from autograder.service import Grader, Request, report_to_json

__all__ = ["Answer", "Task", "grade", "stop_all"]

#: How much longer than a submission's own deadline a grader process may be silent.
PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Task:
    """One submission to grade, as plain data that travels to other machines.

    seconds: the submission's own deadline · practice: accept a machine that can't keep the reference apart ·
    probe: only load the course and tell its checks; nothing of a student's runs.
    """

    id: str
    token: str
    request: Request
    seconds: float
    practice: bool = False
    probe: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """How it went. kind: report, died (the grader process ended or hung), fault (it lives and says that it failed) or
    course (nothing can be graded here) · text: the report as packed JSON, or the reason."""

    id: str
    token: str
    kind: str
    text: str = ""
    report: bytes = b""
    outcome: str = ""
    seconds: float = 0.0
    worker: str = ""


class _Process(Grader):
    """A grader process that can be looked at and hung up on from another thread."""

    def grade(self, request: Request) -> Report:
        """As the base does; a line that breaks off in the middle is the end of the process too."""
        try:
            return super().grade(request)
        except (OSError, ValueError) as error:
            raise GraderFault(f"grader process {self.pid} ended while it graded: {error}") from error

    def ended(self) -> bool:
        return self._process.poll() is not None

    def hang_up(self) -> None:
        """No more orders and no more answers; one that waits for an order ends."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)


_local = threading.local()
_graders: set[_Process] = set()
_guard = threading.Lock()
_isolation: dict[str, str] = {}


def grade(task: Task) -> Answer:
    """Grade one submission in this thread's grader process. Never raises for anything that a submission does."""
    started = time.monotonic()
    worker = f"{socket.gethostname()}:{os.getpid()}"
    try:
        _refuse_what_is_not_here(task)
        report = _graded(task)
    except CourseError as error:
        return Answer(task.id, task.token, "course", text=str(error), worker=worker)
    except GraderFault as error:
        kind = "fault" if _has_grader() else "died"
        return Answer(task.id, task.token, kind, text=str(error), worker=worker, seconds=time.monotonic() - started)
    packed = zlib.compress(report_to_json(report).encode(), 6)
    seconds = time.monotonic() - started
    return Answer(
        task.id, task.token, "report", report=packed, outcome=_outcome(report), seconds=seconds, worker=worker
    )


def _outcome(report: Report) -> str:
    if report.refused is not None:
        return "refused"
    return "fault" if report.faults or not report.complete else "graded"


def _refuse_what_is_not_here(task: Task) -> None:
    """A worker on another machine must see the same folders, and be allowed to give grades."""
    host = socket.gethostname()
    if not Path(task.request.course).is_dir():
        where = task.request.course
        raise CourseError(f"the machine {host} does not see this folder; it must lie on a shared disk", where=where)
    if not task.practice and (why := _practice_only()):
        raise CourseError(
            f"the machine {host} can't keep the reference apart ({why}): results would be for practice only. "
            "See `softmark doctor`; --practice grades all the same and stamps every result"
        )


def _practice_only() -> str:
    """Why this machine's results would be no grades, or an empty string. Looked at once a process."""
    with _guard:
        if "why" not in _isolation:
            from autograder.sandbox import probe_layers

            found = probe_layers()
            lacking = {layer: why for layer, why in found.missing.items() if layer in ("landlock", "seccomp")}
            bad = found.level.value == "C" and bool(lacking)
            _isolation["why"] = "; ".join(f"{layer}: {why}" for layer, why in lacking.items()) if bad else ""
        return _isolation["why"]


def _graded(task: Task) -> Report:
    grader = _grader()
    timer = threading.Timer(task.seconds + PATIENCE, _kill, (grader,))
    timer.daemon = True
    timer.start()
    try:
        return grader.grade(task.request)
    except GraderFault as error:
        if _is_dead(grader):
            _drop(grader)
            if not timer.is_alive():
                raise GraderFault(f"it neither ended nor answered for {task.seconds + PATIENCE:.0f} s") from error
        raise
    finally:
        timer.cancel()


def _grader() -> _Process:
    """This thread's grader process; a new one when there is none, or when it died while it waited."""
    grader: _Process | None = getattr(_local, "grader", None)
    if grader is not None and not (grader.ended() or grader not in _graders):
        return grader
    if grader is not None:
        _drop(grader)
    grader = _Process(start_new_session=True)
    _local.grader = grader
    with _guard:
        _graders.add(grader)
    return grader


def _has_grader() -> bool:
    return getattr(_local, "grader", None) is not None


def _is_dead(grader: _Process) -> bool:
    """Whether the process ended, given a moment to do so."""
    for _ in range(50):
        if grader.ended():
            return True
        time.sleep(0.01)
    return False


def _drop(grader: _Process) -> None:
    _local.grader = None
    with _guard:
        _graders.discard(grader)
    grader.close()


def _kill(grader: _Process) -> None:
    with suppress(ProcessLookupError):
        os.kill(grader.pid, signal.SIGKILL)


def stop_all(patience: float = 2.0) -> None:
    """End all grader processes of this process: those that wait at once, those at work after `patience` seconds."""
    with _guard:
        graders = list(_graders)
        _graders.clear()
    for grader in graders:
        grader.hang_up()
    deadline = time.monotonic() + patience
    for grader in graders:
        while not grader.ended() and time.monotonic() < deadline:
            time.sleep(0.01)
        if not grader.ended():
            _kill(grader)
        grader.close()
