"""The grader process: one clean exec, one import of torch, one zygote, then anything hidden.

Theory of operation. A forked child shows the start-up environment of its parent, and keeps its memory. So whoever
wants to grade (the command line, a pool, Gradescope's script) does not fork: it executes `python -I -m
autograder.worker` anew, with an environment built from nothing and no arguments, and sends its orders through a
pipe. The worker imports torch and what kernels need, and freezes the collector; it forks the zygote from its
only thread, and only then imports the pipeline and with it the hidden reference.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from autograder.sandbox import Zygote

__all__ = ["ORDERS_FD", "clean_environment", "exec_grader", "main", "start_grader"]

#: Where a grader process finds its orders.
ORDERS_FD = 3
#: What a terminal and the numerics need; everything else stays outside.
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TERM", "COLUMNS", "NO_COLOR", "TZ", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
#: One thread: a fork must not meet OpenMP's pool. Large heaps in large pages: a kernel's tensors cost half the faults.
_SET = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
}
_ARGUMENTS = ("-I", "-m", "autograder.worker")


def clean_environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment of a grader process, from an allow-list."""
    kept = {name: environ[name] for name in _KEPT if name in environ}
    return {"LANG": "C.UTF-8"} | kept | _SET


def exec_grader(orders: Mapping[str, Any]) -> NoReturn:
    """Replace this process by a grader process that carries out the orders and exits with their status."""
    sys.stdout.flush()
    sys.stderr.flush()
    with _orders_file(orders) as fd:
        os.dup2(fd, ORDERS_FD)
        os.set_inheritable(ORDERS_FD, True)  # dup2 of a descriptor onto itself would leave close-on-exec set
        os.execve(sys.executable, [sys.executable, *_ARGUMENTS], clean_environment())


@contextmanager
def _orders_file(orders: Mapping[str, Any]) -> Iterator[int]:
    """Orders as an anonymous file: a pipe would block above 64 kB, and an argument list can be read by anyone."""
    fd = os.memfd_create("orders")
    try:
        os.write(fd, json.dumps(orders).encode() + b"\n")
        os.lseek(fd, 0, os.SEEK_SET)
        yield fd
    finally:
        os.close(fd)


def start_grader(ours: socket.socket, **popen: Any) -> subprocess.Popen[bytes]:
    """Start a grader process that serves requests on the other end of a socket pair (see `batch`).

    ours: the end to hand over; it becomes the worker's ORDERS_FD. The caller closes its copy.
    """
    script = (
        f"import os,sys;os.dup2({ours.fileno()},{ORDERS_FD});os.execv(sys.executable,[sys.executable,*{_ARGUMENTS!r}])"
    )
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", script], env=clean_environment(), pass_fds=(ours.fileno(),), **popen
    )


def main() -> int:
    """The body of a grader process. Its order is a border: nothing hidden may be imported before the fork."""
    from autograder.errors import Interrupted
    from autograder.sandbox import Zygote, preload, sweep

    def stop(number: int, frame: object) -> NoReturn:
        raise Interrupted(signal.Signals(number).name)

    preload()
    zygote = Zygote.fork(for_many=_serves())
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    try:
        sweep()  # what a grader that was killed left behind
        return _obey(zygote)
    except Interrupted as interrupted:
        return 128 + signal.Signals[str(interrupted)].value
    finally:
        zygote.close()


def _serves() -> bool:
    """Whether orders come through a socket, one after the other, and not as a file with the only one."""
    return stat.S_ISSOCK(os.fstat(ORDERS_FD).st_mode)


def _obey(zygote: Zygote) -> int:
    from autograder.cli import obey

    return obey(ORDERS_FD, zygote)


if __name__ == "__main__":
    sys.exit(main())
