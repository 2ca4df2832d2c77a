"""A uid of its own for every hand-in, and one for whoever has to kill it.

Theory of operation. The student's uid S is drawn at random from 20000–39999, the killer's is S + 20000. A uid is
taken by holding `flock` on a file named after it in a folder that only root can enter, so two graders on one
machine never share one, and the kernel gives it back when a grader dies. The file outlives a crash; its name then
tells the next grader what to sweep up.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pwd
import secrets
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.errors import GraderFault
from autograder.sandbox import processes

__all__ = ["FIRST", "KILLER_OFFSET", "LAST", "UidLease", "leftovers", "lock_folder"]

FIRST, LAST = 20_000, 39_999
KILLER_OFFSET = 20_000
_TRIES = 200


@dataclass(slots=True)
class UidLease:
    """A uid that is ours until `release`. killer: the uid that kills it, and that it can't kill."""

    uid: int
    _descriptor: int
    _path: Path

    @property
    def killer(self) -> int:
        return self.uid + KILLER_OFFSET

    @classmethod
    def draw(cls) -> UidLease:
        """A random free uid. Raises GraderFault when none is found."""
        for _ in range(_TRIES):
            uid = FIRST + secrets.randbelow(LAST - FIRST + 1)
            lease = _lock(uid) if is_free(uid) else None
            if lease is not None:
                return lease
        raise GraderFault(f"no free uid between {FIRST} and {LAST} after {_TRIES} tries: look for left-over processes")

    def remember(self, folder: Path) -> None:
        """Write the work folder into the lock, so that whoever sweeps knows what to wipe."""
        os.pwrite(self._descriptor, os.fsencode(folder), 0)

    def recall(self) -> Path | None:
        """The folder that was remembered, or None."""
        name = os.pread(self._descriptor, 4096, 0)
        return Path(os.fsdecode(name)) if name else None

    def release(self) -> None:
        """Give the uid back. The file goes first, while we still hold its lock."""
        if self._descriptor >= 0:
            self._path.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = -1


def lock_folder() -> Path:
    """The folder of locks, the same for all graders of a machine: owned by us, mode 0700."""
    base = Path("/run") if os.access("/run", os.W_OK) else Path("/tmp")
    folder = base / f"softmark-uids-{os.geteuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise GraderFault(f"{folder} is not a folder of ours with mode 0700: remove it")
    return folder


def _lock(uid: int) -> UidLease | None:
    path = lock_folder() / str(uid)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_nlink:  # else: released between our open and our lock
            return UidLease(uid, descriptor, path)
    except BlockingIOError:
        pass
    os.close(descriptor)
    return None


def is_free(uid: int) -> bool:
    """Neither this uid nor its killer is known, mapped out, running or holding shared memory."""
    pair = (uid, uid + KILLER_OFFSET)
    if not all(_is_mapped(one) and not _has_name(one) for one in pair):
        return False
    return not processes.of_uid(*pair) and set(pair).isdisjoint(_owners(Path("/dev/shm")))


def _has_name(uid: int) -> bool:
    with contextlib.suppress(KeyError):
        pwd.getpwuid(uid)
        return True
    return False


def _is_mapped(uid: int) -> bool:
    """Whether the id exists in our user namespace (with remapping only some do)."""
    try:
        lines = Path("/proc/self/uid_map").read_text().splitlines()
    except OSError:
        return True
    ranges = [tuple(map(int, line.split())) for line in lines]
    return any(first <= uid < first + count for first, _, count in ranges)


def _owners(folder: Path) -> Iterator[int]:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                yield entry.stat(follow_symlinks=False).st_uid


def leftovers() -> Iterator[UidLease]:
    """Leases on the uids of graders that died without cleaning up; release each after the sweep."""
    for path in lock_folder().iterdir():
        if path.name.isdigit() and FIRST <= int(path.name) <= LAST:
            lease = _lock(int(path.name))
            if lease is not None:
                yield lease
