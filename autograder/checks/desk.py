"""What a check's method talks to while it runs: it takes down calls, and fetches values that are needed at once.

A method runs once to record. When it asks for a value (`call`), it is stopped there with `Pause`, its calls so far
travel with those of the whole question in one batch, and then it runs a second time with the answers at hand; what
it asks for beyond them goes over at once. Methods that only record never run twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from autograder.checks.compare import Tolerance
from autograder.checks.digest import digest
from autograder.model import CheckSpec, Reason, Reply, ReplyKind, Value
from autograder.plan import Plan, Served
from autograder.probe.evaluate import check

__all__ = ["Blocked", "Desk", "Kernel", "Mode", "Pause", "Record", "Stop", "Unmet"]

#: So many plans are remembered as right; a plan that was forgotten is looked at again.
MOST_SOUND = 10_000


class Pause(BaseException):
    """The recording pass can't go on without a value."""


class Stop(BaseException):
    """The student's answer ended the check; the records say how."""


class Blocked(BaseException):
    """The check can't be made, for a reason that the student can mend."""


class Unmet(AssertionError):
    """A property does not hold. The text is the author's sentence, fit for students."""

    def __init__(self, sentence: str, reason: Reason = Reason.WRONG) -> None:
        super().__init__(sentence)
        self.sentence, self.reason = sentence, reason


class Mode:
    """What is judged of a call."""

    VALUES = "values"
    CONTRACT = "contract"
    GIVEN = "given"  # against a value that the check brought along
    REJECTS = "rejects"
    UNCHANGED = "unchanged"
    FREE = "free"  # only fetched
    ASIDE = "aside"  # fetched, and never held against anybody


@dataclass
class Record:
    """One call of a check, and what came back.

    expected: for GIVEN · errors: class names for REJECTS · case: the sub-test it belongs to · part, numbers: of a
    hand calculation · most: served callable → (limit, the author's sentence) · through: what of a value is judged.
    """

    plan: Plan
    mode: str
    tolerance: Tolerance = Tolerance()  # noqa: RUF009  (frozen)
    expected: Value = None
    errors: tuple[str, ...] = ()
    case: str | None = None
    part: str | None = None
    numbers: Any = None
    most: dict[str, tuple[int, str]] = field(default_factory=dict)
    through: Callable[[Value], Value] | None = None
    reply: Reply | None = None
    _key: bytes | None = None

    @property
    def key(self) -> bytes:
        if self._key is None:
            self._key = digest(self.plan)
        return self._key

    def seen(self, value: Value) -> Value:
        """What is compared: the value, or what `through` makes of it."""
        return value if self.through is None else self.through(value)


class Kernel(Protocol):
    """How the desk reaches the student's functions: confirmed answers, one a record."""

    def ask(self, records: Sequence[Record], served: Mapping[str, Callable[..., Value]]) -> list[Reply]: ...


@dataclass
class Desk:
    """The records of one pass over one check."""

    spec: CheckSpec
    kernel: Kernel | None = None  # None while recording
    ready: list[Record] = field(default_factory=list)  # answered records of the pass before
    records: list[Record] = field(default_factory=list)
    served: dict[str, Callable[..., Value]] = field(default_factory=dict)
    failed_cases: list[tuple[str, AssertionError]] = field(default_factory=list)
    case: str | None = None
    score: Any = None
    leaderboard: Any = None
    sound: set[bytes] = field(default_factory=set)  # keys of plans that were looked at before
    _capped: int = 0

    def note(self, record: Record) -> None:
        """Take down a call, and its answer if the pass before fetched it."""
        if record.key not in self.sound:
            check(record.plan, self.served)  # a plan that can't be right is the author's fault, here and now
            if len(self.sound) >= MOST_SOUND:
                self.sound.clear()  # personal plans are new with every student, and a grader lives for a whole class
            self.sound.add(record.key)
        record.case = self.case
        place = len(self.records)
        if place < len(self.ready) and self.ready[place].key == record.key:
            record.reply = self.ready[place].reply
        self.records.append(record)

    def serve(self, name: str, function: Callable[..., Value]) -> Served:
        """A name of its own for each served callable, so that calls of a whole question share a batch."""
        unique = f"{self.spec.number}/{name}#{len(self.served)}"
        self.served[unique] = function
        return Served(unique)

    def cap(self, served: Served, most: int, sentence: str) -> None:
        for record in self.records[self._capped :]:
            record.most[served.name] = (most, sentence)
        self._capped = len(self.records)

    def fetch(self, plans: Sequence[Plan], through: Callable[[Value], Value] | None = None) -> list[Value]:
        """The student's values for these plans, now. Stop when one of them is none."""
        wanted = [Record(plan, Mode.FREE, through=through) for plan in plans]
        for record in wanted:
            self.note(record)
        if any(record.reply is None for record in wanted):
            if self.kernel is None:
                raise Pause
            self.flush()
        values = []
        for record in wanted:
            if record.reply is None or record.reply.kind is not ReplyKind.VALUE:
                raise Stop
            values.append(record.seen(record.reply.value))
        return values

    def glance(self, plan: Plan) -> Reply | None:
        """The answer to a plan that is not judged; None while recording."""
        record = Record(plan, Mode.ASIDE)
        self.note(record)
        if record.reply is None:
            self.flush()
        return record.reply

    def flush(self) -> None:
        """Send what has no answer yet."""
        open_records = [record for record in self.records if record.reply is None]
        if open_records and self.kernel is not None:
            replies = self.kernel.ask(open_records, self.served)
            for record, reply in zip(open_records, replies, strict=True):
                record.reply = reply
