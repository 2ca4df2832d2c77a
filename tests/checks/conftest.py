"""Tiny courses made on the spot, and sessions that misbehave by script."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from autograder.assignment import load_assignment
from autograder.checks import Checks, LocalSession, Result, load_checks, run_checks
from autograder.model import Assignment, Isolation, Level, Limits, Outcome, QuestionSpec, Reply, ReplyKind, Run, Value
from autograder.plan import Plan

MINI = Path(__file__).parent.parent / "courses" / "mini"
SECRET = b"test-only:checks"
NOTHING_RAN = Run((), None, Isolation(Level.C, ()))

SOLUTION = """
import torch

def double(x):
    return x * 2

def shift(x, *, double=double):
    return double(x) + 1
"""

HEAD = """
from __future__ import annotations
import os, sys, time, unittest
from decimal import Decimal
import torch
from autograder.checks import Question, leaderboard, number, partial_credit, public, tags, visibility, weight
from autograder.plan import call

def vectors(draw):
    return (draw.normal(5),)
"""


@dataclass
class Scripted:
    """A session over a namespace whose calls can end as a script says. script(plan, forked) → reply or None."""

    namespace: Mapping[str, Any]
    script: Callable[[Plan, bool], Reply | None] = lambda plan, forked: None
    restarts: int = 0
    parted: int = 0
    seconds_left: float = 100.0
    journeys: list[tuple[tuple[str, ...], bool]] = field(default_factory=list)

    def call(
        self,
        plans: Sequence[Plan],
        *,
        seconds: float,
        served: Mapping[str, Callable[..., Value]] | None = None,
        forked: bool = True,
        shared: bool = False,
    ) -> list[Reply]:
        self.journeys.append((tuple(plan.function for plan in plans), forked))
        local, replies = LocalSession(self.namespace), []
        for plan in plans:
            scripted = self.script(plan, forked)
            replies.append(scripted or local.call([plan], seconds=seconds, served=served)[0])
            if scripted is not None and scripted.kind not in (ReplyKind.VALUE, ReplyKind.RAISED):
                return replies + [Reply(scripted.kind)] * (len(plans) - len(replies))
        return replies

    def part(self) -> None:
        self.parted += 1

    def restart(self) -> None:
        self.restarts += 1

    def describe(self, names: Sequence[str]) -> Any:
        return LocalSession(self.namespace).describe(names)


@dataclass
class TinyCourse:
    """A loaded assignment, and short words for running it."""

    checks: Checks

    def namespace(self, change: Mapping[str, str] | None = None, **values: Any) -> dict[str, Any]:
        return {**self.checks.source.namespace(change), **values}

    def run(self, session: Any = None, run: Run = NOTHING_RAN, **options: Any) -> Result:
        session = session if session is not None else LocalSession(self.namespace())
        return run_checks(self.checks, session, run, secret=SECRET, **options)

    def outcomes(self, session: Any = None, run: Run = NOTHING_RAN, **options: Any) -> dict[str, Outcome]:
        result = self.run(session, run, **options)
        numbers = [outcome.spec.number for outcome in result.outcomes]
        assert numbers == [spec.number for spec in self.checks.specs], "one outcome a declared check"
        return {outcome.spec.number: outcome for outcome in result.outcomes}


@pytest.fixture
def course(tmp_path: Path) -> Callable[..., TinyCourse]:
    """course(checks, solution=…, mistakes=…, alternatives=…, points={"1": 2}) → TinyCourse."""

    def make(
        checks: str,
        *,
        solution: str = SOLUTION,
        mistakes: str = "",
        alternatives: str = "",
        points: Mapping[str, float] | None = None,
        functions: Mapping[str, tuple[str, ...]] | None = None,
        limits: Limits = Limits(call_seconds=1.0),  # noqa: B008
    ) -> TinyCourse:
        files = {
            "solution.py": solution,
            "checks.py": HEAD + dedent(checks),
            "mistakes.py": "from autograder.checks import *\n" + dedent(mistakes),
            "alternatives.py": "from autograder.checks import *\n" + dedent(alternatives),
        }
        for name, text in files.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        named = functions or {"1": ("double",), "2": ("shift",)}
        questions = tuple(
            QuestionSpec(key, f"Q{key}", Fraction(str(value)), named.get(key, ()))
            for key, value in (points or {"1": 2}).items()
        )
        total = sum((question.points for question in questions), Fraction(0))
        assignment = Assignment("tiny", "Tiny", "1", total, questions, tmp_path, tmp_path, "tiny.ipynb", limits=limits)
        return TinyCourse(load_checks(assignment))

    return make


@pytest.fixture(scope="session")
def mini() -> TinyCourse:
    """The mini course that the other suites use too."""
    return TinyCourse(load_checks(load_assignment(MINI, "mini")))
