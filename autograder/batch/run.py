"""The coordinator: hands submissions to an executor and records each result once.

Theory of operation. It goes through the store's submissions in order, skips those whose result stands under the
present key, and keeps a window of tasks in flight that is a little larger than the number of workers; so its memory
does not grow with the class. A worker that dies is no fault of the hand-in yet: it is tried again, and only after the
second death the submission is set aside as GRADER_FAULT, with all points open. A machine on which everything dies is
no fault of the class either: after a row of failures over several submissions without one success the run stops, and
none of that row is set aside.
"""

from __future__ import annotations

import secrets
import shutil
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from autograder.assignment import load_assignment, read_secret
from autograder.batch.executors import Pool
from autograder.batch.fingerprint import Key, fingerprint
from autograder.batch.people import HandIn, digest_of
from autograder.batch.source import Source
from autograder.batch.store import Store, Submitted
from autograder.batch.work import Answer, Task, grade
from autograder.errors import CourseError, GraderFault
from autograder.model import Assignment, Note, Outcome, Reason, Report, Verdict
from autograder.report import gradescope
from autograder.service import Request, report_from_json, report_to_json

__all__ = ["Job", "Progress", "grade_class", "take_in"]

#: A submission is set aside after so many deaths of workers.
MOST_DEATHS = 2
#: The run stops after so many failures in a row, if they are of at least three submissions.
_ROW_OF_FAILURES = 6
_LEAST_FREE = 200 * 2**20  # before a run
_LEAST_LEFT = 16 * 2**20  # when something failed
_TICK = 0.5


@dataclass(frozen=True)
class Job:
    """What to grade and how. only: ids to grade anew whatever is recorded · practice: accept a machine that can't
    keep the reference apart · secret: a marked test secret in place of the course's."""

    course: Path
    assignment: str
    require: str | None = None
    seed: int | None = None
    only: tuple[str, ...] = ()
    practice: bool = False
    pages: bool = False
    secret: str | None = None


@dataclass
class Progress:
    """Counts for whoever watches. total: to do in this run · skipped: recorded before."""

    total: int = 0
    skipped: int = 0
    done: int = 0
    refused: int = 0
    faults: int = 0
    set_aside: list[str] = field(default_factory=list)
    retried: int = 0
    seconds: float = 0.0


Watch = Callable[[Progress], None]


def take_in(source: Source, store: Store) -> None:
    """Enter the source's submissions into the store. What comes in a zip is unpacked beside the results."""
    _refuse_full_disk(store.folder)
    copies = store.folder / "hand-ins"

    def submitted() -> Iterator[Submitted]:
        seen: set[str] = set()
        for hand_in in source:
            if hand_in.id in seen:
                raise CourseError(f"the submission {hand_in.id} appears twice", where=source.where)
            seen.add(hand_in.id)
            notes = len(source.notes)
            path = source.fetch(hand_in.id, copies / hand_in.id)
            noted = replace(hand_in, notes=(*hand_in.notes, *source.notes[notes : notes + 20]))
            yield Submitted(noted, path.absolute(), digest_of(path))

    try:
        store.register(submitted())
    except OSError as error:
        raise GraderFault(f"{error.filename or store.folder}: {error.strerror}; nothing was graded") from error
    if store.count() == 0:
        raise CourseError("there is no submission in it", where=source.where)
    store.set_meta(source=str(source.where), kind=source.kind)


def _refuse_full_disk(folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < _LEAST_FREE:
        raise CourseError(
            f"only {free // 2**20} MB are free; make room for at least {_LEAST_FREE // 2**20} MB", where=folder
        )


def _stop_on_full_disk(folder: Path) -> None:
    """On a full disk whatever is graded fails; nobody is set aside for that."""
    free = shutil.disk_usage(folder).free
    if free < _LEAST_LEFT:
        raise GraderFault(
            f"only {free // 2**20} MB are free in {folder}. What was recorded stays; make room, then go on with "
            "--resume"
        )


def grade_class(job: Job, store: Store, pool: Pool, watch: Watch = lambda progress: None) -> Progress:
    """Grade what is not recorded yet. Raises CourseError before any student code runs, GraderFault when the machine
    is at fault; KeyboardInterrupt passes through, and everything recorded stays."""
    assignment = load_assignment(job.course, job.assignment)
    secret = job.secret.encode() if job.secret else read_secret(job.course)
    found = fingerprint(assignment, secret)
    key = Key.of(assignment, found, job.seed)
    store.repair()
    coordinator = _Coordinator(job, assignment, key, store, pool, watch)
    coordinator.prepare()
    store.set_meta(assignment=assignment.name, title=assignment.title, total=str(assignment.total))
    store.set_fingerprint(key.course, dict(found))
    coordinator.run()
    return coordinator.progress


class _Coordinator:
    """The state of one run."""

    def __init__(self, job: Job, assignment: Assignment, key: Key, store: Store, pool: Pool, watch: Watch) -> None:
        self.job, self.assignment, self.key, self.store, self.pool, self.watch = (
            job,
            assignment,
            key,
            store,
            pool,
            watch,
        )
        self.progress = Progress()
        self.flying: dict[Future[Answer], Submitted] = {}
        self.again: deque[Submitted] = deque()
        self.failed_in_a_row: list[tuple[str, str]] = []
        self.pending_faults: list[tuple[Submitted, tuple[str, ...]]] = []
        self.template: Report | None = None

    # ── before ────────────────────────────────────────────────────────────────────────────────────────────────
    def prepare(self) -> None:
        """Start all workers, load the course in each, and learn the declared checks from the first that answers."""
        self._refuse_unknown()
        self.progress.total = sum(1 for _ in self._to_do())
        self.progress.skipped = 0 if self.job.only else self.store.count() - self.progress.total
        self.watch(self.progress)
        if not self.progress.total:
            return
        submit = self.pool.executor.submit
        probes = [submit(grade, self._task("probe", self._nowhere(), probe=True)) for _ in range(self.pool.slots())]
        answer = self._first(probes)
        self.template = report_from_json(zlib.decompress(answer.report).decode())
        self.store.set_meta(template=report_to_json(self.template))

    def _first(self, probes: Sequence[Future[Answer]]) -> Answer:
        """The first that answers; one grader process that dies at its start ends nothing."""
        for probe in probes[:-1]:
            with suppress(GraderFault):
                return self._awaited(probe)
        return self._awaited(probes[-1])

    def _awaited(self, future: Future[Answer]) -> Answer:
        try:
            while not future.done():
                wait([future], timeout=_TICK)
            answer = future.result()
        except CancelledError as error:
            raise GraderFault("the cluster went away before anything was graded") from error
        if answer.kind == "course":
            raise CourseError(answer.text)
        if answer.kind != "report":
            raise GraderFault(f"no grader process can start ({answer.worker}): {answer.text}")
        return answer

    def _refuse_unknown(self) -> None:
        if unknown := [one for one in self.job.only if self.store.submission(one) is None]:
            raise CourseError(f"there is no submission {', '.join(unknown)} here", key="--only")

    def _to_do(self) -> Iterator[Submitted]:
        if self.job.only:
            yield from filter(None, map(self.store.submission, self.job.only))
            return
        yield from (one for one in self.store.submissions() if not self.store.is_done(one, self.key))

    # ── the loop ──────────────────────────────────────────────────────────────────────────────────────────────
    def run(self) -> None:
        for name in self.job.only:
            self.store.forgive(name)
        waiting = self._to_do()
        while self._fill(waiting):
            done, _ = wait(self.flying, timeout=_TICK, return_when=FIRST_COMPLETED)
            for future in done:
                self._take(future, self.flying.pop(future))
            self.watch(self.progress)
        self._settle_faults()
        self.watch(self.progress)

    def _fill(self, waiting: Iterator[Submitted]) -> bool:
        """Keep enough tasks in flight; whether there are any."""
        window = 2 * self.pool.slots() + 1
        while len(self.flying) < window:
            one = self.again.popleft() if self.again else next(waiting, None)
            if one is None:
                break
            task = self._task(secrets.token_hex(8), one)
            self.flying[self.pool.executor.submit(grade, task)] = one
        return bool(self.flying)

    def _task(self, token: str, one: Submitted, *, probe: bool = False) -> Task:
        job = self.job
        request = Request(
            submission=str(one.path),
            course=str(job.course),
            assignment=job.assignment,
            out=None if probe else str(self.store.attempt(one.id, token)),
            pages=True,
            quick=not job.pages,
            require=job.require,
            seed=job.seed,
            student=one.hand_in.people[0].sid if one.hand_in.people else None,
            secret=job.secret,
            metadata=_metadata(one.hand_in),
        )
        return Task(one.id, token, request, self.assignment.limits.run_seconds, job.practice, probe)

    def _nowhere(self) -> Submitted:
        return Submitted(HandIn("probe"), self.store.folder / "no-such-hand-in", "")

    def _take(self, future: Future[Answer], one: Submitted) -> None:
        try:
            answer = future.result()
        except CancelledError as error:
            raise GraderFault("the cluster went away; what was recorded stays, go on with --resume") from error
        except Exception as error:
            self._lost(one, error)
            return
        if answer.kind == "report":
            self._record(one, answer)
        elif answer.kind == "course":
            raise CourseError(answer.text)
        else:
            self._died(one, answer.text)

    def _lost(self, one: Submitted, error: Exception) -> None:
        """Dask says that workers died of this task as often as it allows; anything else is a fault of ours."""
        if type(error).__name__ != "KilledWorker":
            raise GraderFault(f"{one.id}: {type(error).__name__}: {error}") from error
        self.failed_in_a_row.append((one.id, str(error)))
        self.store.died(one.id, self.key, f"KilledWorker: {error}")
        self._stop_if_all_fails()
        self.pending_faults.append((one, (f"Dask's workers died of it: {error}",)))

    def _died(self, one: Submitted, reason: str) -> None:
        _stop_on_full_disk(self.store.folder)
        self.failed_in_a_row.append((one.id, reason))
        reasons = self.store.died(one.id, self.key, reason)
        self._stop_if_all_fails()
        if len(reasons) < MOST_DEATHS:
            self.progress.retried += 1
            self.again.append(one)
        else:
            self.pending_faults.append((one, reasons))

    def _stop_if_all_fails(self) -> None:
        ids = {name for name, _ in self.failed_in_a_row}
        if len(self.failed_in_a_row) >= _ROW_OF_FAILURES and len(ids) >= 3:
            for name in ids:
                self.store.forgive(name)
            raise GraderFault(
                f"{len(self.failed_in_a_row)} times in a row a grader process failed, over {len(ids)} submissions: the "
                f"machine is at fault, and nobody was set aside for it. Last reason: {self.failed_in_a_row[-1][1]}"
            )

    def _record(self, one: Submitted, answer: Answer) -> None:
        self.failed_in_a_row.clear()
        self._settle_faults()
        report = zlib.decompress(answer.report).decode()
        self.store.record(one, self.key, report, answer.outcome, answer.token)
        self.progress.done += 1
        self.progress.refused += answer.outcome == "refused"
        self.progress.faults += answer.outcome == "fault"
        self.progress.seconds += answer.seconds

    # ── set aside ─────────────────────────────────────────────────────────────────────────────────────────────
    def _settle_faults(self) -> None:
        """Set aside what waits for it; it waits until another submission shows that the machine works."""
        while self.pending_faults:
            one, reasons = self.pending_faults.pop(0)
            report = _set_aside(self._known_template(), one, reasons)
            token = secrets.token_hex(8)
            folder = self.store.attempt(one.id, token)
            folder.mkdir(parents=True, exist_ok=True)
            gradescope.write_atomic(folder / "results.json", gradescope.to_json(report))
            self.store.record(one, self.key, report_to_json(report), "fault", token)
            self.progress.done += 1
            self.progress.faults += 1
            self.progress.set_aside.append(one.id)

    def _known_template(self) -> Report:
        assert self.template is not None, "prepare() comes first"
        return self.template


def _set_aside(template: Report, one: Submitted, reasons: tuple[str, ...]) -> Report:
    """All points open: nothing is known of this hand-in but that grading it killed the grader."""
    staff = "set aside: the grader process died each time. " + " / ".join(reasons)
    outcomes = tuple(
        Outcome(o.spec, Verdict.GRADER_FAULT, o.earned * 0, Reason.GRADER, staff=staff) for o in template.outcomes
    )
    note = Note(staff, staff_only=True, needs_human=True)
    return replace(
        template,
        outcomes=outcomes,
        submission=one.path.name,
        sha256=one.sha256,
        refused=None,
        notes=(note,),
        complete=True,
    )


def _metadata(hand_in: HandIn) -> dict[str, Any]:
    """What the platform's own file would say of this submission; names and addresses stay out of it."""
    users = [{"sid": person.sid} for person in hand_in.people if person.sid]
    return {"id": hand_in.id, "users": users} | ({"created_at": hand_in.created} if hand_in.created else {})
