"""The message pump against kernels that send anything: it never raises, never waits past its limit, keeps little."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zmq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograder.execute.outputs import CUT, Outputs
from autograder.execute.pump import BAD_FRAMES_ALLOWED, DELIMITER, WATCH_SECONDS, Ending, Pump
from autograder.hints import hint, hints_about
from autograder.model import CellRecord, CellStatus, Limits, Reason

KEY = "key"
SECONDS, GRACE = 0.12, 0.05
LIMITS = Limits(grace_seconds=GRACE, output_bytes=200_000, output_messages=400, output_text=5_000)
#: For a machine that is busy with something else.
SLACK = 3.0


class FakeKernel:
    """A kernel's shell and iopub sockets, played by a script: (channel, frames) made from the request's message id."""

    def __init__(self, context: zmq.Context[Any], folder: Path) -> None:
        self.connection = {"ip": str(folder / "k"), "key": KEY, "shell_port": 1, "iopub_port": 2}
        self.shell, self.iopub = context.socket(zmq.ROUTER), context.socket(zmq.XPUB)
        for port, socket in ((1, self.shell), (2, self.iopub)):
            socket.linger = 0
            socket.bind(f"ipc://{folder / 'k'}-{port}")
        self.reader, self.writer = os.pipe()
        self.interrupts = 0
        self.wait_status: int | None = None

    def status(self) -> int | None:
        return self.wait_status

    def status_fileno(self) -> int:
        return self.reader

    def interrupt(self) -> None:
        self.interrupts += 1

    def play(self, script: Callable[[str], Iterator[tuple[str, list[bytes]]]], stop: threading.Event) -> None:
        """Answer one request with the script."""
        self.iopub.recv()  # the subscription
        while not self.shell.poll(20):
            if stop.is_set():
                return
        identity, *request = self.shell.recv_multipart()
        msg_id = json.loads(request[2])["msg_id"]
        for channel, frames in script(msg_id):
            if stop.is_set():
                return
            with contextlib.suppress(zmq.ZMQError):
                if channel == "shell":
                    self.shell.send_multipart([identity, *frames], zmq.NOBLOCK)
                elif frames:
                    self.iopub.send_multipart(frames, zmq.NOBLOCK)

    def close(self) -> None:
        self.shell.close(0)
        self.iopub.close(0)
        os.close(self.reader)
        os.close(self.writer)


@pytest.fixture(scope="module")
def context() -> Iterator[zmq.Context[Any]]:
    with zmq.Context() as one:
        yield one


def played(
    context: zmq.Context[Any],
    script: Callable[[str], Iterator[tuple[str, list[bytes]]]],
    *,
    seconds: float = SECONDS,
    over: Reason | None = None,
) -> tuple[Ending, Outputs, float]:
    """How one cell ends on a kernel that plays the script."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        kernel, outputs, stop = FakeKernel(context, Path(folder)), Outputs(LIMITS.output_text), threading.Event()
        pump = Pump(context, kernel, LIMITS, lambda: over)
        player = threading.Thread(target=kernel.play, args=(script, stop))
        player.start()
        started = time.monotonic()
        try:
            ending = pump.execute("1", seconds=seconds, outputs=outputs)
        finally:
            took = time.monotonic() - started
            stop.set()
            player.join()
            pump.close()
            kernel.close()
    return ending, outputs, took


def signed(*parts: bytes) -> list[bytes]:
    signature = hmac.new(KEY.encode(), b"".join(parts), hashlib.sha256).hexdigest().encode()
    return [DELIMITER, signature, *parts]


def message(kind: Any, parent: Any, content: Any) -> list[bytes]:
    header = {"msg_type": kind, "msg_id": "x"}
    return signed(*(json.dumps(part).encode() for part in (header, parent, {}, content)))


def ended(msg_id: str) -> list[tuple[str, list[bytes]]]:
    """What a good kernel sends at the end of a cell."""
    parent = {"msg_id": msg_id}
    return [
        ("shell", message("execute_reply", parent, {"status": "ok", "execution_count": 3})),
        ("iopub", message("status", parent, {"execution_state": "idle"})),
    ]


# ── anything at all ───────────────────────────────────────────────────────────────────────────────────────────
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
kinds = st.sampled_from(
    [
        "stream",
        "error",
        "display_data",
        "execute_result",
        "clear_output",
        "status",
        "execute_reply",
        "update_display_data",
    ]
)
fields = st.dictionaries(
    st.sampled_from(
        ["name", "text", "data", "traceback", "ename", "evalue", "execution_state", "status", "execution_count", "wait"]
    ),
    anything | st.sampled_from(["stdout", "stderr", "idle", "ok", "error", "x" * 3000, "\x1b[31m\u202e"]),
)
#: A step of a script: (channel, what). `None` as parent stands for the right one.
raw = st.tuples(st.sampled_from(["iopub", "shell"]), st.lists(st.binary(max_size=40), min_size=1, max_size=8))
claimed = st.tuples(st.sampled_from(["iopub", "shell"]), kinds | anything, st.none() | anything, fields | anything)
deep = st.tuples(st.just("iopub"), st.sampled_from([b"[" * 50_000 + b"]" * 50_000, b"\xff", b"NaN", b"", b"{"]))


def _frames(step: Any, msg_id: str) -> tuple[str, list[bytes]]:
    if len(step) == 4:
        channel, kind, parent, content = step
        return channel, message(kind, {"msg_id": msg_id} if parent is None else parent, content)
    channel, what = step
    if isinstance(what, bytes):
        header, parent = (json.dumps(p).encode() for p in ({"msg_type": "stream"}, {"msg_id": msg_id}))
        return channel, signed(header, parent, b"{}", what)
    return channel, what


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(raw | claimed | deep, max_size=25), good_end=st.booleans())
def test_whatever_a_kernel_sends_the_pump_returns_in_time(
    context: zmq.Context[Any], steps: list[Any], good_end: bool
) -> None:
    """Any sequence of frames ends in a known status, within the limit and the grace period, with bounded outputs."""

    def script(msg_id: str) -> Iterator[tuple[str, list[bytes]]]:
        yield from (_frames(step, msg_id) for step in steps)
        yield from ended(msg_id) if good_end else ()

    ending, outputs, took = played(context, script)
    assert isinstance(ending.status, CellStatus)
    assert took <= SECONDS + GRACE + 1.0 + SLACK
    assert all(len(text or "") <= 501 for text in (ending.ename, ending.evalue))
    assert sum(len(json.dumps(node)) for node in outputs.nodes) <= 400_000
    json.dumps(outputs.nodes)


def test_a_few_bad_frames_cost_nothing(context: zmq.Context[Any]) -> None:
    """Up to the allowed number, garbage is dropped, and the cell ends as it would have."""

    def script(msg_id: str) -> Iterator[tuple[str, list[bytes]]]:
        yield from [("iopub", [b"zzz"])] * BAD_FRAMES_ALLOWED
        yield "iopub", message("stream", {"msg_id": msg_id}, {"name": "stdout", "text": "hello"})
        yield from ended(msg_id)

    ending, outputs, _ = played(context, script, seconds=10)
    assert ending.status is CellStatus.OK
    assert ending.execution_count == 3
    assert [node.text for node in outputs.nodes] == ["hello"]


def test_more_bad_frames_break_the_cell(context: zmq.Context[Any]) -> None:
    """One more than allowed ends the cell as a broken protocol, and the kernel can't be used any more."""

    def script(msg_id: str) -> Iterator[tuple[str, list[bytes]]]:
        for _ in range(BAD_FRAMES_ALLOWED + 1):
            time.sleep(0.005)  # a queue of four drops what comes faster
            yield "iopub", [b"zzz"]
        time.sleep(1)

    ending, _, took = played(context, script, seconds=10)
    assert ending.status is CellStatus.PROTOCOL
    assert ending.fatal
    assert took < 5


@pytest.mark.parametrize("parent", [{"msg_id": "another"}, {}, {"msg_id": None}, {"msg_id": ["x"]}])
def test_messages_of_other_cells_are_not_ours(context: zmq.Context[Any], parent: Any) -> None:
    """A reply, an idle and an output with another parent neither end this cell nor stand under it."""

    def script(msg_id: str) -> Iterator[tuple[str, list[bytes]]]:
        yield "iopub", message("stream", parent, {"name": "stdout", "text": "late"})
        yield "iopub", message("status", parent, {"execution_state": "idle"})
        yield "shell", message("execute_reply", parent, {"status": "ok"})

    ending, outputs, _ = played(context, script)
    assert ending.status is CellStatus.TIME
    assert not outputs.nodes


def test_an_early_idle_ends_no_cell(context: zmq.Context[Any]) -> None:
    """Only reply and idle together end a cell: what comes between belongs to it."""

    def script(msg_id: str) -> Iterator[tuple[str, list[bytes]]]:
        yield "iopub", message("status", {"msg_id": msg_id}, {"execution_state": "idle"})
        time.sleep(0.1)
        yield "iopub", message("stream", {"msg_id": msg_id}, {"name": "stdout", "text": "late"})
        time.sleep(0.1)
        yield from ended(msg_id)

    ending, outputs, _ = played(context, script, seconds=10)
    assert ending.status is CellStatus.OK
    assert [node.text for node in outputs.nodes] == ["late"]


def test_a_wrong_signature_is_garbage(context: zmq.Context[Any]) -> None:
    """A message that is signed with another key ends nothing."""

    def script(msg_id: str) -> Iterator[tuple[str, list[bytes]]]:
        for channel, frames in ended(msg_id):
            yield channel, [frames[0], b"0" * 64, *frames[2:]]

    assert played(context, script)[0].status is CellStatus.TIME


def test_a_flood_is_stopped_at_its_limit(context: zmq.Context[Any]) -> None:
    """Messages without end are stopped by their number or bytes, and what is kept of them is cut."""

    def script(msg_id: str) -> Iterator[tuple[str, list[bytes]]]:
        frames = message("stream", {"msg_id": msg_id}, {"name": "stdout", "text": "x" * 2_000})
        while True:
            time.sleep(0.0005)
            yield "iopub", frames

    ending, outputs, took = played(context, script, seconds=20)
    assert ending.status is CellStatus.OUTPUT
    assert ending.fatal
    assert took < 15
    assert len(outputs.nodes[0].text) <= LIMITS.output_text + len(CUT)


def test_a_silent_kernel_is_interrupted_and_given_up(context: zmq.Context[Any]) -> None:
    """Nothing at all comes: the cell ends at its limit plus the grace period, and the kernel is done for."""
    ending, _, took = played(context, lambda _: iter(()))
    assert ending.status is CellStatus.TIME
    assert ending.fatal
    assert SECONDS + GRACE <= took <= SECONDS + GRACE + SLACK


def test_the_watchdog_is_heard_between_messages(context: zmq.Context[Any]) -> None:
    """A limit of the submission that is exceeded ends the cell with that limit's name."""
    ending, _, took = played(context, lambda _: iter(()), seconds=20, over=Reason.LIMIT_MEMORY)
    assert ending.status is CellStatus.MEMORY
    assert took < SLACK


def test_a_limit_that_is_broken_at_the_deadline_gives_its_name(context: zmq.Context[Any]) -> None:
    """When the time is up, the watchdog is asked once more: what took the time may be what it watches."""
    ending, _, _ = played(context, lambda _: iter(()), seconds=WATCH_SECONDS / 2, over=Reason.LIMIT_DISK)
    assert ending.status is CellStatus.DISK


def test_a_reply_in_time_counts_without_its_idle(context: zmq.Context[Any]) -> None:
    """A flood may have dropped the broadcast: a cell whose reply came before its limit has not broken it."""
    ending, _, took = played(context, lambda msg_id: iter(ended(msg_id)[:1]))
    assert ending.status is CellStatus.OK
    assert not ending.fatal
    assert took >= SECONDS


# ── advice ────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("name", "text", "word"),
    [
        ("FileNotFoundError", "[Errno 2] No such file or directory: '/content/x.csv'", "next to the notebook"),
        ("FileNotFoundError", r"[Errno 2] No such file or directory: 'C:\\Users\\me\\x.csv'", "your own computer"),
        ("FileNotFoundError", "[Errno 2] No such file or directory: 'x.csv'", "hand in both"),
        ("AssertionError", "Torch not compiled with CUDA enabled", "no GPU"),
        ("RuntimeError", "Found no NVIDIA driver on your system.", "no GPU"),
        ("URLError", "<urlopen error [Errno -3] Temporary failure in name resolution>", "no network"),
        ("PermissionError", "[Errno 13] Permission denied", "no network"),
        ("ModuleNotFoundError", "No module named 'wandb'", "packages"),
        ("ModuleNotFoundError", "No module named 'torch._six'", "torch 2"),
        ("AttributeError", "module 'torch' has no attribute 'gels'", "Python 3"),
        ("AttributeError", "`np.float_` was removed in the NumPy 2.0 release.", "numpy 2"),
        ("StdinNotImplementedError", "raw_input was called", "type"),
        ("RuntimeError", "asyncio.run() cannot be called from a running event loop", "await main()"),
    ],
)
def test_common_trouble_gets_advice(name: str, text: str, word: str) -> None:
    """What a grader's machine lacks is said in plain words."""
    assert word in (hint(name, text) or "")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ValueError", "bad"),
        (None, None),
        ("PermissionError", "[Errno 13] Permission denied: 'x'"),
        ("RuntimeError", ""),
    ],
)
def test_other_trouble_gets_none(name: str | None, text: str | None) -> None:
    """An exception that says nothing of the machine gets no advice."""
    assert hint(name, text) is None


@given(name=st.text(max_size=30), text=st.text(max_size=200))
def test_advice_repeats_nothing(name: str, text: str) -> None:
    """Whatever an exception is called and says, advice is one of a closed set of sentences."""
    assert hint(name, text) in {None, *(sentence for _, _, sentence in _hints())}


def _hints() -> Any:
    from autograder.hints import _HINTS

    return _HINTS


def test_cells_with_the_same_trouble_share_a_note() -> None:
    """One sentence is said once, with all cells that it is about."""

    def cell(index: int, name: str | None, status: CellStatus = CellStatus.ERROR) -> CellRecord:
        return CellRecord(index, str(index), status, 0.0, f"cell {index}", ename=name, evalue="")

    notes = hints_about(
        [cell(1, "ModuleNotFoundError"), cell(2, None), cell(3, "ModuleNotFoundError"), cell(4, "x", CellStatus.OK)]
    )
    assert [note.text.partition(":")[0] for note in notes] == ["Cell 1, cell 3"]
