"""How `run_autograder` is started: in a folder that stands for `/autograder`, or in a container.

A starter runs the script once with its log, waits, and kills one process at the limit; `end` is the moment at which
the platform's container goes, and with it all that still runs.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

from autograder.sandbox import processes
from autograder.sandbox.killing import kill_tree

__all__ = ["CANARY", "Box", "InContainer", "InFolder", "Starter", "platform_environment"]

#: Stands in every variable that the platform keeps to itself: a leak into student code is found by looking for it.
CANARY = "canary-8f3a"
_PR_SET_CHILD_SUBREAPER = 36


class Starter(Protocol):
    """Starts the script, and ends what is left of it."""

    def __call__(self, work: Path, log: IO[bytes], seconds: float) -> tuple[int, bool]:
        """(exit status as Python gives it, whether the limit came first). Raises OSError when it can't be started."""

    def end(self) -> None:
        """The container goes. Idempotent."""


def platform_environment(seconds: float) -> dict[str, str]:
    """What the platform sets; only TIMEOUT_SECONDS may be used."""
    return {
        "SUBMISSION_URL": f"http://127.0.0.1:9/{CANARY}/submission",
        "SUBMIT_RESULTS_URL": f"http://127.0.0.1:9/{CANARY}/results",
        "ASSET_HOST": f"http://127.0.0.1:9/{CANARY}",
        "BASIC_AUTH": CANARY,
        "TIMEOUT_SECONDS": f"{seconds:g}",
    }


@dataclass(slots=True)
class InFolder:
    """The script as a plain process; AUTOGRADER_ROOT tells it where it is.

    python: interpreter that has Softmark · environment: more variables · sets_timeout: the platform always does.
    """

    python: str = sys.executable
    environment: Mapping[str, str] = field(default_factory=dict)
    sets_timeout: bool = True
    _process: subprocess.Popen[bytes] | None = None
    _spared: frozenset[int] = frozenset()

    def __call__(self, work: Path, log: IO[bytes], seconds: float) -> tuple[int, bool]:
        _be_the_reaper()
        self._spared = frozenset(_children())
        self._process = subprocess.Popen(
            ["./run_autograder"],
            cwd=work,
            env=self._environment(work, seconds),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        return _wait(self._process, seconds)

    def _environment(self, work: Path, seconds: float) -> dict[str, str]:
        path = os.environ.get("PATH", "/usr/local/bin:/usr/bin:/bin")
        platform = platform_environment(seconds)
        if not self.sets_timeout:
            del platform["TIMEOUT_SECONDS"]
        ours = {"PATH": path, "HOME": "/root", "AUTOGRADER_ROOT": str(work), "SOFTMARK_PYTHON": self.python}
        return {**ours, **platform, **self.environment}

    def end(self) -> None:
        if self._process is None:
            return
        kill_tree({self._process.pid}, self._reap, reaper=os.getpid(), spare=self._spared)
        self._process = None

    def _reap(self) -> None:
        for pid in _children() - self._spared:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def _be_the_reaper() -> None:
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _children() -> set[int]:
    return {process.pid for process in processes.everyone() if process.parent == os.getpid()}


def _wait(process: subprocess.Popen[bytes], seconds: float) -> tuple[int, bool]:
    """Wait up to the limit; then kill that one process, and nothing that it started."""
    try:
        return process.wait(seconds), False
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        return process.wait(), True


@dataclass(frozen=True, slots=True)
class Box:
    """The size of the platform's container; the smallest is the default."""

    cpus: float = 0.5
    memory_megabytes: int = 768
    processes: int = 512


@dataclass(slots=True)
class InContainer:
    """The script in a container of the built image, without a network.

    command: the engine and its global options, e.g. ("docker", "-H", "unix:///…") · options: more for `run`.
    """

    image: str
    command: Sequence[str] = ("docker",)
    box: Box = Box()
    options: Sequence[str] = ()
    _name: str | None = None

    def arguments(self, work: Path, seconds: float, name: str) -> list[str]:
        """The whole command line of `run`."""
        mounts = [work / "submission", work / "results"]
        if (metadata := work / "submission_metadata.json").exists():
            mounts.append(metadata)
        variables = platform_environment(seconds)
        memory = f"{self.box.memory_megabytes}m"
        return [
            *self.command, "run", "--rm", "--pull", "never", "--name", name, "--network", "none",
            "--cpus", f"{self.box.cpus:g}", "--memory", memory, "--memory-swap", memory,
            "--pids-limit", str(self.box.processes), "--workdir", "/autograder",
            *(part for key, value in variables.items() for part in ("--env", f"{key}={value}")),
            *(part for path in mounts for part in ("--volume", f"{path.absolute()}:/autograder/{path.name}")),
            *self.options, self.image, "./run_autograder",
        ]  # fmt: skip

    def __call__(self, work: Path, log: IO[bytes], seconds: float) -> tuple[int, bool]:
        self._name = f"softmark-{uuid.uuid4().hex[:12]}"
        process = subprocess.Popen(
            self.arguments(work, seconds, self._name), stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        )
        self._wait_for_its_start(process)
        try:
            return process.wait(seconds), False
        except subprocess.TimeoutExpired:
            self.end()
            process.wait()
            return -signal.SIGKILL, True

    def _wait_for_its_start(self, process: subprocess.Popen[bytes]) -> None:
        """The platform's clock starts with the script, not with the making of its container."""
        inspect = [*self.command, "inspect", "--format", "{{.State.Running}}", str(self._name)]
        while process.poll() is None:
            if subprocess.run(inspect, capture_output=True, check=False).stdout.strip() == b"true":
                return
            time.sleep(0.1)

    def end(self) -> None:
        if self._name is not None:
            subprocess.run([*self.command, "rm", "--force", self._name], capture_output=True, check=False)
            self._name = None
