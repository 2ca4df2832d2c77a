"""The base class of checks: unittest's shape, our calls.

A check never meets the student's code. It draws inputs, says which function is called with them and what is to be
judged; the runner asks the student's kernel and the reference, and compares on its own side.
"""

from __future__ import annotations

import unittest
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from autograder.checks.compare import Tolerance
from autograder.checks.desk import Blocked, Desk, Mode, Pause, Record, Unmet
from autograder.model import Reason, Value
from autograder.plan import Call, Get, Plan, Read, Served, call, read
from autograder.seeds import Draw

if TYPE_CHECKING:
    from autograder.checks.room import Room

__all__ = ["Question"]


class Question(unittest.TestCase):
    """The checks of one question: methods called `test_…`, each with a number, points and a docstring, its claim."""

    question: ClassVar[str] = ""
    _desk: Desk
    _room: Room

    # ── inputs ────────────────────────────────────────────────────────────────────────────────────────────────
    def draws(self, make: Callable[[Draw], Any], times: int) -> list[Any]:
        """`make(draw)` for so many draws, the same for every student. Never change one in place."""
        return self._room.draws(self._desk.spec.number, make, times)

    def separating(
        self,
        make: Callable[[Draw], Any],
        function: str,
        *,
        pool: int = 200,
        times: int = 2,
        plan: Callable[..., Plan] | None = None,
    ) -> list[Any]:
        """Draws of a pool on which the reference and all single mistakes of `function` differ from each other.

        Every pair differs on at least `times` of them, where the pool has as many; three plain random draws follow.
        """
        return self._room.separating(self._desk.spec, make, function, pool, times, plan)

    def served(self, name: str, function: Callable[..., Value]) -> Served:
        """An argument: a callable that the grader answers and whose calls it counts."""
        return self._desk.serve(name, function)

    @property
    def reference(self) -> SimpleNamespace:
        """The reference's functions and constants."""
        return self._room.reference

    @property
    def student_id(self) -> str:
        """From the submission's metadata, else the notebook's STUDENT_ID; without either the check is BLOCKED."""
        return self._room.student_id(self._desk)

    def numbers(self, part: str) -> Any:
        """The personal numbers of a hand calculation, by the reference's `my_numbers`."""
        return self.reference.my_numbers(self.student_id, part)

    # ── recorded calls: judged when the method has ended ──────────────────────────────────────────────────────
    def agree(
        self,
        function: str,
        *args: Any,
        rtol: float | None = None,
        atol: float | None = None,
        exact: bool = False,
        **kwargs: Any,
    ) -> None:
        """The function gives what the reference gives. exact: a list is no tuple. A wrong dtype costs nothing here."""
        self.agree_plan(call(function, *args, **kwargs), rtol=rtol, atol=atol, exact=exact)

    def agree_plan(
        self,
        plan: Plan,
        *,
        rtol: float | None = None,
        atol: float | None = None,
        exact: bool = False,
        through: Callable[[Value], Value] | None = None,
    ) -> None:
        """The plan gives what it gives with the reference.

        through: compare what this makes of the two values, e.g. what a network does with the weights that came back.
        It has to bear any plain value. Mistakes are recognised through it too.
        """
        self._desk.note(Record(plan, Mode.VALUES, Tolerance(rtol, atol, exact), through=through))

    def agree_value(
        self,
        plan: Plan,
        expected: Value,
        *,
        rtol: float | None = None,
        atol: float | None = None,
        exact: bool = False,
    ) -> None:
        """The plan gives a value that the check worked out itself."""
        self._desk.note(Record(plan, Mode.GIVEN, Tolerance(rtol, atol, exact), expected))

    def contract(self, function: str, *args: Any, **kwargs: Any) -> None:
        """Type, shape, dtype as the reference's, and finite where that is finite."""
        self.contract_plan(call(function, *args, **kwargs))

    def contract_plan(self, plan: Plan) -> None:
        """The same for a plan."""
        self._desk.note(Record(plan, Mode.CONTRACT))

    def unchanged(self, function: str, *args: Any, **kwargs: Any) -> None:
        """The call leaves its arguments as they were."""
        self._desk.note(Record(call(function, *args, **kwargs), Mode.UNCHANGED))

    def rejects(self, function: str, *args: Any, error: str | Sequence[str] = "ValueError", **kwargs: Any) -> None:
        """The call raises one of these classes."""
        errors = (error,) if isinstance(error, str) else tuple(error)
        self._desk.note(Record(call(function, *args, **kwargs), Mode.REJECTS, errors=errors))

    def at_most(self, served: Served, times: int, sentence: str) -> None:
        """Each call recorded since the last `at_most` calls `served` at most so often."""
        self._desk.cap(served, times, sentence)

    def hand(self, part: str, key: Callable[[Any], Value], *, atol: float = 6e-4, rtol: float = 0.0) -> None:
        """The notebook's `hand[part]` is the key for this student's numbers, rounded to three decimals or better."""
        numbers = self.numbers(part)
        plan = Plan((Read("hand", "hand"), Get("part", "hand", (part,))), "part", "hand")
        record = Record(plan, Mode.GIVEN, Tolerance(rtol, atol), key(numbers), part=part, numbers=numbers)
        self._desk.note(record)

    # ── values that are needed at once ────────────────────────────────────────────────────────────────────────
    def call(self, function: str, *args: Any, **kwargs: Any) -> Value:
        """The student's value. It may be of any plain type: see `tensor`. Ends the check if there is none."""
        return self.call_plan(call(function, *args, **kwargs))

    def call_plan(self, plan: Plan, *, through: Callable[[Value], Value] | None = None) -> Value:
        """The same for a plan; with `through`, what that makes of the value, as in `agree_plan`."""
        return self._desk.fetch([plan], through)[0]

    def call_all(self, plans: Sequence[Plan]) -> list[Value]:
        """Several at once, in one journey."""
        return self._desk.fetch(plans)

    def read(self, name: str) -> Value:
        """A top-level value of the notebook."""
        return self.call_plan(read(name))

    def tensor(self, value: Value, *shape: int) -> Any:
        """`value`, if it is a floating tensor of this shape (−1: any size); the check fails otherwise."""
        import torch

        if not isinstance(value, torch.Tensor) or not value.is_floating_point():
            raise Unmet("The result is a tensor of floating numbers.", Reason.TYPE)
        if value.dim() != len(shape) or any(
            want not in (-1, got) for want, got in zip(shape, value.shape, strict=True)
        ):
            raise Unmet("The result has the right shape.", Reason.SHAPE)
        return value

    def expect(self, condition: Any, sentence: str) -> None:
        """FAILED, with this sentence, unless the condition holds. Values don't belong into the sentence."""
        if not bool(condition):
            raise Unmet(sentence)

    def lost_before(self, *functions: str) -> bool:
        """Whether one of these functions of earlier questions was found wrong, and has cost its points there.

        For results that are more than one function's, such as a loss after training, where no follow-through is
        possible. Ask it after the values are there.
        """
        if self._desk.kernel is None:
            raise Pause  # a recording serves all submissions
        unknown = [name for name in functions if name not in self._room.checks.source.names]
        if unknown:
            raise LookupError(f"the reference does not define {unknown[0]!r}")
        return not self._room.wrong.isdisjoint(functions)

    # ── results other than right or wrong ─────────────────────────────────────────────────────────────────────
    def set_score(self, points: Any) -> None:
        """With `partial_credit`: 0 ≤ points ≤ the check's. A named mistake's `keeps` goes before it."""
        self._desk.score = points

    def set_leaderboard_value(self, value: Any) -> None:
        """With `leaderboard`: from public measures only, since every student sees it."""
        self._desk.leaderboard = value

    def block(self, sentence: str) -> NoReturn:
        """The check can't be made; the sentence says what the student has to do."""
        raise Blocked(sentence)

    # ── hooks ─────────────────────────────────────────────────────────────────────────────────────────────────
    def own(self, name: str, run: Callable[[Plan], Value]) -> Any:
        """What stands for the student's own `name` when the reference is put on top of it: a plain call.

        Override it for classes: return a factory whose objects send plans through `run`.
        """

        def student(*args: Any, **kwargs: Any) -> Value:
            return run(Plan((Call("out", name, args, kwargs),), "out", name))

        return student

    @contextmanager
    def subTest(self, msg: Any = None, **params: Any) -> Iterator[None]:  # noqa: N802  (unittest's name)
        """Failures are collected; the check fails at its end and lists them by `msg`."""
        desk, before = self._desk, self._desk.case
        desk.case = str(msg) if msg is not None else f"case {len(desk.failed_cases) + 1}"
        try:
            yield
        except AssertionError as error:
            desk.failed_cases.append((desk.case, error))
        finally:
            desk.case = before

    @property
    def limits(self) -> Mapping[str, float]:
        """{"call_seconds": …}: how long one call may take."""
        return {"call_seconds": self._room.call_seconds}
