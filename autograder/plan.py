"""A call as data: what to build, load, call and send back, step by step.

A check never runs code of its own in the student's kernel. It sends a `Plan`, which the agent there (and, for the
reference, the grader itself) carries out over the names that the notebook defined. Registers are names that live
for one plan.

    Plan((Build("cell", "LSTMCell", (5, 3)),
          Load("cell", weights),
          Call("y", "__call__", (x,), on="cell")), returns=("y",))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "Build",
    "Call",
    "Get",
    "Global",
    "Gradients",
    "Leaf",
    "Load",
    "Mode",
    "Plan",
    "Read",
    "Ref",
    "Seed",
    "Seeded",
    "Served",
    "State",
    "Step",
    "call",
    "read",
]


# ── arguments that are more than plain values ─────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class Ref:
    """The value of a register."""

    name: str


@dataclass(frozen=True, slots=True)
class Leaf:
    """A floating tensor that asks for gradients; `name` makes it a register, so that `Gradients` can name it."""

    tensor: Any
    name: str


@dataclass(frozen=True, slots=True)
class Seeded:
    """A `torch.Generator` on the CPU with this seed."""

    seed: int


@dataclass(frozen=True, slots=True)
class Served:
    """A callable that the grader answers; calls are counted there."""

    name: str


@dataclass(frozen=True, slots=True)
class Global:
    """A name of the notebook itself, e.g. the student's own `softmax` passed as an argument."""

    name: str


# ── steps ─────────────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class Build:
    """register `out` = class or factory `cls` of the notebook, called with the arguments."""

    out: str
    cls: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Load:
    """`target.load_state_dict(state)`, strictly: missing or unexpected names raise in the student's place."""

    target: str
    state: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Mode:
    """`target.train(train)`."""

    target: str
    train: bool


@dataclass(frozen=True, slots=True)
class Seed:
    """Seed `random`, numpy and torch."""

    seed: int


@dataclass(frozen=True, slots=True)
class Call:
    """register `out` = function of the notebook, or a method of register `on` ("__call__" calls the object)."""

    out: str
    function: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    on: str | None = None


@dataclass(frozen=True, slots=True)
class Read:
    """register `out` = a top-level value of the notebook, e.g. `hand`."""

    out: str
    name: str


@dataclass(frozen=True, slots=True)
class Get:
    """register `out` = register `of` along `path`: an int indexes, a str is a dict's key, else an attribute."""

    out: str
    of: str
    path: tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class State:
    """register `out` = the state dict of a module: name → tensor."""

    out: str
    of: str


@dataclass(frozen=True, slots=True)
class Gradients:
    """register `out` = dict of gradients of Σ weights·`of` (weights default to ones).

    wrt: names of leaves → their gradient under that name; names of module registers → "module.parameter" entries.
    A tensor that the result does not depend on has gradient None.
    """

    out: str
    of: str
    wrt: tuple[str, ...]
    weights: Any = None


Step = Build | Load | Mode | Seed | Call | Read | Get | State | Gradients


@dataclass(frozen=True, slots=True)
class Plan:
    """steps in order; `returns` names one register (its value comes back) or several (a tuple comes back).

    function: the name that this plan is about, for messages and for counting time-outs · seed: for the global
    random states before the first step.
    """

    steps: tuple[Step, ...]
    returns: str | tuple[str, ...]
    function: str
    seed: int = 0


def call(function: str, *args: Any, **kwargs: Any) -> Plan:
    """The plan of one plain call."""
    return Plan((Call("out", function, args, kwargs),), "out", function)


def read(name: str) -> Plan:
    """The plan that reads one top-level value."""
    return Plan((Read("out", name),), "out", name)
