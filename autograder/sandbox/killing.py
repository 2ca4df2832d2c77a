"""The end of everything that a student's uid runs.

Theory of operation. A process with real uid K and effective uid S may signal every process of S in one pass,
`kill(-1, SIGKILL)`, and none of S may signal it back. One pass reaches also what forks in the meantime, since a
fork that sees the signal pending fails, and fails early: stopping everybody first would let each half-made fork copy
its parent to the end. What takes time then is giving back the pages of the dead, some milliseconds a process, so we
stay out of their way: we wait for one at a time, and look through all of `/proc` only when those that we know are
gone, dead ones that we have to reap included. K differs between killers that run at the same time: two with one real
uid would kill each other. Where there is no uid of its own, the tree of descendants is killed, whose orphans come to
the subreaper.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Collection
from typing import NoReturn

from autograder.sandbox import processes
from autograder.sandbox.libc import LINUX, close_all_but

__all__ = ["PATIENCE", "Executioner", "kill_tree", "kill_uid"]

#: seconds until a survivor is a fault of the grader
PATIENCE = 5.0
_PAUSE = 0.002
_KILL_AGAIN = 1.0  # seconds; a process that is about to die needs no second signal


class Executioner:
    """A process that waits, as root, to kill one uid; forked ahead of time, used once.

    Against a fork bomb that takes all processors a fork would have to wait its turn; one that only has to wake up
    does not. It becomes K no earlier than it must: while its effective uid is S, S could meddle with its scheduling.
    """

    def __init__(self) -> None:
        order_reader, self._order = os.pipe()
        self._done, done_writer = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            _wait_for_the_order(order_reader, done_writer)
        os.close(order_reader)
        os.close(done_writer)

    def kill(self, uid: int, killer: int) -> None:
        """Kill all of `uid`. On return the signal was sent; the executioner may still be there, to be reaped."""
        os.write(self._order, f"{uid} {killer}".encode())
        os.read(self._done, 1)  # or the end of the pipe, if it died
        os.close(self._order)
        os.close(self._done)

    def reap(self) -> None:
        """Collect it, if it has ended and nobody else did."""
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, os.WNOHANG)


def _wait_for_the_order(order: int, done: int) -> NoReturn:
    with contextlib.suppress(BaseException):
        signal.set_wakeup_fd(-1)
        close_all_but({order, done})
        uid, killer = map(int, os.read(order, 64).split())
        os.setgroups([])
        os.setresgid(killer, killer, killer)
        os.setresuid(killer, uid, killer)
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        os.write(done, b".")
    os._exit(0)


def kill_uid(
    uid: int, killer: int, reap: Callable[[], Collection[int]], executioner: Executioner | None = None
) -> tuple[int, list[int]]:
    """Kill all of `uid`. Returns how many there were and the pids that survived `PATIENCE` seconds.

    reap: collects dead children of the caller, which must have one thread and be allowed to change its uid, and says
    which of them were killed · executioner: one that is waiting already, else it is forked now.
    """
    sent, found, left = list[Executioner](), set[int](), list[processes.Process]()
    started = ordered = time.monotonic()
    while True:
        now = time.monotonic()
        if not sent or now - ordered > _KILL_AGAIN:
            sent.append(executioner if executioner and not sent else Executioner())
            sent[-1].kill(uid, killer)
            ordered = now
        for one in sent:
            one.reap()
        found.update(reap())
        left = _still_there(left, uid) or [process for process in processes.of_uid(uid) if not _is_over(process)]
        found.update(process.pid for process in left if killer not in process.uids and not process.dead)
        if not left or now - started > PATIENCE:
            return len(found), [process.pid for process in left if not process.dead]
        time.sleep(_PAUSE)


def _is_over(process: processes.Process) -> bool:
    """Dead, and not ours to reap."""
    return process.dead and process.parent != os.getpid()


def _still_there(known: list[processes.Process], uid: int) -> list[processes.Process]:
    """The known ones up to the last that is there; what comes before it is not looked at."""
    while known:
        now = processes.read(known[-1].pid)
        if now is not None and uid in now.uids and not _is_over(now):
            break
        known = known[:-1]
    return known


def kill_tree(
    roots: Collection[int], reap: Callable[[], object], *, reaper: int, spare: Collection[int] = ()
) -> tuple[int, list[int]]:
    """Kill the process groups and descendants of `roots`, and orphans that came to `reaper` and are not in `spare`.

    Returns as `kill_uid` does. Without `/proc` only the process groups can be reached.
    """
    for root in roots:
        _quietly_kill_group(root)
    reap()
    if not LINUX:
        return len(roots), []
    seen: set[int] = set()  # one that changes its parent while all are listed may be missed by one look
    deadline = time.monotonic() + PATIENCE
    while True:
        alive = _tree(roots, reaper, spare)
        seen |= alive
        if not alive or time.monotonic() > deadline:
            return max(len(seen), len(roots)), sorted(alive)
        for pid in alive:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        reap()
        time.sleep(_PAUSE)


def _tree(roots: Collection[int], reaper: int, spare: Collection[int]) -> set[int]:
    tree = {process.pid: process.parent for process in processes.everyone()}
    orphans = {pid for pid, parent in tree.items() if parent == reaper} - set(spare)
    return processes.descendants({*roots, *orphans}, tree)


def _quietly_kill_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
