"""Plans through the real agent and the real client: what the grader learns of a student's function."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch

from autograder.errors import CourseError, GraderFault
from autograder.model import ReplyKind
from autograder.plan import (
    Build,
    Call,
    Get,
    Global,
    Gradients,
    Leaf,
    Load,
    Mode,
    Plan,
    Ref,
    Seed,
    Seeded,
    Served,
    State,
    call,
    read,
)
from autograder.probe.client import ProbeClient, ServedRefusal
from autograder.probe.evaluate import NotDefined, StudentRaised, evaluate

from .values import identical

Client = Callable[[str], ProbeClient]

LSTM = """
import torch
from torch import nn

class LSTMCell(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.W = nn.Linear(inputs + hidden, 4 * hidden, dtype=torch.float64)
        self.hidden = hidden
        self.state = None

    def forward(self, x):
        h, c = self.state or (x.new_zeros(len(x), self.hidden), x.new_zeros(len(x), self.hidden))
        i, f, o, g = self.W(torch.cat([x, h], 1)).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        self.state = o.sigmoid() * c.tanh(), c
        return self.state[0]
"""


def names_of(source: str) -> dict[str, Any]:
    """The names that a trusted source defines."""
    names: dict[str, Any] = {"__name__": "trusted"}
    exec(compile(source, "trusted.py", "exec", dont_inherit=True), names)
    return names


def both(client: Client, source: str, plan: Plan, serve: Mapping[str, Callable[..., Any]] | None = None) -> Any:
    """The plan's value from a kernel, after it was found to be the value that the grader computes itself."""
    [reply] = client(source).call([plan], seconds=10, served=serve)
    assert reply.kind is ReplyKind.VALUE, reply
    assert identical(reply.value, evaluate(plan, names_of(source), serve))
    return reply.value


def test_an_lstm_cell_keeps_its_state_and_gives_gradients(client: Client) -> None:
    """Given weights, state kept over two calls, gradients of inputs and parameters: the same as the formula's."""
    torch.manual_seed(0)
    weights = {"W.weight": torch.randn(12, 5).double(), "W.bias": torch.randn(12).double()}
    x = [torch.randn(4, 2).double() for _ in range(2)]
    g = torch.randn(4, 3).double()
    plan = Plan(
        (
            Build("cell", "LSTMCell", (2, 3)),
            Load("cell", weights),
            Call("first", "__call__", (Leaf(x[0], "x0"),), on="cell"),
            Call("second", "__call__", (Leaf(x[1], "x1"),), on="cell"),
            Gradients("grads", "second", ("x0", "x1", "cell"), g),
            Get("c", "cell", ("state", 1)),
            State("state", "cell"),
        ),
        ("first", "second", "grads", "c", "state"),
        "LSTMCell",
    )
    first, second, grads, c, state = both(client, LSTM, plan)
    reference = torch.nn.LSTM(2, 3, dtype=torch.float64)
    order = [0, 1, 3, 2]  # torch's gates are i, f, g, o
    for name, part in (("weight_ih_l0", weights["W.weight"][:, :2]), ("weight_hh_l0", weights["W.weight"][:, 2:])):
        getattr(reference, name).data = torch.cat([part.chunk(4)[k] for k in order])
    reference.bias_ih_l0.data = torch.cat([weights["W.bias"].chunk(4)[k] for k in order])
    reference.bias_hh_l0.data.zero_()
    inputs = torch.stack(x).requires_grad_()
    out, (_, c_n) = reference(inputs)
    (out[1] * g).sum().backward()
    torch.testing.assert_close(torch.stack([first, second]), out.detach())
    torch.testing.assert_close(c, c_n[0].detach())
    torch.testing.assert_close(torch.stack([grads["x0"], grads["x1"]]), inputs.grad)
    torch.testing.assert_close(grads["cell.W.bias"], torch.cat([reference.bias_ih_l0.grad.chunk(4)[k] for k in order]))
    assert identical(state, weights)


DECODER = """
import torch

class Decoder(torch.nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.table = torch.nn.Embedding(cfg["vocab"], cfg["d"])
        self.drop = torch.nn.Dropout(0.5)

def step(model, ids, cache):
    x = model.drop(model.table(ids))
    keys = x if cache is None else torch.cat([cache[0], x], 1)
    scores = (x @ keys.mT).softmax(-1) @ keys
    return scores @ model.table.weight.T, [keys]
"""


def test_a_decoder_keeps_its_cache_between_calls(client: Client) -> None:
    """A cache travels from call to call by reference, inside the kernel; each answer is copied when it is made."""
    ids = torch.tensor([[1, 4, 2, 0]])
    plan = Plan(
        (
            Build("m", "Decoder", ({"vocab": 5, "d": 3},)),
            Mode("m", False),
            Seed(7),
            Call("one", "step", (Ref("m"), ids[:, :3], None)),
            Get("cache", "one", (1,)),
            Call("two", "step", (), {"model": Ref("m"), "ids": ids[:, 3:], "cache": Ref("cache")}),
            Get("last", "two", (0,)),
            Get("keys", "two", (1, 0)),
        ),
        ("one", "last", "keys"),
        "step",
        seed=3,
    )
    (logits, cache), last, keys = both(client, DECODER, plan)
    assert (logits.shape, cache[0].shape, last.shape, keys.shape) == ((1, 3, 5), (1, 3, 3), (1, 1, 5), (1, 4, 3))
    assert torch.equal(keys[:, :3], cache[0])


BEAM = """
def beam(logp, width, length):
    beams = [((), 0.0)]
    for _ in range(length):
        grown = [(seq + (t,), score + lp) for seq, score in beams for t, lp in enumerate(logp(list(seq)).tolist())]
        beams = sorted(grown, key=lambda b: -b[1])[:width]
    return [(list(seq), score) for seq, score in beams]
"""


def test_a_beam_search_asks_the_grader_for_its_model(client: Client) -> None:
    """A served callable is answered by the grader, and its calls are counted there."""

    def logp(prefix: list[int]) -> torch.Tensor:
        generator = torch.Generator().manual_seed(sum(3**i * (t + 1) for i, t in enumerate(prefix)))
        return torch.randn(4, generator=generator).log_softmax(0)

    plan = call("beam", Served("logp"), 3, 4)
    value = both(client, BEAM, plan, {"logp": logp})
    assert len(value) == 3
    replies = client(BEAM).call([plan, call("beam", Served("logp"), 1, 2)], seconds=10, served={"logp": logp})
    assert [dict(reply.calls) for reply in replies] == [{"logp": 10}, {"logp": 2}]


def test_a_served_callable_may_refuse(client: Client) -> None:
    """Wrong arguments are the student's TypeError, a ServedRefusal their ValueError; neither ends the batch."""

    def even(n: int) -> int:
        if n % 2:
            raise ServedRefusal("an odd number")
        return n

    source = """
def f(g, *a):
    try:
        return g(*a)
    except Exception as e:
        return type(e).__name__, str(e)
"""
    plans = [call("f", Served("even"), *args) for args in [(3,), (4,), (1, 2)]]
    one, two, three = (r.value for r in client(source).call(plans, seconds=5, served={"even": even}))
    assert one == ("ValueError", "an odd number")
    assert two == 4
    assert three[0] == "TypeError"


def test_a_served_callable_that_breaks_is_the_graders_fault(client: Client) -> None:
    """An error inside of the grader's own callable is raised as GraderFault, and the kernel is given up."""
    probe = client("def f(g): return g()")

    def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(GraderFault):
        probe.call([call("f", Served("b"))], seconds=5, served={"b": broken})
    assert probe.broken


def test_a_served_callable_can_not_ask_the_same_kernel(client: Client) -> None:
    """The kernel waits for the answer, so asking it meanwhile is a fault and never a hang."""
    probe = client("def f(g): return g()\ndef h(): return 1")
    with pytest.raises(GraderFault):
        probe.call([call("f", Served("b"))], seconds=5, served={"b": lambda: probe.call([call("h")], seconds=5)})


ARGUMENTS = """
import torch
def show(*args, **kwargs):
    return [type(a).__name__ for a in args], sorted(kwargs)
def double(x): return 2 * x
def apply(f, x): return [g(x) for g in f["fs"]]
def noise(generator): return torch.rand(3, generator=generator)
answer = {"H1": 0.25, "H2": [1, 2]}
"""


def test_every_kind_of_argument_arrives(client: Client) -> None:
    """Seeded generators, the notebook's own names and leaves stand for objects, wherever they are nested."""
    x = torch.ones(2)
    plan = call("show", x, Leaf(x, "x"), Seeded(3), Served("s"), Global("double"), {"a": [Global("answer")]}, k=None)
    assert both(client, ARGUMENTS, plan, {"s": lambda: 1})[1] == ["k"]
    assert torch.equal(both(client, ARGUMENTS, call("apply", {"fs": [Global("double")]}, x))[0], 2 * x)
    assert both(client, ARGUMENTS, read("answer")) == {"H1": 0.25, "H2": [1, 2]}
    assert torch.equal(
        both(client, ARGUMENTS, call("noise", Seeded(3))), both(client, ARGUMENTS, call("noise", Seeded(3)))
    )


RANDOM = """
import random, torch, numpy
def draw():
    return random.random(), float(numpy.random.rand()), torch.rand(1)
"""


def test_the_random_states_follow_from_the_plan(client: Client) -> None:
    """Equal seeds give equal draws in kernel and grader, in one batch or two; other seeds give others."""
    plans = [Plan((Call("y", "draw"),), "y", "draw", seed) for seed in (1, 1, 2)]
    values = [reply.value for reply in client(RANDOM).call(plans, seconds=5)]
    assert identical(values[0], values[1])
    assert not identical(values[0], values[2])
    assert identical(values[0], evaluate(plans[0], names_of(RANDOM)))


def test_a_batch_leaves_nothing_behind(client: Client) -> None:
    """State that a forked call makes is gone in the next batch; without a fork it stays."""
    probe = client("n = 0\ndef count():\n    global n\n    n += 1\n    return n")
    assert [reply.value for reply in probe.call([call("count")] * 2, seconds=5)] == [1, 2]
    assert probe.call([call("count")], seconds=5)[0].value == 1
    assert probe.call([call("count")], seconds=5, forked=False)[0].value == 1
    assert probe.call([call("count")], seconds=5)[0].value == 2


# ── the child that stays ──────────────────────────────────────────────────────────────────────────────────────
STAYING = """
import os, signal, threading, time
n = 0
def who(): return os.getpid()
def count():
    global n
    n += 1
    return n
def hang():
    while True: pass
def crash(): os.kill(os.getpid(), signal.SIGSEGV)
def later():
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGKILL)).start()
    return os.getpid()
"""


def test_shared_calls_are_answered_by_one_child(client: Client) -> None:
    """Until `part`, or until anything else is asked; what it had changed is gone then."""
    probe = client(STAYING)
    first, one = (reply.value for reply in probe.call([call("who"), call("count")], seconds=5, shared=True))
    again, two = (reply.value for reply in probe.call([call("who"), call("count")], seconds=5, shared=True))
    assert (again, one, two) == (first, 1, 2)
    probe.part()
    other, one = (reply.value for reply in probe.call([call("who"), call("count")], seconds=5, shared=True))
    assert other != first
    assert one == 1
    assert [reply.value for reply in probe.call([call("count")], seconds=5)] == [1]
    assert probe.call([call("who")], seconds=5, shared=True)[0].value != other
    assert probe.describe(["count"])["count"].kind == "function"
    assert probe.call([call("count")], seconds=5, forked=False)[0].value == 1
    assert not probe.broken


@pytest.mark.parametrize(("name", "kind"), [("hang", ReplyKind.TIME), ("crash", ReplyKind.DIED)])
def test_a_shared_child_that_breaks_later_costs_the_rest_of_that_batch(
    client: Client, name: str, kind: ReplyKind
) -> None:
    """The answers before stay, the call is named, and the next batch gets a child of its own."""
    probe = client(STAYING)
    assert probe.call([call("count")] * 3, seconds=5, shared=True)[2].value == 3
    replies = probe.call([call("count"), call(name), call("count")], seconds=0.5, shared=True)
    assert [(reply.kind, reply.step) for reply in replies] == [(ReplyKind.VALUE, None), (kind, 0), (kind, None)]
    assert probe.call([call("count")], seconds=5, shared=True)[0].value == 1
    assert not probe.broken


def test_a_shared_child_that_dies_between_two_batches_is_replaced(client: Client) -> None:
    """Nothing is held against the calls of the next batch."""
    probe = client(STAYING)
    pid = probe.call([call("later")], seconds=5, shared=True)[0].value
    time.sleep(0.4)
    assert probe.call([call("who")], seconds=5, shared=True)[0].value != pid
    probe.call([call("later")], seconds=5, shared=True)
    time.sleep(0.4)
    assert probe.call([call("count")], seconds=5)[0].value == 1
    probe.call([call("later")], seconds=5, shared=True)
    time.sleep(0.4)
    probe.part()
    assert not probe.broken


def test_time_between_two_batches_is_not_counted(client: Client) -> None:
    """The limit is a call's; the grader may think as long as it likes."""
    probe = client(STAYING)
    pid = probe.call([call("who")], seconds=0.3, shared=True)[0].value
    time.sleep(0.8)
    assert probe.call([call("who")], seconds=0.3, shared=True)[0].value == pid


def test_plans_that_come_again_are_sent_as_they_were(client: Client) -> None:
    """The kept bytes of a batch are those of its plans: other objects are encoded anew, changed ones too."""
    probe = client("def f(x): return x")
    plans = [call("f", torch.arange(3.0)), call("f", "é")]
    for _ in range(4):
        numbers, text = probe.call(plans, seconds=5)
        assert identical(numbers.value, torch.arange(3.0))
        assert text.value == "é"
    for number in range(4):
        assert probe.call([call("f", number)], seconds=5)[0].value == number


CHANGES = """
def add(x, y): return x + y
def edit(x, y):
    x += y
    return x
def grow(xs):
    xs.append(1)
    return len(xs)
def lie(xs):
    class Same(list):
        def __eq__(self, other): return True
    xs[0] = Same()
    return 0
buffer = None
def reuse(x):
    global buffer
    buffer = x if buffer is None else buffer.copy_(x)
    return buffer
"""


def test_changed_inputs_are_fresh_for_the_next_call_and_reported(client: Client) -> None:
    """In-place edits spoil no later call; they are reported, also inside of lists, whatever `__eq__` says."""
    x, nan = torch.ones(2), torch.tensor([float("nan"), 1.0])
    plans = [call("add", x, x), call("edit", x, x), call("add", nan, x), call("grow", [[1.5]]), call("lie", [[2]])]
    replies = client(CHANGES).call(plans, seconds=5)
    assert [reply.changed_inputs for reply in replies] == [False, True, False, True, True]
    assert torch.equal(replies[1].value, 2 * x)
    assert torch.equal(x, torch.ones(2))


def test_an_answer_is_copied_when_it_is_given(client: Client) -> None:
    """A function that hands out one buffer and overwrites it later does not change its earlier answer."""
    steps = (Call("a", "reuse", (torch.zeros(2),)), Call("b", "reuse", (torch.ones(2),)))
    one, two = both(client, CHANGES, Plan(steps, ("a", "b"), "reuse"))
    assert one.tolist() == [0, 0]
    assert two.tolist() == [1, 1]


def test_gradients_of_what_does_not_matter_are_none(client: Client) -> None:
    """None for an input that the result does not depend on, and for a result that was detached."""
    source = "def f(x, y): return x * 2\ndef g(x, y): return x.detach() + y.detach()"
    x = torch.ones(2)
    for function, expected in (("f", torch.full((2,), 2.0)), ("g", None)):
        steps = (Call("z", function, (Leaf(x, "x"), Leaf(x, "y"))), Gradients("g", "z", ("x", "y")))
        assert identical(both(client, source, Plan(steps, "g", function)), {"x": expected, "y": None})


def test_gradients_survive_a_notebook_that_switched_them_off(client: Client) -> None:
    """`torch.set_grad_enabled(False)` in some cell doesn't cost the gradients of a later call."""
    source = "import torch\ntorch.set_grad_enabled(False)\ndef f(x): return x * 3"
    steps = (Call("z", "f", (Leaf(torch.ones(2), "x"),)), Gradients("g", "z", ("x",)))
    [reply] = client(source).call([Plan(steps, "g", "f")], seconds=5)
    assert identical(reply.value, {"x": torch.full((2,), 3.0)})


MISSING = """
class Cell:
    def forward(self): return 1
def f(x): return 1
"""


@pytest.mark.parametrize(
    ("plan", "name"),
    [
        (call("softmax", 1), "softmax"),
        (call("f", Global("g")), "g"),
        (read("hand"), "hand"),
        (Plan((Build("c", "GRU"),), "c", "GRU"), "GRU"),
        (Plan((Build("c", "Cell"), Call("y", "step", on="c")), "y", "Cell"), "Cell.step"),
    ],
)
def test_a_missing_name_is_told_by_name(client: Client, plan: Plan, name: str) -> None:
    """Functions, classes, values and methods that aren't there are NOT_DEFINED, in the kernel as in a reference."""
    [reply] = client(MISSING).call([plan], seconds=5)
    assert (reply.kind, reply.name) == (ReplyKind.NOT_DEFINED, name)
    with pytest.raises(NotDefined) as missing:
        evaluate(plan, names_of(MISSING))
    assert missing.value.name == name


RAISING = """
def helper(x):
    return x / 0

def f(x):
    return helper(x)

def odd():
    raise type("Secret 42", (Exception,), {"__str__": lambda self: "text"})

def stub():
    raise NotImplementedError

def deep(n=0):
    return deep(n + 1)

def leave():
    raise SystemExit(3)

def long():
    raise ValueError("x" * 10**6)

def unprintable():
    class E(ValueError):
        def __str__(self): raise KeyError
    raise E

def torch_error():
    import torch
    return torch.ones(2) @ torch.ones(3)

def interrupted():
    raise KeyboardInterrupt
"""


def test_an_exception_is_told_by_class_place_and_text(client: Client) -> None:
    """The class if it is a known one, the innermost line in the notebook's own code, and its cell."""
    functions = ["f", "odd", "stub", "deep", "leave", "long", "torch_error", "interrupted"]
    replies = client(RAISING).call([call(f, *([1] if f == "f" else [])) for f in functions], seconds=5)
    assert {reply.kind for reply in replies} == {ReplyKind.RAISED}
    named = [reply.name for reply in replies]
    assert named[:3] == ["ZeroDivisionError", "an exception", "NotImplementedError"]
    assert named[3:] == ["RecursionError", "SystemExit", "ValueError", "RuntimeError", "KeyboardInterrupt"]
    first, odd = replies[:2]
    assert (first.function, first.line, first.cell, first.step) == ("helper", 3, "cell-1", 0)
    assert (odd.message, replies[5].message) == ("text", "x" * 10_000)
    assert RAISING.splitlines()[replies[6].line - 1].endswith("torch.ones(3)")
    [reply] = client(RAISING).call([call("unprintable")], seconds=5)
    assert (reply.name, reply.message) == ("an exception", "")


def test_a_reference_that_raises_says_where() -> None:
    """Over trusted names, `evaluate` raises StudentRaised with the step and the exception itself."""
    with pytest.raises(StudentRaised) as raised:
        evaluate(call("f", 1), names_of(RAISING))
    assert isinstance(raised.value.exc, ZeroDivisionError)
    assert raised.value.step == 0
    with pytest.raises(KeyboardInterrupt):
        evaluate(call("interrupted"), names_of(RAISING))


@pytest.mark.parametrize(
    "plan",
    [
        Plan((Call("y", "f", (Ref("x"),)),), "y", "f"),
        Plan((Call("y", "f"),), "z", "f"),
        Plan((Call("y", "f"), Gradients("g", "y", ("x",))), "g", "f"),
        Plan((Call("y", "f", on="cell"),), "y", "f"),
        Plan((Call("y", "f", ([Served("logp")],)),), "y", "f"),
        Plan((Call("y", "f", (Leaf(torch.tensor([1]), "x"),)),), "y", "f"),
    ],
)
def test_a_plan_that_can_not_be_right_is_the_courses_error(client: Client, plan: Plan) -> None:
    """A register that isn't set, a served name that isn't given: refused before any student code is asked."""
    with pytest.raises(CourseError):
        evaluate(plan, {"f": lambda *_: 1})
    probe = client("def f(*a): return 1")
    with pytest.raises(CourseError):
        probe.call([plan], seconds=5)
    assert not probe.broken


def test_an_argument_of_a_foreign_type_is_the_graders_fault(client: Client) -> None:
    """The grader can't send a set: that is its own fault, and the student's kernel stays as it was."""
    with pytest.raises(GraderFault):
        client("def f(x): return 1").call([call("f", {1, 2})], seconds=5)


DESCRIBED = """
import math
import functools
from typing import Any
import torch
from torch import nn

def softmax(s: "Tensor", dim: int = -1) -> "Tensor": ...
@functools.lru_cache
def cached(n): return n
@torch.no_grad()
def decorated(n, k=1): return n
class GPT(nn.Module):
    def __init__(self, cfg): super().__init__()
class Liar:
    __signature__ = 3
    def __call__(self): ...
_private = 1
hand = {"H1": 1}
sub = nn.Linear(1, 1)
"""


def test_describe_says_what_names_are(client: Client) -> None:
    """Kind, signature and cell of the names asked for, and of all of the notebook's names for none."""
    probe = client(DESCRIBED)
    found = probe.describe(["softmax", "GPT", "hand", "sofmax", "cached", "decorated"])
    assert {name: d.kind for name, d in found.items()} == {
        "softmax": "function",
        "GPT": "class",
        "hand": "value",
        "sofmax": "missing",
        "cached": "function",
        "decorated": "function",
    }
    assert found["softmax"].signature == "(s: 'Tensor', dim: int = -1) -> 'Tensor'"
    assert found["decorated"].signature == "(n, k=1)"
    assert found["GPT"].signature == "(cfg)"
    assert {found[name].cell for name in ("softmax", "GPT", "cached", "decorated")} == {"cell-1"}
    everything = probe.describe()
    assert {"softmax", "GPT", "Liar", "hand", "sub"} <= set(everything)
    assert not {"_private", "math", "torch", "__name__", "__builtins__"} & set(everything)
    assert not probe.broken


def test_a_batch_of_twenty_calls_is_quick(client: Client) -> None:
    """Twenty plain calls in one batch take a few hundredths of a second, most of it the fork."""
    probe = client("def f(x): return x.softmax(-1)")
    plans = [call("f", torch.randn(4, 8)) for _ in range(20)]
    probe.call(plans, seconds=5)
    times = []
    for _ in range(7):
        began = time.perf_counter()
        probe.call(plans, seconds=5)
        times.append(time.perf_counter() - began)
    assert min(times) < 0.25  # about 0.012 s on a quiet machine
