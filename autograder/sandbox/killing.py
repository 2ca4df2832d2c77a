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

from autograder.sandbox import processes
from autograder.sandbox.libc import LINUX

__all__ = ["PATIENCE", "kill_tree", "kill_uid"]

#: seconds until a survivor is a fault of the grader
PATIENCE = 5.0
_PAUSE = 0.002
_LOOKS_A_KILLER = 10  # a process that is about to die needs no second signal


def kill_uid(uid: int, killer: int, reap: Callable[[], None]) -> tuple[int, list[int]]:
    """Kill all of `uid`. Returns how many were found at first and the pids that survived `PATIENCE` seconds.

    reap: collects dead children of the caller, which must have one thread and be allowed to change its uid.
    """
    found = len([process for process in processes.of_uid(uid) if not process.dead])
    deadline = time.monotonic() + PATIENCE
    for look in itertools.count():
        if look % _LOOKS_A_KILLER == 0:
            _fork_killer(uid, killer)
        reap()
        left = [process for process in processes.of_uid(uid) if not process.dead or process.parent == os.getpid()]
        if not left or time.monotonic() > deadline:
            return found, [process.pid for process in left if not process.dead]
        time.sleep(_PAUSE)
    raise AssertionError("counting never ends")


def _fork_killer(uid: int, killer: int) -> None:
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            os.setgroups([])
            os.setresgid(killer, killer, killer)
            os.setresuid(killer, uid, killer)
            os.kill(-1, signal.SIGKILL)
        os._exit(0)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


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
