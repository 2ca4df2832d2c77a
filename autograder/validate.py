"""The grader is graded: every course file that decides about points is put to the test.

    reference = all points · empty answer = none · each mistake is noticed, named, and loses exactly what it should ·
    pairs are named · alternatives lose nothing · no two hypotheses look alike, unless the author says why ·
    generated mutants of the reference lose points

The sweep runs in this process, over several seeds; a callback lets the pipeline grade each variant once for real, in
the sandbox. The result is rows: what was tried, what was seen, which check to strengthen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from autograder.checks.compare import contract
from autograder.checks.desk import Mode, Record
from autograder.checks.load import Checks
from autograder.checks.mistakes import Hypothesis
from autograder.checks.mutants import Mutant, mutants
from autograder.checks.room import differ
from autograder.checks.runner import Examination
from autograder.checks.session import LocalSession
from autograder.forks import Forks
from autograder.model import Isolation, Level, Outcome, Reply, ReplyKind, Run, Verdict

__all__ = ["Row", "Validation", "Variant", "validate"]

#: Who the hand calculations of the sweep belong to.
STUDENT = "validation-student"
_CALL_SECONDS = 20.0
_MUTANT_SHARE = Fraction(99, 100)
_NOTHING = Run((), None, Isolation(Level.C, ()))


@dataclass(frozen=True)
class Variant:
    """One pretended hand-in. change: definitions in place of the reference's · hand: its hand calculations.

    text: all of solution.py with the change; what a grader of the real pipeline starts from.
    """

    kind: str
    name: str
    question: str | None
    change: Mapping[str, str]
    hand: Mapping[str, Any]
    text: str


@dataclass(frozen=True)
class Row:
    """One thing that was tried. kind: reference, empty, mistake, pair, alternative, equal, draws, mutant, mutants.

    checks: which to look at or strengthen · seed: None for the course's own draws.
    """

    kind: str
    name: str
    question: str | None
    seed: int | None
    ok: bool
    detail: str = ""
    checks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Validation:
    """All rows; `ok` when none of them fails."""

    rows: tuple[Row, ...]
    seconds: float = 0.0

    @property
    def failures(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if not row.ok)

    @property
    def ok(self) -> bool:
        return not self.failures

    def share(self, kind: str) -> tuple[int, int]:
        """How many rows of a kind are well, of how many."""
        rows = [row for row in self.rows if row.kind == kind]
        return sum(row.ok for row in rows), len(rows)


def validate(
    checks: Checks,
    *,
    secret: bytes,
    seeds: Sequence[int | None] = (None,),
    question: str | None = None,
    grade_variant: Callable[[Variant], Sequence[Outcome]] | None = None,
    mutants: int | None = None,
    pairs: bool = True,
    jobs: int = 1,
    on_rows: Callable[[Sequence[Row]], object] = lambda rows: None,
) -> Validation:
    """Put an assignment to the test.

    seeds: None is the course's own draws · question: only this one's mistakes, alternatives and mutants ·
    grade_variant: grades a variant for real; it is called once for each, with the course's own draws · on_rows:
    receives rows as they come · mutants: at most so many of the generated ones, spread evenly; None for all · pairs:
    whether pairs, and mistakes that look alike, are looked at too · jobs: so many seeds at once, in forks of this
    process; then the rows of a seed come together. Raises CourseError when one of those is ended from outside.
    Mutants that a person judged to be the same function are listed in mistakes.py, EQUIVALENT = {name: reason}.
    """
    started = time.monotonic()
    bench = _Bench(checks, secret, question, on_rows)
    with Forks(bench, jobs) as forks:
        for seed_rows in forks.map(_Bench.swept if jobs > 1 else _Bench.sweep, [(seed, pairs) for seed in seeds]):
            for rows in seed_rows:
                bench.add(*rows)
        bench.mutate(seeds[0] if seeds else None, mutants, forks)
    if grade_variant is not None:
        bench.grade(grade_variant)
    return Validation(tuple(bench.rows), time.monotonic() - started)


@dataclass
class _Bench:
    checks: Checks
    secret: bytes
    question: str | None
    on_rows: Callable[[Sequence[Row]], object] = lambda rows: None
    rows: list[Row] = field(default_factory=list)

    def add(self, *rows: Row) -> None:
        self.rows += rows
        self.on_rows(rows)

    # ── what is put to the test ───────────────────────────────────────────────────────────────────────────────
    def wanted(self, question: str) -> bool:
        return self.question is None or question == self.question

    def hypotheses(self, size: int) -> list[Hypothesis]:
        return [h for h in self.checks.hypotheses if h.size == size and self.wanted(h.question)]

    def variants(self) -> Iterator[Variant]:
        """Everything except pairs and mutants."""
        yield self._variant("reference", "reference", None, {})
        yield self._variant("empty", "empty", None, self._stubs(), hand=False)
        for hypothesis in self.hypotheses(1):
            yield self._of(hypothesis)
        for alternative in self.checks.alternatives:
            if self.wanted(alternative.question):
                change = self.checks.alternative_change(alternative)
                yield self._variant("alternative", alternative.name, alternative.question, change)

    def _of(self, hypothesis: Hypothesis) -> Variant:
        kind = "mistake" if hypothesis.size == 1 else "pair"
        hand = {hypothesis.part: hypothesis.answer} if hypothesis.part and hypothesis.answer else {}
        return self._variant(kind, hypothesis.name, hypothesis.question, hypothesis.change, planned=hand)

    def _variant(
        self,
        kind: str,
        name: str,
        question: str | None,
        change: Mapping[str, str],
        *,
        hand: bool = True,
        planned: Mapping[str, Any] | None = None,
    ) -> Variant:
        answers = self._hand(planned or {}) if hand else {}
        return Variant(kind, name, question, change, answers, self.checks.source.notebook_text(change))

    def _hand(self, planned: Mapping[str, Any]) -> dict[str, Any]:
        """The hand calculations of STUDENT: the keys, or a planned wrong answer."""
        return {
            part: planned[part](record.numbers) if part in planned else record.expected
            for part, record in self._parts().items()
        }

    def _parts(self) -> dict[str, Record]:
        if not hasattr(self, "_known_parts"):
            examination = self._examination({}, {}, None)
            for question in self.checks.assignment.questions:
                examination.question(question.id)
            records = [r for j in examination.judged.values() for r in j.take.desk.records]
            self._known_parts = {r.part: r for r in records if r.part is not None}
        return self._known_parts

    def _stubs(self) -> dict[str, str]:
        """Every function of the assignment without an answer."""
        names = [name for question in self.checks.assignment.questions for name in question.functions]
        classes = {n for n in names if isinstance(self.checks.oracle.reference.get(n), type)}
        return {
            name: f"class {name}:\n    def __init__(self, *args, **kwargs):\n        raise NotImplementedError\n"
            if name in classes
            else f"def {name}(*args, **kwargs):\n    raise NotImplementedError\n"
            for name in names
            if name in self.checks.source.names
        }

    # ── the sweep in this process ─────────────────────────────────────────────────────────────────────────────
    def _examination(self, change: Mapping[str, str], hand: Mapping[str, Any], seed: int | None) -> Examination:
        space = self.checks.source.namespace(change)
        space["hand"] = dict(hand)
        session = LocalSession(space)
        return Examination(self.checks, session, _NOTHING, secret=self.secret, seed=seed, student_id=STUDENT)

    def outcomes(self, variant: Variant, seed: int | None, questions: Sequence[str] | None = None) -> list[Outcome]:
        examination = self._examination(variant.change, variant.hand, seed)
        examination.line.call_seconds = min(_CALL_SECONDS, examination.line.call_seconds)
        asked = questions or self.touched(variant)
        found = [outcome for question in asked for outcome in examination.question(question)]
        examination.close()
        return found

    def touched(self, variant: Variant) -> list[str]:
        """The questions whose answers can change, always with the variant's own."""
        questions = self.checks.assignment.questions
        if variant.kind in ("reference", "empty"):
            return [question.id for question in questions]
        users = self.checks.source.users(variant.change)
        return [q.id for q in questions if q.id == variant.question or users & set(q.functions)]

    def sweep(self, order: tuple[int | None, bool]) -> Iterator[list[Row]]:
        """All rows of a seed, as they come; `order` is the seed, and whether pairs are wanted."""
        seed, pairs = order
        for variant in self.variants():
            yield self._rows(variant, self.outcomes(variant, seed), seed)
        if pairs:
            alike = _Alike(self, seed)
            yield alike.rows()
            for pair in self.hypotheses(2):
                if not alike.moot(pair):
                    found = self.outcomes(self._of(pair), seed, [pair.question])
                    yield self._mistake_rows(pair, found, seed, alike)
        self.checks.oracle.forget()  # or many seeds need gigabytes

    def swept(self, order: tuple[int | None, bool]) -> list[list[Row]]:
        """The same in one piece, as another process needs it."""
        return list(self.sweep(order))

    def _rows(self, variant: Variant, outcomes: Sequence[Outcome], seed: int | None) -> list[Row]:
        faults = [o for o in outcomes if o.verdict is Verdict.GRADER_FAULT]
        if faults:
            return [self._row(variant, seed, False, f"grader fault: {faults[0].staff[-400:]}", faults)]
        if variant.kind == "reference":
            lost = [o for o in outcomes if o.earned != o.spec.points]
            return [self._row(variant, seed, not lost, "" if not lost else "the reference loses points", lost)]
        if variant.kind == "empty":
            return [self._empty(variant, outcomes, seed)]
        if variant.kind == "alternative":
            return [self._alternative(variant, outcomes, seed)]
        hypothesis = next(h for h in self.hypotheses(1) if (h.name, h.question) == (variant.name, variant.question))
        return self._mistake_rows(hypothesis, outcomes, seed, None)

    def _row(self, v: Variant, seed: int | None, ok: bool, detail: str, outcomes: Sequence[Outcome] = ()) -> Row:
        return Row(v.kind, v.name, v.question, seed, ok, detail, tuple(o.spec.number for o in outcomes))

    def _empty(self, variant: Variant, outcomes: Sequence[Outcome], seed: int | None) -> Row:
        earning = [o for o in outcomes if o.earned]
        judged = [o for o in outcomes if o.verdict is not Verdict.BLOCKED]
        detail = "an empty answer earns points" if earning else "an empty answer is not BLOCKED" if judged else ""
        return self._row(variant, seed, not (earning or judged), detail, earning or judged)

    def _alternative(self, variant: Variant, outcomes: Sequence[Outcome], seed: int | None) -> Row:
        alternative = next(
            a for a in self.checks.alternatives if (a.name, a.question) == (variant.name, variant.question)
        )
        lost = [o for o in outcomes if o.earned != o.spec.points and o.spec.number not in alternative.forfeits]
        detail = "" if not lost else f"loses {float(sum(o.spec.points - o.earned for o in lost)):g} points"
        return self._row(variant, seed, not lost, detail, lost)

    def _mistake_rows(
        self, h: Hypothesis, outcomes: Sequence[Outcome], seed: int | None, alike: _Alike | None
    ) -> list[Row]:
        """Noticed? Named? Exactly `keeps` of each failing check? Nothing lost elsewhere?"""
        kind = "mistake" if h.size == 1 else "pair"
        about = self.about(h)
        own = [o for o in outcomes if o.spec.number in about and o.verdict is not Verdict.PASSED]

        def row(ok: bool, detail: str = "", checks: tuple[str, ...] = ()) -> Row:
            return Row(kind, h.name, h.question, seed, ok, detail, checks)

        if not own:
            return [row(False, "is not noticed: no check of its question fails", about)]
        unnamed = [o for o in own if not self._names(h, o, alike)]
        if unnamed:
            said = ", ".join("+".join(o.mistakes) or "no name" for o in unnamed)
            return [row(False, f"is not named (said: {said})", tuple(o.spec.number for o in unnamed))]
        inexact = [o for o in own if o.earned != h.keeps * o.spec.points]
        if inexact:
            text = ", ".join(f"{o.spec.number} leaves {float(o.earned):g}" for o in inexact)
            return [row(False, f"does not lose exactly 1 − keeps: {text}", tuple(o.spec.number for o in inexact))]
        elsewhere = [
            o
            for o in outcomes
            if o.spec.number not in about
            and not {o.spec.question, o.spec.number} & set(h.spills)
            and o.earned != o.spec.points
        ]
        if elsewhere:
            text = "costs points in other checks too (declare spills=… if that is right)"
            return [row(False, text, tuple(o.spec.number for o in elsewhere))]
        return [row(True)]

    def about(self, h: Hypothesis) -> tuple[str, ...]:
        """The checks of its question that call what it changes."""
        if not hasattr(self, "_functions"):
            examination = self._examination({}, self._hand({}), None)
            for question in self.checks.assignment.questions:
                examination.question(question.id)
            self._functions = {
                number: {record.plan.function for record in judged.take.desk.records}
                for number, judged in examination.judged.items()
            }
        numbers = (check.spec.number for check in self.checks.of_question(h.question))
        return tuple(number for number in numbers if self._functions.get(number, set()) & h.functions)

    def _names(self, h: Hypothesis, outcome: Outcome, alike: _Alike | None) -> bool:
        said = "+".join(outcome.mistakes)
        if said == h.name:
            return True
        allowed = self.same_as(h.name) | (alike.equal_names(h) if alike is not None else set())
        return any(one in allowed | {h.name} for one in said.split("|")) and bool(said)

    def same_as(self, name: str) -> set[str]:
        """Names that the author declared to be one function with this one."""
        return {other for same in self.checks.same if name in same.names for other in same.names} - {name}

    # ── mutants ───────────────────────────────────────────────────────────────────────────────────────────────
    def mutate(self, seed: int | None, most: int | None, forks: Forks[_Bench]) -> None:
        found = list(self._mutants())
        chosen = found if most is None else found[:: max(1, -(-len(found) // most))] if most else []
        killed = 0
        lives = forks.map(_Bench.survives, [(q, mutant.function, mutant.text, seed) for q, mutant in chosen], at_once=4)
        for (question, mutant), survives in zip(chosen, lives, strict=True):
            if survives:
                numbers = tuple(c.spec.number for c in self.checks.of_question(question))
                self.add(Row("survivor", mutant.name, question, seed, True, "keeps all points", numbers))
            else:
                killed += 1
        if chosen:
            share = Fraction(killed, len(chosen))
            detail = f"{killed} of {len(chosen)} mutants lose points ({float(share):.1%})"
            self.add(Row("mutants", "all", self.question, seed, share >= _MUTANT_SHARE, detail))

    def _mutants(self) -> Iterator[tuple[str, Mutant]]:
        """All generated ones with their questions, except those that a person judged to be the same function."""
        for question in self.checks.assignment.questions:
            for function in question.functions if self.wanted(question.id) else ():
                for mutant in mutants(function, self.checks.source.definition(function)) if self._has(function) else ():
                    if mutant.name not in self.checks.equivalent:
                        yield question.id, mutant

    def _has(self, function: str) -> bool:
        return function in self.checks.source.names

    def survives(self, mutant: tuple[str, str, str, int | None]) -> bool:
        """Whether a mutant keeps all points: its question, function and text, and a seed."""
        question, function, text, seed = mutant
        try:
            variant = Variant("mutant", function, question, {function: text}, {}, "")
            outcomes = self.outcomes(variant, seed, [question])
        except Exception:  # a definition that can't even be made: a cell that fails
            return False
        return all(o.earned == o.spec.points for o in outcomes)

    # ── once for real ─────────────────────────────────────────────────────────────────────────────────────────
    def grade(self, grade_variant: Callable[[Variant], Sequence[Outcome]]) -> None:
        for variant in self.variants():
            for row in self._rows(variant, grade_variant(variant), None):
                self.add(Row(f"sandbox {row.kind}", row.name, row.question, None, row.ok, row.detail, row.checks))


class _Alike:
    """Hypotheses whose outputs can't be told apart on the draws of a seed.

    A pair that gives what one of its own singles gives is moot: the other edit does not matter beside it.
    """

    def __init__(self, bench: _Bench, seed: int | None) -> None:
        self.bench, self.seed = bench, seed
        self.classes: list[list[Hypothesis | None]] = []
        self._class: dict[str, int] = {}
        records = self._records()
        for question in bench.checks.assignment.questions:
            if bench.wanted(question.id):
                self._sort(question.id, [r for r in records if r[1] == question.id])

    def _records(self) -> list[tuple[Record, str, Mapping[str, Any]]]:
        """All calls that the checks make of the reference."""
        bench = self.bench
        examination = bench._examination({}, bench._hand({}), self.seed)
        for question in bench.checks.assignment.questions:
            examination.question(question.id)
        return [
            (record, judged.spec.question, judged.take.desk.served)
            for judged in examination.judged.values()
            for record in judged.take.desk.records
            if record.mode != Mode.ASIDE and record.part is None
        ]

    def _sort(self, question: str, records: Sequence[tuple[Record, str, Mapping[str, Any]]]) -> None:
        groups: dict[frozenset[str], list[Hypothesis]] = {}
        for hypothesis in self.bench.checks.hypotheses:
            if hypothesis.question == question and hypothesis.answer is None:
                groups.setdefault(hypothesis.functions, []).append(hypothesis)
        for functions, members in groups.items():
            calls = [(r, served) for r, _, served in records if r.plan.function in functions]
            classes: list[tuple[_Outputs, list[Hypothesis | None]]] = []
            everyone: list[Hypothesis | None] = [None, *members]
            for one in everyone:
                outputs = _Outputs(self.bench.checks, one, calls)
                home = next((c for c in classes if outputs.equal(c[0])), None)
                if home is None:
                    classes.append((outputs, [one]))
                else:
                    home[1].append(one)
            self._keep([found for _, found in classes])

    def _keep(self, classes: Sequence[list[Hypothesis | None]]) -> None:
        for found in classes:
            for hypothesis in found:
                if hypothesis is not None:
                    self._class[hypothesis.key] = len(self.classes)
            self.classes.append(found)

    def equal_names(self, h: Hypothesis) -> set[str]:
        place = self._class.get(h.key)
        return set() if place is None else {other.name for other in self.classes[place] if other is not None}

    def moot(self, pair: Hypothesis) -> bool:
        """Equal to one of its singles, or declared to be the same as something simpler."""
        equal = self.equal_names(pair)
        return bool(set(pair.names) & equal) or bool(self.bench.same_as(pair.name) & {*equal, "reference"})

    def rows(self) -> list[Row]:
        found = [row for members in self.classes if len(members) > 1 for row in self._row(members)]
        for number, pairs in self.bench.checks.rarest.items():
            for (a, b), times in pairs.items():
                if times < 1 and b not in self.bench.same_as(a):
                    text = f"no draw of the pool tells {a} from {b}"
                    found.append(Row("draws", f"{a} / {b}", None, self.seed, False, text, (number,)))
        return found

    def _row(self, members: Sequence[Hypothesis | None]) -> list[Row]:
        """Nothing, when the simplest member explains all the others."""
        names = ["reference" if h is None else h.name for h in members]
        size = {name: 0 if h is None else h.size for name, h in zip(names, members, strict=True)}
        simplest = min(names, key=lambda name: size[name])
        parts = {name: set(h.names) if h is not None else set() for name, h in zip(names, members, strict=True)}
        others = [
            name
            for name in names
            if name != simplest
            and not (parts[simplest] and parts[simplest] <= parts[name])
            and name not in self.bench.same_as(simplest)
        ]
        if not others:
            return []
        question = next(h.question for h in members if h is not None)
        numbers = tuple(c.spec.number for c in self.bench.checks.of_question(question))
        detail = f"{simplest} and {', '.join(others)} give equal outputs: strengthen the draws, or say why with Same"
        return [Row("equal", simplest, question, self.seed, False, detail, numbers)]


class _Outputs:
    """What a hypothesis answers to a list of calls, worked out as far as somebody looks."""

    def __init__(
        self, checks: Checks, hypothesis: Hypothesis | None, calls: Sequence[tuple[Record, Mapping[str, Any]]]
    ) -> None:
        self.checks, self.hypothesis, self.calls = checks, hypothesis, calls
        self._known: dict[int, Reply] = {}

    def reply(self, index: int) -> Reply:
        if index not in self._known:
            record, served = self.calls[index]
            oracle = self.checks.oracle
            reply = (
                oracle.expected(record.plan, served, record.key)
                if self.hypothesis is None
                else oracle.under(self.hypothesis, record.plan, served, record.key)
            )
            value = reply.kind is ReplyKind.VALUE
            self._known[index] = replace(reply, value=record.seen(reply.value)) if value else reply
        return self._known[index]

    def equal(self, other: _Outputs) -> bool:
        return not any(self._tells(record, self.reply(i), other.reply(i)) for i, (record, _) in enumerate(self.calls))

    @staticmethod
    def _tells(record: Record, one: Reply, other: Reply) -> bool:
        """A check that asks for the contract only can't see a difference of values."""
        if record.mode == Mode.CONTRACT and one.kind is other.kind is ReplyKind.VALUE:
            return contract(one.value, other.value) is not None or contract(other.value, one.value) is not None
        return differ(one, other)
