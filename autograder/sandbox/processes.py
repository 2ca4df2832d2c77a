"""Who runs: `/proc`, read from outside.

A process counts for a uid when any of its four uids is that one. `/proc/<pid>` itself belongs to root after a
change of uid, so the owner of the folder says nothing and the status file has to be read.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass

__all__ = ["Process", "descendants", "everyone", "of_uid", "parents", "read"]

_PAGE_FIELDS = (b"RssAnon", b"RssShmem")


@dataclass(frozen=True, slots=True)
class Process:
    """One process. memory: RssAnon + RssShmem in bytes; tasks: its threads; uids: real, effective, saved, file."""

    pid: int
    parent: int
    state: str
    uids: tuple[int, ...]
    tasks: int
    memory: int

    @property
    def dead(self) -> bool:
        return self.state in "ZX"


def _status(pid: int | str) -> bytes:
    try:
        descriptor = os.open(f"/proc/{pid}/status", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(descriptor, 8192)
    except OSError:  # it went away in between
        return b""
    finally:
        os.close(descriptor)


def _field(status: bytes, name: bytes) -> bytes:
    start = status.find(b"\n" + name + b":")
    if start < 0:
        return b""
    start += len(name) + 2
    return status[start : status.find(b"\n", start)].strip()


def _parse(pid: int, status: bytes) -> Process:
    kilobytes = sum(int(_field(status, name).split()[0]) for name in _PAGE_FIELDS if _field(status, name))
    return Process(
        pid=pid,
        parent=int(_field(status, b"PPid") or 0),
        state=_field(status, b"State")[:1].decode() or "X",
        uids=tuple(map(int, _field(status, b"Uid").split())),
        tasks=int(_field(status, b"Threads") or 0),
        memory=kilobytes * 1024,
    )


def read(pid: int) -> Process | None:
    """One process, or None when it does not exist (any more)."""
    status = _status(pid)
    return _parse(pid, status) if status else None


def _pids() -> Iterator[int]:
    try:
        with os.scandir("/proc") as entries:
            names = [entry.name for entry in entries]
    except OSError:
        return
    yield from (int(name) for name in names if name.isdigit())


def everyone() -> Iterator[Process]:
    """All processes that `/proc` shows."""
    for pid in _pids():
        process = read(pid)
        if process is not None:
            yield process


def of_uid(*uids: int) -> list[Process]:
    """All processes with one of these uids among their four, dead ones that nobody reaped included."""
    wanted, found = {str(uid).encode() for uid in uids}, []
    for pid in _pids():
        status = _status(pid)
        if not wanted.isdisjoint(_field(status, b"Uid").split()):
            found.append(_parse(pid, status))
    return found


def parents() -> dict[int, int]:
    """pid → pid of the parent, for all processes that are not dead."""
    return {process.pid: process.parent for process in everyone() if not process.dead}


def descendants(roots: Collection[int], tree: dict[int, int]) -> set[int]:
    """The roots that are alive and all that came from them, by chains of parents."""
    found = {root for root in roots if root in tree}
    grew = True
    while grew:
        children = {pid for pid, parent in tree.items() if parent in found} - found
        found |= children
        grew = bool(children)
    return found
