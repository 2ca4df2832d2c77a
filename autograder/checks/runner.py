"""From checks and a session to outcomes.

    record all checks of a question → one batch → second pass where values were needed → judge
        → right on top of the student's own functions? → named mistake? → outcomes

A check that passes costs a look-up and a comparison. Everything else happens on the first mismatch only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from autograder.checks import clock
from autograder.checks.desk import Mode, Record, Unmet
from autograder.checks.diagnose import Case, Diagnosis, cases, diagnose
from autograder.checks.digest import fingerprint
from autograder.checks.follow import Follower
from autograder.checks.judge import BrokenCheck, Finding, Judge
from autograder.checks.line import Line
from autograder.checks.load import Check, Checks, exact
from autograder.checks.perform import CHECK_SECONDS, Fixtures, Take, perform, short_trace
from autograder.checks.room import Room, root, typed_id
from autograder.errors import GradingError
from autograder.model import (
    CheckSpec,
    LeaderboardRow,
    Note,
    Outcome,
    Reason,
    Reply,
    Run,
    Session,
    Value,
    Verdict,
)

__all__ = ["Examination", "Result", "fault", "run_checks"]

_OURS = (("", "The grader failed in this check; it is not your fault. The points are open, and staff can see it."),)


@dataclass(frozen=True)
class Result:
    """What the checks found. notes: for staff, and about the student's id · student_id: whose numbers were used."""

    outcomes: tuple[Outcome, ...]
    leaderboard: tuple[LeaderboardRow, ...] = ()
    notes: tuple[Note, ...] = ()
    student_id: str | None = None


def run_checks(
    checks: Checks,
    session: Session,
    run: Run,
    *,
    secret: bytes,
    seed: int | None = None,
    student_id: str | None = None,
    on_question: Callable[[list[Outcome]], object] = lambda outcomes: None,
) -> Result:
    """Judge all checks, question by question; one outcome a declared check, in the order of their numbers.

    seed: staff's own, in place of the secret · on_question: receives each question's outcomes when they are known.
    Never raises for anything that the student does or a check gets wrong.
    """
    examination = Examination(checks, session, run, secret=secret, seed=seed, student_id=student_id)
    outcomes: list[Outcome] = []
    for question in checks.assignment.questions:
        found = examination.question(question.id)
        outcomes += found
        if found:
            on_question(found)
    examination.close()
    order = {spec.number: place for place, spec in enumerate(checks.specs)}
    outcomes.sort(key=lambda outcome: order[outcome.spec.number])
    return Result(tuple(outcomes), tuple(examination.leaderboard), tuple(examination.notes), examination.student_id)


def fault(spec: CheckSpec, staff: str) -> Outcome:
    """The outcome of a check in which something of ours failed: the points are open."""
    return Outcome(spec, Verdict.GRADER_FAULT, Fraction(0), Reason.GRADER, _OURS, staff=staff)


@dataclass
class Judged:
    """A take with what is wrong about it, if anything."""

    take: Take
    finding: Finding | None = None
    ours: str | None = None  # what failed on our side
    partly: Fraction | None = None  # the score that the check set itself
    diagnosis: Diagnosis | None = None
    on_top: Fraction | None = None  # credit for being right on top of …
    below: tuple[str, ...] = ()

    @property
    def spec(self) -> CheckSpec:
        return self.take.check.spec

    @property
    def failed(self) -> bool:
        return self.finding is not None and self.finding.verdict is Verdict.FAILED


@dataclass
class Examination:
    """One submission, examined question by question."""

    checks: Checks
    session: Session
    run: Run
    secret: bytes
    seed: int | None = None
    student_id: str | None = None
    notes: list[Note] = field(default_factory=list)
    leaderboard: list[LeaderboardRow] = field(default_factory=list)
    judged: dict[str, Judged] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.line = Line(self.session, self.checks.assignment.limits.call_seconds)
        self.judge = Judge(self.checks, self.line, self.run)
        self.follower = Follower(self.checks, self.line)
        self.room = Room(self.checks, root(self.secret, self.seed), self.student_id, self.follower.wrong)
        self.fixtures = Fixtures()

    def question(self, id: str) -> list[Outcome]:
        """The outcomes of one question. What fails on our side costs nobody else anything."""
        declared = self.checks.of_question(id)
        try:
            takes, judged = self._examined(declared)
            if not self.line.final and any(one.finding or one.ours for one in judged):
                takes, judged = self._again(declared, judged)
            self._note_wrong(judged)
            self._explain(id, judged)
        except GradingError as error:
            return [fault(check.spec, str(error)) for check in declared]
        self.judged.update({j.spec.number: j for j in judged})
        self._take_down(judged)
        known = {j.spec.number: self._outcome(j) for j in judged}
        return [known.get(c.spec.number) or fault(c.spec, str(takes[c.spec.number])) for c in declared]

    def close(self) -> None:
        """Class and module tear-downs; their errors are notes for staff."""
        for error in self.fixtures.close():
            self.notes.append(Note(f"a tear-down failed: {error}", staff_only=True, needs_human=True))

    def _examined(self, declared: Sequence[Check]) -> tuple[dict[str, Take | str], list[Judged]]:
        takes = self._takes(declared)
        return takes, [self._judged(take) for take in takes.values() if isinstance(take, Take)]

    def _again(self, declared: Sequence[Check], first: Sequence[Judged]) -> tuple[dict[str, Take | str], list[Judged]]:
        """Ask once more in a child of the question's own: the shared one may hold what other questions' calls left.

        Whoever is asked again can know from it that the first answer was not right. So another answer than the first
        has to be given in a fresh kernel, too, which knows of no earlier question.
        """
        self.line.part()
        takes, judged = self._examined(declared)
        if _answers(judged) != _answers(first):
            self.line.start_anew()
            takes, judged = self._examined(declared)
        return takes, judged

    def _note_wrong(self, judged: Sequence[Judged]) -> None:
        """Functions of which a check failed: later questions may be right on top of them."""
        for one in judged:
            if one.finding is not None or one.ours is not None:
                self.follower.wrong.update(record.plan.function for record in one.take.desk.records)

    # ── calls ─────────────────────────────────────────────────────────────────────────────────────────────────
    def _takes(self, declared: Sequence[Check]) -> dict[str, Take | str]:
        """Number → the last pass over the check, or why its fixtures failed."""
        takes: dict[str, Take | str] = {}
        for check in declared:
            error = self.fixtures.error(check.cls)
            takes[check.spec.number] = self._recorded(check) if error is None else error
        ready = [take for take in takes.values() if isinstance(take, Take)]
        for take in ready:
            if take.ending == "paused":
                take.desk.records += self._ahead(take)
        self.line.question([(take.desk.records, take.desk.served) for take in ready])
        for take in ready:
            if take.ending == "paused":
                takes[take.check.spec.number] = perform(take.check, self.room, _Kernel(self.line), take.desk.records)
        return takes

    def _ahead(self, take: Take) -> list[Record]:
        """What a check that needs values will ask next, as far as a rehearsal with the reference's answers tells.

        So its calls share the question's batch; where the student's answers lead elsewhere, the rest goes over then.
        """
        key = (take.check.spec.number, self.room.base)
        whose, records = self.checks.rehearsed.get(key, (None, None))
        if records is None or whose not in (None, self.room.student):
            whose, records = self.checks.rehearsed[key] = self._rehearsed(take)
        return [replace(record, reply=None) for record in records[len(take.desk.records) :]]

    def _rehearsed(self, take: Take) -> tuple[str | None, list[Record]]:
        """All calls of a check, and the student whom they are for; None: they are the same for everybody."""
        if take.desk.served:  # a served callable may keep count: it is not called for practice
            return None, []
        desk = perform(take.check, self.room, _Reference(self.checks)).desk
        personal = any(record.mode == Mode.ASIDE for record in desk.records)
        records = [] if desk.served else [Record(record.plan, Mode.FREE, _key=record.key) for record in desk.records]
        return self.room.student if personal else None, records

    def _recorded(self, check: Check) -> Take:
        """The recording pass, made once a grader process where it is the same for every student."""
        key = (check.spec.number, self.room.base)
        if key in self.checks.recorded:
            return self.checks.recorded[key].again()
        take = perform(check, self.room)
        if take.is_for_everyone:
            self.checks.recorded[key] = take.again()
            return self.checks.recorded[key].again()
        return take

    # ── judging ───────────────────────────────────────────────────────────────────────────────────────────────
    def _judged(self, take: Take) -> Judged:
        judged = Judged(take)
        try:
            with clock.limit(CHECK_SECONDS):
                found = self._findings(take)
            judged.finding = found[0][1] if found else self._ended(take)
            if judged.finding is not None:
                judged.finding = _with_cases(judged.finding, [r.case for r, _ in found], take)
            if take.ending == "fault" and judged.finding is None:
                judged.finding = self.judge.wrong_kind(take.desk.records, take.desk.served)
                judged.ours = take.trace if judged.finding is None else None
            if judged.ours is None and (judged.finding is None or _said_why(take, found)):
                judged.partly = _own_score(take)
                judged.finding = judged.finding or _partial(take, judged.partly)
        except BrokenCheck as error:
            judged.ours, judged.finding = str(error), None
        except clock.Expired:
            judged.ours, judged.finding = f"the reference did not end within {CHECK_SECONDS:g} s", None
        except Exception as error:
            judged.ours, judged.finding = short_trace(error), None
        return judged

    def _findings(self, take: Take) -> list[tuple[Record, Finding]]:
        """The first thing that is wrong, and the first of each further sub-test."""
        found: list[tuple[Record, Finding]] = []
        for record in take.desk.records:
            if found and (record.case is None or record.case in [r.case for r, _ in found]):
                continue
            finding = self.judge.finding(take.check.spec, record, take.desk.served)
            if finding is not None:
                found.append((record, finding))
        return found

    def _ended(self, take: Take) -> Finding | None:
        """What the end of the method says, when no call is at fault."""
        error = take.desk.failed_cases[0][1] if take.desk.failed_cases and take.ending == "done" else take.error
        if isinstance(error, Unmet):
            return Finding(Verdict.FAILED, error.reason, (("must hold", error.sentence),))
        if isinstance(error, AssertionError):
            lines = (("", "A property that the question asks for does not hold."),)
            return Finding(Verdict.FAILED, Reason.WRONG, lines, (("message", str(error)[:500]),), take.trace)
        if take.ending == "blocked":
            return Finding(Verdict.BLOCKED, Reason.NOT_ANSWERED, (("", str(error)),))
        if take.ending == "skipped":
            return Finding(Verdict.BLOCKED, Reason.SKIPPED, (("", str(error) or "left out"),))
        if take.ending in ("stopped", "paused"):
            raise BrokenCheck(f"the check stopped without a cause: {take.ending}")
        return None

    # ── follow-through and diagnosis ──────────────────────────────────────────────────────────────────────────
    def _explain(self, question: str, judged: Sequence[Judged]) -> None:
        """Right on top of the student's own? A named mistake, plain? A named mistake on top?"""
        try:
            for group in self._unexplained(question, judged).values():
                plain = diagnose(self.checks, question, [case for _, found in group for case in found])
                for one, found in group:
                    one.diagnosis = plain
                    if plain is None or plain.size > 1:  # one mistake on top of an earlier one goes before a pair
                        on_top = self._named_on_top(question, one, found)
                        smaller = on_top is not None and (plain is None or on_top.size < plain.size)
                        one.diagnosis = on_top if smaller else plain
        except Exception as error:  # a mistake's own code: the verdict stands, without a name
            text = f"no diagnosis in question {question}: {short_trace(error)}"
            self.notes.append(Note(text, question, staff_only=True, needs_human=True))

    def _unexplained(
        self, question: str, judged: Sequence[Judged]
    ) -> dict[frozenset[str], list[tuple[Judged, list[Case]]]]:
        """The failing checks that are not right on top of anything, by the functions that they are about."""
        groups: dict[frozenset[str], list[tuple[Judged, list[Case]]]] = {}
        found = [cases(one.take.desk.records, one.take.desk.served) for one in judged]
        tries = [
            self.follower.attempts(self._instance(one), question, these) if these is not None else []
            for one, these in zip(judged, found, strict=True)
        ]
        for one, these, mine in zip(judged, found, tries, strict=True):
            if not one.failed or these is None:
                continue
            for attempt in mine:
                others = [other for more in tries if more is not mine for other in more if other.way is attempt.way]
                credit = attempt.right(others)
                if attempt.way is None or (credit is not None and credit > (one.on_top or 0)):
                    one.on_top, one.below = credit, attempt.names
            if one.on_top is None:
                about = frozenset(case.record.plan.function for case in these)
                groups.setdefault(about, []).append((one, these))
        return groups

    def _below(self, one: Judged) -> tuple[tuple[str, str], ...]:
        """A mistake further down may be all that is wrong, where that can't be told: say so."""
        if one.diagnosis is not None or not one.failed or not one.below:
            return ()
        if one.finding is not None and any(label == "where" for label, _ in one.finding.lines):
            return ()  # it has been said
        own = " and ".join(f"`{name}`" for name in one.below)
        return (("builds on", f"your own {own}, which did not pass: repair that first, this may follow from it."),)

    def _named_on_top(self, question: str, one: Judged, found: Sequence[Case]) -> Diagnosis | None:
        attempts = self.follower.attempts(self._instance(one), question, found)
        named = [diagnosis for attempt in attempts if (diagnosis := attempt.named()) is not None]
        return min(named, key=lambda diagnosis: diagnosis.size, default=None)

    def _instance(self, one: Judged) -> Any:
        return one.take.instance

    # ── outcomes ──────────────────────────────────────────────────────────────────────────────────────────────
    def _take_down(self, judged: Sequence[Judged]) -> None:
        """Leaderboard rows and notes."""
        for one in judged:
            take, column = one.take, one.take.check.column
            for trace in take.afterwards:
                text = f"check {one.spec.number}: tearDown failed: {trace}"
                self.notes.append(Note(text, one.spec.question, staff_only=True, needs_human=True))
            if column is not None and take.desk.leaderboard is not None and one.ours is None:
                self._add_row(one, column)
            for record in take.desk.records:
                if record.mode == Mode.ASIDE and record.reply is not None:
                    self._compare_ids(record.reply)
        self._about_changes(judged)

    def _about_changes(self, judged: Sequence[Judged]) -> None:
        """Say once which functions change their arguments: every call gets fresh ones, so it costs nothing here."""
        guilty: dict[str, str] = {}
        for one in judged:
            for record in one.take.desk.records:
                name = record.plan.function
                if one.ours is None and name not in guilty and self.judge.changed(record, one.take.desk.served):
                    guilty[name] = one.spec.question
        for name, question in guilty.items():
            text = f"Your `{name}` changes its argument in place, so whoever calls it loses the data. Work on a copy."
            self.notes.append(Note(text, question))

    def _add_row(self, one: Judged, column: tuple[str, str]) -> None:
        value = one.take.desk.leaderboard
        try:
            shown: float | str = value if isinstance(value, str) else round(float(exact(value)), 6)
        except (TypeError, ValueError):
            text = f"check {one.spec.number}: {value!r} can't stand on a leaderboard"
            self.notes.append(Note(text, one.spec.question, staff_only=True, needs_human=True))
            return
        self.leaderboard.append(LeaderboardRow(column[0], shown, column[1]))

    def _compare_ids(self, reply: Reply) -> None:
        """The metadata's id counts; a typed one that differs is said and flagged, once."""
        typed = typed_id(reply)
        if self.student_id is None:
            self.student_id = typed
        elif typed is not None and typed != self.student_id and not self._said_so:
            self._said_so = True
            text = "STUDENT_ID in the notebook is not the id that you are enrolled with; the numbers of that id count."
            self.notes.append(Note(text))
            self.notes.append(Note("the typed student id differs from the submission's", staff_only=True))

    _said_so = False

    def _outcome(self, one: Judged) -> Outcome:
        if one.ours is not None:
            return replace(fault(one.spec, one.ours), seconds=one.take.seconds)
        if one.finding is None:
            return Outcome(one.spec, Verdict.PASSED, one.spec.points, seconds=one.take.seconds)
        if one.on_top is not None:
            return self._on_top_outcome(one, one.on_top)
        earned = one.partly if one.partly is not None else Fraction(0)
        names, hints, below = (), (), ()  # type: tuple[str, ...], tuple[str, ...], tuple[str, ...]
        if one.diagnosis is not None:
            earned = one.diagnosis.keeps * one.spec.points
            names, hints, below = one.diagnosis.names, one.diagnosis.hints, one.diagnosis.on_top_of
        finding = one.finding
        return Outcome(
            one.spec,
            finding.verdict,
            earned if finding.verdict is Verdict.FAILED else Fraction(0),
            finding.reason,
            finding.lines + self._below(one) + (finding.details if one.spec.public else ()),
            names,
            hints,
            below,
            _staff(one),
            one.take.seconds,
        )

    def _on_top_outcome(self, one: Judged, credit: Fraction) -> Outcome:
        owners = {self.judge.owner[name].id: name for name in one.below if name in self.judge.owner}
        own = " and ".join(f"`{name}`" for name in one.below)
        first = " and ".join(f"Q{question}" for question in owners) or own
        if credit == 1:
            verdict, reason = Verdict.PASSED, None
            line = ("", f"Q{one.spec.question} is right on top of your own {own}; repair {first}.")
        else:
            verdict, reason = Verdict.FAILED, Reason.WRONG
            text = f"This may be right, but your own {own} hides too much to tell; repair {first} first."
            line = ("", text)
        return Outcome(
            one.spec,
            verdict,
            credit * one.spec.points,
            reason,
            (line,),
            on_top_of=one.below,
            staff=_staff(one),
            seconds=one.take.seconds,
        )


def _answers(judged: Sequence[Judged]) -> bytes:
    """A fingerprint of all that came back."""
    replies = [record.reply for one in judged for record in one.take.desk.records]
    return fingerprint([(str(r.kind), r.name, r.value, r.changed_inputs) if r is not None else None for r in replies])


@dataclass
class _Kernel:
    line: Line

    def ask(self, records: Sequence[Record], served: Mapping[str, Callable[..., Value]]) -> list[Reply]:
        return self.line.ask(records, served)


@dataclass
class _Reference:
    """Answers as the reference would."""

    checks: Checks

    def ask(self, records: Sequence[Record], served: Mapping[str, Callable[..., Value]]) -> list[Reply]:
        return [self.checks.oracle.expected(record.plan, served, record.key) for record in records]


def _with_cases(finding: Finding, cases_: Sequence[str | None], take: Take) -> Finding:
    """Name the failing sub-tests."""
    names = [*(case for case in cases_ if case), *(case for case, _ in take.desk.failed_cases)]
    if not names:
        return finding
    return replace(finding, lines=(*finding.lines, ("failing cases", ", ".join(dict.fromkeys(names)))))


def _own_score(take: Take) -> Fraction | None:
    """What a check with partial credit set. Raises BrokenCheck for anything but 0 … its points."""
    if take.desk.score is None:
        if take.check.partial and take.ending == "done":
            raise BrokenCheck("the check ended without set_score")
        return None
    if not take.check.partial:
        raise BrokenCheck("set_score needs @partial_credit")
    try:
        score = exact(take.desk.score)
    except (TypeError, ValueError, RuntimeError) as error:
        raise BrokenCheck(f"set_score: {error}") from error
    if not 0 <= score <= take.check.spec.points:
        raise BrokenCheck(f"set_score({float(score)}): 0 to {float(take.check.spec.points)} was expected")
    return score


def _said_why(take: Take, found: Sequence[object]) -> bool:
    """A check with partial credit set its score and then said, by `expect`, what is missing."""
    return not found and take.check.partial and take.desk.score is not None and isinstance(take.error, Unmet)


def _partial(take: Take, score: Fraction | None) -> Finding | None:
    if score is None or score == take.check.spec.points:
        return None
    return Finding(Verdict.FAILED, Reason.WRONG, (("", "The answer is right in part."),))


def _staff(one: Judged) -> str:
    finding = one.finding
    lines = [f"{label}: {text}" for label, text in (finding.details if finding else ())]
    if finding is not None and finding.staff:
        lines.append(finding.staff)
    if one.take.trace and (finding is None or finding.staff != one.take.trace):
        lines.append(one.take.trace)
    return "\n".join(lines)
