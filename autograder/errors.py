"""Who is to blame, as a type.

    GradingError
    ├── SubmissionError     the hand-in can't be graded as it stands: a reason and a way out for the student
    ├── ExecutionError      student code stopped: graded as far as it got
    ├── CourseError         the instructor's files are inconsistent: refuse to start; file, key, reason
    └── GraderFault         ours: never a number
        └── ProtocolError   bytes from a student's kernel that are not what they should be

Every message says where, what was seen, what was expected and what to do.
"""

from __future__ import annotations

from pathlib import Path

__all__ = [
    "CourseError",
    "ExecutionError",
    "GraderFault",
    "GradingError",
    "Interrupted",
    "ProtocolError",
    "SubmissionError",
]


class GradingError(Exception):
    """Base of all errors that Softmark raises on purpose."""


class SubmissionError(GradingError):
    """The hand-in can't be graded as it stands.

    `str(error)` is one or two plain sentences for the student: the cause and what to do.
    """


class ExecutionError(GradingError):
    """Student code stopped; the submission is graded as far as it got."""


class CourseError(GradingError):
    """The course's own files are inconsistent: nothing is started.

    where: the file (and, in `key`, the setting or check) that has to change.
    """

    def __init__(self, reason: str, *, where: Path | str | None = None, key: str | None = None) -> None:
        self.reason, self.where, self.key = reason, where, key
        place = " · ".join(str(part) for part in (where, key) if part is not None)
        super().__init__(f"{place}: {reason}" if place else reason)


class GraderFault(GradingError):
    """Something of ours failed. Never turned into a number."""


class ProtocolError(GraderFault):
    """Bytes from a student's kernel broke the wire's rules.

    It is caught where replies are read and becomes a verdict about that call (reason `protocol`); it is
    listed under GraderFault only because letting it escape would be a fault of ours.
    """


class Interrupted(BaseException):
    """Whoever started the run stops it (a real SIGINT or SIGTERM). Nothing on the way catches it.

    A KeyboardInterrupt won't do: a check's own code can raise one, and that is a fault of that check only.
    """
