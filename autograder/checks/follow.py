"""Follow-through: one bug costs its own points once.

Where an answer is wrong but agrees with the reference *on top of* the student's own earlier functions, it is right.
The reference stays on the grader's side; the earlier function is called in the student's kernel, through the probe.
A student may build on other functions than the reference does: alternatives that say `on` are such ways, tried too.
The guard: on top of an empty helper everything looks right, so the credit is the lowest `keeps` of all candidates
(right = 1) that give the same outputs on top; an answer that is constant throughout could have been written without
any thought, so there the candidate "not written" (keeps 0) is among them. A candidate that another check of the
question refutes, where the answers are right on top, is out: it is one function that gave both.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import torch

from autograder.checks import clock
from autograder.checks.compare import contract
from autograder.checks.diagnose import Case, Diagnosis, matches, smallest
from autograder.checks.digest import digest
from autograder.checks.line import DEADLINE, Line
from autograder.checks.load import Checks
from autograder.checks.mistakes import Hypothesis, Way
from autograder.checks.oracle import GiveUp
from autograder.checks.question import Question
from autograder.model import Reason, Reply, ReplyKind, Value
from autograder.plan import Plan
from autograder.probe.plain import plain
from autograder.probe.rules import Unsendable

__all__ = ["Follower"]

_CALLS = 256
#: No helper gives more pieces of text than this.
_TEXTS = 10_000
#: For what the student's calls take in a check, by the clock, and for what ours take, of the processor.
_SECONDS = 20.0


class _Exhausted(GiveUp):
    """No calls are left for this check, or no time for them."""


@dataclass
class Follower:
    """Follow-through for one submission. wrong: functions whose own checks did not all pass."""

    checks: Checks
    line: Line
    wrong: set[str] = field(default_factory=set)
    _known: dict[bytes, Reply] = field(default_factory=dict)

    def attempts(self, instance: Question, question: str, found: Sequence[Case]) -> list[_Attempt]:
        """The tries for one check, a way each; none when it builds on nothing that is wrong."""
        functions = {case.record.plan.function for case in found}
        below = {f: tuple(n for n in self.checks.source.helpers(f) if n in self.wrong) for f in functions}
        budget = _Budget()  # all ways together may cost what one may
        tries = [_Attempt(self, instance, question, found, below, None, budget)] if any(below.values()) else []
        for way in self.checks.ways if self.wrong else ():
            more = tuple(name for name in way.on if name in self.wrong)
            if more and way.question == question and way.function in functions:
                names = tuple(dict.fromkeys((*below[way.function], *more)))
                tries.append(_Attempt(self, instance, question, found, below | {way.function: names}, way, budget))
        return tries

    def ask(self, plan: Plan, budget: _Budget) -> Value:
        """The student's value of a call, checked against the reference's type, shape and dtype."""
        key = digest(plan)
        if key not in self._known:
            if budget.calls >= _CALLS or budget.waited > _SECONDS:
                raise _Exhausted
            started = time.monotonic()
            self._known[key] = self.line.probe(plan)
            budget.calls += 1
            budget.waited += time.monotonic() - started
        reply = self._known[key]
        if reply.kind is not ReplyKind.VALUE or reply is DEADLINE:
            raise GiveUp
        expected = self.checks.oracle.expected(plan, {}, key)
        difference = contract(expected.value, reply.value) if expected.kind is ReplyKind.VALUE else None
        borne = _texts(expected.value) and _texts(reply.value)
        if difference is not None and difference.reason is not Reason.NOT_FINITE and not borne:
            raise GiveUp
        return reply.value


@dataclass
class _Budget:
    """What follow-through may cost in a check: calls of the student's, seconds that they take, and seconds of ours."""

    calls: int = 0
    waited: float = 0.0
    spent: float = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Raises Expired when our seconds are spent."""
        started = time.process_time()
        try:
            with clock.limit(max(_SECONDS - self.spent, 0.01)):
                yield
        finally:
            self.spent += time.process_time() - started


@dataclass
class _Attempt:
    """One check on top of the student's own functions."""

    follower: Follower
    instance: Question
    question: str
    found: Sequence[Case]
    below: dict[str, tuple[str, ...]]
    way: Way | None  # the reference's own, if None
    budget: _Budget
    _right: bool | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for names in self.below.values() for name in names))

    def right(self, others: Sequence[_Attempt] = ()) -> Fraction | None:
        """The credit when the answers agree with the reference on top, within the guard; else None.

        others: attempts at other checks of the same question, by the same way.
        """
        try:
            with self.budget.running():
                return self._guarded(others) if self._agrees() else None
        except (GiveUp, clock.Expired):
            return None

    def named(self) -> Diagnosis | None:
        """The named mistakes and pairs on top."""
        try:
            with self.budget.running():
                best = None if self._constant() else smallest(self._candidates(), self._gives)
        except (GiveUp, clock.Expired):
            return None
        return Diagnosis(tuple(best), min(h.keeps for h in best), self.names) if best else None

    def _candidates(self) -> list[Hypothesis]:
        checks, way = self.follower.checks, self.way
        found = checks.hypotheses_for(self.question, frozenset(self.below))
        return found if way is None else [hypothesis for hypothesis in found if way.takes(hypothesis)]

    def _agrees(self) -> bool:
        """With the reference, on top."""
        if self._right is None:
            self._right = self._gives(None, False)
        return self._right

    def _guarded(self, others: Sequence[_Attempt]) -> Fraction:
        """The lowest credit of all candidates that can't be told from the right one, here and in other checks."""
        credit = Fraction(0) if self._constant() else Fraction(1)
        for hypothesis in self._candidates():
            if hypothesis.size != 1 or hypothesis.keeps >= credit or not self._shows(hypothesis):
                continue
            if self._coincides(hypothesis) and not any(other._refutes(hypothesis) for other in others):
                credit = hypothesis.keeps
        return credit

    def _refutes(self, hypothesis: Hypothesis) -> bool:
        """Whether the answers here are right on top, and not what the candidate gives."""
        try:
            return self._agrees() and not self._gives(hypothesis, False)
        except GiveUp:
            return False

    def _shows(self, hypothesis: Hypothesis) -> bool:
        """Whether these calls tell the candidate from the reference where all below is right.

        One that passes this check anyway, such as a mistake about empty rows where no row is empty, says nothing
        about what the student's own functions hide. Nor does one in a function that the student's own stands for.
        """
        if set(hypothesis.change) <= set(self.names):
            return False
        oracle = self.follower.checks.oracle
        for case in self.found:
            plan, key = case.record.plan, case.record.key
            way = self._way_of(plan)
            if way is None:
                would = oracle.under(hypothesis, plan, case.served, key)
            else:
                would = oracle.on_top(hypothesis, plan.function, {}, plan, case.served, way)
            if not matches(case.record, oracle.expected(plan, case.served, key), would, False):
                return True
        return False

    def _coincides(self, hypothesis: Hypothesis) -> bool:
        """What could not be refuted for want of calls counts as equal."""
        try:
            return self._gives(hypothesis, False)
        except _Exhausted:
            return True
        except GiveUp:
            return False

    def _constant(self) -> bool:
        """Every answer is one number repeated, where the reference's is not."""
        oracle = self.follower.checks.oracle
        expected = (oracle.expected(c.record.plan, c.served, c.record.key) for c in self.found)
        return all(_flat(case.reply) and not _flat(e) for case, e in zip(self.found, expected, strict=True))

    def _gives(self, hypothesis: Hypothesis | None, strict: bool) -> bool:
        return all(self._on_top(hypothesis, case, strict) for case in self.found)

    def _on_top(self, hypothesis: Hypothesis | None, case: Case, strict: bool) -> bool:
        plan = case.record.plan
        oracle = self.follower.checks.oracle
        own = {name: self.instance.own(name, self._run) for name in self.below[plan.function]}
        if not own:
            below = oracle.expected if hypothesis is None else _under(oracle, hypothesis)
            return matches(case.record, below(plan, case.served, case.record.key), case.reply, strict)
        would = oracle.on_top(hypothesis, plan.function, own, plan, case.served, self._way_of(plan))
        if hypothesis is None and would.kind is not ReplyKind.VALUE:
            raise GiveUp  # what the reference raises on a student's value ends follow-through
        return matches(case.record, would, case.reply, strict)

    def _way_of(self, plan: Plan) -> Way | None:
        """This attempt's way, if it is one to build what the plan asks for."""
        return self.way if self.way is not None and self.way.function == plan.function else None

    def _run(self, plan: Plan) -> Value:
        try:
            sendable: Plan = _plain_plan(plan)
        except Unsendable:
            raise GiveUp from None
        return self.follower.ask(sendable, self.budget)


def _under(oracle: Any, hypothesis: Hypothesis) -> Callable[..., Reply]:
    def under(*args: Any) -> Reply:
        reply: Reply = oracle.under(hypothesis, *args)
        return reply

    return under


def _plain_plan(plan: Plan) -> Plan:
    """The plan with plain copies of what the reference passed along."""
    from dataclasses import replace

    from autograder.plan import Build, Call

    steps = [
        replace(step, args=plain(step.args), kwargs=plain(dict(step.kwargs)))
        if isinstance(step, Build | Call) and _only_values((step.args, step.kwargs))
        else step
        for step in plan.steps
    ]
    return replace(plan, steps=tuple(steps))


def _only_values(value: Any) -> bool:
    """No node such as `Ref` in it, which only a plan understands."""
    from dataclasses import is_dataclass

    if isinstance(value, list | tuple):
        return all(map(_only_values, value))
    if isinstance(value, dict):
        return all(map(_only_values, value.values()))
    return not is_dataclass(value)


def _texts(value: Value) -> bool:
    """A sequence of texts: how many there are is the answer itself, no matter of shape."""
    return isinstance(value, list | tuple) and len(value) <= _TEXTS and all(isinstance(one, str) for one in value)


def _flat(reply: Reply) -> bool:
    return reply.kind is ReplyKind.VALUE and _one_number(reply.value)


def _one_number(value: Value) -> bool:
    """A tensor of one number throughout, or several such tensors."""
    if isinstance(value, list | tuple):
        return bool(value) and all(map(_one_number, value))
    if not isinstance(value, torch.Tensor) or value.numel() < 2:
        return False
    return bool((value == value.reshape(-1)[0]).all())
