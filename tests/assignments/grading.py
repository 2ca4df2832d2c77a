"""What the tests of the graders share: a course's checks, pretended notebooks, and what a grading of one says.

    grading = Grading("decoding")
    outcomes = grading.grade(grading.variant(grading.single("1:uniform")), "1")
    grading.assert_loses_what_it_should(grading.single("1:uniform"), outcomes)

All of it runs in this process, on draws that belong to the tests.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from autograder.assignment import load_assignment
from autograder.checks import Checks, Examination, LocalSession, load_checks
from autograder.checks.desk import Record
from autograder.checks.load import Check
from autograder.checks.mistakes import Hypothesis
from autograder.checks.perform import perform
from autograder.checks.room import Room
from autograder.model import Isolation, Level, Outcome, Run, Verdict
from autograder.solution import read_solution
from autograder.validate import Validation, validate

COURSE = Path(__file__).parents[2]


def in_a_child(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test in a forked process: OpenMP's threads stay for good, and hang whatever is forked after them."""

    @functools.wraps(test)
    def forked(*args: Any, **kwargs: Any) -> None:
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                test(*args, **kwargs)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        assert os.waitpid(pid, 0)[1] == 0, "the test failed in its child: see its traceback"

    return forked


STUDENT = "ada"

Outcomes = dict[str, Outcome]
#: The name of a function and the arguments of one call.
Called = tuple[str, tuple[Any, ...]]
#: A notebook's namespace and the question that it is graded for; None for all.
Asked = tuple[Mapping[str, Any], str | None]


def earned(outcomes: Outcomes, question: str | None = None) -> Fraction:
    """Points, of all questions or of one."""
    return sum((o.earned for o in outcomes.values() if question in (None, o.spec.question)), Fraction(0))


def describe(outcomes: Outcomes) -> str:
    """What a failing test shows."""
    lines = [
        f"{o.spec.number} {o.verdict} {float(o.earned)}/{float(o.spec.points)} {o.mistakes} {o.on_top_of} "
        f"{o.explanation} {o.staff}"
        for o in outcomes.values()
        if o.verdict is not Verdict.PASSED or o.earned != o.spec.points
    ]
    return "\n".join(lines)


def same(a: Any, b: Any) -> bool:
    """Equal plain values; tensors with all their entries, sequences by their members."""
    if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
        return isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) and torch.equal(a, b)
    if isinstance(a, Mapping):
        return isinstance(b, Mapping) and a.keys() == b.keys() and all(same(value, b[key]) for key, value in a.items())
    if isinstance(a, tuple | list):
        return isinstance(b, tuple | list) and len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


class Grading:
    """The grader of one assignment, put to the test."""

    def __init__(self, name: str) -> None:
        self.name, self.secret = name, f"test-only: {name}".encode()
        self._about: dict[str, set[str | None]] = {}

    @cached_property
    def checks(self) -> Checks:
        return load_checks(load_assignment(COURSE, self.name))

    @property
    def questions(self) -> list[str]:
        return [question.id for question in self.checks.assignment.questions]

    @property
    def functions(self) -> list[str]:
        """All that students write."""
        return [name for question in self.checks.assignment.questions for name in question.functions]

    # ── grading ───────────────────────────────────────────────────────────────────────────────────────────────
    def examine(
        self, namespace: Mapping[str, Any], *questions: str, secret: bytes | None = None
    ) -> tuple[Outcomes, Examination]:
        """Grade a namespace as if a notebook had defined it; all questions, or only these."""
        run = Run((), None, Isolation(Level.C, ()))
        session = LocalSession(namespace)
        examination = Examination(self.checks, session, run, secret=secret or self.secret, student_id=STUDENT)
        asked = questions or self.questions
        return {o.spec.number: o for question in asked for o in examination.question(question)}, examination

    def grade(self, namespace: Mapping[str, Any], *questions: str, secret: bytes | None = None) -> Outcomes:
        return self.examine(namespace, *questions, secret=secret)[0]

    def validate(
        self, question: str, seeds: Iterable[int | None] = (None,), *, mutants: int | None = None
    ) -> Validation:
        """Put one question's whole catalogue to the test."""
        return validate(self.checks, secret=self.secret, seeds=tuple(seeds), question=question, mutants=mutants)

    # ── pretended notebooks ───────────────────────────────────────────────────────────────────────────────────
    def reference(self, change: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The reference's namespace, with other definitions of some names."""
        return self.checks.source.namespace(change or {})

    def unwritten(self) -> dict[str, Any]:
        """The hand-out before anybody wrote an answer."""

        def stub(*args: Any, **kwargs: Any) -> None:
            raise NotImplementedError

        return self.reference() | dict.fromkeys(self.functions, stub) | {"hand": dict.fromkeys(("H1", "H2", "H3"))}

    def constant(self, value: Any) -> dict[str, Any]:
        """Functions that return one thing, whatever they are asked."""
        return self.reference() | dict.fromkeys(self.functions, lambda *args, **kwargs: value) | {"hand": {}}

    def variant(self, *hypotheses: Hypothesis) -> dict[str, Any]:
        """The notebook of a student with these mistakes; planned wrong hand calculations go into hand."""
        space = self.reference({name: text for h in hypotheses for name, text in h.change.items()})
        for h in hypotheses:
            if h.answer is not None:
                numbers = space["my_numbers"](STUDENT, h.part)
                space["hand"] = {**space["hand"], h.part: h.answer(numbers)}
        return space

    # ── the catalogue ─────────────────────────────────────────────────────────────────────────────────────────
    def singles(self, *questions: str) -> list[Hypothesis]:
        found = (h for h in self.checks.hypotheses if h.size == 1)
        return [h for h in found if not questions or h.question in questions]

    def single(self, key: str) -> Hypothesis:
        return next(h for h in self.singles() if h.key == key)

    def pairs(self, question: str) -> list[Hypothesis]:
        return [h for h in self.checks.hypotheses if h.size == 2 and h.question == question]

    def fewest_alternatives(self, questions: Iterable[str]) -> int:
        """How many other right ways the question with the fewest of them has."""
        return min(sum(a.question == q for a in self.checks.alternatives) for q in questions)

    def check(self, number: str) -> Check:
        return next(check for check in self.checks.checks if check.spec.number == number)

    def recorded(self, check: Check) -> Sequence[Record]:
        """All calls that a check makes."""
        return perform(check, Room(self.checks, self.secret, STUDENT)).desk.records

    def about(self, number: str) -> set[str | None]:
        """The functions that a check is about."""
        if number not in self._about:
            self._about[number] = {record.plan.function for record in self.recorded(self.check(number))}
        return self._about[number]

    def assert_loses_what_it_should(self, hypothesis: Hypothesis, outcomes: Outcomes) -> None:
        """Failing checks of its function keep exactly `keeps`, under its name; what else fails, it declares."""
        failed = 0
        for number, outcome in outcomes.items():
            own = outcome.spec.question == hypothesis.question and self.about(number) & hypothesis.functions
            if not own:
                right = outcome.earned == outcome.spec.points
                assert right or {outcome.spec.question, number} & set(hypothesis.spills), describe(outcomes)
            elif outcome.verdict is not Verdict.PASSED:
                assert outcome.verdict is Verdict.FAILED, describe(outcomes)
                assert outcome.mistakes == hypothesis.names, describe(outcomes)
                assert outcome.earned == hypothesis.keeps * outcome.spec.points
                failed += 1
        assert failed

    def lost_on_the_way(self, wrong: str, way: str) -> tuple[str, ...]:
        """The checks that a right answer loses if it is built, as the alternative `way`, on a function with a mistake.

        wrong, way: "question:name".
        """
        hypothesis, question = self.single(wrong), way.partition(":")[0]
        (other,) = (a for a in self.checks.alternatives if f"{a.question}:{a.name}" == way)
        change = hypothesis.change | self.checks.alternative_change(other)
        outcomes = self.grade(self.reference(change), hypothesis.question, question)
        mine = [o for o in outcomes.values() if o.spec.question == question]
        assert any(set(other.on) & set(o.on_top_of) for o in mine), describe(outcomes)
        return tuple(o.spec.number for o in mine if o.earned != o.spec.points)

    def assert_loses_nothing(self, alternative: Any) -> None:
        """All points for another right way, but for what it declares to forfeit."""
        outcomes = self.grade(self.reference(self.checks.alternative_change(alternative)), alternative.question)
        lost = {number for number, o in outcomes.items() if o.earned != o.spec.points}
        assert lost == set(alternative.forfeits), describe(outcomes)

    # ── threads ───────────────────────────────────────────────────────────────────────────────────────────────
    def with_mistakes(self, hypotheses: Iterable[Hypothesis]) -> list[Asked]:
        """The notebooks of mistakes, each with its question."""
        return [(self.variant(hypothesis), hypothesis.question) for hypothesis in hypotheses]

    def with_alternatives(self) -> list[Asked]:
        """The notebooks of other right ways, each with its question."""
        change = self.checks.alternative_change
        return [(self.reference(change(alternative)), alternative.question) for alternative in self.checks.alternatives]

    @in_a_child
    def assert_threads_change_nothing(self, asked: Iterable[Asked]) -> None:
        """Verdicts, points and names are the same with one thread and with two."""
        for space, question in asked:
            found = []
            for threads in (1, 2):
                torch.set_num_threads(threads)
                self.checks.oracle._answers.clear()  # the reference is worked out again, with as many threads
                outcomes = self.grade(space, *(() if question is None else (question,)))
                found.append([(number, o.verdict, o.earned, o.mistakes) for number, o in outcomes.items()])
            assert found[0] == found[1]

    def assert_shares(self, questions: Iterable[str], within: float, **shares: float) -> None:
        """The points of tagged checks are these shares of a question's, give or take `within` points."""
        for question in questions:
            mine = [spec for spec in self.checks.specs if spec.question == question]
            for tag, share in shares.items():
                points = float(sum(spec.points for spec in mine if tag in spec.tags))
                wanted = share * float(self.checks.assignment.question(question).points)
                assert abs(points - wanted) <= within, (question, tag)

    # ── one source ────────────────────────────────────────────────────────────────────────────────────────────
    def public_cells(self) -> list[str]:
        """The public checks that the notebook shows."""
        cells = read_solution(COURSE / f"reference/{self.name}/solution.py")
        return [cell.source for cell in cells if cell.role == "public-check"]

    def public_records(self) -> list[Record]:
        """All calls of the grader's public checks."""
        public = [check for check in self.checks.checks if check.spec.public]
        return [record for check in public for record in self.recorded(check)]

    def pasted_calls(self) -> list[Called]:
        """Run the public checks of the notebook over functions that note how they are called."""
        calls: list[Called] = []

        def noting(name: str, inner: Any) -> Any:
            def call(*args: Any, **kwargs: Any) -> Any:
                calls.append((name, (*args, *kwargs.values())))
                return inner(*args, **kwargs)

            return call

        space = dict(self.checks.oracle.reference)
        space.update({name: noting(name, space[name]) for name in self.functions})
        cells = self.public_cells()
        with contextlib.redirect_stdout(io.StringIO()) as said:
            for cell in cells:
                exec(cell, space)
        assert said.getvalue().count("passes") == len(cells)
        return calls

    def assert_public_checks_agree(self, questions: int) -> None:
        """Each call of the grader's public checks is made by the notebook's too, one cell a question."""
        pasted = self.pasted_calls()
        graded = self.public_records()
        assert len(self.public_cells()) == questions
        assert {record.plan.function for record in graded} == {name for name, _ in pasted}
        for record in graded:
            step: Any = record.plan.steps[0]
            wanted = (step.function, (*step.args, *step.kwargs.values()))
            assert any(same(wanted, given) for given in pasted), step.function
