"""Carry out a plan over a namespace, step by step.

The agent does it over the student's notebook, the grader over trusted references (a dict of names): one code for
both, so that a difference in the answers is a difference in the functions. Each plan starts from fresh copies of its
inputs and seeded random states; what its returned registers held is copied when they are set, so that a later step
can't change an earlier answer.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from autograder.errors import CourseError, GradingError
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
    Read,
    Ref,
    Seed,
    Seeded,
    Served,
    State,
    Step,
)

if TYPE_CHECKING:
    import torch

__all__ = ["NotDefined", "Result", "StudentRaised", "check", "copied", "evaluate", "names", "run"]

_SPECIAL = (Ref, Leaf, Seeded, Served, Global)

Namespace = Mapping[str, Any]
Serve = Mapping[str, Callable[..., Any]]


class NotDefined(Exception):
    """The namespace has no such name, or an object of the plan no such method ("LSTMCell.step")."""

    def __init__(self, name: str, step: int) -> None:
        super().__init__(f"{name} is not defined")
        self.name, self.step = name, step


class StudentRaised(Exception):
    """Something that the plan called raised `exc`, in step number `step`."""

    def __init__(self, step: int, exc: BaseException) -> None:
        super().__init__(f"step {step}: {type(exc).__name__}")
        self.step, self.exc = step, exc


@dataclass(frozen=True, slots=True)
class Result:
    """value: of the returned register, or a tuple of several · changed_inputs: an argument was changed in place."""

    value: Any
    changed_inputs: bool


def evaluate(plan: Plan, namespace: Namespace, serve: Serve | None = None) -> Any:
    """The plan's value over trusted code. serve: name → callable for the plan's `Served` arguments.

    Raises NotDefined, StudentRaised, and CourseError for a plan that can't be right. Errors of the grader's own and
    KeyboardInterrupt pass through unwrapped.
    """
    check(plan, serve or {})
    try:
        return run(plan, namespace, serve or {}).value
    except StudentRaised as raised:
        if isinstance(raised.exc, (GradingError, KeyboardInterrupt)):
            raise raised.exc from None
        raise


def run(
    plan: Plan,
    namespace: Namespace,
    serve: Serve,
    *,
    snapshot: Callable[[Any], Any] | None = None,
    on_step: Callable[[int], None] | None = None,
) -> Result:
    """Like `evaluate`, for code that isn't trusted: every BaseException of it becomes StudentRaised.

    snapshot: copies a returned register when it is set; its own exceptions pass through · on_step: told the number
    of each step before it starts.
    """
    machine = _Machine(plan, namespace, serve)
    take = snapshot or copied
    returns = (plan.returns,) if isinstance(plan.returns, str) else plan.returns
    answers: dict[str, Any] = {}
    for number, step in enumerate(plan.steps):
        if on_step is not None:
            on_step(number)
        machine.carry_out(number, step)
        out = getattr(step, "out", None)
        for name in machine.fresh_registers(out):
            if name in returns:
                answers[name] = take(machine.registers[name])
    value = answers[plan.returns] if isinstance(plan.returns, str) else tuple(answers[name] for name in returns)
    return Result(value, machine.changed_inputs())


def copied(value: Any) -> Any:
    """A deep copy of the plain parts of a value: containers and tensors; other objects stay themselves."""
    import torch

    if type(value) in (list, tuple):
        return type(value)(copied(item) for item in value)
    if type(value) is dict:
        return {key: copied(item) for key, item in value.items()}
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


# ── what a plan says, without running it ──────────────────────────────────────────────────────────────────────
def names(plan: Plan) -> set[str]:
    """Everything that `NotDefined.name` can be for this plan."""
    found: set[str] = set()
    for step in plan.steps:
        if isinstance(step, Build):
            found.add(step.cls)
        elif isinstance(step, Read):
            found.add(step.name)
        elif isinstance(step, Call):
            found.add(step.function if step.on is None else _method(plan, step))
        found.update(node.name for node in _special(_arguments(step)) if isinstance(node, Global))
    return found


def check(plan: Plan, serve: Serve) -> None:
    """Refuse a plan that names a register before it is set, or a served callable that isn't there: CourseError."""
    known: set[str] = set()
    for number, step in enumerate(plan.steps):
        nodes = list(_special(_arguments(step)))
        for node in nodes:
            if isinstance(node, Leaf):
                if not _is_floating(node.tensor):
                    raise _wrong(plan, f"step {number}: the leaf {node.name!r} is no floating tensor")
                known.add(node.name)
        missing = sorted(_needs(step, nodes) - known)
        if missing:
            raise _wrong(plan, f"step {number} uses register {missing[0]!r} before it is set")
        unserved = [node.name for node in nodes if _is_unserved(node, serve)]
        if unserved:
            raise _wrong(plan, f"step {number} needs the served callable {unserved[0]!r}, which was not given")
        if hasattr(step, "out"):
            known.add(step.out)
    returns = {plan.returns} if isinstance(plan.returns, str) else set(plan.returns)
    if returns - known:
        raise _wrong(plan, f"it returns register {min(returns - known)!r}, which no step sets")


def _wrong(plan: Plan, reason: str) -> CourseError:
    return CourseError(f"the plan for {plan.function!r} can't be carried out: {reason}", key=plan.function)


def _is_unserved(node: Any, serve: Serve) -> bool:
    return isinstance(node, Served) and node.name not in serve


def _is_floating(value: Any) -> bool:
    import torch

    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _arguments(step: Step) -> tuple[Any, ...]:
    return (step.args, step.kwargs) if isinstance(step, Build | Call) else ()


def _special(value: Any) -> Iterator[Any]:
    """The argument nodes that are more than plain values, wherever they stand."""
    if isinstance(value, _SPECIAL):
        yield value
    elif isinstance(value, dict | Mapping):
        for item in value.values():
            yield from _special(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _special(item)


def _needs(step: Step, nodes: Iterable[Any]) -> set[str]:
    """The registers that a step reads. nodes: the special ones among its arguments."""
    needed = {node.name for node in nodes if isinstance(node, Ref)}
    if isinstance(step, Load | Mode):
        needed.add(step.target)
    elif isinstance(step, Get | State):
        needed.add(step.of)
    elif isinstance(step, Gradients):
        needed |= {step.of, *step.wrt}
    elif isinstance(step, Call) and step.on is not None:
        needed.add(step.on)
    return needed


def _method(plan: Plan, step: Call) -> str:
    """ "LSTMCell.step", by the class that the plan built the register from."""
    built = [s.cls for s in plan.steps if isinstance(s, Build) and s.out == step.on]
    return f"{built[-1]}.{step.function}" if built else step.function


# ── carrying it out ───────────────────────────────────────────────────────────────────────────────────────────
class _Machine:
    """The registers of one plan, and the inputs that it handed out."""

    def __init__(self, plan: Plan, namespace: Namespace, serve: Serve) -> None:
        self.plan, self.namespace, self.serve = plan, namespace, serve
        self.registers: dict[str, Any] = {}
        self.inputs: list[tuple[Any, Any]] = []  # (as the plan says, what the code was given)
        self.number = 0
        self._leaves: list[str] = []
        _seed_everything(plan.seed)

    def carry_out(self, number: int, step: Step) -> None:
        import torch

        self.number, self._leaves = number, []
        try:
            with torch.enable_grad():
                value = _ACTIONS[type(step)](self, step)
        except NotDefined:
            raise
        except BaseException as exc:  # SystemExit and KeyboardInterrupt of the student's too
            raise StudentRaised(number, exc) from exc
        out = getattr(step, "out", None)
        if out is not None:
            self.registers[out] = value

    def fresh_registers(self, out: str | None) -> list[str]:
        """The registers that the last step set: its leaves and its result."""
        return [*self._leaves, *([] if out is None else [out])]

    def changed_inputs(self) -> bool:
        try:
            return not all(_same(said, given) for said, given in self.inputs)
        except Exception:  # an input that can't even be compared any more
            return True

    def build(self, step: Build) -> Any:
        return self.called(self.lookup(step.cls), step)

    def load(self, step: Load) -> None:
        self.registers[step.target].load_state_dict(self.given(dict(step.state)))

    def mode(self, step: Mode) -> None:
        self.registers[step.target].train(step.train)

    def seed(self, step: Seed) -> None:
        _seed_everything(step.seed)

    def call(self, step: Call) -> Any:
        if step.on is None:
            return self.called(self.lookup(step.function), step)
        target = self.registers[step.on]
        if step.function == "__call__":
            return self.called(target, step)
        try:
            method = getattr(target, step.function)
        except AttributeError as exc:
            raise NotDefined(_method(self.plan, step), self.number) from exc
        return self.called(method, step)

    def called(self, function: Any, step: Build | Call) -> Any:
        given = self.given((tuple(step.args), dict(step.kwargs)))
        self.inputs.append(((tuple(step.args), dict(step.kwargs)), given))
        args, kwargs = given
        return function(*args, **kwargs)

    def read(self, step: Read) -> Any:
        return self.lookup(step.name)

    def get(self, step: Get) -> Any:
        value = self.registers[step.of]
        for part in step.path:
            value = value[part] if isinstance(part, int) or isinstance(value, dict) else getattr(value, part)
        return value

    def state(self, step: State) -> dict[str, Any]:
        return {str(name): tensor for name, tensor in self.registers[step.of].state_dict().items()}

    def gradients(self, step: Gradients) -> dict[str, Any]:
        import torch

        result = self.registers[step.of]
        if not isinstance(result, torch.Tensor):
            raise TypeError(f"gradients need a torch.Tensor, the result is a {type(result).__name__}")
        weights = torch.ones_like(result) if step.weights is None else step.weights.to(result.dtype)
        if weights.shape != result.shape:
            raise ValueError(f"the result has shape {tuple(result.shape)}, expected {tuple(weights.shape)}")
        wanted = dict(self.differentiable(step.wrt))
        sources = [tensor for tensor in wanted.values() if tensor.requires_grad]
        if not result.requires_grad or not sources:
            return dict.fromkeys(wanted)
        # a scalar, since `grad_outputs` would import sympy: half a second in each forked child
        total = (result * weights).sum()
        found = torch.autograd.grad(total, sources, retain_graph=True, allow_unused=True)
        by_id = {id(tensor): gradient for tensor, gradient in zip(sources, found, strict=True)}
        return {name: by_id.get(id(tensor)) for name, tensor in wanted.items()}

    def differentiable(self, wrt: tuple[str, ...]) -> Iterator[tuple[str, torch.Tensor]]:
        import torch

        for name in wrt:
            source = self.registers[name]
            if isinstance(source, torch.Tensor):
                yield name, source
            else:
                yield from ((f"{name}.{parameter}", tensor) for parameter, tensor in source.named_parameters())

    def lookup(self, name: str) -> Any:
        try:
            return self.namespace[name]
        except KeyError:
            raise NotDefined(name, self.number) from None

    def given(self, node: Any) -> Any:
        """A fresh copy of an argument, its special nodes replaced by what they stand for."""
        import torch

        if isinstance(node, torch.Tensor):
            return node.detach().clone()
        if isinstance(node, list | tuple):
            items = [self.given(item) for item in node]
            return items if isinstance(node, list) else tuple(items)
        if isinstance(node, Mapping):
            return {key: self.given(item) for key, item in node.items()}
        return self.special(node)

    def special(self, node: Any) -> Any:
        import torch

        if isinstance(node, Ref):
            return self.registers[node.name]
        if isinstance(node, Leaf):
            leaf = node.tensor.detach().clone().requires_grad_()
            self.registers[node.name] = leaf
            self._leaves.append(node.name)
            return leaf
        if isinstance(node, Seeded):
            return torch.Generator().manual_seed(node.seed)
        if isinstance(node, Served):
            return self.serve[node.name]
        return self.lookup(node.name) if isinstance(node, Global) else node


_ACTIONS: dict[type, Callable[[_Machine, Any], Any]] = {
    Build: _Machine.build,
    Load: _Machine.load,
    Mode: _Machine.mode,
    Seed: _Machine.seed,
    Call: _Machine.call,
    Read: _Machine.read,
    Get: _Machine.get,
    State: _Machine.state,
    Gradients: _Machine.gradients,
}


def _seed_everything(seed: int) -> None:
    """Seed `random`, numpy (where it is loaded) and torch's CPU generator."""
    import torch

    random.seed(seed)
    torch.default_generator.manual_seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)


def _same(said: Any, given: Any) -> bool:
    """Whether an argument still is what the plan said, bit for bit. Follows the plan, so it ends for any `given`."""
    import torch

    if isinstance(said, Ref | Seeded | Served | Global):
        return True
    if isinstance(said, Leaf):
        return _same(said.tensor, given)
    if isinstance(said, torch.Tensor):
        return isinstance(given, torch.Tensor) and _same_bits(said, given)
    if isinstance(said, list | tuple):
        plain = type(given) in (list, tuple)
        return plain and len(said) == len(given) and all(map(_same, said, given))
    if isinstance(said, Mapping):
        return type(given) is dict and said.keys() == given.keys() and all(_same(v, given[k]) for k, v in said.items())
    return said is given or (type(said) is type(given) and bool(said == given))


def _same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    import torch

    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    left, right = a.detach(), b.detach()
    if torch.equal(left, right):
        return True
    bits = (cast(Any, t.contiguous()).reshape(-1).view(torch.uint8) for t in (left, right))
    return torch.equal(*bits)
