"""What student code may do instead of answering, and what bytes may come instead of the agent's."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from autograder.model import Limits, Reason, ReplyKind
from autograder.plan import Call, Plan, Served, call
from autograder.probe import wire
from autograder.probe.agent import receive as asked
from autograder.probe.client import ProbeClient
from autograder.probe.rules import IDLE

from .conftest import Kernel
from .values import identical

Client = Callable[[str], ProbeClient]
Start = Callable[[str], Kernel]
Hostile = Callable[[Callable[..., Any]], Kernel]

ENDINGS = """
import ctypes, os, signal, sys, time
def fine(): return 1
def hang():
    while True: pass
def sleep(): time.sleep(1000)
def abort(): os.abort()
def crash(): ctypes.string_at(0)
def leave(): os._exit(0)
def stop(): os.kill(os.getpid(), signal.SIGSTOP)
def deaf():
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    while True: pass
"""


@pytest.mark.parametrize(
    ("function", "kind", "signal_number"),
    [
        ("hang", ReplyKind.TIME, None),
        ("sleep", ReplyKind.TIME, None),
        ("stop", ReplyKind.TIME, None),
        ("deaf", ReplyKind.TIME, None),
        ("abort", ReplyKind.DIED, signal.SIGABRT),
        ("crash", ReplyKind.DIED, signal.SIGSEGV),
        ("leave", ReplyKind.DIED, None),
    ],
)
def test_a_call_that_never_returns_costs_itself_only(
    client: Client, function: str, kind: ReplyKind, signal_number: int | None
) -> None:
    """The answers before it count, those after are "not tried", and the kernel answers the next batch."""
    probe = client(ENDINGS)
    plan = Plan((Call("a", "fine"), Call("b", function)), "b", function)
    began = time.monotonic()
    replies = probe.call([call("fine"), plan, call("fine")], seconds=0.4)
    assert time.monotonic() - began < 1.4
    assert [reply.kind for reply in replies] == [ReplyKind.VALUE, kind, kind]
    assert (replies[1].step, replies[1].signal) == (1, signal_number)
    assert replies[2].step is None
    assert not probe.broken
    assert probe.call([call("fine")], seconds=5)[0].value == 1


@pytest.mark.parametrize(
    ("function", "kind"), [("sleep", ReplyKind.TIME), ("abort", ReplyKind.DIED), ("leave", ReplyKind.DIED)]
)
def test_without_a_fork_the_kernel_itself_is_lost(client: Client, function: str, kind: ReplyKind) -> None:
    """An unforked hang or crash is reported the same way, and the client says that the kernel must be replaced."""
    probe = client(ENDINGS)
    replies = probe.call([call("fine"), call(function), call("fine")], seconds=0.4, forked=False)
    assert [reply.kind for reply in replies] == [ReplyKind.VALUE, kind, kind]
    assert replies[1].signal == (signal.SIGABRT if function == "abort" else None)
    assert (replies[1].step, replies[2].step) == (0, None)
    assert probe.broken
    assert [reply.kind for reply in probe.call([call("fine")], seconds=5)] == [kind]
    assert probe.describe() == {}


def test_the_limit_holds_for_each_plan(client: Client) -> None:
    """Ten calls that each stay below the limit are fine, though together they are above it."""
    probe = client("import time\ndef f(): time.sleep(0.1)\n")
    assert {r.kind for r in probe.call([call("f")] * 10, seconds=0.5)} == {ReplyKind.VALUE}


def test_a_frozen_kernel_is_given_up_in_time(kernel: Start) -> None:
    """A kernel that doesn't even read is TIME after the limit and half a second, on the grader's clock."""
    stuck = kernel("x = 1")
    os.kill(stuck.pid, signal.SIGSTOP)
    probe = stuck.client()
    began = time.monotonic()
    [reply] = probe.call([call("f", torch.zeros(10**6))], seconds=0.3)
    assert 0.7 < time.monotonic() - began < 1.2
    assert (reply.kind, reply.step, probe.broken) == (ReplyKind.TIME, 0, True)


def test_the_death_of_the_kernel_is_told_by_its_status(kernel: Start) -> None:
    """A child that kills its kernel ends the batch at once, though it lives on and holds the socket open."""
    one = kernel("import os, time\ndef f():\n    os.kill(os.getppid(), 9)\n    time.sleep(3)")
    probe = one.client()
    began = time.monotonic()
    [reply] = probe.call([call("f")], seconds=5)
    assert (reply.kind, reply.signal) == (ReplyKind.DIED, signal.SIGKILL)
    assert time.monotonic() - began < 1
    assert probe.broken


@pytest.mark.parametrize(
    ("over", "kind"),
    [
        (Reason.LIMIT_MEMORY, ReplyKind.MEMORY),
        (Reason.LIMIT_PROCESSES, ReplyKind.PROCESSES),
        (Reason.LIMIT_DISK, ReplyKind.DISK),
    ],
)
def test_a_limit_that_is_exceeded_ends_the_call(kernel: Start, over: Reason, kind: ReplyKind) -> None:
    """The watchdog's reason is the reply's kind, long before the time limit."""
    began = time.monotonic()
    probe = kernel("import time\ndef f(): time.sleep(20)").client(
        watch=lambda: over if time.monotonic() - began > 0.3 else None
    )
    [reply] = probe.call([call("f")], seconds=10)
    assert (reply.kind, probe.broken) == (kind, True)
    assert time.monotonic() - began < 1


VALUES = """
import collections, decimal, threading, types
import numpy as np
import torch

class Liar:
    def __eq__(self, other): return True
    def __len__(self): return 1
    def __iter__(self): raise SystemExit
    def __reduce__(self): raise SystemExit
    def __array__(self): raise SystemExit
    def __float__(self): raise SystemExit
    @property
    def __class__(self): return torch.Tensor
class Sub(torch.Tensor):
    @classmethod
    def __torch_function__(cls, *a, **k): raise SystemExit
class MyList(list): pass
def cyclic():
    x = [1]
    x.append(x)
    return x
def deep():
    x = []
    for _ in range(10**5): x = [x]
    return x
def liar(): return Liar()
def hidden(): return {"a": [1, Liar()]}
def sub(): return torch.ones(2).as_subclass(Sub)
def generator(): return (i for i in range(3))
def array(): return np.ones((2, 3))
def mylist(): return MyList([1])
def intkeys(): return {1: 2}
def a_set(): return {1}
def bytes_(): return b"x"
def sparse(): return torch.ones(2).to_sparse()
def meta(): return torch.ones(2, device="meta")
def quantised(): return torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8)
def complex_(): return torch.ones(2, dtype=torch.complex64)
def function(): return liar
def secret(): return type("secret 42", (), {})()
def big(): return torch.zeros(1).expand(10**10)
def wide(): return torch.zeros(1).expand(10**10, 0)
def text(): return "x" * 10**8
def many(): return list(range(10**6))
def huge(): return 10**30
def surrogate(): return "\\ud800"
"""
NOT_PLAIN = {
    "cyclic": "list that contains itself",
    "liar": "an object of another type",
    "hidden": "an object of another type",
    "sub": "an object of another type",
    "generator": "generator",
    "array": "numpy.ndarray",
    "mylist": "an object of another type",
    "intkeys": "dict with keys that are no str",
    "a_set": "set",
    "bytes_": "bytes",
    "sparse": "torch.Tensor that is sparse, nested, quantised or has no values",
    "meta": "torch.Tensor that is sparse, nested, quantised or has no values",
    "quantised": "torch.Tensor that is sparse, nested, quantised or has no values",
    "complex_": "torch.Tensor of torch.complex64",
    "function": "function",
    "secret": "an object of another type",
    "surrogate": "str that is no valid UTF-8",
}
TOO_BIG = ["deep", "big", "wide", "text", "many", "huge"]


def test_a_value_that_is_not_plain_is_named_by_its_type(client: Client) -> None:
    """Objects, subclasses, generators, arrays, odd tensors: NOT_PLAIN, with a type from a closed list, batch unhurt."""
    replies = client(VALUES).call([call(name) for name in NOT_PLAIN], seconds=10)
    assert {name: reply.name for name, reply in zip(NOT_PLAIN, replies, strict=True)} == NOT_PLAIN
    assert {reply.kind for reply in replies} == {ReplyKind.NOT_PLAIN}


def test_a_value_that_is_too_big_is_refused_where_it_is_made(client: Client) -> None:
    """40 GB of expanded zeros, 10⁵ levels, 10⁶ items: TOO_BIG, quickly, and the next batch is answered."""
    probe = client(VALUES)
    began = time.monotonic()
    replies = probe.call([call(name) for name in TOO_BIG], seconds=10)
    assert [reply.kind for reply in replies] == [ReplyKind.TOO_BIG] * len(TOO_BIG)
    assert time.monotonic() - began < 5
    assert not probe.broken


NORMALISED = """
import collections
import numpy as np
import torch
def parameter(): return torch.nn.Parameter(torch.ones(2))
def grad(): return torch.ones(2, requires_grad=True) * 2
def view(): return torch.arange(6).reshape(2, 3).T
def expanded(): return torch.ones(1).expand(3)
def conj(): return torch.tensor([1 + 2j]).conj().imag
def size(): return torch.ones(2, 3).shape
def array(): return [np.ones((2, 3)).T, np.arange(3), np.bool_(True), np.float32(1.5), np.int64(3)]
def dicts(): return collections.Counter("aab"), collections.OrderedDict(a=1), collections.defaultdict(int, b=2)
"""


def test_harmless_differences_are_levelled(client: Client) -> None:
    """Gradients, strides, views, Parameter, torch.Size, numpy numbers, Counter do not matter; arrays are a choice."""
    probe = client(NORMALISED)
    names = ["parameter", "grad", "view", "expanded", "conj", "size"]
    values = [reply.value for reply in probe.call([call(name) for name in names], seconds=5)]
    expected = [
        torch.ones(2),
        torch.full((2,), 2.0),
        torch.arange(6).reshape(2, 3).T.contiguous(),
        torch.ones(3),
        torch.tensor([-2.0]),
        (2, 3),
    ]
    assert identical(values, expected)
    plain = [call("array"), call("dicts")]
    assert [reply.kind for reply in probe.call(plain, seconds=5)] == [ReplyKind.NOT_PLAIN, ReplyKind.VALUE]
    arrays, dicts = (reply.value for reply in probe.call(plain, seconds=5, convert=True))
    assert identical(arrays, [torch.ones(3, 2).double(), torch.arange(3), True, 1.5, 3])
    assert identical(dicts, ({"a": 2, "b": 1}, {"a": 1}, {"b": 2}))


def test_what_a_hidden_call_prints_is_dropped(kernel: Start, capfd: pytest.CaptureFixture[str]) -> None:
    """Neither `print` nor the raw descriptors of a call reach the kernel's output, forked or not; later cells' do."""
    source = """
import os, sys
def f(x):
    print("hidden", x, flush=True)
    sys.stderr.write("hidden")
    os.write(1, b"hidden")
    os.system("echo hidden")
    return 1
def g():
    os.write(1, b"shown")
"""
    probe = kernel(source).client()
    assert probe.call([call("f", 3)], seconds=5)[0].value == 1
    assert probe.call([call("f", 3)], seconds=5, forked=False)[0].value == 1
    assert "hidden" not in "".join(capfd.readouterr())


def test_two_threads_before_the_fork_do_not_hang_the_child(client: Client) -> None:
    """After two-threaded work in a cell, forward and backward still run in a forked call."""
    source = """
import torch
torch.set_num_threads(2)
a = torch.randn(400, 400)
(a @ a).sum()
lstm = torch.nn.LSTM(32, 32)
def f(x):
    y, _ = lstm(x)
    y.sum().backward()
    return x @ x.mT
"""
    replies = client(source).call([call("f", torch.randn(64, 64, 32))] * 2, seconds=10)
    assert [reply.kind for reply in replies] == [ReplyKind.VALUE] * 2


def is_dead(pid: int) -> bool:
    """Gone, or a zombie that nobody has reaped yet, within a second."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False


def test_processes_that_a_call_leaves_behind_are_killed(client: Client) -> None:
    """A background process of a call does not keep the batch waiting and is gone after it."""
    source = """
import os, time
def f():
    pid = os.fork()
    if pid == 0:
        time.sleep(30)
        os._exit(0)
    return pid
"""
    probe = client(source)
    began = time.monotonic()
    [reply] = probe.call([call("f")], seconds=5)
    assert time.monotonic() - began < 1
    assert is_dead(reply.value)


def test_served_calls_have_an_end(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan that keeps asking gets an error after the cap; the count is the grader's."""
    monkeypatch.setattr("autograder.probe.client.MAX_SERVED", 5)
    [reply] = client("def f(g):\n    while True: g()").call(
        [call("f", Served("g"))], seconds=5, served={"g": lambda: 0}
    )
    assert (reply.kind, reply.name, dict(reply.calls)) == (ReplyKind.RAISED, "RuntimeError", {"g": 6})


def test_threads_may_ask_a_served_callable_at_once(client: Client) -> None:
    """Questions from several threads of one call are answered one by one, each with its own answer."""
    source = """
from concurrent.futures import ThreadPoolExecutor
def f(g):
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(g, range(50)))
"""
    [reply] = client(source).call([call("f", Served("g"))], seconds=5, served={"g": lambda n: n * n})
    assert reply.value == [n * n for n in range(50)]


def test_a_kernel_that_can_not_fork_says_so(client: Client) -> None:
    """Where no process can be started any more, the reply is about processes, and the kernel still answers."""
    source = "import os, errno\ndef no(): raise OSError(errno.EAGAIN, 'no')\nos.fork = no\ndef f(): return 1"
    probe = client(source)
    replies = probe.call([call("f")] * 2, seconds=5)
    assert [(reply.kind, reply.step) for reply in replies] == [(ReplyKind.PROCESSES, 0), (ReplyKind.PROCESSES, None)]
    assert probe.call([call("f")], seconds=5, forked=False)[0].value == 1


def test_a_served_callable_takes_plain_values_only(client: Client) -> None:
    """An object as argument is a TypeError in the student's code; tensors and arrays arrive as tensors."""
    source = "import numpy\ndef f(g, bad): return g(object() if bad else numpy.ones(2))"
    plans = [call("f", Served("g"), True), call("f", Served("g"), False)]
    one, two = client(source).call(plans, seconds=5, served={"g": lambda x: x.sum()})
    assert (one.kind, one.name) == (ReplyKind.RAISED, "TypeError")
    assert two.value.item() == 2


# ── a student who writes the bytes ────────────────────────────────────────────────────────────────────────────
def answer(sock: Any, change: Callable[[dict[str, Any], list[str]], list[dict[str, Any]]]) -> None:
    """Read a request; send the frames that `change` makes of a right reply to each call, and of the end."""
    request = asked(sock)
    nonces = request["nonces"]
    replies = [{"t": "reply", "call": n, "kind": "value", "value": 1, "changed": False} for n in nonces]
    end = {"t": "end", "batch": request["batch"], "how": "exit", "code": 0, "plan": 0, "step": 0}
    for frame in change({"replies": replies, "end": end}, nonces):
        wire.send(sock, frame)


FORGERIES: dict[str, Callable[[dict[str, Any], list[str]], list[dict[str, Any]]]] = {
    "a replayed call id": lambda r, _: [r["replies"][0], r["replies"][0], r["end"]],
    "another order": lambda r, _: [r["replies"][1], r["replies"][0], r["end"]],
    "an invented call id": lambda r, _: [{**r["replies"][0], "call": "0" * 32}],
    "no call id": lambda r, _: [{"t": "reply", "kind": "value", "value": 1, "changed": False}],
    "a reply too many": lambda r, _: [*r["replies"], r["replies"][1], r["end"]],
    "another batch's end": lambda r, _: [*r["replies"], {**r["end"], "batch": "0" * 32}],
    "a field too many": lambda r, _: [{**r["replies"][0], "score": 100}],
    "a field missing": lambda r, _: [{"t": "reply", "call": r["replies"][0]["call"], "kind": "value", "value": 1}],
    "a field of another type": lambda r, _: [{**r["replies"][0], "changed": 1}],
    "an unknown kind": lambda r, _: [{**r["replies"][0], "kind": "passed"}],
    "an unknown type": lambda r, _: [{**r["replies"][0], "t": "score"}],
    "a type that is a list": lambda r, _: [{**r["replies"][0], "t": []}],
    "no message": lambda r, _: [[1, 2]],  # type: ignore[list-item]
    "a missing name that nobody asked for": lambda r, n: [
        {"t": "reply", "call": n[0], "kind": "not-defined", "name": "secret 42", "step": 0}
    ],
    "a step that is not there": lambda r, n: [
        {"t": "reply", "call": n[0], "kind": "not-plain", "name": "set", "step": 7}
    ],
    "a served name that was never given": lambda r, n: [
        {"t": "serve", "call": n[0], "name": "reference", "args": (), "kwargs": {}}
    ],
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_reply_is_a_protocol_error_of_that_call(hostile: Hostile, name: str) -> None:
    """Replayed, reordered, invented or misshapen replies end the batch as PROTOCOL and never raise."""
    probe = hostile(lambda sock: answer(sock, FORGERIES[name])).client()
    replies = probe.call([call("f"), call("g")], seconds=2)
    assert len(replies) == 2
    assert ReplyKind.PROTOCOL in {reply.kind for reply in replies} or name in (
        "a reply too many",
        "another batch's end",
    )
    assert probe.broken


def test_a_right_reply_of_the_forger_is_accepted(hostile: Hostile) -> None:
    """The forger's frames are right but for the one change, so the refusals above are about the change."""
    probe = hostile(lambda sock: answer(sock, lambda r, _: [*r["replies"], r["end"]])).client()
    assert [reply.value for reply in probe.call([call("f"), call("g")], seconds=2)] == [1, 1]
    assert not probe.broken


SHARED_FORGERIES: dict[str, Callable[[dict[str, Any], list[str]], list[dict[str, Any]]]] = {
    "done before all replies": lambda r, _: [r["replies"][0], {"t": "idle", "batch": r["end"]["batch"]}],
    "another batch is done": lambda r, _: [*r["replies"], {"t": "idle", "batch": "0" * 32}],
    "done with a field too many": lambda r, _: [*r["replies"], {"t": "idle", "batch": r["end"]["batch"], "score": 1}],
    "an early death that was idle": lambda r, _: [{**r["end"], "plan": IDLE, "how": "signal"}],
}


@pytest.mark.parametrize("name", SHARED_FORGERIES)
def test_a_shared_child_can_not_call_a_batch_done_that_is_not(hostile: Hostile, name: str) -> None:
    """No reply is made up for a batch that was said to be done: it ends, and nothing of it counts as a value."""
    probe = hostile(lambda sock: answer(sock, SHARED_FORGERIES[name])).client()
    replies = probe.call([call("f"), call("g")], seconds=0.5, shared=True)
    assert len(replies) == 2
    if name.startswith("an early"):
        assert {reply.kind for reply in replies} == {ReplyKind.DIED}
    else:
        assert probe.broken


def test_a_forked_call_is_not_done_by_idling(hostile: Hostile) -> None:
    """Only a shared child goes idle."""
    probe = hostile(
        lambda sock: answer(sock, lambda r, _: [*r["replies"], {"t": "idle", "batch": r["end"]["batch"]}])
    ).client()
    probe.call([call("f")], seconds=2)
    assert probe.broken


def test_words_that_could_carry_hidden_values_are_dropped(hostile: Hostile) -> None:
    """Names of exceptions, functions and cells, and lines, are shown only in the form that honest ones have."""
    reply = {"kind": "raised", "name": "tensor([0.1])", "message": "a\x1b[31m\u202e", "step": 0}
    place = {"function": "q is 0.25", "line": 2**62, "cell": "<b>"}
    probe = hostile(
        lambda sock: answer(sock, lambda r, n: [{"t": "reply", "call": n[0], **reply, **place}, r["end"]])
    ).client()
    [got] = probe.call([call("f")], seconds=2)
    assert (got.name, got.message, got.function, got.line, got.cell) == ("an exception", "a[31m", None, None, None)


def test_bytes_before_the_question_are_a_protocol_error(hostile: Hostile) -> None:
    """An answer that was sent early is not mistaken for the answer to what is asked later."""
    probe = hostile(lambda sock: wire.send(sock, {"t": "reply"})).client()
    time.sleep(0.2)
    assert probe.call([call("f")], seconds=2)[0].kind is ReplyKind.PROTOCOL


@pytest.mark.parametrize(
    "data",
    [
        b"\0" * 100,
        b"SMK1" + b"\xff" * 12,
        b"SMK1" + (10**6).to_bytes(4, "big") + (10**12).to_bytes(8, "big"),
        wire.encode(1),
        b"GET / HTTP/1.1\r\n\r\n",
    ],
)
def test_garbage_is_a_protocol_error(hostile: Hostile, data: bytes) -> None:
    """Garbage after the question is PROTOCOL at once, without waiting for the limit."""

    def garbage(sock: Any) -> None:
        asked(sock)
        sock.sendall(data)

    began = time.monotonic()
    assert hostile(garbage).client().call([call("f")], seconds=3)[0].kind is ReplyKind.PROTOCOL
    assert time.monotonic() - began < 1.5


def test_a_frame_that_trickles_ends_at_the_limit(hostile: Hostile) -> None:
    """One byte every few milliseconds doesn't move the deadline, and the claimed 6 MB are never set aside."""

    def trickle(sock: Any) -> None:
        asked(sock)
        sock.sendall(b"SMK1" + (100).to_bytes(4, "big") + (6 * 2**20).to_bytes(8, "big"))
        while True:
            sock.send(b"x")
            time.sleep(0.005)

    began = time.monotonic()
    assert hostile(trickle).client().call([call("f")], seconds=0.3)[0].kind is ReplyKind.TIME
    assert time.monotonic() - began < 1.3


def test_endless_served_calls_end_at_the_limit(hostile: Hostile) -> None:
    """Asking a served callable in a loop doesn't move the deadline either."""

    def ask(sock: Any) -> None:
        request = asked(sock)
        while True:
            wire.send(sock, {"t": "serve", "call": request["nonces"][0], "name": "g", "args": (), "kwargs": {}})
            wire.receive(sock)

    began = time.monotonic()
    [reply] = hostile(ask).client().call([call("f", Served("g"))], seconds=0.3, served={"g": lambda: 1})
    assert reply.kind in (ReplyKind.TIME, ReplyKind.PROTOCOL)
    assert time.monotonic() - began < 1.3


def test_a_closed_socket_is_death(hostile: Hostile) -> None:
    """A peer that closes its end, or has closed it before, is DIED and never an OSError."""
    probe = hostile(lambda sock: sock.close()).client()
    time.sleep(0.1)
    assert [reply.kind for reply in probe.call([call("f")] * 2, seconds=3)] == [ReplyKind.DIED] * 2
    assert probe.broken


def test_a_reply_above_the_submissions_own_cap_is_refused(hostile: Hostile) -> None:
    """`Limits.reply_bytes` bounds what is read, also when it is smaller than the wire's cap."""
    values = [torch.zeros(10_000, dtype=torch.float64)]
    probe = hostile(lambda sock: answer(sock, lambda r, _: [{**r["replies"][0], "value": values}, r["end"]])).client(
        limits=Limits(reply_bytes=50_000)
    )
    assert probe.call([call("f")], seconds=2)[0].kind is ReplyKind.PROTOCOL


def test_the_replies_of_a_batch_share_one_cap(kernel: Start) -> None:
    """Many large answers can't fill the grader's memory: the later ones are TOO_BIG, and the kernel goes on."""
    probe = kernel("import torch\ndef f(n): return torch.zeros(n, dtype=torch.uint8)").client(
        limits=Limits(reply_bytes=100_000)
    )
    replies = probe.call([call("f", 40_000)] * 4, seconds=5)
    assert [reply.kind for reply in replies] == [ReplyKind.VALUE] * 2 + [ReplyKind.TOO_BIG] * 2
    assert probe.call([call("f", 40_000)], seconds=5)[0].kind is ReplyKind.VALUE
    assert probe.call([call("f", 200_000)], seconds=5)[0].kind is ReplyKind.TOO_BIG
