"""From a fresh fork to a process that can do no harm, step by step, each checked.

The order matters. Descriptors and session first; limits before the drop, when they can still be set; then the uid,
after which the parent-death signal has to be asked for again; then folder and environment; `no_new_privs`, which
the last two need; file rules; the system call filter; and a look at what the kernel says of it all.

A layer that fails half-way counts as missing, never as there. `confine` goes on without it and says so; whoever
called decides whether that is enough *before* any student code runs.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import socket
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from autograder.model import Isolation, Level, Limits
from autograder.sandbox import landlock, limits, processes, seccomp
from autograder.sandbox.libc import LINUX, prctl, set_parent_death_signal, syscall

__all__ = ["LAYERS", "Confinement", "confine", "environment", "isolation_of", "level_of"]

#: in the order in which they are named to people
LAYERS = ("uid", "rlimits", "no_new_privs", "seccomp", "no-network", "landlock")
_LEVEL_A, _LEVEL_B = frozenset(LAYERS), frozenset(LAYERS) - {"landlock"}
_PR_SET_NO_NEW_PRIVS = 38
_TAKEN_AWAY = "taken away by a test"
_FOLDERS = ("home", "tmp", "run", "cache")


@dataclass(frozen=True, slots=True)
class Confinement:
    """What one kernel is locked into.

    uid: the student's, or None where there is no right to change it · root: folder that the student may write, with
    `home`, `tmp`, `run` and `cache` in it · removed: layers that a test takes away.
    """

    uid: int | None
    root: Path
    limits: Limits
    removed: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {"uid": self.uid, "root": str(self.root), "limits": asdict(self.limits), "removed": list(self.removed)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Confinement:
        return cls(data["uid"], Path(data["root"]), Limits(**data["limits"]), tuple(data["removed"]))

    @property
    def home(self) -> Path:
        return self.root / "home"

    def folders(self) -> list[Path]:
        return [self.root / name for name in _FOLDERS]


def level_of(layers: Collection[str]) -> Level:
    """A: all layers; B: all but Landlock; C: anything less."""
    if set(layers) >= _LEVEL_A:
        return Level.A
    return Level.B if set(layers) >= _LEVEL_B else Level.C


def isolation_of(missing: Mapping[str, str]) -> Isolation:
    """The level and layers that hold, given which don't."""
    layers = tuple(layer for layer in LAYERS if layer not in missing)
    return Isolation(level_of(layers), layers, dict(missing))


def environment(root: Path) -> dict[str, str]:
    """The whole environment of a student's kernel, made from nothing; all folders lie in `root`."""
    cache = root / "cache"
    return {
        "PATH": f"{sys.prefix}/bin:/usr/local/bin:/usr/bin:/bin",
        "HOME": f"{root}/home",
        "TMPDIR": f"{root}/tmp",
        "LANG": "C.UTF-8",
        "USER": "student",
        "LOGNAME": "student",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONNOUSERSITE": "1",
        "IPYTHONDIR": f"{cache}/ipython",
        "JUPYTER_RUNTIME_DIR": f"{root}/run",
        "MPLCONFIGDIR": f"{cache}/matplotlib",
        "MPLBACKEND": "Agg",
        "OMP_NUM_THREADS": "1",
        "TORCHINDUCTOR_CACHE_DIR": f"{cache}/inductor",
        # There is no network: whoever tries is to fail at once, without trying again. Nothing is installed, so that pip
        # need not look for conflicts, which takes longer than all the rest (0 switches that off; so pip's manual).
        "PIP_NO_INDEX": "1",
        "PIP_NO_WARN_CONFLICTS": "0",
        "PIP_RETRIES": "0",
        "PIP_DEFAULT_TIMEOUT": "1",
        "PIP_NO_INPUT": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "HF_HUB_OFFLINE": "1",
    }


def confine(order: Confinement) -> dict[str, str]:
    """Lock this process in, for good. Returns layer → reason for each layer that does not hold.

    Call it in the only thread of a fresh fork whose descriptors are in order. Raises OSError when a step that is no
    layer fails (the work folder can't be entered).
    """
    parent = os.getppid()
    _be_the_first_to_die()
    missing: dict[str, str] = {}

    def layer(name: str, step: Callable[[], None]) -> None:
        if name in order.removed:
            missing[name] = _TAKEN_AWAY
            return
        try:
            step()
        except (OSError, ValueError, AttributeError) as error:
            missing[name] = str(error)

    layer("rlimits", lambda: limits.apply(order.limits, _tasks_of_ours() if order.uid is None else 0))
    layer("uid", lambda: _become(order.uid))
    set_parent_death_signal(signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    _move_in(order)
    layer("no_new_privs", lambda: _ignore_result(prctl(_PR_SET_NO_NEW_PRIVS, 1, name="PR_SET_NO_NEW_PRIVS")))
    layer("landlock", lambda: _restrict_files(order.root))
    layer("seccomp", seccomp.install)
    _verify(order, missing)
    return missing


def _ignore_result(_: int) -> None:
    """Turn a call into a step."""


def _be_the_first_to_die() -> None:
    """Let the kernel's out-of-memory killer take us before anybody else."""
    try:
        Path("/proc/self/oom_score_adj").write_text("1000")
    except OSError:
        return


def _tasks_of_ours() -> int | None:
    return sum(process.tasks for process in processes.of_uid(os.getuid())) if LINUX else None


def _become(uid: int | None) -> None:
    if uid is None:
        raise PermissionError(errno.EPERM, "changing the uid needs root")
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    if os.getresuid() != (uid,) * 3 or os.getresgid() != (uid,) * 3 or os.getgroups():
        raise OSError(errno.EPERM, f"the ids are {os.getresuid()}, {os.getresgid()} after the change to {uid}")
    if not os.access(os.__file__, os.R_OK):
        raise OSError(errno.EACCES, f"the interpreter at {sys.prefix} can't be read by the student's uid")


def _move_in(order: Confinement) -> None:
    os.umask(0o077)
    os.chdir(order.home)
    os.environ.clear()
    os.environ.update(environment(order.root))


def _restrict_files(root: Path) -> None:
    landlock.restrict(landlock.student_rules(root))
    try:
        os.scandir("/").close()
    except PermissionError:
        return
    raise OSError(errno.EPERM, "the rules are loaded, and / can be listed all the same")


# ── what the kernel says of it ────────────────────────────────────────────────────────────────────────────────
def _verify(order: Confinement, missing: dict[str, str]) -> None:
    """Move layers to `missing` that the kernel does not confirm."""
    checks = (
        ("uid", lambda: _status("Uid") == [str(order.uid)] * 4 and not _has_capabilities()),
        ("no_new_privs", lambda: _status("NoNewPrivs") == ["1"]),
        ("seccomp", lambda: _status("Seccomp") == ["2"] and _is_filtered()),
    )
    for name, holds in checks:
        if name not in missing and not _quietly(holds):
            missing[name] = "it was set, and the kernel does not confirm it"
    if "no-network" in order.removed:
        missing["no-network"] = _TAKEN_AWAY
    elif "seccomp" in missing:
        missing["no-network"] = f"it needs seccomp: {missing['seccomp']}"
    elif not _quietly(_has_no_network):
        missing["no-network"] = "a network socket can be made"


def _quietly(check: Callable[[], bool]) -> bool:
    try:
        return check()
    except OSError:
        return False


def _status(name: str) -> list[str]:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return line.split()[1:]
    return []


def _has_capabilities() -> bool:
    return any(int(_status(name)[0], 16) for name in ("CapEff", "CapPrm", "CapAmb"))


def _is_filtered() -> bool:
    """A call that no container engine refuses: only our own filter says EPERM to `shmget`."""
    call = seccomp.number("shmget")
    try:
        syscall(call or 0, ctypes.c_long(0), ctypes.c_long(0), ctypes.c_long(0), name="shmget")
    except OSError as error:
        return error.errno == errno.EPERM
    return False


def _has_no_network() -> bool:
    if not LINUX:
        return False
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM).close()
    except PermissionError as error:
        return error.errno == errno.EACCES
    return False
