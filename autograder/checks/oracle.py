"""What the reference and every hypothesis answer to a plan, worked out once per grader process.

Draws are the same for every student, so after the first submission a right answer costs the grader a look-up and a
comparison. Hypotheses are evaluated on the first mismatch only, draw by draw: most are out after one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from autograder.checks.digest import digest
from autograder.checks.mistakes import Hypothesis, Way
from autograder.checks.session import GiveUp, answer
from autograder.checks.source import Source
from autograder.model import Reply, Value
from autograder.plan import Plan

__all__ = ["GiveUp", "Oracle"]

_KEPT = 20_000
_NAMESPACES = 600


class Oracle:
    """The reference's and the hypotheses' answers. One per loaded course, shared by all submissions."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.reference = source.namespace()
        self._answers: OrderedDict[tuple[str, bytes], Reply] = OrderedDict()
        self._spaces: OrderedDict[str, Mapping[str, Any]] = OrderedDict()
        self.evaluations = 0

    def expected(self, plan: Plan, served: Mapping[str, Callable[..., Value]], key: bytes | None = None) -> Reply:
        """The reference's answer."""
        return self._answer("", self.reference, plan, served, key)

    def under(
        self, hypothesis: Hypothesis, plan: Plan, served: Mapping[str, Callable[..., Value]], key: bytes | None = None
    ) -> Reply:
        """The answer of a student who did this."""
        return self._answer(hypothesis.key, self.namespace(hypothesis), plan, served, key)

    def on_top(
        self,
        hypothesis: Hypothesis | None,
        target: str,
        own: Mapping[str, Any],
        plan: Plan,
        served: Mapping[str, Callable[..., Value]],
        way: Way | None = None,
    ) -> Reply:
        """The same, with `target` on top of the student's own callables. Not kept: it is this student's only."""
        below = self.reference if hypothesis is None else self.namespace(hypothesis)
        change = {} if hypothesis is None else hypothesis.change
        change = change if way is None else way.change(self.source, hypothesis)
        space = self.source.on_top(below, target, own, change)
        self.evaluations += 1
        return answer(plan, space, served)

    def namespace(self, hypothesis: Hypothesis) -> Mapping[str, Any]:
        """The variant of the reference; planned answers change nothing."""
        space = self._spaces.get(hypothesis.key)
        if space is None:
            space = self._spaces[hypothesis.key] = self.source.namespace(hypothesis.change)
            if len(self._spaces) > _NAMESPACES:
                self._spaces.popitem(last=False)
        return space

    def forget(self) -> None:
        """Drop the answers that are kept: other draws are coming."""
        self._answers.clear()

    def _answer(
        self,
        name: str,
        space: Mapping[str, Any],
        plan: Plan,
        served: Mapping[str, Callable[..., Value]],
        key: bytes | None,
    ) -> Reply:
        at = (name, key if key is not None else digest(plan, *sorted(served)))
        known = self._answers.get(at)
        if known is None:
            self.evaluations += 1
            known = self._answers[at] = answer(plan, space, served)
            if len(self._answers) > _KEPT:
                self._answers.popitem(last=False)
        return known
