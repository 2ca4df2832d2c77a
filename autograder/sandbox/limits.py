"""Resource limits of one student process. Lowered before the change of uid; nobody can raise them again."""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Mapping

from autograder.model import Limits

__all__ = ["apply", "most_processes", "wanted"]

_CPU_MARGIN = 60  # seconds
#: processes of one hand-in, and so many more a core: `multiprocessing.Pool()` starts one a core
_PROCESSES, _PROCESSES_A_CORE = 24, 2


def wanted(limits: Limits, tasks_already: int | None = 0) -> Mapping[str, int]:
    """Name of the rlimit → value. RLIMIT_AS is left alone: torch maps far more than it touches.

    tasks_already: threads that run under the same uid before we start (level C, where the uid is shared); None
    when nobody can count them, which leaves RLIMIT_NPROC out.
    """
    tasks = {} if tasks_already is None else {"RLIMIT_NPROC": limits.processes + tasks_already}
    cpu = int(limits.run_seconds * (os.cpu_count() or 1)) + _CPU_MARGIN
    return {
        "RLIMIT_DATA": limits.memory_bytes,
        **tasks,
        "RLIMIT_NOFILE": limits.files,
        "RLIMIT_FSIZE": limits.file_bytes,
        "RLIMIT_CPU": cpu,
        "RLIMIT_CORE": 0,
        "RLIMIT_MEMLOCK": 64 * 1024,
        "RLIMIT_MSGQUEUE": 0,
        "RLIMIT_SIGPENDING": 1024,
    }


def apply(limits: Limits, tasks_already: int | None = 0) -> None:
    """Lower soft and hard limit of each; a limit that is lower already stays. Raises OSError or ValueError."""
    for name, value in wanted(limits, tasks_already).items():
        with contextlib.suppress(AttributeError):  # not every system knows every limit
            _lower(getattr(resource, name), value)


def _lower(which: int, value: int) -> None:
    hard = resource.getrlimit(which)[1]
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(which, (value, value))
    if resource.getrlimit(which) != (value, value):
        raise OSError(f"limit {which} is {resource.getrlimit(which)} after it was set to {value}")


def most_processes(limits: Limits) -> int:
    """How many processes may run at a time; their threads may be more, up to `limits.processes`.

    The kernel can only count threads, so the watchdog looks after this. A killed process needs 10 to 20 ms of processor
    time to give back its pages, a thread next to none: hundreds of processes could not be gone in a second.
    """
    return min(limits.processes, _PROCESSES + _PROCESSES_A_CORE * (os.cpu_count() or 1))
