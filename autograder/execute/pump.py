"""The message pump: Jupyter's protocol with a kernel that is the student's and may send anything.

Theory of operation. The kernel listens on Unix sockets (`ipc`) in a folder of its own. The pump connects a DEALER
to its shell and a SUB to its iopub channel, sends one `execute_request` at a time, and waits in one `poll` for four
things: the reply, the broadcast `idle`, the death of the process (the zygote reports `waitpid`), and the clock.
A cell has ended when *both* reply and idle came, so that a forged early `idle` loses no output. Messages are bytes
until size, signature, parent and field types are checked; a kernel that breaks the protocol more than a few times
is killed. Memory is bounded on the way in: by the size of a message, by the queue's length, and by a cap a cell.

No verdict follows from any of it. Liveness is never guessed from a heartbeat.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import zmq

from autograder.execute.outputs import Outputs
from autograder.model import CellStatus, Limits, Reason

__all__ = ["Ending", "Pump", "PumpedKernel"]

MESSAGE_BYTES = 4 * 2**20
QUEUE_MESSAGES = 4
BAD_FRAMES_ALLOWED = 10
#: After the reply, how long to wait for an `idle` that a flooded queue may have dropped.
IDLE_SECONDS = 1.0
WATCH_SECONDS = 0.1
DELIMITER = b"<IDS|MSG>"
_USABLE = (CellStatus.OK, CellStatus.ERROR)
_CELL_LINE = re.compile(r"Cell In\[\d+\], line (\d+)")
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class PumpedKernel(Protocol):
    """What the pump needs of a kernel (see `sandbox.Kernel`)."""

    connection: dict[str, Any]

    def status(self) -> int | None: ...
    def status_fileno(self) -> int: ...
    def interrupt(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Ending:
    """How a cell ended. fatal: the kernel can't be used any more and has to be killed by the caller."""

    status: CellStatus
    seconds: float
    execution_count: int | None = None
    ename: str | None = None
    evalue: str | None = None
    line: int | None = None
    signal: int | None = None
    fatal: bool = False


class _BadFrames(Exception):
    """Frames that are no message of ours; counted, never shown."""


@dataclass(slots=True)
class _Cell:
    """State of the cell that runs now."""

    msg_id: str
    outputs: Outputs
    replied: bool = False
    idle: bool = False
    replied_at: float = 0.0
    messages: int = 0
    bytes: int = 0
    bad: int = 0
    error: dict[str, Any] | None = None
    execution_count: int | None = None
    raised: bool = False


class Pump:
    """Talks to one kernel. `watch` samples the watchdog: a Reason when a limit of the submission is exceeded."""

    def __init__(
        self, context: zmq.Context[Any], kernel: PumpedKernel, limits: Limits, watch: Callable[[], Reason | None]
    ) -> None:
        self._kernel, self._limits, self._watch = kernel, limits, watch
        self._key = str(kernel.connection["key"]).encode()
        self._counter = 0
        self._session = hashlib.sha256(self._key).hexdigest()[:32]
        self._shell = self._connect(context, zmq.DEALER, "shell_port")
        self._iopub = self._connect(context, zmq.SUB, "iopub_port")
        self._poller = zmq.Poller()
        for waitable in (self._shell, self._iopub, kernel.status_fileno()):
            self._poller.register(waitable, zmq.POLLIN)

    def _connect(self, context: zmq.Context[Any], kind: int, port: str) -> zmq.Socket[bytes]:
        socket: zmq.Socket[bytes] = context.socket(kind)
        socket.linger = 0
        socket.maxmsgsize = MESSAGE_BYTES
        socket.rcvhwm = QUEUE_MESSAGES
        socket.reconnect_ivl = 5
        socket.reconnect_ivl_max = 50
        if kind == zmq.SUB:
            socket.subscribe(b"")
        socket.connect(f"ipc://{self._kernel.connection['ip']}-{self._kernel.connection[port]}")
        return socket

    def close(self) -> None:
        self._shell.close(0)
        self._iopub.close(0)

    # ── readiness ─────────────────────────────────────────────────────────────────────────────────────────────
    def ready(self, seconds: float) -> bool:
        """Wait for the greeting that the kernel sends to a new subscriber; false when it died or stays silent."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if self._kernel.status() is not None:
                return False
            events = dict(self._poller.poll(_milliseconds(left)))
            if self._iopub in events:
                try:
                    message = self._parse(self._iopub.recv_multipart(zmq.NOBLOCK))
                except (_BadFrames, zmq.Again):
                    continue
                if message["header"].get("msg_type") == "iopub_welcome":
                    return True
        return False

    # ── one cell ──────────────────────────────────────────────────────────────────────────────────────────────
    def execute(self, code: str, *, seconds: float, outputs: Outputs, cell_id: str | None = None) -> Ending:
        """Run one cell's code; returns at the latest after `seconds` plus the grace period.

        cell_id: travels with the code, so that the probe can say in which cell a function was defined.
        """
        started = time.monotonic()
        cell = _Cell(self._send_execute(code, cell_id), outputs)
        status = self._until_end(cell, started + seconds)
        usable = status in _USABLE
        if status is CellStatus.TIME:
            self._kernel.interrupt()
            after = self._until_end(cell, time.monotonic() + self._limits.grace_seconds)
            usable = after in _USABLE
            status = CellStatus.TIME if after in (*_USABLE, CellStatus.DIED) else after
        return self._ending(cell, status, time.monotonic() - started, usable)

    def _ending(self, cell: _Cell, status: CellStatus, seconds: float, usable: bool) -> Ending:
        error = cell.error or {}
        died = self._kernel.status()
        return Ending(
            status,
            seconds,
            cell.execution_count,
            _clean(error.get("ename"), 100),
            _clean(error.get("evalue"), 500),
            _line_of(error.get("traceback")),
            died & 0x7F if died is not None and died & 0x7F else None,
            fatal=not usable,
        )

    def _until_end(self, cell: _Cell, deadline: float) -> CellStatus:
        next_watch = time.monotonic() + WATCH_SECONDS
        while True:
            now = time.monotonic()
            late = now >= deadline
            if cell.replied and (cell.idle or late or now - cell.replied_at > IDLE_SECONDS):
                return CellStatus.ERROR if cell.raised else CellStatus.OK
            if late:  # what took the time may be a limit that is broken by now
                return CellStatus((self._watch() or Reason.LIMIT_TIME).value)
            if now >= next_watch:
                if (over := self._watch()) is not None:
                    return CellStatus(over.value)
                next_watch = now + WATCH_SECONDS
            events = dict(self._poller.poll(_milliseconds(min(deadline, next_watch) - now)))
            if (status := self._drain(cell, events)) is not None:
                return status
            if self._kernel.status() is not None:
                self._drain_rest(cell)
                return CellStatus.DIED

    def _drain_rest(self, cell: _Cell) -> None:
        """Show what a dead kernel had sent before it died."""
        for _ in range(QUEUE_MESSAGES * 8):
            events = dict(self._poller.poll(5))
            if self._iopub not in events or self._drain(cell, events) is not None:
                return

    def _drain(self, cell: _Cell, events: dict[Any, int]) -> CellStatus | None:
        for socket in (self._iopub, self._shell):
            if socket not in events:
                continue
            try:
                frames = socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                continue
            cell.messages += 1
            cell.bytes += sum(map(len, frames))
            if cell.bytes > self._limits.output_bytes or cell.messages > self._limits.output_messages:
                return CellStatus.OUTPUT
            try:
                self._take(cell, self._parse(frames), socket is self._shell)
            except _BadFrames:
                cell.bad += 1
                if cell.bad > BAD_FRAMES_ALLOWED:
                    return CellStatus.PROTOCOL
        return None

    def _take(self, cell: _Cell, message: dict[str, Any], from_shell: bool) -> None:
        if message["parent"].get("msg_id") != cell.msg_id:
            return
        kind, content = message["header"].get("msg_type"), message["content"]
        if from_shell:
            if kind == "execute_reply":
                cell.replied, cell.replied_at = True, time.monotonic()
                cell.raised = content.get("status") != "ok"
                count = content.get("execution_count")
                cell.execution_count = count if type(count) is int and 0 <= count < 10**9 else None
        elif kind == "status":
            cell.idle = cell.idle or content.get("execution_state") == "idle"
        elif isinstance(kind, str):
            if kind == "error":
                cell.error = content
            cell.outputs.take(kind, content)

    # ── the wire ──────────────────────────────────────────────────────────────────────────────────────────────
    def _send_execute(self, code: str, cell_id: str | None) -> str:
        self._counter += 1
        # Unpredictable to nobody but other users: the kernel holds the key, so a parent id proves nothing more.
        msg_id = f"{self._session}_{self._counter}"
        header = {"msg_id": msg_id, "msg_type": "execute_request", "username": "grader", "session": self._session}
        header |= {"version": "5.3", "date": "2000-01-01T00:00:00Z"}
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}}
        content |= {"allow_stdin": False, "stop_on_error": False}
        metadata = {} if cell_id is None else {"cellId": cell_id}
        parts = [json.dumps(part).encode() for part in (header, {}, metadata, content)]
        self._shell.send_multipart([DELIMITER, self._sign(parts), *parts])
        return msg_id

    def _sign(self, parts: list[bytes]) -> bytes:
        return hmac.new(self._key, b"".join(parts), hashlib.sha256).hexdigest().encode()

    def _parse(self, frames: list[bytes]) -> dict[str, Any]:
        """header, parent and content of a signed message; raises _BadFrames for anything else."""
        try:
            start = frames.index(DELIMITER)
            signature, *parts = frames[start + 1 : start + 6]
            if len(parts) != 4 or not hmac.compare_digest(signature, self._sign(parts)):
                raise _BadFrames
            header, parent, _, content = (json.loads(part) for part in parts)
        except (ValueError, RecursionError, TypeError) as error:
            raise _BadFrames from error
        if not (isinstance(header, dict) and isinstance(parent, dict) and isinstance(content, dict)):
            raise _BadFrames
        return {"header": header, "parent": parent, "content": content}


def _milliseconds(seconds: float) -> int:
    """Rounded up: a poll of 0 ms would spin."""
    return max(0, math.ceil(seconds * 1000))


def _clean(value: object, limit: int) -> str | None:
    if not isinstance(value, str):
        return None
    text = "".join(c for c in _ANSI.sub("", value) if c.isprintable() or c == "\n")
    return text if len(text) <= limit else text[:limit] + "…"


def _line_of(traceback: object) -> int | None:
    """The innermost line of the student's own cell that a traceback names."""
    if not isinstance(traceback, list):
        return None
    text = "\n".join(part for part in traceback[-50:] if isinstance(part, str))[-50_000:]
    found = _CELL_LINE.findall(_ANSI.sub("", text))
    return int(found[-1]) if found and len(found[-1]) < 9 else None
