"""What all checks of one submission share: the seed, the reference, draws, the student's id."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from autograder.checks.compare import compare
from autograder.checks.desk import Blocked, Desk, Pause
from autograder.model import CheckSpec, Reply, ReplyKind
from autograder.plan import Plan, call, read
from autograder.seeds import Draw, derive

if TYPE_CHECKING:
    from autograder.checks.load import Checks

__all__ = ["Room", "differ", "root", "typed_id"]

_PLAIN_DRAWS = 3


def root(secret: bytes, seed: int | None) -> bytes:
    """What all seeds follow from: the course's secret, or staff's own number in its place."""
    return secret if seed is None else b"staff:%d" % seed


class Room:
    """Hands out inputs. The draws are kept with the course, since they are the same for every student."""

    def __init__(self, checks: Checks, base: bytes, student: str | None, wrong: AbstractSet[str] = frozenset()) -> None:
        """wrong: functions of which a check of an earlier question failed; it grows meanwhile."""
        self.checks, self.base, self.student, self.wrong = checks, base, student, wrong
        self.call_seconds = checks.assignment.limits.call_seconds
        self.reference = SimpleNamespace(**{k: v for k, v in checks.oracle.reference.items() if k != "__builtins__"})

    def draws(self, number: str, make: Callable[[Draw], Any], times: int) -> list[Any]:
        return [self._draw(number, make, index) for index in range(times)]

    def _draw(self, number: str, make: Callable[[Draw], Any], index: int) -> Any:
        name = getattr(make, "__name__", "draw")
        code = getattr(make, "__code__", None)
        keep = code is not None and make.__closure__ is None and not make.__defaults__
        key = (self.base, number, code, index)
        if keep and key in self.checks.drawn:
            return self.checks.drawn[key]
        value = make(Draw(derive(self.base, self.checks.assignment.name, number, name, index)))
        if keep:
            self.checks.drawn[key] = value
        return value

    def separating(
        self,
        spec: CheckSpec,
        make: Callable[[Draw], Any],
        function: str,
        pool: int,
        times: int,
        plan: Callable[..., Plan] | None,
    ) -> list[Any]:
        key = (self.base, spec.number, function, getattr(make, "__code__", make), pool, times)
        if key not in self.checks.picked:
            to_plan = plan or (lambda *args: call(function, *args))
            candidates = self.draws(spec.number, make, pool)
            plans = [to_plan(*args) for args in candidates]
            picked, rarest = self._pick(spec, function, plans, times)
            plain = [i for i in range(pool) if i not in picked][:_PLAIN_DRAWS]
            self.checks.picked[key] = [candidates[i] for i in (*picked, *plain)]
            self.checks.rarest[spec.number] = rarest
        return self.checks.picked[key]

    def _pick(
        self, spec: CheckSpec, function: str, plans: Sequence[Plan], times: int
    ) -> tuple[list[int], dict[tuple[str, str], int]]:
        """Greedily, the draws that part most pairs which are not yet parted `times` times."""
        oracle = self.checks.oracle
        singles = [h for h in self.checks.hypotheses_for(spec.question, frozenset({function})) if h.size == 1]
        columns: dict[str, list[Reply]] = {"reference": [oracle.expected(plan, {}) for plan in plans]}
        for hypothesis in singles:
            columns[hypothesis.name] = [oracle.under(hypothesis, plan, {}) for plan in plans]
        parts = {
            pair: {i for i in range(len(plans)) if differ(columns[pair[0]][i], columns[pair[1]][i])}
            for pair in combinations(columns, 2)
        }
        missing = {pair: min(times, len(where)) for pair, where in parts.items() if where}
        picked: list[int] = []
        while missing:
            gains = {i: sum(i in parts[pair] for pair in missing) for i in range(len(plans)) if i not in picked}
            best = max(gains, key=lambda i: (gains[i], -i))
            picked.append(best)
            missing = {p: n for p, m in missing.items() if (n := m - (best in parts[p])) > 0}
        return picked, {pair: len(where) for pair, where in parts.items() if len(where) < times}

    def student_id(self, desk: Desk) -> str:
        reply = desk.glance(read("STUDENT_ID"))
        if self.student is not None:
            return self.student
        if reply is None:
            raise Pause
        typed = typed_id(reply)
        if typed is None:
            raise Blocked("Your numbers follow from your student id: set STUDENT_ID in the first code cell.")
        return typed


def typed_id(reply: Reply) -> str | None:
    """The id that the student typed into the notebook, if it is one."""
    value = reply.value if reply.kind is ReplyKind.VALUE else None
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    return value.strip() if isinstance(value, str) and 0 < len(value.strip()) <= 64 else None


def differ(a: Reply, b: Reply) -> bool:
    """Whether two answers can be told apart."""
    if a.kind is not b.kind:
        return True
    if a.kind is ReplyKind.VALUE:
        return compare(a.value, b.value) is not None
    return a.name != b.name
