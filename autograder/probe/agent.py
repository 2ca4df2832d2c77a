"""The only code of ours in the student's kernel: it carries out plans and sends plain data back.

    grader ──request──▶ kernel's event loop ──fork──▶ child: a reply a plan ──▶ grader
                              └── waits, kills at the limit, says how the child ended ──▶ grader

A shared child stays after its batch and reads the next request itself, until the grader says `part`: a fork and the
pages that a child copies are most of what a batch costs.

The agent belongs to the student, like everything in this process: the grader believes none of it. What it is for is
fairness: a crash or a hang costs one call, nothing that a call does stays, printed text is dropped.

Fork comes with a trap: GNU OpenMP hangs in a child whose parent ran with more than one thread. So the child's first
act is `torch.set_num_threads(1)`.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import inspect
import math
import os
import select
import signal
import socket
import struct
import sys
import threading
import time
import types
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

from autograder.plan import Call, Gradients, Leaf, Plan
from autograder.probe import wire
from autograder.probe.evaluate import NotDefined, StudentRaised, run
from autograder.probe.plain import plain
from autograder.probe.rules import IDLE, REQUEST, Caps, Unsendable, reply_caps

__all__ = ["Agent", "install", "receive", "warm_up"]

_PROGRESS = struct.Struct("<IId")  # plan, step, limit of the plan in seconds
_TICK = 0.02
_TEXT = 10_000
_NAMES = 2_000
_READ_SECONDS = 60.0
_REFUSALS = {"TypeError": TypeError, "ValueError": ValueError, "RuntimeError": RuntimeError}


def install(sock: socket.socket | int, app: Any) -> Agent:
    """Serve the grader's requests on `sock` from the event loop of an IPKernelApp that is about to start.

    `app.kernel` may not have its loop yet, so the loop of this thread is taken.
    """
    from tornado.ioloop import IOLoop

    if isinstance(sock, int):
        sock = socket.socket(fileno=sock)
    warm_up()
    agent = Agent(sock, app.kernel.shell, getattr(app, "iopub_thread", None))
    loop = getattr(app.kernel, "io_loop", None) or IOLoop.current()
    loop.add_handler(sock, lambda *_: agent.on_request(loop), IOLoop.READ)
    return agent


@functools.cache
def warm_up() -> None:
    """Import and run once all that a call needs, so that no forked child has to: numpy.random alone takes 10 ms.

    The zygote may do it, before it forks kernels.
    """
    import numpy.random  # noqa: F401
    import torch

    plan = Plan((Call("y", "f", (Leaf(torch.ones(2), "x"),)), Gradients("g", "y", ("x",))), ("y", "g"), "f")
    result = run(plan, {"f": lambda x: x * 2}, {}, snapshot=plain)
    wire.decode(wire.encode(result.value))
    wire.decode(wire.encode(plan, REQUEST, plans=True), REQUEST, plans=True)
    inspect.signature(warm_up)


class Agent:
    """Answers requests on one socket over the names of one IPython shell."""

    def __init__(self, sock: socket.socket, shell: Any, output: Any = None) -> None:
        self.sock, self.shell = sock, shell
        self.output = output  # the thread that all output messages go through
        self.cells: dict[str, str] = {}  # file name that a cell is compiled under → cell id
        events = getattr(shell, "events", None)
        if events is not None:
            events.register("pre_run_cell", self._remember)

    def on_request(self, loop: Any) -> None:
        """Read one request and answer it. A stream that can't be read is given up."""
        try:
            self.sock.settimeout(_READ_SECONDS)
            request = receive(self.sock)
            self.sock.settimeout(None)
            self._answer(request)
        except Exception:  # the grader has gone, or sends what we don't speak: nothing is left to do here
            loop.remove_handler(self.sock)
            self.sock.close()

    def _remember(self, info: Any) -> None:
        with contextlib.suppress(Exception):
            name = self.shell.compile.get_code_name(info.raw_cell, info.raw_cell, 0)
            if type(info.cell_id) is str:
                self.cells[name] = info.cell_id

    @contextlib.contextmanager
    def muted(self) -> Iterator[None]:
        """Drop output messages meanwhile: displays, figures, and text of streams that somebody had kept."""
        if self.output is not None:
            self.output.send_multipart = lambda *_args, **_kwargs: None
        try:
            yield
        finally:
            if self.output is not None:
                del self.output.send_multipart

    def _answer(self, request: dict[str, Any]) -> None:
        if request["op"] == "part":
            return  # the child that it was meant for has ended, and that was said
        kind = _Describing if request["op"] == "describe" else _Staying if request["shared"] else _Calling
        work: Work = kind(self, request)
        end = _forked(work, self.muted, request["seconds"]) if request["forked"] else _unforked(work, self.muted)
        wire.send(self.sock, {"t": "end", "batch": request["batch"], **end})


def receive(sock: socket.socket) -> dict[str, Any]:
    """One request. The plans of a call are a frame of their own: the grader keeps its bytes for the next student."""
    request: dict[str, Any] = wire.receive(sock, REQUEST)
    if request["op"] == "call":
        request["plans"] = wire.receive(sock, REQUEST, plans=True)
    return request


# ── in a child, or here ───────────────────────────────────────────────────────────────────────────────────────
#: told the plan, its step and its limit
Progress = Callable[[int, int, float], None]
Work = Callable[[Progress], None]
Mute = Callable[[], contextlib.AbstractContextManager[None]]


def _unforked(work: Work, mute: Mute) -> dict[str, Any]:
    with _quiet(), mute():
        work(lambda _plan, _step, _seconds: None)
    return {"how": "exit", "code": 0, "plan": 0, "step": 0}


def _forked(work: Work, mute: Mute, seconds: float) -> dict[str, Any]:
    reader, writer = os.pipe()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # "multi-threaded, use of fork()": see the docstring
            pid = os.fork()
    except OSError as error:  # too many threads or processes of the student's, or no memory
        os.close(reader)
        os.close(writer)
        return {"how": "no-fork", "code": error.errno or 0, "plan": 0, "step": 0}
    if pid == 0:
        _child(work, mute, reader, writer)
    os.close(writer)
    try:
        return _supervise(pid, reader, seconds)
    finally:
        os.close(reader)


def _child(work: Work, mute: Mute, reader: int, writer: int) -> NoReturn:
    code = 3
    try:
        import torch

        torch.set_num_threads(1)
        gc.freeze()  # a collection would touch, and so copy, every page of the kernel's objects
        os.setpgid(0, 0)
        os.close(reader)
        os.set_blocking(writer, False)
        _silence_for_good()
        with mute():
            work(lambda *place: _report(writer, place))
        code = 0
    finally:
        os._exit(code)


def _report(writer: int, place: tuple[int, int, float]) -> None:
    with contextlib.suppress(BlockingIOError):
        os.write(writer, _PROGRESS.pack(*place))


def _supervise(pid: int, reader: int, seconds: float) -> dict[str, Any]:
    """Wait for the child, at most `seconds` for each plan; how it ended, and in which plan and step.

    Between two batches of a shared child no time is counted: the grader has a clock of its own.
    """
    at, late = (0, 0, seconds), False
    deadline = time.monotonic() + seconds
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    is_open = True
    while not _has_ended(pid):
        left = deadline - time.monotonic()
        if left <= 0:
            late = True
            _kill(pid)
        if not is_open:
            time.sleep(0.001)
        elif poll.poll(max(0.0, min(left, _TICK)) * 1000):
            news = os.read(reader, 512 * _PROGRESS.size)
            is_open = bool(news)
            for now in _PROGRESS.iter_unpack(news[: len(news) // _PROGRESS.size * _PROGRESS.size]):
                if now[0] != at[0]:
                    deadline = math.inf if now[0] == IDLE else time.monotonic() + now[2]
                at = now
    _kill_group(pid)
    return {**_end(pid, late), "plan": at[0], "step": at[1]}


def _has_ended(pid: int) -> bool:
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:  # the student's code reaps children itself
        return True


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _kill_group(pid: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)


def _end(pid: int, late: bool) -> dict[str, Any]:
    try:
        status = os.waitpid(pid, 0)[1]
    except ChildProcessError:
        status = 0
    if late:
        return {"how": "time", "code": 0}
    if os.WIFSIGNALED(status):
        return {"how": "signal", "code": os.WTERMSIG(status)}
    return {"how": "exit", "code": os.WEXITSTATUS(status)}


def _silence_for_good() -> None:
    """Drop what this process prints, for the rest of its life."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Drop what is printed meanwhile."""
    streams = sys.stdout, sys.stderr
    saved = [os.dup(descriptor) for descriptor in (1, 2)]
    null = os.open(os.devnull, os.O_RDWR)
    try:
        for descriptor in (1, 2):
            os.dup2(null, descriptor)
        with open(os.devnull, "w", encoding="utf-8") as sink:  # noqa: PTH123
            sys.stdout = sys.stderr = sink
            yield
    finally:
        sys.stdout, sys.stderr = streams
        for descriptor, copy in zip((1, 2), saved, strict=True):
            os.dup2(copy, descriptor)
        for descriptor in (*saved, null):
            os.close(descriptor)


# ── calls ─────────────────────────────────────────────────────────────────────────────────────────────────────
class _Calling:
    """One batch of plans: a reply frame each, in order."""

    def __init__(self, agent: Agent, request: dict[str, Any]) -> None:
        self.agent, self.request, self.caps = agent, request, reply_caps(request["reply_bytes"])

    def __call__(self, progress: Progress) -> None:
        seconds = self.request["seconds"]
        for index, (nonce, plan) in enumerate(zip(self.request["nonces"], self.request["plans"], strict=True)):
            at = [0]

            def on_step(step: int, index: int = index, at: list[int] = at) -> None:
                at[0] = step
                progress(index, step, seconds)

            reply = self.reply(plan, nonce, on_step, at)
            self.send({"t": "reply", "call": nonce, **reply}, nonce, at)
            progress(index + 1, 0, seconds)

    def reply(self, plan: Any, nonce: str, on_step: Callable[[int], None], at: list[int]) -> dict[str, Any]:
        serve = _Remotes(self.agent.sock, nonce, self.caps)
        try:
            result = run(plan, self.agent.shell.user_ns, serve, snapshot=self.snapshot, on_step=on_step)
        except NotDefined as missing:
            return {"kind": "not-defined", "name": missing.name, "step": missing.step}
        except StudentRaised as raised:
            return {"kind": "raised", "step": raised.step, **self.details(raised.exc)}
        except Unsendable as refused:
            return {"kind": refused.kind, "name": refused.what[:200], "step": at[0]}
        except BaseException as exc:  # patched modules, odd classes: theirs too
            return {"kind": "raised", "step": at[0], **self.details(exc)}
        return {"kind": "value", "value": result.value, "changed": result.changed_inputs}

    def snapshot(self, value: Any) -> Any:
        return plain(value, self.caps, convert=self.request["convert"])

    def send(self, reply: dict[str, Any], nonce: str, at: list[int]) -> None:
        try:
            frame = wire.encode(reply, self.caps)
        except Unsendable as refused:
            name = refused.what[:200]
            frame = wire.encode({"t": "reply", "call": nonce, "kind": refused.kind, "name": name, "step": at[0]})
        self.agent.sock.sendall(frame)

    def details(self, exc: BaseException) -> dict[str, Any]:
        function, line, cell = _place(exc, self.agent)
        return {"name": _text_of(lambda: type(exc).__name__, 100), "message": _text_of(lambda: str(exc), _TEXT)} | {
            "function": function,
            "line": line,
            "cell": cell,
        }


class _Staying:
    """A batch, then one after the other that the grader sends, until it says that this is enough."""

    def __init__(self, agent: Agent, request: dict[str, Any]) -> None:
        self.agent, self.request = agent, request

    def __call__(self, progress: Progress) -> None:
        request = self.request
        while request["op"] == "call":
            progress(0, 0, request["seconds"])
            _Calling(self.agent, request)(progress)
            progress(IDLE, 0, math.inf)
            wire.send(self.agent.sock, {"t": "idle", "batch": request["batch"]})
            request = receive(self.agent.sock)


def _text_of(make: Callable[[], Any], limit: int) -> str:
    """The text, or "" where making it fails; clean enough for the wire."""
    try:
        text = make()
        return str.encode(text[:limit], "utf-8", "replace").decode() if type(text) is str else ""
    except BaseException:
        return ""


def _place(exc: BaseException, agent: Agent) -> tuple[str | None, int | None, str | None]:
    """(function, line, cell id) of the innermost frame whose code is the notebook's."""
    found: tuple[str | None, int | None, str | None] = (None, None, None)
    try:
        trace = exc.__traceback__
        while type(trace) is types.TracebackType:
            code = trace.tb_frame.f_code
            if trace.tb_frame.f_globals is agent.shell.user_ns or code.co_filename in agent.cells:
                found = code.co_name[:100], int(trace.tb_lineno), agent.cells.get(code.co_filename)
            trace = trace.tb_next
    except BaseException:
        return None, None, None
    return found


class _Remotes(dict[str, Callable[..., Any]]):
    """name → a callable that the grader answers."""

    def __init__(self, sock: socket.socket, nonce: str, caps: Caps) -> None:
        super().__init__()
        self.sock, self.nonce, self.caps = sock, nonce, caps
        self.lock = threading.Lock()  # the student's threads may ask at the same time

    def __missing__(self, name: str) -> Callable[..., Any]:
        def served(*args: Any, **kwargs: Any) -> Any:
            return self.ask(name, args, kwargs)

        return served

    def ask(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        question = {"t": "serve", "call": self.nonce, "name": name}
        try:
            given = plain((args, dict(kwargs)), self.caps, convert=True)
            frame = wire.encode({**question, "args": given[0], "kwargs": given[1]}, self.caps)
        except Unsendable as refused:
            raise TypeError(f"this function takes plain values and tensors, it was given: {refused.what}") from None
        with self.lock:
            self.sock.sendall(frame)
            answer = wire.receive(self.sock, REQUEST)
        if answer["refused"] is not None:
            raise _REFUSALS.get(answer["refused"], RuntimeError)(answer["message"])
        return answer["value"]


# ── what is defined ───────────────────────────────────────────────────────────────────────────────────────────
class _Describing:
    """What names are: kind, signature, cell. Runs in a child, since `inspect` may run the student's code."""

    def __init__(self, agent: Agent, request: dict[str, Any]) -> None:
        self.agent, self.request, self.caps = agent, request, reply_caps(request["reply_bytes"])

    def __call__(self, _progress: Progress) -> None:
        names = self.request["names"] or self.defined()
        found = {name: self.describe(name) for name in names}
        wire.send(self.agent.sock, {"t": "described", "batch": self.request["batch"], "names": found}, self.caps)

    def defined(self) -> list[str]:
        """Names that the notebook's cells made; IPython's own, modules and names with a leading underscore left out."""
        shell, found = self.agent.shell, []
        hidden = getattr(shell, "user_ns_hidden", {})
        for name, value in list(shell.user_ns.items()):
            own = not (name in hidden and hidden[name] is value)
            if own and not name.startswith("_") and len(name) <= 100 and type(value) is not types.ModuleType:
                found.append(_text_of(lambda name=name: name, 100))  # type: ignore[misc]
        return found[:_NAMES]

    def describe(self, name: str) -> tuple[str, str | None, str | None]:
        if name not in self.agent.shell.user_ns:
            return "missing", None, None
        value = self.agent.shell.user_ns[name]
        kind = _kind(value)
        if kind == "value":
            return kind, None, None
        return kind, _text_of(lambda: str(inspect.signature(value)), 300) or None, self.cell(value)

    def cell(self, value: Any) -> str | None:
        try:
            parts = vars(value).values() if isinstance(value, type) else [inspect.unwrap(value)]
            files = [part.__code__.co_filename for part in parts if isinstance(part, types.FunctionType)]
            return next((self.agent.cells[file] for file in files if file in self.agent.cells), None)
        except BaseException:
            return None


def _kind(value: Any) -> str:
    try:
        if isinstance(value, type):
            return "class"
        return "function" if inspect.isroutine(value) or hasattr(value, "__wrapped__") else "value"
    except BaseException:
        return "value"
