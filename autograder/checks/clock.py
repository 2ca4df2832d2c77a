"""A limit in seconds for code of the course itself: a check, a reference, a mistake that never ends.

Seconds are the processor's, so that a busy machine blames nobody; by the clock on the wall a limit is ten times as
long, for code that only waits. It uses the process's alarm, which works in the main thread only; elsewhere nothing is
limited. Limits nest: the inner one gives the rest of the time back to the outer one, and `paused` stops the clock
while the student's process is waited for, which has limits of its own.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Expired", "limit", "paused"]


class Expired(BaseException):
    """The time is up. No `Exception`, so that an author's `except Exception` doesn't swallow it."""


_WALL = 10.0


class _Alarm:
    """Rings when the processor time of one limit is used up, or ten times as much has gone by."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.spent, self.started = seconds, time.process_time(), time.monotonic()

    def __call__(self, signum: int, frame: Any) -> None:
        left = self.seconds - (time.process_time() - self.spent)
        if left <= 1e-3 or time.monotonic() - self.started >= _WALL * self.seconds:
            raise Expired
        signal.setitimer(signal.ITIMER_REAL, left)


def _usable() -> bool:
    return threading.current_thread() is threading.main_thread()


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Raise Expired in the body after so many seconds."""
    if not _usable():
        yield
        return
    left, _ = signal.getitimer(signal.ITIMER_REAL)
    before = signal.signal(signal.SIGALRM, _Alarm(seconds))
    started = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, max(1e-3, min(seconds, left) if left else seconds))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left:
            signal.setitimer(signal.ITIMER_REAL, max(1e-3, left - (time.monotonic() - started)))


@contextmanager
def paused() -> Iterator[None]:
    """Stop an outer limit's clock for the length of the body."""
    if not _usable():
        yield
        return
    left, _ = signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        yield
    finally:
        if left:
            signal.setitimer(signal.ITIMER_REAL, left)
