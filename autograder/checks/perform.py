"""One pass over one check's method, with unittest's fixtures around it; whatever it raises becomes a value.

Errors of a check's own code are ours and never the student's. SystemExit, KeyboardInterrupt and endless loops of a
check are caught too, so that the other checks run.
"""

from __future__ import annotations

import sys
import time
import traceback
import unittest
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from autograder.checks import clock
from autograder.checks.decorators import chain
from autograder.checks.desk import Blocked, Desk, Kernel, Mode, Pause, Record, Stop
from autograder.checks.load import Check
from autograder.checks.question import Question
from autograder.checks.room import Room
from autograder.errors import Interrupted

__all__ = ["CHECK_SECONDS", "Fixtures", "Take", "perform", "short_trace"]

#: Seconds for the code of one check, references included, the student's calls not.
CHECK_SECONDS = 120.0
_LEFT_BEHIND = ("__score__", "__leaderboard_value__")


@dataclass
class Take:
    """What one pass over a check left. ending: done, paused, stopped, blocked, skipped, asserted or fault."""

    check: Check
    desk: Desk
    instance: Question | None = None
    ending: str = "done"
    error: BaseException | None = None
    trace: str = ""
    afterwards: list[str] = field(default_factory=list)  # errors of tearDown
    seconds: float = 0.0

    @property
    def is_for_everyone(self) -> bool:
        """A recording that no student's id, value or served callable went into, and that judged nothing itself."""
        desk = self.desk
        kept = desk.score is None and desk.leaderboard is None and not desk.failed_cases and not self.afterwards
        personal = any(record.mode == Mode.ASIDE for record in desk.records)
        return self.ending in ("done", "paused") and kept and not personal and not desk.served

    def again(self) -> Take:
        """The same recording without answers, for the next submission."""
        records = [replace(record, reply=None) for record in self.desk.records]
        desk = Desk(self.desk.spec, records=records, sound=self.desk.sound)
        if self.instance is not None:
            self.instance._desk = desk
        return replace(self, desk=desk, afterwards=[])


def perform(check: Check, room: Room, kernel: Kernel | None = None, ready: list[Record] | None = None) -> Take:
    """Run the method once. kernel: None records only · ready: the answered records of the pass before."""
    take = Take(check, Desk(check.spec, kernel, ready or [], sound=room.checks.sound))
    started = time.monotonic()
    _forget(check)
    with _caught(take):
        take.instance = check.cls(check.method)
        take.instance._desk, take.instance._room = take.desk, room
        with clock.limit(CHECK_SECONDS):
            take.instance.setUp()
    if take.ending == "done" and take.instance is not None:
        with _caught(take), clock.limit(CHECK_SECONDS):
            getattr(take.instance, check.method)()
        _finish(take, take.instance.tearDown)
        _finish(take, take.instance.doCleanups)
    with _caught(take, only_if_done=True):
        take.desk.flush()
    _collect(take)
    take.seconds = time.monotonic() - started
    return take


class _caught:  # noqa: N801  (reads like a function)
    """Turn what the body raises into the take's ending."""

    def __init__(self, take: Take, only_if_done: bool = False) -> None:
        self.take, self.only_if_done = take, only_if_done

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> bool:
        if isinstance(error, Interrupted):
            return False
        if error is not None and not (self.only_if_done and self.take.ending != "done"):
            self.take.ending, self.take.error = _ending(error), error
            self.take.trace = short_trace(error) if self.take.ending in ("fault", "asserted") else ""
        return True


def _ending(error: BaseException) -> str:
    kinds = {Pause: "paused", Stop: "stopped", Blocked: "blocked", unittest.SkipTest: "skipped"}
    found = next((ending for kind, ending in kinds.items() if isinstance(error, kind)), None)
    return found or ("asserted" if isinstance(error, AssertionError) else "fault")


def short_trace(error: BaseException) -> str:
    """Where the course's code failed, for staff: the last frames, not a thousand of them."""
    if isinstance(error, clock.Expired):
        return f"the check's own code did not end within {CHECK_SECONDS:g} s"
    return "".join(traceback.format_exception(error, limit=-6))[-4000:]


def _finish(take: Take, method: Callable[[], Any]) -> None:
    try:
        with clock.limit(CHECK_SECONDS):
            method()
    except Interrupted:
        raise
    except BaseException as error:
        take.afterwards.append(short_trace(error))


def _forget(check: Check) -> None:
    """gradescope-utils keeps scores on the function: nothing of an earlier run or class may stay."""
    for link in chain(check.function):
        for name in _LEFT_BEHIND:
            vars(link).pop(name, None)


def _collect(take: Take) -> None:
    """What was set through gradescope-utils' own `set_score` and `set_leaderboard_value` keywords."""
    for link in chain(take.check.function):
        attributes = vars(link)
        if take.desk.score is None and "__score__" in attributes:
            take.desk.score = attributes["__score__"]
        if take.desk.leaderboard is None and "__leaderboard_value__" in attributes:
            take.desk.leaderboard = attributes["__leaderboard_value__"]


class Fixtures:
    """setUpModule and setUpClass, each run once before the first check that needs it; tear-downs at the end."""

    def __init__(self) -> None:
        self._errors: dict[Any, str | None] = {}
        self._down: list[Callable[[], Any]] = []

    def error(self, cls: type[Question]) -> str | None:
        """Why the checks of this class can't run, or None."""
        module = sys.modules[cls.__module__]
        of_module = self._once(cls.__module__, *_pair(module, "Module"))
        return of_module or self._once(cls, cls.setUpClass, cls.tearDownClass)

    def _once(self, key: Any, up: Callable[[], Any] | None, down: Callable[[], Any] | None) -> str | None:
        if key not in self._errors:
            self._errors[key] = _try(up)
            if self._errors[key] is None and down is not None:
                self._down.append(down)
        return self._errors[key]

    def close(self) -> list[str]:
        """Run the tear-downs, last first; their errors are for staff."""
        found = [_try(down) for down in reversed(self._down)]
        self._down.clear()
        return [error for error in found if error is not None]


def _pair(module: Any, what: str) -> tuple[Callable[[], Any] | None, Callable[[], Any] | None]:
    return getattr(module, f"setUp{what}", None), getattr(module, f"tearDown{what}", None)


def _try(function: Callable[[], Any] | None) -> str | None:
    if function is None:
        return None
    try:
        with clock.limit(CHECK_SECONDS):
            function()
    except Interrupted:
        raise
    except BaseException as error:
        return short_trace(error)
    return None
