"""The same work on many items, in forks of this process: what is loaded here, each fork has at once.

For the course's own files only. A hand-in runs under the zygote, and nothing of it comes back this way.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from types import TracebackType
from typing import Any, Generic, TypeVar

from autograder.errors import CourseError
from autograder.sandbox.libc import set_parent_death_signal

__all__ = ["Forks", "cores"]

State = TypeVar("State")
Item = TypeVar("Item")
Result = TypeVar("Result")

#: In a fork: the state that it works with.
_given: list[Any] = []


def cores() -> int:
    """How many processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Forks(Generic[State]):
    """A `map` over a state, in this process (jobs = 1) or in forks of it, made when they are first needed."""

    def __init__(self, state: State, jobs: int = 1) -> None:
        self._state = state
        self._pool: ProcessPoolExecutor | None = None
        if jobs > 1:
            fork = multiprocessing.get_context("fork")
            self._pool = ProcessPoolExecutor(jobs, fork, initializer=_begin, initargs=(state,))

    def map(self, work: Callable[[State, Item], Result], items: Sequence[Item], at_once: int = 1) -> Iterator[Result]:
        """What `work(state, item)` gives, in the order of the items. In forks each has a state of its own.

        work: a function of a module, whose items and results can be sent to a process · at_once: so many items go to
        a fork together. Raises what `work` raises, and CourseError when a fork is ended from outside.
        """
        if self._pool is None:
            yield from (work(self._state, item) for item in items)
            return
        try:
            yield from self._pool.map(_work, [(work, item) for item in items], chunksize=at_once)
        except BrokenProcessPool:
            reason = "a process was ended from outside, perhaps for want of memory: take fewer"
            raise CourseError(reason, key="--jobs") from None

    def __enter__(self) -> Forks[State]:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._pool is None:
            return
        if kind is not None:  # nobody waits for what they are at
            for process in multiprocessing.active_children():
                process.terminate()
        self._pool.shutdown(cancel_futures=True)


def _begin(state: Any) -> None:
    _given.append(state)
    set_parent_death_signal(signal.SIGKILL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent as well, and it ends us


def _work(order: tuple[Callable[[Any, Any], Any], Any]) -> Any:
    work, item = order
    return work(_given[-1], item)
