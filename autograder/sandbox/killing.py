"""The end of everything that a student's uid runs.

Theory of operation. A process with real uid K and effective uid S may signal every process of S in one pass,
`kill(-1, SIGKILL)`, and none of S may signal it back. One pass reaches also what forks in the meantime, since a
fork that sees the signal pending fails. We then look at `/proc` until no process of S is left, dead ones that we
have to reap included, and start over if one is. K differs between killers that run at the same time: two with one real
uid would kill each other. Where there is no uid of its own, the tree of descendants is killed, whose orphans come to
the subreaper.
"""

from __future__ import annotations

import contextlib
import itertools
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
_LOOKS_A_KILLER = 25  # a process that is about to die needs no second signal


class Executioner:
    """A process that waits, as root, to kill one uid; forked ahead of time, used once.

    Against a fork bomb that takes all processors a fork would have to wait its turn; one that only has to wake up
    does not. It stops all of S first, so that they can be counted in peace, and becomes K no earlier than it must:
    while its effective uid is S, S could meddle with its scheduling.
    """

    def __init__(self) -> None:
        order_reader, self._order = os.pipe()
        self._count, count_writer = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            _wait_for_the_order(order_reader, count_writer)
        os.close(order_reader)
        os.close(count_writer)

    def kill(self, uid: int, killer: int) -> int:
        """Kill all of `uid`; returns how many were alive."""
        os.write(self._order, f"{uid} {killer}".encode())
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)
        count = os.read(self._count, 32)
        os.close(self._order)
        os.close(self._count)
        return int(count or 0)


def _wait_for_the_order(order: int, answer: int) -> NoReturn:
    with contextlib.suppress(BaseException):
        signal.set_wakeup_fd(-1)
        close_all_but({order, answer})
        uid, killer = map(int, os.read(order, 64).split())
        os.setgroups([])
        os.setresgid(killer, killer, killer)
        os.setresuid(killer, uid, killer)
        _signal_everybody(signal.SIGSTOP)
        count = sum(not process.dead and killer not in process.uids for process in processes.of_uid(uid))
        _signal_everybody(signal.SIGKILL)
        os.write(answer, str(count).encode())
    os._exit(0)


def _signal_everybody(number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, number)


def kill_uid(
    uid: int, killer: int, reap: Callable[[], None], executioner: Executioner | None = None
) -> tuple[int, list[int]]:
    """Kill all of `uid`. Returns how many there were and the pids that survived `PATIENCE` seconds.

    reap: collects dead children of the caller, which must have one thread and be allowed to change its uid ·
    executioner: one that is waiting already, else it is forked now.
    """
    found = (executioner or Executioner()).kill(uid, killer)
    deadline = time.monotonic() + PATIENCE
    for look in itertools.count(1):
        reap()
        left = [process for process in processes.of_uid(uid) if not process.dead or process.parent == os.getpid()]
        if not left or time.monotonic() > deadline:
            return found, [process.pid for process in left if not process.dead]
        time.sleep(_PAUSE)
        if look % _LOOKS_A_KILLER == 0:
            Executioner().kill(uid, killer)
    raise AssertionError("counting never ends")


def kill_tree(
    roots: Collection[int], reap: Callable[[], None], *, reaper: int, spare: Collection[int] = ()
) -> tuple[int, list[int]]:
    """Kill the process groups and descendants of `roots`, and orphans that came to `reaper` and are not in `spare`.

    Returns as `kill_uid` does. Without `/proc` only the process groups can be reached.
    """
    for root in roots:
        _quietly_kill_group(root)
    reap()
    if not LINUX:
        return len(roots), []
    found, deadline = 0, time.monotonic() + PATIENCE
    while True:
        alive = _tree(roots, reaper, spare)
        found = max(found, len(alive))
        if not alive or time.monotonic() > deadline:
            return max(found, len(roots)), sorted(alive)
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
