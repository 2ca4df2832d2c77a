"""The grader's end of the probe: sends plans, reads replies, believes nothing.

Deadlines run on the grader's clock, lengths are checked before a byte is read, a reply must carry the one call id
that is due. Whatever the student's side does becomes a `Reply`; only faults of the grader and of the course are
raised. After broken bytes, silence or death the stream can't be trusted any more: `broken` is set, and the owner
replaces the kernel.
"""

from __future__ import annotations

import contextlib
import errno
import inspect
import os
import re
import secrets
import select
import socket
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from autograder.errors import GraderFault, GradingError, ProtocolError
from autograder.model import Definition, Limits, Reason, Reply, ReplyKind, Value
from autograder.plan import Plan
from autograder.probe import wire
from autograder.probe.evaluate import check, names
from autograder.probe.rules import IDLE, REQUEST, Unsendable, reply_caps
from autograder.probe.words import clean, exception_name, identifier, type_name

__all__ = ["MAX_SERVED", "ProbeClient", "ServedRefusal"]

#: Calls of served functions that one plan may make.
MAX_SERVED = 10_000
_TICK = 0.1
_MARGIN = 0.5  # seconds after the agent's own limit
_FAREWELL = 0.3  # seconds to wait for the status of a kernel whose socket was closed
_DESCRIBE_SECONDS = 5.0
_PART_SECONDS = 5.0
_LINES = 100_000
_SEEN = 1000
_CELL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_KINDS = ("function", "class", "value", "missing")
_OVER = {
    Reason.LIMIT_MEMORY: ReplyKind.MEMORY,
    Reason.LIMIT_PROCESSES: ReplyKind.PROCESSES,
    Reason.LIMIT_DISK: ReplyKind.DISK,
    Reason.LIMIT_TIME: ReplyKind.TIME,
}
Serve = Mapping[str, Callable[..., Value]]


class ServedRefusal(Exception):
    """A served callable's "no": it is raised as ValueError in the student's code, with this text."""


class _Stopped(Exception):
    """The stream ended here."""

    def __init__(self, kind: ReplyKind, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.kind, self.message, self.signal = kind, message, code


@dataclass(slots=True)
class _Batch:
    """One request on its way: what is asked, what came back."""

    plans: list[Plan]
    seconds: float
    serve: Serve
    id: str = field(default_factory=lambda: secrets.token_hex(16))
    nonces: list[str] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)  # of the plan that runs now
    started: float = 0.0
    frame: int = 0  # bytes of the last frame
    kept: int = 0  # bytes of all replies so far; questions to served callables are not kept

    @property
    def deadline(self) -> float:
        return self.started + self.seconds + _MARGIN

    def next_plan(self) -> None:
        self.calls, self.started = Counter(), time.monotonic()


class ProbeClient:
    """Calls the student's functions over a connected AF_UNIX stream socket.

    alive: None while the kernel lives, else its wait status · status_fileno: readable when that may have changed ·
    watch: the limit that the submission exceeds now, or None. Both are asked every 100 ms.
    """

    def __init__(
        self,
        sock: socket.socket,
        limits: Limits,
        *,
        alive: Callable[[], int | None] = lambda: None,
        status_fileno: int | None = None,
        watch: Callable[[], Reason | None] = lambda: None,
    ) -> None:
        sock.setblocking(False)
        self._sock, self._alive, self._status_fileno, self._watch = sock, alive, status_fileno, watch
        self._caps = reply_caps(limits.reply_bytes)
        self._buffer = bytearray()
        self._busy = False
        self._ended: _Stopped | None = None
        self._staying: str | None = None  # the batch that the shared child was forked for

    @property
    def broken(self) -> bool:
        """The kernel behind this client has to be replaced."""
        return self._ended is not None

    def call(
        self,
        plans: Sequence[Plan],
        *,
        seconds: float,
        served: Serve | None = None,
        forked: bool = True,
        shared: bool = False,
        convert: bool = False,
    ) -> list[Reply]:
        """One reply a plan, as `Session.call` documents; the one that ended a batch has a step, later ones None.

        All replies together may hold `Limits.reply_bytes`; those after it are TOO_BIG.
        convert: the student's numpy arrays and scalars, OrderedDict, defaultdict and Counter count as plain.
        Raises CourseError for a plan that can't be right, GraderFault when a served callable raises.
        """
        for plan in plans:
            check(plan, served or {})
        if not plans:
            return []
        batch = _Batch(list(plans), seconds, served or {})
        batch.nonces = [secrets.token_hex(16) for _ in plans]
        request = {
            "op": "call",
            "forked": forked,
            "shared": shared and forked,
            "convert": convert,
            "nonces": batch.nonces,
        }
        try:
            self._exchange(batch, request, self._on_call_frame)
        except _Stopped as stopped:
            self._finish(batch, stopped, step=0)
        return batch.replies

    def describe(self, names: Sequence[str] = ()) -> dict[str, Definition]:
        """What these names are, or, for none, all that the notebook defined. Empty when the kernel doesn't answer."""
        batch = _Batch([], _DESCRIBE_SECONDS, {})
        found: dict[str, Definition] = {}

        def on_frame(batch: _Batch, frame: dict[str, Any]) -> bool:
            if frame["t"] == "end":
                return True
            found.update(_definitions(frame, batch, names))
            return False

        try:
            self._exchange(batch, {"op": "describe", "forked": True, "names": list(names)}, on_frame)
        except _Stopped:
            return {}
        return found

    def part(self) -> None:
        """End the shared child, if there is one."""
        if self._staying is not None and not self.broken:
            batch = _Batch([], _PART_SECONDS, {})
            batch.started = time.monotonic()
            with contextlib.suppress(_Stopped), self._guarded():
                self._settle(batch, stays=False)

    # ── one request and what comes back ───────────────────────────────────────────────────────────────────────
    def _exchange(
        self, batch: _Batch, request: dict[str, Any], on_frame: Callable[[_Batch, dict[str, Any]], bool]
    ) -> None:
        """Send, then read until the batch's end. Raises _Stopped (and is broken then), or a fault of our own."""
        shared = bool(request.get("shared"))
        with self._guarded():
            batch.started = time.monotonic()
            self._settle(batch, stays=shared)
            if shared and self._staying is None:
                self._staying = batch.id
            more = {"batch": batch.id, "seconds": batch.seconds, "reply_bytes": self._caps.frame_bytes}
            self._send({**request, **more}, batch, _FRAMES.of(batch.plans) if batch.plans else b"")
            batch.next_plan()
            while not on_frame(batch, self._receive(batch)):
                pass

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        """One exchange at a time; whatever ends it in the middle ends this client."""
        if self._busy:
            raise GraderFault("a served callable asked the same kernel again, which waits for its answer")
        if self._ended is not None:
            raise self._ended
        self._busy = True
        try:
            yield
        except ProtocolError as error:
            self._ended = _Stopped(ReplyKind.PROTOCOL, str(error))
            raise self._ended from error
        except _Stopped as stopped:
            self._ended = stopped
            raise
        except BaseException:
            self._ended = _Stopped(ReplyKind.DIED, "the grader gave up on this kernel")
            raise
        finally:
            self._busy = False

    def _settle(self, batch: _Batch, *, stays: bool) -> None:
        """Before a request: take note that the shared child has died meanwhile; end it when others are to be asked."""
        if self._staying is None:
            return
        died = self._has_input()
        if not died and not stays:
            self._send({"op": "part"}, batch)
        if died or not stays:
            self._gone_is(self._staying, self._receive(batch))

    def _on_call_frame(self, batch: _Batch, frame: dict[str, Any]) -> bool:
        kind = frame["t"]
        if kind == "idle":
            _expect(frame, {"t": str, "batch": str})
            if frame["batch"] != batch.id or self._staying is None or len(batch.replies) != len(batch.plans):
                raise ProtocolError("a batch was called done that is not")
            return True
        if kind == "end":
            return self._on_end(batch, frame)
        if len(batch.replies) == len(batch.plans) or frame.get("call") != batch.nonces[len(batch.replies)]:
            raise ProtocolError("a frame carries another call id than the one that is due")
        if kind == "serve":
            self._on_serve(batch, frame)
        elif kind == "reply":
            self._on_reply(batch, frame)
        else:
            raise ProtocolError("a frame of an unknown type")
        return False

    def _on_reply(self, batch: _Batch, frame: dict[str, Any]) -> None:
        plan = batch.plans[len(batch.replies)]
        seconds, calls = time.monotonic() - batch.started, dict(batch.calls)
        reply = _reply(frame, plan, seconds, calls)
        batch.kept += batch.frame
        if batch.kept > self._caps.frame_bytes:  # twenty replies must not hold twenty times the cap
            message = f"the answers of one batch are larger than {self._caps.frame_bytes} bytes together"
            reply = Reply(ReplyKind.TOO_BIG, message=message, step=0, calls=calls, seconds=seconds)
        batch.replies.append(reply)
        batch.next_plan()

    def _gone_is(self, child: str | None, frame: dict[str, Any]) -> None:
        """Take note that a child has ended: the one that was forked for this batch."""
        _expect(frame, _END)
        if frame["batch"] != child:
            raise ProtocolError("the end of another child")
        self._staying = None

    def _on_end(self, batch: _Batch, frame: dict[str, Any]) -> bool:
        """A child has ended; whether that is the end of the batch, too."""
        self._gone_is(self._staying or batch.id, frame)
        if len(batch.replies) == len(batch.plans):
            return True
        if frame["plan"] == IDLE and frame["batch"] != batch.id and not batch.replies:
            self._staying = batch.id  # it died before it read this request, which gets a child of its own
            return False
        step = frame["step"] if 0 <= frame["step"] < len(batch.plans[len(batch.replies)].steps) else 0
        if frame["how"] == "time":
            stopped = _Stopped(ReplyKind.TIME, "the call took longer than its limit")
        elif frame["how"] == "signal":
            stopped = _Stopped(ReplyKind.DIED, "the call crashed Python", min(max(frame["code"], 1), 64))
        elif frame["how"] == "no-fork":
            kind = ReplyKind.MEMORY if frame["code"] == errno.ENOMEM else ReplyKind.PROCESSES
            stopped = _Stopped(kind, "the kernel could not start a process for the call")
        else:
            stopped = _Stopped(ReplyKind.DIED, "the call ended the process")
        self._finish(batch, stopped, step=step)
        return True

    def _finish(self, batch: _Batch, stopped: _Stopped, *, step: int) -> None:
        """The reply of the plan that ended the batch, and the same kind, untried, for all after it."""
        left = len(batch.plans) - len(batch.replies)
        seconds, calls = time.monotonic() - batch.started, dict(batch.calls)
        fatal = Reply(
            stopped.kind, message=stopped.message, step=step, calls=calls, signal=stopped.signal, seconds=seconds
        )
        untried = Reply(stopped.kind, message=stopped.message, signal=stopped.signal)
        batch.replies.extend([fatal, *[untried] * (left - 1)][:left])

    # ── served callables ──────────────────────────────────────────────────────────────────────────────────────
    def _on_serve(self, batch: _Batch, frame: dict[str, Any]) -> None:
        _expect(frame, {"t": str, "call": str, "name": str, "args": tuple, "kwargs": dict})
        name = frame["name"]
        if name not in batch.serve:
            raise ProtocolError("a served callable that was never given")
        batch.calls[name] += 1
        if sum(batch.calls.values()) > MAX_SERVED:
            answer = {"refused": "RuntimeError", "message": f"more than {MAX_SERVED} calls", "value": None}
        else:
            answer = _served(name, batch.serve[name], frame["args"], frame["kwargs"])
        self._send(answer, batch)

    # ── bytes ─────────────────────────────────────────────────────────────────────────────────────────────────
    def _send(self, message: dict[str, Any], batch: _Batch, more: bytes = b"") -> None:
        """Write a message and what follows it, as frames."""
        frame = _frame(message)
        if self._buffer or self._has_input():
            raise ProtocolError("bytes came that nobody had asked for")
        for part in (frame, more):
            self._write(memoryview(part), batch)

    def _write(self, data: memoryview, batch: _Batch) -> None:
        while data:
            try:
                data = data[self._sock.send(data) :]
            except BlockingIOError:
                self._wait(select.POLLOUT, batch.deadline)
            except OSError:
                self._gone()

    def _has_input(self) -> bool:
        poll = select.poll()
        poll.register(self._sock, select.POLLIN)
        if not poll.poll(0):
            return False
        try:
            if not self._sock.recv(1, socket.MSG_PEEK):
                self._gone()
        except BlockingIOError:
            return False
        except OSError:
            self._gone()
        return True

    def _receive(self, batch: _Batch) -> dict[str, Any]:
        """The next frame: a dict with a "t"."""
        text, data = wire.lengths(self._read(wire.PREFIX_BYTES, batch), self._caps)
        batch.frame = text + data
        message = wire.decode_parts(self._read(text, batch), self._read(data, batch), self._caps)
        if type(message) is not dict or type(message.get("t")) is not str:
            raise ProtocolError("a frame that is no message")
        return message

    def _read(self, size: int, batch: _Batch) -> bytes:
        """Exactly so many bytes; memory is given as they come, never because they are claimed."""
        while len(self._buffer) < size:
            try:
                chunk = self._sock.recv(min(2**20, size - len(self._buffer)))
            except BlockingIOError:
                self._wait(select.POLLIN, batch.deadline)
                continue
            except OSError:
                chunk = b""
            if not chunk:
                self._gone()
            self._buffer += chunk
            if time.monotonic() > batch.deadline:
                raise _Stopped(ReplyKind.TIME, "the reply came too slowly")
        read, self._buffer = self._buffer, bytearray()
        return bytes(read)

    def _wait(self, event: int, deadline: float) -> None:
        """Until the socket is ready. Raises _Stopped at the deadline, at the kernel's death, or over a limit."""
        poll = select.poll()
        poll.register(self._sock, event)
        if self._status_fileno is not None:
            poll.register(self._status_fileno, select.POLLIN)
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise _Stopped(ReplyKind.TIME, "no answer within the limit")
            ready = {fd for fd, _ in poll.poll(max(1.0, min(left, _TICK) * 1000))}
            if self._sock.fileno() in ready:
                return
            self._look_after()
            if ready and self._status_fileno is not None:
                poll.unregister(self._status_fileno)  # a false alarm: from now on the tick is enough

    def _look_after(self) -> None:
        over = self._watch()
        if over is not None:
            raise _Stopped(_OVER.get(over, ReplyKind.DIED), f"the submission is over a limit: {over.value}")
        status = self._alive()
        if status is not None:
            self._gone(status)

    def _gone(self, status: int | None = None) -> NoReturn:
        """The kernel has died, or closed its end. Its status may come a moment later than the end of the stream."""
        until = time.monotonic() + _FAREWELL
        while status is None and time.monotonic() < until:
            status = self._alive()
            if status is None:
                time.sleep(0.01)
        over = self._watch()
        if over is not None:
            raise _Stopped(_OVER.get(over, ReplyKind.DIED), f"the submission is over a limit: {over.value}")
        signal = os.WTERMSIG(status) if status is not None and os.WIFSIGNALED(status) else None
        raise _Stopped(ReplyKind.DIED, "the kernel died", signal)


def _frame(message: Any) -> bytes:
    try:
        return wire.encode(_sendable(message), REQUEST, plans=True)
    except Unsendable as refused:
        raise GraderFault(f"the grader can't send this value to a kernel: {refused}") from refused


class _Frames:
    """The frames of batches that are sent to every student, up to so many bytes together.

    A batch counts as the same when its plans are the same objects, which are kept for that. It is kept when it comes
    for the second time: most batches of one student's own are never seen again.
    """

    def __init__(self, most: int) -> None:
        self._most, self._bytes = most, 0
        self._kept: OrderedDict[tuple[int, ...], tuple[tuple[Plan, ...], bytes]] = OrderedDict()
        self._seen: OrderedDict[tuple[int, ...], None] = OrderedDict()

    def of(self, plans: Sequence[Plan]) -> bytes:
        key = tuple(map(id, plans))
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key][1]
        frame = _frame(tuple(plans))
        if key in self._seen and len(frame) <= self._most:
            self._kept[key] = (tuple(plans), frame)
            self._bytes += len(frame)
        self._seen[key] = None
        self._forget()
        return frame

    def _forget(self) -> None:
        while len(self._seen) > _SEEN:
            self._seen.popitem(last=False)
        while self._bytes > self._most:
            self._bytes -= len(self._kept.popitem(last=False)[1][1])


_FRAMES = _Frames(64 * 2**20)


def _sendable(message: Any) -> Any:
    """The grader's own values: tensor subclasses and mappings of checks and references become what the wire knows."""
    import torch

    if isinstance(message, torch.Tensor):
        return message.detach().as_subclass(torch.Tensor)
    if isinstance(message, Mapping):
        return {key: _sendable(item) for key, item in message.items()}
    if type(message) in (list, tuple):
        return type(message)([_sendable(item) for item in message])
    if hasattr(message, "__dataclass_fields__"):
        return type(message)(*(_sendable(getattr(message, name)) for name in message.__dataclass_fields__))
    return message


def _served(name: str, function: Callable[..., Value], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError as error:
        return {"refused": "TypeError", "message": f"{name}: {error}", "value": None}
    except ValueError:
        pass  # a built-in that has no signature
    try:
        return {"refused": None, "message": "", "value": function(*args, **kwargs)}
    except ServedRefusal as refusal:
        return {"refused": "ValueError", "message": str(refusal), "value": None}
    except GradingError:
        raise
    except Exception as error:
        raise GraderFault(f"the served callable {name!r} raised {type(error).__name__}: {error}") from error


# ── what a frame may say ──────────────────────────────────────────────────────────────────────────────────────
def _expect(frame: dict[str, Any], fields: Mapping[str, type | tuple[type, ...]]) -> None:
    """Exactly these fields, of exactly these types (no bool for an int)."""
    if frame.keys() != fields.keys():
        raise ProtocolError("a message with other fields than it should have")
    for name, kinds in fields.items():
        if type(frame[name]) not in (kinds if isinstance(kinds, tuple) else (kinds,)):
            raise ProtocolError(f"field {name!r} of a message has another type than it should")


_NONE = type(None)
_END: dict[str, type | tuple[type, ...]] = {"t": str, "batch": str, "how": str, "code": int, "plan": int, "step": int}
_COMMON: dict[str, type | tuple[type, ...]] = {"t": str, "call": str, "kind": str}
_NAMED = _COMMON | {"name": str, "step": int}
_RAISED = _NAMED | {"message": str, "function": (str, _NONE), "line": (int, _NONE), "cell": (str, _NONE)}


def _reply(frame: dict[str, Any], plan: Plan, seconds: float, calls: Mapping[str, int]) -> Reply:
    """The reply that a frame claims, its words taken from closed sets."""
    kind = frame.get("kind")
    if kind == "value":
        _expect({**frame, "value": None}, _COMMON | {"value": _NONE, "changed": bool})
        return Reply(ReplyKind.VALUE, frame["value"], changed_inputs=frame["changed"], calls=calls, seconds=seconds)
    if kind not in ("raised", "not-defined", "not-plain", "too-big"):
        raise ProtocolError("a reply of an unknown kind")
    _expect(frame, _RAISED if kind == "raised" else _NAMED)
    step = frame["step"]
    if not 0 <= step < max(1, len(plan.steps)):
        raise ProtocolError("a reply names a step that the plan doesn't have")
    common: dict[str, Any] = {"step": step, "calls": calls, "seconds": seconds}
    if kind == "raised":
        return _raised(frame, common)
    if kind == "not-defined":
        if frame["name"] not in names(plan):
            raise ProtocolError("a name is missing that the plan doesn't use")
        return Reply(ReplyKind.NOT_DEFINED, name=frame["name"], **common)
    if kind == "not-plain":
        return Reply(ReplyKind.NOT_PLAIN, name=type_name(frame["name"]), message=clean(frame["name"], 200), **common)
    return Reply(ReplyKind.TOO_BIG, message=clean(frame["name"], 200), **common)


def _raised(frame: dict[str, Any], common: dict[str, Any]) -> Reply:
    line, cell = frame["line"], frame["cell"]
    return Reply(
        ReplyKind.RAISED,
        name=exception_name(frame["name"]),
        message=clean(frame["message"], 10_000),
        function=identifier(frame["function"]),
        line=line if line is not None and 0 < line <= _LINES else None,
        cell=cell if cell is not None and _CELL_ID.fullmatch(cell) else None,
        **common,
    )


def _definitions(frame: dict[str, Any], batch: _Batch, asked: Sequence[str]) -> dict[str, Definition]:
    _expect(frame, {"t": str, "batch": str, "names": dict})
    if frame["t"] != "described" or frame["batch"] != batch.id:
        raise ProtocolError("an answer to another question")
    found: dict[str, Definition] = {}
    for name, entry in frame["names"].items():
        if type(entry) is not tuple or len(entry) != 3 or entry[0] not in _KINDS:
            raise ProtocolError("a definition that is none")
        signature, cell = entry[1:]
        if type(signature) not in (str, _NONE) or type(cell) not in (str, _NONE):
            raise ProtocolError("a definition with fields of other types")
        if asked and name not in asked:
            raise ProtocolError("a definition of a name that nobody asked for")
        shown = clean(signature, 300) if signature is not None else None
        found[clean(name, 100)] = Definition(
            clean(name, 100), entry[0], shown, cell if cell is not None and _CELL_ID.fullmatch(cell) else None
        )
    return found
