"""The few system calls that Python does not wrap, with errno as OSError.

Everything here works in a forked child with one thread; nothing is imported beyond the standard library.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

__all__ = [
    "ARCHITECTURE",
    "LINUX",
    "close_all_but",
    "gather_in_huge_pages",
    "give_back_freed_memory",
    "keep_freed_memory",
    "map_large_memory",
    "prctl",
    "set_child_subreaper",
    "set_parent_death_signal",
    "syscall",
]

LINUX = sys.platform.startswith("linux")

#: "x86_64", "aarch64", or whatever else the machine calls itself.
ARCHITECTURE = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())

_LIBC = ctypes.CDLL(None, use_errno=True)

_PR_SET_PDEATHSIG = 1
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_PR_SET_CHILD_SUBREAPER = 36
_MADV_COLLAPSE, _HUGE = 25, 2 * 2**20


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def keep_freed_memory() -> None:
    """Have glibc keep what is freed, up to 64 MiB, instead of giving it back and asking for it again.

    Tensors of some 100 kB come and go in every call, and each page of them would cost a fault, microseconds in a
    virtual machine. With another C library nothing happens.
    """
    mallopt = getattr(_LIBC, "mallopt", None)
    if LINUX and mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, 32 * 2**20)
        mallopt(_M_TRIM_THRESHOLD, 64 * 2**20)


def map_large_memory() -> None:
    """Have glibc map every block from 1 MiB on by itself, so that it goes back when it is freed.

    Left alone, glibc raises that limit to 32 MiB after the first such block, and large blocks that come and go then
    leave holes. With another C library nothing happens.
    """
    mallopt = getattr(_LIBC, "mallopt", None)
    if LINUX and mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, 2**20)
        mallopt(_M_TRIM_THRESHOLD, 128 * 1024)


def give_back_freed_memory() -> None:
    """Give what is freed back to the system; milliseconds. With another C library nothing happens."""
    trim = getattr(_LIBC, "malloc_trim", None)
    if LINUX and trim is not None:
        trim(0)


def gather_in_huge_pages() -> None:
    """Move this process's own memory into pages of 2 MiB, so that a fork copies one entry in place of 512 small ones.

    Needs Linux 6.1 or newer, costs half a second for 200 MiB, and does nothing where it can't be had.
    """
    madvise = getattr(_LIBC, "madvise", None)
    if not LINUX or madvise is None:
        return
    for low, high in _own_memory():
        for address in range(-(-low // _HUGE) * _HUGE, high - _HUGE + 1, _HUGE):
            madvise(ctypes.c_void_p(address), ctypes.c_size_t(_HUGE), _MADV_COLLAPSE)


def _own_memory() -> list[tuple[int, int]]:
    """Where this process keeps what it has written itself, without stacks and what the kernel put there."""
    spans = []
    with Path("/proc/self/maps").open() as maps:
        for line in maps:
            span, mode, _, _, inode, *name = line.split()
            if mode == "rw-p" and inode == "0" and name in ([], ["[heap]"]):
                low, high = (int(part, 16) for part in span.split("-"))
                spans.append((low, high))
    return spans


def _as_argument(value: Any) -> Any:
    return ctypes.c_long(value) if isinstance(value, int) else value


def syscall(number: int, *arguments: Any, name: str = "syscall") -> int:
    """Call a system call by number; integers go as C longs. Raises OSError with the errno that it gave."""
    if not LINUX:
        raise OSError(38, f"{name}: only on Linux")
    return _checked(int(_LIBC.syscall(ctypes.c_long(number), *map(_as_argument, arguments))), name)


def prctl(option: int, *arguments: Any, name: str = "prctl") -> int:
    """`prctl(2)`, missing arguments filled up with 0."""
    if not LINUX:
        raise OSError(38, f"{name}: only on Linux")
    filled = (*arguments, 0, 0, 0, 0)[:4]
    return _checked(int(_LIBC.prctl(ctypes.c_int(option), *map(_as_argument, filled))), name)


def set_parent_death_signal(signal: int) -> None:
    """Ask for this signal when the thread that forked us dies. A change of uid clears it."""
    if LINUX:
        prctl(_PR_SET_PDEATHSIG, int(signal), name="PR_SET_PDEATHSIG")


def set_child_subreaper() -> None:
    """Become the new parent of orphaned descendants, so that they can be found and reaped."""
    if LINUX:
        prctl(_PR_SET_CHILD_SUBREAPER, 1, name="PR_SET_CHILD_SUBREAPER")


def close_all_but(keep: Collection[int]) -> None:
    """Close every descriptor of this process that is not in `keep`, inheritable or not."""
    with os.scandir("/proc/self/fd" if LINUX else "/dev/fd") as entries:
        open_now = {int(entry.name) for entry in entries}
    for descriptor in open_now - set(keep):
        with contextlib.suppress(OSError):  # the listing's own
            os.close(descriptor)
