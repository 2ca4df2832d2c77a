"""What a submission uses right now, and which limit that breaks.

Theory of operation. Resource limits bound one process; the watchdog bounds their sum. Memory is anonymous plus
shared pages. A forked kernel counts the zygote's pages as its own although they are shared, and the true share
can't be read without ptrace rights, so the zygote's baseline is taken off, for at most `_FORKS` processes: more
have to show their pages in full, and where that alone breaks the limit, it is their number that is too large. Disk
use is counted by walking the student's folders, which costs time, so the walk waits until the file system itself has
lost something, or a second: somebody else may free what the student takes. Deleted files that are still open show
nowhere but there; they count when the disk is nearly full.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from autograder.model import Limits, Reason
from autograder.sandbox import processes
from autograder.sandbox.limits import most_processes
from autograder.sandbox.wipe import measure

__all__ = ["Usage", "Watchdog"]

_FORKS = 8
_CGROUP_SHARE = 0.9
_LEAST_FREE = 64 * 2**20
_WALK_EVERY = 0.25  # seconds
_SHM = Path("/dev/shm")


@dataclass(frozen=True, slots=True)
class Usage:
    """One sample. memory and disk in bytes; tasks: processes and their threads; over: the limit that is broken."""

    memory_bytes: int
    processes: int
    tasks: int
    disk_bytes: int
    disk_files: int
    over: Reason | None = None


@dataclass(frozen=True, slots=True)
class _Free:
    bytes: int
    files: int

    @classmethod
    def of(cls, folder: Path) -> _Free:
        try:
            status = os.statvfs(folder)
        except OSError:
            return cls(0, 0)
        return cls(status.f_bavail * status.f_frsize, status.f_favail if status.f_files else -1)


def _memory_ceiling(limit: int) -> int:
    """The limit, or most of what the container may use at all."""
    with contextlib.suppress(OSError, ValueError):
        return min(limit, int(int(Path("/sys/fs/cgroup/memory.max").read_text()) * _CGROUP_SHARE))
    return limit


class Watchdog:
    """Samples one sandbox.

    root: the folder that the student may write · members: its processes at this moment · baseline: bytes that a
    kernel holds before it does anything · shared: folders beside `root`, as (folder, owner) whose entries count.
    """

    def __init__(
        self,
        root: Path,
        limits: Limits,
        members: Callable[[], list[processes.Process]],
        baseline: int = 0,
        shm_owner: int | None = None,
    ) -> None:
        self._root, self._limits, self._members, self._baseline = root, limits, members, baseline
        self._shm_owner = shm_owner
        self._memory, self._most = _memory_ceiling(limits.memory_bytes), most_processes(limits)
        self._before = {folder: _Free.of(folder) for folder in self._folders()}
        self._disk, self._walked = (0, 0), float("-inf")

    def _folders(self) -> tuple[Path, ...]:
        return (self._root,) if self._shm_owner is None else (self._root, _SHM)

    def forget_disk(self) -> None:
        """The folders were emptied: what was measured before is no use of now."""
        self._disk, self._walked = (0, 0), float("-inf")

    def sample(self) -> Usage:
        """Look once. A few milliseconds, as `/proc` has to be read."""
        alive = [process for process in self._members() if not process.dead]
        memory = sum(process.memory for process in alive)
        if_shared = memory - self._baseline * len(alive)
        memory = max(0, memory - self._baseline * min(len(alive), _FORKS))
        disk_bytes, disk_files = self._disk_use()
        usage = Usage(memory, len(alive), sum(p.tasks for p in alive), disk_bytes, disk_files)
        return self._judged(usage, if_shared)

    def _judged(self, usage: Usage, if_shared: int) -> Usage:
        """if_shared: bytes that are used if all processes still share the zygote's pages; then it is their number."""
        limits = self._limits
        broken = (
            (Reason.LIMIT_MEMORY, if_shared > self._memory),
            (Reason.LIMIT_PROCESSES, usage.memory_bytes > self._memory),
            (Reason.LIMIT_PROCESSES, usage.tasks >= limits.processes or usage.processes > self._most),
            (Reason.LIMIT_DISK, usage.disk_bytes > limits.disk_bytes or usage.disk_files > limits.disk_files),
            (Reason.LIMIT_DISK, self._fills_the_disk()),
        )
        over = next((reason for reason, is_broken in broken if is_broken), None)
        return Usage(usage.memory_bytes, usage.processes, usage.tasks, usage.disk_bytes, usage.disk_files, over)

    def _lost(self, folder: Path) -> tuple[int, int]:
        """Bytes and inodes that the file system has less of than when we began."""
        before, now = self._before[folder], _Free.of(folder)
        return before.bytes - now.bytes, before.files - now.files

    def _fills_the_disk(self) -> bool:
        return any(
            _Free.of(folder).bytes < _LEAST_FREE and self._lost(folder)[0] > _LEAST_FREE
            for folder in self._folders()
            if folder != _SHM
        )

    def _disk_use(self) -> tuple[int, int]:
        now = time.monotonic()
        if self._suspicious() or now - self._walked > _WALK_EVERY:
            self._disk, self._walked = self._walk(), now
        return self._disk

    def _suspicious(self) -> bool:
        limits = self._limits
        return any(
            lost_bytes > limits.disk_bytes // 2 or lost_files > limits.disk_files // 2
            for lost_bytes, lost_files in map(self._lost, self._folders())
        )

    def _walk(self) -> tuple[int, int]:
        total, count = measure(self._root, self._limits.disk_files)
        if self._shm_owner is not None:
            for entry in _owned(_SHM, self._shm_owner):
                shm_bytes, shm_files = _size(entry, self._limits.disk_files)
                total, count = total + shm_bytes, count + shm_files
        return total, count


def _owned(folder: Path, uid: int) -> list[Path]:
    found = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                if entry.stat(follow_symlinks=False).st_uid == uid:
                    found.append(Path(entry.path))
    return found


def _size(entry: Path, most_files: int) -> tuple[int, int]:
    if entry.is_dir() and not entry.is_symlink():
        return measure(entry, most_files)
    with contextlib.suppress(OSError):
        return entry.lstat().st_blocks * 512, 1
    return 0, 0
