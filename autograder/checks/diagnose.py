"""Which named mistake, or pair of them, gives the student's answers?

All answers of the failing checks that are about the same functions have to be reproduced: values within the check's
tolerance, exceptions by class. The hypothesis with the fewest edits wins, among equals the one that also gets the
types right; what can't be told apart is reported together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from autograder.checks import clock
from autograder.checks.compare import compare, contract
from autograder.checks.desk import Mode, Record
from autograder.checks.load import Checks
from autograder.checks.mistakes import Hypothesis
from autograder.model import Reply, ReplyKind, Value

__all__ = ["Case", "Diagnosis", "cases", "diagnose", "matches", "smallest"]

Served = Mapping[str, Callable[..., Value]]
#: Seconds for all hypotheses of one question; far more than any catalogue takes.
_SECONDS = 20.0
_JUDGED = (ReplyKind.VALUE, ReplyKind.RAISED)


@dataclass(frozen=True, slots=True)
class Case:
    """One call that a failing check made, with its answer."""

    record: Record
    reply: Reply
    served: Served


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Hypotheses that give the student's answers, equal among each other. on_top_of: the student's own functions."""

    hypotheses: tuple[Hypothesis, ...]
    keeps: Fraction
    on_top_of: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """One name a mistake; what can't be told apart is joined with "|"."""
        if len(self.hypotheses) == 1:
            return self.hypotheses[0].names
        return ("|".join(h.name for h in self.hypotheses),)

    @property
    def size(self) -> int:
        """The number of mistakes made at once."""
        return self.hypotheses[0].size

    @property
    def hints(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(hint for h in self.hypotheses for hint in h.hints))


def cases(records: Iterable[Record], served: Served) -> list[Case] | None:
    """The judged calls; None when one of them ended in a way that no edit of a reference does."""
    found = [Case(r, r.reply, served) for r in records if r.reply is not None and r.mode != Mode.ASIDE]
    return found if found and all(case.reply.kind in _JUDGED for case in found) else None


def diagnose(checks: Checks, question: str, found: Sequence[Case]) -> Diagnosis | None:
    """The plain diagnosis: the student made these mistakes on top of nothing else."""
    functions = frozenset(case.record.plan.function for case in found)
    candidates = checks.hypotheses_for(question, functions)
    try:
        with clock.limit(_SECONDS):
            best = smallest(candidates, lambda h, strict: all(_gives(checks, h, case, strict) for case in found))
    except clock.Expired:
        return None
    return Diagnosis(tuple(best), max(h.keeps for h in best)) if best else None


def smallest(candidates: Sequence[Hypothesis], gives: Callable[[Hypothesis, bool], bool]) -> list[Hypothesis]:
    """The candidates of the smallest size that match; those that match strictly go first."""
    for size in (1, 2):
        loose = [h for h in candidates if h.size == size and gives(h, False)]
        strict = [h for h in loose if gives(h, True)]
        if loose:
            return strict or loose
    return []


def _gives(checks: Checks, hypothesis: Hypothesis, case: Case, strict: bool) -> bool:
    record = case.record
    if hypothesis.answer is not None:
        if record.part != hypothesis.part:
            return False
        return matches(record, Reply(ReplyKind.VALUE, hypothesis.answer(record.numbers)), case.reply, strict)
    return matches(record, checks.oracle.under(hypothesis, record.plan, case.served, record.key), case.reply, strict)


def matches(record: Record, would: Reply, given: Reply, strict: bool) -> bool:
    """Whether a student who would answer this has answered that."""
    if would.kind is not given.kind:
        return False
    if would.kind is not ReplyKind.VALUE:
        return would.kind is ReplyKind.RAISED and would.name == given.name
    if record.mode == Mode.UNCHANGED and would.changed_inputs != given.changed_inputs:
        return False
    if any(_over(would, n, most) != _over(given, n, most) for n, (most, _) in record.most.items()):
        return False
    one, other = record.seen(would.value), record.seen(given.value)
    if strict and contract(one, other) is not None:
        return False
    return compare(one, other, record.tolerance) is None


def _over(reply: Reply, name: str, most: int) -> bool:
    return reply.calls.get(name, 0) > most
