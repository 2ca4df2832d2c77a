"""The fork server: one warm process that holds all imports and no secret, and forks a kernel per hand-in.

Theory of operation. The grader forks the zygote from its only thread, before it imports anything hidden, so torch
is imported once for both. The two talk over a socketpair: a line of JSON each way, descriptors passed along. The
zygote has one thread and waits in `poll` for the next order or the death of a child. It reaps all children, as the
subreaper also the orphans, and writes the wait status of a kernel to that kernel's own pipe: liveness is a fact of
the kernel's parent and never a heartbeat. When the grader closes the socket or dies, the zygote kills what it
started and leaves.

A forked kernel never calls exec, so close-on-exec is not enough: the child closes every descriptor that it was not
given by name, and drops out of the zygote's frames only by `os._exit`.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from autograder.errors import GraderFault
from autograder.model import Isolation
from autograder.sandbox import killing, processes
from autograder.sandbox.libc import (
    LINUX,
    close_all_but,
    gather_in_huge_pages,
    keep_freed_memory,
    set_child_subreaper,
    set_parent_death_signal,
)
from autograder.sandbox.lockdown import Confinement, confine, isolation_of

if TYPE_CHECKING:
    from autograder.sandbox.kernel_app import Install

__all__ = ["Zygote", "preload", "serve"]

_ANSWER_SECONDS = 60.0
_LONGEST_LINE = 1 << 20
_STATE: dict[str, bool] = {}


def preload(modules: Sequence[str] = ()) -> None:
    """Import what kernel and grader share. Idempotent; nothing here starts a thread.

    modules: more public modules that the course's notebooks need anyway, e.g. `torch._dynamo`.
    The caller has set OMP_NUM_THREADS=1.
    """
    with _uncollected():
        if not _STATE.get("loaded"):
            import IPython  # noqa: F401
            import numpy.random  # noqa: F401
            import safetensors.torch  # noqa: F401
            import torch  # noqa: F401

            from autograder.probe import agent
            from autograder.sandbox import kernel_app

            kernel_app.preload()
            agent.warm_up()
            _STATE["loaded"] = True
        for module in modules:
            __import__(module)


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """For imports, whose objects stay: to look for garbage among them takes a tenth of the time, now and later."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _agent() -> Install:
    from autograder.probe import agent

    return agent.install


def _assert_single_thread() -> None:
    tasks = len(list(Path("/proc/self/task").iterdir())) if LINUX else threading.active_count()
    if threading.active_count() != 1 or tasks != 1:
        names = [thread.name for thread in threading.enumerate()]
        raise GraderFault(
            f"the zygote must be forked from a process with one thread; this one has {tasks} ({names}): "
            "fork it first, and set OMP_NUM_THREADS=1 before any import"
        )


class Zygote:
    """The grader's handle on its fork server.

    removed: layers that a test takes away, to see the refusal.
    """

    def __init__(self, control: socket.socket, pid: int, removed: Collection[str] = ()) -> None:
        self.pid = pid
        self.removed = tuple(removed)
        self._control = control
        self._control.settimeout(_ANSWER_SECONDS)
        self._answers = _Lines(control)
        self._lock, self._asked = threading.Lock(), 0
        self._isolation: dict[tuple[str, ...], Isolation] = {}
        self._process: subprocess.Popen[bytes] | None = None

    @classmethod
    def fork(cls, *, install: Install | None = None, removed: Collection[str] = (), for_many: bool = True) -> Zygote:
        """Fork from this process, which must have one thread and hold nothing hidden.

        install: puts the probe's agent into each kernel; the package's own by default · for_many: see `warm_up`.
        """
        preload()
        install = install or _agent()
        _assert_single_thread()
        ours, theirs = socket.socketpair()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            _serve_forever(theirs, install, for_many)
        theirs.close()
        return cls(ours, pid, removed)

    @classmethod
    def launch(cls, *, agent: bool = True, warm: bool = True, removed: Collection[str] = ()) -> Zygote:
        """Start one by exec, from any process, with a clean environment; slower, as it imports anew.

        agent: whether kernels get the probe's agent · warm: import torch and the rest beforehand; without, it is
        there in a moment and only good for looking at layers and killing.
        """
        ours, theirs = socket.socketpair()
        code = f"from autograder.sandbox.zygote import serve; serve({theirs.fileno()}, agent={agent}, warm={warm})"
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", code],
            env={"OMP_NUM_THREADS": "1", "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"},
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
        )
        theirs.close()
        zygote = cls(ours, process.pid, removed)
        zygote._process = process
        return zygote

    def ask(self, do: str, descriptors: Sequence[int] = (), **fields: Any) -> dict[str, Any]:
        """Send one order and wait for its answer. Raises GraderFault when the zygote is gone or says so."""
        try:
            with self._lock:
                self._asked += 1
                order = {"do": do, "id": self._asked, "descriptors": len(descriptors), **fields}
                line = json.dumps(order).encode() + b"\n"
                _send(self._control, line, descriptors)
                reply = self._answer_to(self._asked)
        except OSError as error:
            raise GraderFault(f"the zygote (pid {self.pid}) does not answer {do!r}: {error}") from error
        if reply is None:
            raise GraderFault(f"the zygote (pid {self.pid}) died before it answered {do!r}")
        if "fault" in reply:
            raise GraderFault(f"the zygote could not {do}: {reply['fault']}")
        return reply

    def _answer_to(self, number: int) -> dict[str, Any] | None:
        """The answer with this number; earlier ones, whose wait was interrupted, are dropped. None at the end."""
        while line := self._answers.next():
            reply: dict[str, Any] = json.loads(line)
            if reply["id"] == number:
                return reply
        return None

    def isolation(self, order: Confinement) -> Isolation:
        """What holds on this machine, tried once in a child that is thrown away."""
        if order.removed not in self._isolation:
            self._isolation[order.removed] = isolation_of(self.ask("layers", confinement=order.to_json())["missing"])
        return self._isolation[order.removed]

    def preload(self, modules: Sequence[str]) -> str | None:
        """Import public modules that later kernels would import each; returns why one can't be."""
        failed: str | None = self.ask("preload", modules=list(modules))["failed"] if modules else None
        return failed

    def memory(self) -> int:
        """Bytes that a kernel seems to hold before it does anything, since it shares them with the zygote."""
        process = processes.read(self.pid)
        return process.memory if process else 0

    def close(self) -> None:
        """Let it kill its kernels and end. Idempotent."""
        if self._control.fileno() < 0:
            return
        self._control.close()
        if self._process is not None:
            self._process.wait()
        else:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self.pid, 0)

    def __enter__(self) -> Zygote:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# ── the wire between the two ──────────────────────────────────────────────────────────────────────────────────
def _send(control: socket.socket, line: bytes, descriptors: Sequence[int]) -> None:
    sent = socket.send_fds(control, [line], list(descriptors))
    control.sendall(line[sent:])


class _Lines:
    """Lines that come over a socket, and the descriptors that came with them. Several may come at once."""

    def __init__(self, control: socket.socket) -> None:
        self._control, self._received, self._descriptors = control, b"", list[int]()

    @property
    def waiting(self) -> bool:
        """Whether a whole line has come already."""
        return b"\n" in self._received

    def next(self) -> bytes:
        """The next line; empty at the end."""
        while not self.waiting:
            part, more, _, _ = socket.recv_fds(self._control, 65536, 8)
            self._descriptors += more
            self._received += part
            if not part or len(self._received) > _LONGEST_LINE:
                return b""
        line, self._received = self._received.split(b"\n", 1)
        return line

    def take(self, count: int) -> list[int]:
        """The descriptors of the last line."""
        taken, self._descriptors = self._descriptors[:count], self._descriptors[count:]
        return taken


# ── the zygote's own process ──────────────────────────────────────────────────────────────────────────────────
@dataclass(slots=True)
class _Child:
    """A kernel of ours: where its status goes, and who may kill it."""

    status: int
    uid: int | None


def serve(descriptor: int, *, agent: bool, warm: bool) -> NoReturn:
    """Entry point of a launched zygote: import, then serve on this descriptor. Never returns."""
    if warm:
        preload()
    _serve_forever(socket.socket(fileno=descriptor), _agent() if agent else None)


def _serve_forever(control: socket.socket, install: Install | None, for_many: bool = True) -> NoReturn:
    code = 1
    try:
        keep_freed_memory()  # here and not in the grader, whose memory is to come back to its base
        server = _Server(control, install)
        if install is not None:  # beside the grader, which imports the course meanwhile
            from autograder.sandbox import kernel_app

            with _uncollected():
                kernel_app.warm_up(for_many=for_many)
            if for_many:
                gather_in_huge_pages()
        server.serve()
        code = 0
    except SystemExit:
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


class _Server:
    def __init__(self, control: socket.socket, install: Install | None) -> None:
        self._control, self._install = control, install
        self._orders = _Lines(control)
        self._children: dict[int, _Child] = {}
        self._executioner: killing.Executioner | None = None
        self._wake_reader, self._wake_writer = os.pipe()
        os.set_blocking(self._wake_reader, False)
        os.set_blocking(self._wake_writer, False)

    def serve(self) -> None:
        """Until the grader is gone; then kill what is left."""
        self._settle()
        poll = select.poll()
        poll.register(self._control.fileno(), select.POLLIN)
        poll.register(self._wake_reader, select.POLLIN)
        try:
            while self._turn([descriptor for descriptor, _ in poll.poll()]):
                pass
        finally:
            self._kill_everything()

    def _settle(self) -> None:
        """A session of our own, no descriptor of the grader's, and word when it or a child dies."""
        with contextlib.suppress(PermissionError):
            os.setsid()
        close_all_but({0, 1, 2, self._control.fileno(), self._wake_reader, self._wake_writer})
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        for ignored in (signal.SIGINT, signal.SIGHUP):
            signal.signal(ignored, signal.SIG_IGN)
        signal.set_wakeup_fd(self._wake_writer, warn_on_full_buffer=False)
        set_child_subreaper()
        set_parent_death_signal(signal.SIGTERM)
        gc.freeze()

    def _turn(self, ready: Collection[int]) -> bool:
        if self._wake_reader in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(self._wake_reader, 4096)
        self._reap()
        while self._orders.waiting or self._control.fileno() in ready:
            if not self._obey():
                return False
            ready = ()
        return True

    def _obey(self) -> bool:
        try:
            line = self._orders.next()
        except ConnectionError:
            return False
        if not line:
            return False
        order = json.loads(line)
        number, descriptors = order.pop("id"), self._orders.take(order.pop("descriptors"))
        try:
            reply = self._actions[order.pop("do")](self, descriptors, **order)
        except Exception as error:
            traceback.print_exc()
            reply = {"fault": f"{type(error).__name__}: {error}"}
        with contextlib.suppress(BrokenPipeError):
            self._control.sendall(json.dumps({**reply, "id": number}).encode() + b"\n")
        self._prepare()
        return True

    def _prepare(self) -> None:
        """Have an executioner wait while there is somebody to kill."""
        if self._executioner is None and any(child.uid is not None for child in self._children.values()):
            self._executioner = killing.Executioner()

    def _reap(self) -> set[int]:
        """Collect who has died, and say which of them were killed."""
        killed: set[int] = set()
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return killed
            if pid == 0:
                return killed
            if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
                killed.add(pid)
            child = self._children.pop(pid, None)
            if child is not None:
                _tell(child.status, {"status": status})
                os.close(child.status)

    # ── orders ──
    def _spawn(self, descriptors: list[int], **order: Any) -> dict[str, Any]:
        pid = os.fork()
        if pid == 0:
            self._in_child(descriptors, lambda: self._become_kernel(descriptors, order))
        status, *rest = descriptors
        for descriptor in rest:
            os.close(descriptor)
        self._children[pid] = _Child(status, order["confinement"]["uid"])
        return {"pid": pid}

    def _layers(self, _: list[int], confinement: Mapping[str, Any]) -> dict[str, Any]:
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            self._in_child([writer], lambda: _tell(writer, confine(Confinement.from_json(confinement))))
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            answer = pipe.read()
        os.waitpid(pid, 0)
        if not answer:
            raise ChildProcessError("the child that tries the layers died; its traceback is above")
        return {"missing": json.loads(answer)}

    def _preload(self, _: list[int], modules: list[str]) -> dict[str, Any]:
        try:
            preload(modules)
        except Exception as error:
            return {"failed": f"{type(error).__name__}: {error}"}
        _assert_single_thread()
        gather_in_huge_pages()
        return {"failed": None}

    def _signal(self, _: list[int], pid: int, number: int) -> dict[str, Any]:
        if pid in self._children:  # not reaped, so the pid is still its own
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        return {}

    def _kill(self, _: list[int], uid: int | None, killer: int, pids: list[int]) -> dict[str, Any]:
        if uid is not None:
            executioner, self._executioner = self._executioner, None
            found, survivors = killing.kill_uid(uid, killer, self._reap, executioner)
        else:
            spare = set(self._children) - set(pids)
            roots = [pid for pid in pids if pid in self._children]
            found, survivors = killing.kill_tree(roots, self._reap, reaper=os.getpid(), spare=spare)
        return {"found": found, "survivors": survivors}

    _actions: Mapping[str, Callable[..., dict[str, Any]]] = {
        "spawn": _spawn,
        "layers": _layers,
        "preload": _preload,
        "signal": _signal,
        "kill": _kill,
    }

    def _kill_everything(self) -> None:
        from autograder.sandbox.uids import KILLER_OFFSET

        for uid in {child.uid for child in self._children.values()}:
            if uid is not None:
                killing.kill_uid(uid, uid + KILLER_OFFSET, self._reap)
        if self._children:
            killing.kill_tree(list(self._children), self._reap, reaper=os.getpid())

    # ── in the child ──
    def _in_child(self, keep: Sequence[int], act: Callable[[], None]) -> NoReturn:
        """Leave the zygote's signals, session and descriptors behind, act, and end without its exit handlers."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.setsid()
            self._control.detach()
            null = os.open(os.devnull, os.O_RDONLY)
            os.dup2(null, 0)
            close_all_but({0, 1, 2, *keep})
            act()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            with contextlib.suppress(BaseException):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)

    def _become_kernel(self, descriptors: list[int], order: Mapping[str, Any]) -> None:
        status, stdio, *probe = descriptors
        os.dup2(stdio, 1)
        os.dup2(stdio, 2)
        os.close(stdio)
        missing = confine(Confinement.from_json(order["confinement"]))
        lost = {layer: missing[layer] for layer in order["expected"] if layer in missing}
        if lost:
            _tell(status, {"refused": lost})
            return
        _start_anew(order["seed"])

        def when_listening() -> None:
            _tell(status, {"listening": True})
            os.close(status)

        from autograder.sandbox import kernel_app

        agent_end = socket.socket(fileno=probe[0]) if probe else None
        kernel_app.run(order["connection"], agent_end, self._install, when_listening)


def _tell(descriptor: int, message: Mapping[str, Any]) -> None:
    """Nobody may be there to read it: a grader that was killed still gets its clean-up."""
    with contextlib.suppress(BrokenPipeError):
        os.write(descriptor, json.dumps(message).encode() + b"\n")


def _start_anew(seed: int | None) -> None:
    """Fresh random streams (all children start equal) and no remembered folder of temporary files."""
    import random
    import tempfile

    import numpy as np
    import torch

    seed = int.from_bytes(os.urandom(8)) if seed is None else seed
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed % 2**63)
    tempfile.tempdir = None
    sys.argv = ["ipykernel"]
    Path.cwd()  # it must exist for us
