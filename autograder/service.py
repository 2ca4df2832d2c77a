"""A grader process that stays: one import of torch and one zygote for many submissions.

`Grader` is the client, for pools, tests and benchmarks; `serve` is the loop inside the grader process. They talk in
lines of JSON over a socket pair. Both ends are ours: nothing of a student's travels here but inside a `Report`,
which pydantic reads back field by field.
"""

from __future__ import annotations

import gc
import json
import mmap
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pydantic import TypeAdapter

from autograder.errors import CourseError, GraderFault
from autograder.model import Report

if TYPE_CHECKING:
    from autograder.pipeline import Course
    from autograder.sandbox import Zygote

__all__ = ["Grader", "Request", "report_from_json", "report_to_json", "serve"]

#: Bytes that a grader process may have grown by before it looks for memory to give back.
ROOM = 8 * 2**20
_REPORT: TypeAdapter[Report] = TypeAdapter(Report)


def report_to_json(report: Report) -> str:
    """A report as JSON, points as exact fractions. NaN can't stand in it."""
    return _REPORT.dump_json(report).decode()


def report_from_json(text: str) -> Report:
    """The inverse of `report_to_json`, bit for bit."""
    return _REPORT.validate_json(text)


@dataclass(frozen=True, slots=True)
class Request:
    """One submission to grade.

    out: folder for results.json (and the pages when `pages`; all but executed.html when `quick`), or None · partial:
    write results.json before the run and after each question too, for whoever may be killed and not ask again ·
    require: lowest isolation level · seconds: until everything is written · metadata: as Gradescope gives it ·
    secret: a marked test secret in place of the course's.
    """

    submission: str
    course: str
    assignment: str
    out: str | None = None
    pages: bool = False
    quick: bool = False
    partial: bool = False
    require: str | None = None
    seed: int | None = None
    student: str | None = None
    seconds: float | None = None
    secret: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


class Grader:
    """A grader process and the line to it; a context manager. Not for use by two threads at once."""

    def __init__(self, **popen: Any) -> None:
        from autograder.worker import start_grader

        ours, theirs = socket.socketpair()
        with theirs:
            self._process: subprocess.Popen[bytes] = start_grader(theirs, **popen)
        self._socket = ours
        self._stream: IO[bytes] = ours.makefile("rb")
        self._send({"command": "serve"})

    @property
    def pid(self) -> int:
        return self._process.pid

    def _send(self, message: Mapping[str, Any]) -> None:
        try:
            self._socket.sendall(json.dumps(message).encode() + b"\n")
        except OSError as error:
            raise GraderFault(f"grader process {self.pid} can't be reached: {error}") from error

    def grade(self, request: Request) -> Report:
        """Grade one submission; raises CourseError, or GraderFault when the process died (then start another)."""
        self._send({name: getattr(request, name) for name in Request.__slots__})
        line = self._answer()
        if not line.endswith(b"\n"):
            raise GraderFault(f"grader process {self.pid} ended (status {self._process.wait()}) while it graded")
        answer = json.loads(line)
        if "report" in answer:
            return report_from_json(answer["report"])
        if answer["kind"] == "CourseError":
            raise CourseError(answer["text"])
        raise GraderFault(answer["text"])

    def _answer(self) -> bytes:
        """One line; less than a line when the process was killed."""
        try:
            return self._stream.readline()
        except ConnectionResetError:
            return b""

    def close(self) -> None:
        self._stream.close()
        self._socket.close()
        self._process.wait()

    def __enter__(self) -> Grader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def serve(requests: IO[bytes], answers: socket.socket, zygote: Zygote) -> None:
    """Grade request after request until the other end closes. Courses are loaded once."""
    from autograder.sandbox.libc import give_back_freed_memory, map_large_memory

    map_large_memory()
    courses: dict[tuple[str, str, str | None], Course] = {}
    resident = known = 0
    for line in requests:
        request = Request(**json.loads(line))
        try:
            answer = {"report": report_to_json(_grade(request, courses, zygote))}
        except (CourseError, GraderFault) as error:
            answer = {"kind": type(error).__name__, "text": str(error)}
        try:
            answers.sendall(json.dumps(answer).encode() + b"\n")
        except (BrokenPipeError, ConnectionResetError):
            return  # whoever asked has left
        if len(courses) > known:
            known = len(courses)
            gc.freeze()  # what was loaded for a course stays: a collection that looks at it takes 60 ms
        if _resident() > resident + ROOM:
            give_back_freed_memory()
            resident = _resident()


def _resident() -> int:
    """Bytes of this process's memory that are there."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE
    except OSError:  # no Linux
        return 0


def _grade(request: Request, courses: dict[tuple[str, str, str | None], Course], zygote: Zygote) -> Report:
    from autograder.metadata import understand
    from autograder.model import Level
    from autograder.output import write_pages, write_results
    from autograder.pipeline import Watcher, grade, open_course

    key = (request.course, request.assignment, request.secret)
    if key not in courses:
        secret = request.secret.encode() if request.secret else None
        course = open_course(Path(request.course), request.assignment, secret=secret)
        if failed := zygote.preload(course.assignment.preload):
            where = course.assignment.folder / "assignment.toml"
            raise CourseError(f"this can't be imported for the kernels: {failed}", where=where, key="preload")
        courses[key] = course
    out = Path(request.out) if request.out else None
    if out is not None:
        with _writing(out):
            out.mkdir(parents=True, exist_ok=True)

    previous = understand(dict(request.metadata)).previous

    def write(report: Report) -> None:
        if out is not None and (report.complete or request.partial):
            with _writing(out):
                write_results(report, out, previous)

    graded = grade(
        Path(request.submission),
        courses[key],
        zygote,
        require=Level(request.require) if request.require else None,
        seed=request.seed,
        student_id=request.student,
        metadata=request.metadata,
        seconds=request.seconds,
        watcher=Watcher(write=write),
    )
    if out is not None and request.pages:
        with _writing(out):
            write_pages(graded, out, previous, executed=not request.quick)
    return graded.report


@contextmanager
def _writing(out: Path) -> Iterator[None]:
    """A full disk is a fault of ours that this process survives."""
    try:
        yield
    except OSError as error:
        raise GraderFault(f"the results can't be written to {out}: {error.strerror}") from error
