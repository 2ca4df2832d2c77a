"""Start a command without root, and as if the kernel had no Landlock or no system call filters.

    python lacking.py [landlock] [seccomp] -- COMMAND …

Run as root, it becomes nobody first. What is lacking is refused by a filter of our own, which all children inherit.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
import tempfile
from pathlib import Path

__all__ = ["command", "load"]

NOBODY = 65534
_ERRNO, _ALLOW, _KILL = 0x00050000, 0x7FFF0000, 0x80000000
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_LANDLOCK = (444, 445, 446)
_ARCHITECTURES = {"x86_64": (0xC000003E, 157, 317), "aarch64": (0xC00000B7, 167, 277)}


def command(lacking: tuple[str, ...], *then: str) -> list[str]:
    """The command line that starts `then` in such a way."""
    return [sys.executable, "-I", __file__, *lacking, "--", *then]


def _filter(lacking: set[str]) -> bytes:
    """Landlock's calls do not exist; `prctl` and `seccomp` load no further filter."""
    audit, prctl, seccomp = _ARCHITECTURES[platform.machine()]
    lines = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, audit), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, 0)]
    gone = (*(_LANDLOCK if "landlock" in lacking else ()), *((seccomp,) if "seccomp" in lacking else ()))
    for number in gone:
        lines += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]
    if "seccomp" in lacking:
        lines += [(_EQUAL, 0, 3, prctl), (_LOAD, 0, 0, 16), (_EQUAL, 0, 1, 22), (_RETURN, 0, 0, _ERRNO | errno.EINVAL)]
    return _packed(lines)


def _packed(lines: list[tuple[int, int, int, int]]) -> bytes:
    return b"".join(struct.pack("=HBBI", *line) for line in [*lines, (_RETURN, 0, 0, _ALLOW)])


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def load(code: bytes, *, privileged: bool) -> None:
    """Load a filter for this process and all that it starts. privileged: with CAP_SYS_ADMIN, without `no_new_privs`."""
    libc, program = ctypes.CDLL(None, use_errno=True), _Program(len(code) // 8, code)
    first = () if privileged else ((38, 1, 0, 0, 0),)
    for step in (*first, (22, 2, ctypes.byref(program), 0, 0)):
        if libc.prctl(*step) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


def _main() -> None:
    place = sys.argv.index("--")
    lacking, then = set(sys.argv[1:place]), sys.argv[place + 1 :]
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    if lacking:
        load(_filter(lacking), privileged=False)
    home = Path(tempfile.gettempdir()) / f"softmark-test-{os.getuid()}"
    home.mkdir(mode=0o700, exist_ok=True)
    os.execvpe(then[0], then, {"PATH": os.environ["PATH"], "HOME": str(home), "OMP_NUM_THREADS": "1"})


if __name__ == "__main__":
    _main()
