"""One submission's sandbox: a uid, a folder, and the kernels that run in them one after the other.

    with Sandbox(zygote, limits, require=Level.A, files=data) as sandbox:
        kernel = sandbox.spawn()
        ...                                  # talk over kernel.connection and kernel.probe
        sandbox.kill()                       # all of the uid, seen gone
        kernel = sandbox.spawn()             # a fresh folder, for the replay

The constructor refuses with a CourseError, before any student code, when the machine gives less than was asked
for. Leaving kills, wipes and looks again; whatever survives is a GraderFault.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import signal
import socket
import stat
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from autograder.errors import CourseError, GraderFault
from autograder.model import Isolation, Level, Limits
from autograder.sandbox import killing, processes, uids
from autograder.sandbox.lockdown import LAYERS, Confinement
from autograder.sandbox.uids import UidLease
from autograder.sandbox.watchdog import Usage, Watchdog
from autograder.sandbox.wipe import wipe, wipe_contents, wipe_owned
from autograder.sandbox.zygote import Zygote

__all__ = ["Kernel", "Sandbox", "default_base", "probe_layers", "sweep"]

_START_SECONDS = 30.0
_RAW_CAP = 64 * 1024
_LONGEST_SOCKET_PATH = 107 - len("-io")
#: folders that every uid can write; only the first is open at level A
_SHARED = ("/dev/shm", "/tmp", "/var/tmp", "/run/lock")


def default_base() -> Path:
    """The folder of work folders: ours, and as root such that other uids can pass through but not look."""
    return _owned_folder(Path(tempfile.gettempdir()) / f"softmark-{os.geteuid()}")


def _owned_folder(folder: Path) -> Path:
    mode = 0o711 if os.geteuid() == 0 else 0o700
    with contextlib.suppress(FileExistsError):
        folder.mkdir(parents=True)
        folder.chmod(mode)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise GraderFault(f"{folder} is not a folder that belongs to us and only we can write: remove it")
    return folder


class Kernel:
    """A kernel of the student's: its connection, its end of the probe, and what became of it.

    connection: as in a Jupyter connection file (`transport` ipc, `ip` a path prefix, ports 1–5, `key` as text) ·
    probe: the grader's end of the agent's socketpair · pid: in the grader's own pid namespace.
    """

    def __init__(
        self,
        zygote: Zygote,
        pid: int,
        connection: Mapping[str, Any],
        probe: socket.socket,
        *,
        status_pipe: int,
        stdio_pipe: int,
    ) -> None:
        self.pid, self.connection, self.probe = pid, dict(connection), probe
        self._zygote, self._status_pipe, self._stdio_pipe = zygote, status_pipe, stdio_pipe
        self._unread, self._raw = b"", b""
        self._status: int | None = None
        self._listening = False
        self._refused: Mapping[str, str] = {}

    def wait_until_listening(self, seconds: float = _START_SECONDS) -> None:
        """Until all its sockets are bound, so that nobody who connects has to try twice.

        Raises GraderFault when it refused its confinement or died: no student code has run by then.
        """
        deadline = time.monotonic() + seconds
        while self.status() is None and not (self._listening or self._refused):
            poll = select.poll()
            poll.register(self._status_pipe, select.POLLIN)
            if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                raise GraderFault(f"the kernel (pid {self.pid}) was not ready within {seconds:g} s")
        if self._refused:
            layers = "; ".join(f"{layer}: {reason}" for layer, reason in self._refused.items())
            raise GraderFault(f"the kernel lost a layer that held before, so it was not started: {layers}")
        if not self._listening:
            output = self.raw_output().decode(errors="replace")[-2000:]
            raise GraderFault(f"the kernel died at its start with wait status {self._status}: {output}")

    def status(self) -> int | None:
        """None while it lives, else its wait status as `os.waitpid` gives it."""
        while self._status is None and self._status_pipe >= 0:
            try:
                part = os.read(self._status_pipe, 4096)
            except BlockingIOError:
                return None
            if not part:
                raise GraderFault("the zygote died, and with it all word of the kernel")
            self._unread += part
            self._take_lines()
        return self._status

    def _take_lines(self) -> None:
        *lines, self._unread = self._unread.split(b"\n")
        for message in map(json.loads, lines):
            self._listening = self._listening or "listening" in message
            self._refused = message.get("refused", self._refused)
            self._status = message.get("status", self._status)

    def status_fileno(self) -> int:
        """A descriptor that is readable when `status` may have something new."""
        return self._status_pipe

    def interrupt(self) -> None:
        """SIGINT to the kernel; nothing happens if it is dead."""
        self._zygote.ask("signal", pid=self.pid, number=int(signal.SIGINT))

    def raw_output(self) -> bytes:
        """What it wrote past its channels to descriptors 1 and 2, at most 64 KiB; the rest was lost on the way."""
        while self._stdio_pipe >= 0:
            try:
                part = os.read(self._stdio_pipe, 65536)
            except BlockingIOError:
                break
            if not part:
                break
            self._raw = (self._raw + part)[:_RAW_CAP]
        return self._raw

    def close(self) -> None:
        """Close our ends of its pipes. It does not kill; `Sandbox.kill` does. Idempotent."""
        self.raw_output()
        self.probe.close()
        for descriptor in (self._status_pipe, self._stdio_pipe):
            if descriptor >= 0:
                os.close(descriptor)
        self._status_pipe = self._stdio_pipe = -1


class Sandbox:
    """Where one submission runs. isolation: what holds · uid: the student's · work: its cwd and HOME.

    files: the course's data, relative POSIX path → bytes, put into `work` anew for every kernel · base: folder for
    work folders, which the student's uid must be able to pass through · seed: of the kernels' global random
    streams, fresh ones by default.
    """

    def __init__(
        self,
        zygote: Zygote,
        limits: Limits,
        *,
        require: Level,
        files: Mapping[str, bytes] | None = None,
        base: Path | None = None,
        seed: int | None = None,
    ) -> None:
        self._zygote, self._limits, self._seed = zygote, limits, seed
        self._files = {_checked_path(name): content for name, content in (files or {}).items()}
        self._lease = _lease()
        self.uid = self._lease.uid if self._lease else os.getuid()
        self._root = (_owned_folder(base) if base else default_base()) / self._folder_name()
        self._order = Confinement(self._own_uid, self._root, limits, zygote.removed)
        self._kernels: list[Kernel] = []
        self._fresh, self._used, self._closed = False, False, False
        try:
            if self._lease:
                self._lease.remember(self._root)
            self._furnish()
            self.isolation = zygote.isolation(self._order)
            _refuse_less(self.isolation, require)
            self._watchdog = self._make_watchdog()
        except BaseException:
            self._clean_up()
            raise

    @property
    def work(self) -> Path:
        return self._order.home

    @property
    def _own_uid(self) -> int | None:
        return self._lease.uid if self._lease else None

    def _folder_name(self) -> str:
        return f"w{self.uid}" if self._lease else f"w{secrets.token_hex(4)}"

    def _make_watchdog(self) -> Watchdog:
        return Watchdog(self._root, self._limits, self._members, self._zygote.memory(), self._own_uid)

    def _members(self) -> list[processes.Process]:
        if self._lease and "uid" in self.isolation.layers:
            return processes.of_uid(self.uid)
        living = processes.descendants([kernel.pid for kernel in self._kernels], processes.parents())
        return [process for process in map(processes.read, living) if process]

    # ── the folder ──
    def _furnish(self) -> None:
        """Make the folders and copy the files in; nothing of the student's runs while we do."""
        self._root.mkdir(mode=0o700, exist_ok=True)
        for folder in self._order.folders():
            folder.mkdir(mode=0o700)
        for name, content in self._files.items():
            path = self.work / name
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.write_bytes(content)
        if self._lease:
            _give(self._root, self.uid)
        self._fresh = True

    # ── kernels ──
    def spawn(self) -> Kernel:
        """Fork one locked-down kernel and wait until it listens. For a second one, kill the first.

        The folder is as new each time. Raises GraderFault when the kernel can't be confined or does not start.
        """
        if not self._fresh:
            wipe_contents(self._root)
            if self._lease:
                wipe_owned(Path("/dev/shm"), self._lease.uid)
            self._furnish()
            self._watchdog.forget_disk()
        self._fresh, self._used = False, True
        kernel = self._fork(self._connection())
        try:
            kernel.wait_until_listening()
        except GraderFault:
            self.kill()
            raise
        return kernel

    def _connection(self) -> dict[str, Any]:
        prefix = self._root / "run" / "k"
        if len(os.fsencode(prefix)) > _LONGEST_SOCKET_PATH:
            raise GraderFault(f"{prefix} is too long for a socket's path: choose a shorter base folder")
        ports = {"shell_port": 1, "iopub_port": 2, "stdin_port": 3, "control_port": 4, "hb_port": 5}
        key = secrets.token_hex(32)
        return {"transport": "ipc", "ip": str(prefix), **ports, "key": key, "signature_scheme": "hmac-sha256"}

    def _fork(self, connection: Mapping[str, Any]) -> Kernel:
        ours, theirs = socket.socketpair()
        status_reader, status_writer = os.pipe()
        stdio_reader, stdio_writer = os.pipe()
        for descriptor in (status_reader, stdio_reader, stdio_writer):
            os.set_blocking(descriptor, False)  # a kernel that floods its raw output loses it; it never waits for us
        try:
            answer = self._zygote.ask(
                "spawn",
                (status_writer, stdio_writer, theirs.fileno()),
                confinement=self._order.to_json(),
                expected=list(self.isolation.layers),
                connection=dict(connection),
                seed=self._seed,
            )
        except BaseException:
            ours.close()
            os.close(status_reader)
            os.close(stdio_reader)
            raise
        finally:
            theirs.close()
            os.close(status_writer)
            os.close(stdio_writer)
        kernel = Kernel(
            self._zygote, answer["pid"], connection, ours, status_pipe=status_reader, stdio_pipe=stdio_reader
        )
        self._kernels.append(kernel)
        return kernel

    def kill(self) -> int:
        """Kill all that runs here and see it gone; returns how many processes there were beside the kernel.

        Raises GraderFault when something is alive after 5 s: then nothing may be started beside it.
        """
        if not self._used:
            return 0
        alive = [kernel.pid for kernel in self._kernels if kernel.status_fileno() >= 0 and kernel.status() is None]
        own_uid = self._own_uid if "uid" in self.isolation.layers else None
        killer = self._lease.killer if self._lease else 0
        answer = self._zygote.ask("kill", uid=own_uid, killer=killer, pids=[kernel.pid for kernel in self._kernels])
        for kernel in self._kernels:
            kernel.status()  # it is there now, and stays known after the pipe is closed
        if answer["survivors"]:
            raise GraderFault(
                f"processes {answer['survivors']} of uid {self.uid} could not be killed: stop this worker"
            )
        self._used = False
        return max(0, int(answer["found"]) - len(alive))

    def usage(self) -> Usage | None:
        """A sample of what runs here now; `over` names a limit that is broken. None when nothing runs."""
        usage = self._watchdog.sample()
        return usage if usage.processes else None

    # ── the end ──
    def close(self) -> None:
        """Kill, wipe, and look again. Raises GraderFault when anything is left. Idempotent."""
        if self._closed:
            return
        self._closed = True
        try:
            self.kill()
        except GraderFault:
            self._kill_without_zygote()
            raise
        finally:
            self._clean_up()
        left = self._left_behind()
        if left:
            raise GraderFault(f"uid {self.uid} left something behind: {left}")

    def _kill_without_zygote(self) -> None:
        """The last resort when the fork server is gone: its children died with it, strays may not have."""
        if self._lease and "uid" in self.isolation.layers:
            killing.kill_uid(self.uid, self._lease.killer, lambda: ())

    def _clean_up(self) -> None:
        for kernel in self._kernels:
            kernel.close()
        wipe(self._root)
        if self._lease:
            for folder in _SHARED:
                wipe_owned(Path(folder), self.uid)
            if not self._left_behind():
                self._lease.release()

    def _left_behind(self) -> list[str]:
        left = [str(self._root)] if self._root.exists() else []
        if self._lease:
            left += [f"process {process.pid}" for process in processes.of_uid(self.uid)]
        return left

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _lease() -> UidLease | None:
    return UidLease.draw() if os.geteuid() == 0 else None


def _checked_path(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise CourseError(f"a data file must have a relative path inside the work folder, not {name!r}")
    return path


def _give(root: Path, uid: int) -> None:
    """Change the owner of everything in a folder that nobody else can reach yet."""
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            os.chown(Path(folder) / name, uid, uid, follow_symlinks=False)
    os.chown(root, uid, uid)


def _refuse_less(isolation: Isolation, require: Level) -> None:
    if isolation.level.at_least(require):
        return
    missing = "; ".join(f"{layer} ({isolation.missing[layer]})" for layer in LAYERS if layer in isolation.missing)
    raise CourseError(
        f"isolation level {require} is asked for and this machine gives {isolation.level}: missing {missing}. "
        "Run as root in a container whose kernel and engine allow this, or ask for less",
        key="require_isolation",
    )


def probe_layers() -> Isolation:
    """Which layers hold on this machine, by trying them in a child."""
    with Zygote.launch(agent=False, warm=False) as zygote, Sandbox(zygote, Limits(), require=Level.C) as sandbox:
        return sandbox.isolation


def sweep() -> int:
    """Clean up after graders that died: kill their uids, wipe their folders. Returns how many there were.

    For root only; others have no leases. Call it when a grader or batch starts.
    """
    if os.geteuid() != 0:
        return 0
    leases = list(uids.leftovers())
    if not leases:
        return 0
    with Zygote.launch(agent=False, warm=False) as zygote:
        for lease in leases:
            answer = zygote.ask("kill", uid=lease.uid, killer=lease.killer, pids=[])
            if answer["survivors"]:
                raise GraderFault(f"processes {answer['survivors']} of an earlier run could not be killed")
            for folder in _SHARED:
                wipe_owned(Path(folder), lease.uid)
            if (root := lease.recall()) is not None:
                wipe(root)
            lease.release()
    return len(leases)
