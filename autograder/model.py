"""The values that flow through the pipeline: frozen, plain, named after the field.

    submission ─collect→ ─sanitise→ ─execute→ ─check→ ─score→ ─report→

Stages import this module and `errors`, `seeds`, `plan`; never each other. Points are `Fraction`s from end to
end, and turn into floats once, when a file is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from autograder.plan import Plan

__all__ = [
    "Assignment",
    "CellRecord",
    "CellStatus",
    "CheckSpec",
    "Definition",
    "Edit",
    "Isolation",
    "LeaderboardRow",
    "Level",
    "Limits",
    "Note",
    "Outcome",
    "QuestionSpec",
    "Reason",
    "Reply",
    "ReplyKind",
    "Report",
    "Run",
    "Session",
    "Submission",
    "Value",
    "Verdict",
    "Visibility",
]

#: None, bool, int, float, str, list, tuple, dict with str keys, torch.Tensor, nested: the closed set of the wire.
Value = Any


class Verdict(StrEnum):
    """What became of one check. One never turns into another."""

    PASSED = "PASSED"
    FAILED = "FAILED"
    BLOCKED = "BLOCKED"
    GRADER_FAULT = "GRADER_FAULT"


class Reason(StrEnum):
    """Why a check did not pass: a closed set, so that feedback can't carry hidden values."""

    # FAILED: the code was called and judged
    WRONG = "wrong"
    SHAPE = "shape"
    DTYPE = "dtype"
    TYPE = "type"
    NOT_FINITE = "not-finite"
    NOT_PLAIN = "not-plain"
    TOO_BIG = "too-big"
    RAISED = "raised"
    KERNEL_DIED = "kernel-died"
    PROTOCOL = "protocol"
    LIMIT_TIME = "limit:time"
    LIMIT_MEMORY = "limit:memory"
    LIMIT_PROCESSES = "limit:processes"
    LIMIT_DISK = "limit:disk"
    LIMIT_OUTPUT = "limit:output"
    # BLOCKED: it could not be called
    NOT_DEFINED = "not-defined"
    NOT_ANSWERED = "not-answered"
    CELL_FAILED = "cell-failed"
    NEEDS_EARLIER = "needs-earlier"
    OUT_OF_TIME = "out-of-time"
    SKIPPED = "skipped"
    # GRADER_FAULT
    GRADER = "grader"


class Level(StrEnum):
    """Isolation level, best first; `Level.A.at_least(Level.B)` is true."""

    A = "A"
    B = "B"
    C = "C"

    def at_least(self, other: Level) -> bool:
        return self.value <= other.value


class Visibility(StrEnum):
    """Gradescope's four visibilities."""

    VISIBLE = "visible"
    HIDDEN = "hidden"
    AFTER_DUE_DATE = "after_due_date"
    AFTER_PUBLISHED = "after_published"


@dataclass(frozen=True, slots=True)
class Isolation:
    """Which layers hold, by name: uid, rlimits, no_new_privs, seccomp, no-network, landlock."""

    level: Level
    layers: tuple[str, ...]
    missing: Mapping[str, str] = field(default_factory=dict)  # layer -> why it does not hold


@dataclass(frozen=True, slots=True)
class Limits:
    """What one submission may use. Seconds are wall clock of the grader, bytes are bytes."""

    cell_seconds: float = 20.0
    call_seconds: float = 10.0
    run_seconds: float = 540.0
    grace_seconds: float = 0.5
    memory_bytes: int = 4 * 2**30
    processes: int = 256
    files: int = 1024
    file_bytes: int = 256 * 2**20
    disk_bytes: int = 1 * 2**30
    disk_files: int = 20_000
    output_bytes: int = 64 * 2**20
    output_messages: int = 100_000
    output_text: int = 100_000
    reply_bytes: int = 8 * 2**20


@dataclass(frozen=True, slots=True)
class QuestionSpec:
    """One question as students read it."""

    id: str
    title: str
    points: Fraction
    functions: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()  # ids of questions that this one builds on
    avoid: tuple[str, ...] = ()  # library functions that the answer should do without: staff are told where it may not


@dataclass(frozen=True, slots=True)
class CheckSpec:
    """One declared check: what is fixed before anything runs.

    number: "2.1", the sort key · name: the claim, one line · public: its inputs are public, so values, pictures
    and exception messages may be shown · visibility: Gradescope's, from the decorator or the assignment.
    """

    number: str
    question: str
    name: str
    points: Fraction
    public: bool = False
    visibility: Visibility = Visibility.VISIBLE
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Assignment:
    """`assignment.toml`, read and checked.

    folder: the public folder · reference: the hidden one · preload: public modules that most hand-ins import, which
    a grader of many imports once.
    """

    name: str
    title: str
    version: str
    total: Fraction
    questions: tuple[QuestionSpec, ...]
    folder: Path
    reference: Path
    notebook: str
    written_points: Fraction = Fraction(0)
    visibility: Visibility = Visibility.VISIBLE
    require_isolation: Level = Level.C
    preload: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    settings: Mapping[str, Any] = field(default_factory=dict)  # the validated rest of the file, e.g. [gradescope]

    def question(self, id: str) -> QuestionSpec:
        return next(q for q in self.questions if q.id == id)


@dataclass(frozen=True, slots=True)
class Note:
    """Something that the student (or only staff) should read: what was met, what was done, what to do."""

    text: str
    question: str | None = None
    staff_only: bool = False
    needs_human: bool = False


@dataclass(frozen=True, slots=True)
class Edit:
    """One change that `sanitise` made, e.g. 'dropped 12 outputs', 'restored the given cell "setup"'."""

    what: str
    cell: int | None = None


@dataclass(frozen=True, slots=True)
class Submission:
    """A hand-in after `collect`: the notebook's bytes and the loose files beside it, nothing parsed yet.

    name: display name of the notebook file · notebook: its raw bytes · files: relative POSIX path → bytes ·
    sha256: of the hand-in's bytes · metadata: what Gradescope or an export says of it (may be empty).
    """

    name: str
    notebook: bytes
    sha256: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


class CellStatus(StrEnum):
    OK = "ok"
    ERROR = "error"
    TIME = "limit:time"
    MEMORY = "limit:memory"
    PROCESSES = "limit:processes"
    DISK = "limit:disk"
    OUTPUT = "limit:output"
    DIED = "kernel-died"
    PROTOCOL = "protocol"
    NOT_RUN = "not-run"  # the run's deadline came first


@dataclass(frozen=True, slots=True)
class CellRecord:
    """What one code cell did. index: position in the notebook that was run (all cells counted, from 0).

    label: what a student recognises, "cell 7 (Q3)" · ename, evalue, line: of the exception that left the cell,
    as the kernel claims, bounded and without control characters · signal: of a dead kernel.
    """

    index: int
    cell_id: str
    status: CellStatus
    seconds: float
    label: str
    question: str | None = None
    role: str | None = None
    ename: str | None = None
    evalue: str | None = None
    line: int | None = None
    signal: int | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """What execution left: records a cell, the executed notebook (an nbformat NotebookNode), the isolation."""

    cells: tuple[CellRecord, ...]
    notebook: Any
    isolation: Isolation
    notes: tuple[Note, ...] = ()
    restarts: int = 0
    seconds: float = 0.0


class ReplyKind(StrEnum):
    VALUE = "value"
    RAISED = "raised"
    NOT_DEFINED = "not-defined"
    NOT_PLAIN = "not-plain"
    TOO_BIG = "too-big"
    TIME = "limit:time"
    MEMORY = "limit:memory"
    PROCESSES = "limit:processes"
    DISK = "limit:disk"
    DIED = "kernel-died"
    PROTOCOL = "protocol"


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to one plan. Untrusted, but decoded: plain data only.

    value: what the plan returned · name: for NOT_DEFINED the missing name, for RAISED the exception's class (from
    a whitelist, else "an exception"), for NOT_PLAIN the type that was met · message: the exception's text, for
    staff and public checks only · function, line: innermost place in the student's own code (line in the cell) ·
    step: index of the plan's step that ended it · changed_inputs: the call changed its arguments in place ·
    calls: how often each served callable was called (counted by the grader) · signal: for DIED.
    """

    kind: ReplyKind
    value: Value = None
    name: str | None = None
    message: str | None = None
    function: str | None = None
    line: int | None = None
    cell: str | None = None  # id of the cell that holds `line`
    step: int | None = None
    changed_inputs: bool = False
    calls: Mapping[str, int] = field(default_factory=dict)
    signal: int | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Definition:
    """What a name is in the student's kernel at the end: kind is function, class, value or missing."""

    name: str
    kind: str
    signature: str | None = None
    cell: str | None = None


class Session(Protocol):
    """The student's kernel, as checks see it. Given by `pipeline`; a fake one runs trusted modules in-process."""

    def call(
        self,
        plans: Sequence[Plan],
        *,
        seconds: float,
        served: Mapping[str, Callable[..., Value]] | None = None,
        forked: bool = True,
        shared: bool = False,
    ) -> list[Reply]:
        """Run the plans in order in one forked child (or, unforked, in the kernel itself); one reply a plan.

        seconds: limit of each plan · shared: in the child that the last shared call left, if it is still there, and
        leave it for the next one. Any other call ends that child. Plans after one that killed or hung the child get
        the same kind of reply with `step=None`: they were not tried. Never raises for anything that the student does.
        """

    def part(self) -> None:
        """End the shared child: the next shared call gets a new one."""

    def restart(self) -> None:
        """Replace the kernel by a fresh one that replayed the notebook without its broken cells."""

    def describe(self, names: Sequence[str]) -> dict[str, Definition]:
        """What the names are; `describe(())` lists all top-level names that the notebook's cells defined."""

    @property
    def seconds_left(self) -> float:
        """Until the run's deadline."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One check, judged.

    explanation: lines for the student, each (label, text), e.g. ("called", "softmax(s, dim=1)"); for hidden checks
    they hold no values, messages or printed text · mistakes: names of the diagnosis (one, or a pair) · hints: one
    sentence for each · staff: details that only staff may read · on_top_of: functions of the student's own that the
    answer is right on top of.
    """

    spec: CheckSpec
    verdict: Verdict
    earned: Fraction
    reason: Reason | None = None
    explanation: tuple[tuple[str, str], ...] = ()
    mistakes: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    on_top_of: tuple[str, ...] = ()
    staff: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class LeaderboardRow:
    name: str
    value: float | str
    order: str = "desc"


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that is known about one graded submission; what the report stage renders.

    complete: false in the files written before the end · fault: whether staff must look (exit status 3).
    """

    assignment: str
    title: str
    version: str
    total: Fraction
    outcomes: tuple[Outcome, ...]
    submission: str
    sha256: str
    questions: tuple[QuestionSpec, ...] = ()
    written_points: Fraction = Fraction(0)
    notes: tuple[Note, ...] = ()
    cells: tuple[CellRecord, ...] = ()
    isolation: Isolation | None = None
    practice_only: bool = False
    leaderboard: tuple[LeaderboardRow, ...] = ()
    seconds: float = 0.0
    complete: bool = True
    refused: str | None = None  # the reason why nothing could be graded (exit status 4)
    seed: str = "course"  # "course", or "staff" when --seed was given
    grader_version: str = ""
    visibility: Visibility = Visibility.VISIBLE
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def earned(self) -> Fraction:
        return sum((o.earned for o in self.outcomes), Fraction(0))

    @property
    def faults(self) -> tuple[Outcome, ...]:
        return tuple(o for o in self.outcomes if o.verdict is Verdict.GRADER_FAULT)
