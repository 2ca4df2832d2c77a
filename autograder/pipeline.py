"""grade(): the sentence. The only module that knows the order of the stages.

    submission ─collect→ ─sanitise→ ─execute (sandboxed kernel)→ ─check (probe)→ ─score→ ─report→

Stages are functions of values; what one needs of another is handed over here. `write` receives a valid report
before any student code runs, after every question, and at the end, so that whatever stops the grader leaves a file
that keeps what was earned and blames nobody wrongly.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from nbformat import NotebookNode

from autograder import __version__, score
from autograder.assignment import is_test_secret, load_assignment, read_secret
from autograder.cells import read_notebook
from autograder.checks import Checks, load_checks, run_checks
from autograder.checks.explain import Explanation, explain_check
from autograder.collect import collect
from autograder.errors import CourseError, SubmissionError
from autograder.execute import LiveNotebook, execute
from autograder.model import (
    Assignment,
    CellRecord,
    Isolation,
    Level,
    Limits,
    Note,
    Outcome,
    Reason,
    Report,
    Run,
    Submission,
)
from autograder.probe.client import ProbeClient
from autograder.release import notebook_text, with_answers
from autograder.sandbox import Kernel, Sandbox
from autograder.sanitise import sanitise
from autograder.seeds import derive
from autograder.validate import STUDENT, Variant

if TYPE_CHECKING:
    from autograder.sandbox import Zygote

__all__ = ["Course", "Graded", "Watcher", "explain", "grade", "open_course", "variant_grader"]

#: Kept back for stopping the student's code and writing the last file.
RESERVE_SECONDS = 2.0
#: Loose files beside the notebook that are copied into the work folder, at most.
LOOSE_FILES, LOOSE_BYTES = 500, 16 * 2**20


@dataclass(frozen=True)
class Course:
    """One assignment with everything that grading it needs, loaded once a grader process."""

    assignment: Assignment
    secret: bytes
    checks: Checks
    release: NotebookNode
    data: Mapping[str, bytes]


@dataclass(frozen=True)
class Graded:
    """What grading one submission leaves. notebook: as it ran, or None when it could not be read."""

    report: Report
    notebook: NotebookNode | None = None
    student_id: str | None = None


@dataclass(frozen=True)
class Watcher:
    """Who is told while a submission is graded. Each default listens to nothing."""

    write: Callable[[Report], None] = lambda report: None
    on_cell: Callable[[CellRecord], None] = lambda record: None
    on_question: Callable[[Sequence[Outcome]], None] = lambda outcomes: None


def open_course(root: Path, name: str, *, secret: bytes | None = None) -> Course:
    """Load an assignment of the course at `root`; CourseError names file, key and reason.

    secret: a marked one in place of the course's own, for the demo and for tests.
    """
    if secret is not None and not is_test_secret(secret):
        raise CourseError("a secret that is handed over must be marked as a test's", key="secret")
    assignment = load_assignment(root, name)
    path = assignment.folder / assignment.notebook
    if not path.is_file():
        raise CourseError(f"the student's notebook is missing: run `softmark release {name}`", where=path)
    try:
        notebook = read_notebook(path)
    except ValueError as error:
        raise CourseError(f"the student's notebook can't be read: {error}", where=path) from error
    data = assignment.folder / "data"
    files = {
        f"data/{file.relative_to(data).as_posix()}": file.read_bytes()
        for file in sorted(data.rglob("*"))
        if file.is_file()
    }
    return Course(
        assignment,
        secret or read_secret(root),
        load_checks(assignment),
        notebook,
        files,
    )


def grade(
    source: Path,
    course: Course,
    zygote: Zygote,
    *,
    require: Level | None = None,
    seed: int | None = None,
    student_id: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    seconds: float | None = None,
    watcher: Watcher = Watcher(),
) -> Graded:
    """Grade one submission.

    source: a notebook, a folder or a zip · require: refuse to start below this isolation level (never lower than
    the assignment's own) · seed: staff's, in place of the course's secret · seconds: until everything is written.
    Raises CourseError before any student code runs; whatever the student did ends in the report.
    """
    started = time.monotonic()
    try:
        prepared = _prepare(source, course, metadata, seed)
    except SubmissionError as error:
        refused = _refused(course, source, str(error))
        watcher.write(refused)
        return Graded(refused)
    sid = student_id or _sid(metadata)
    with _running(prepared, course, zygote, require, seconds, watcher) as (live, run, base):
        judged: list[Outcome] = []

        def on_question(outcomes: Sequence[Outcome]) -> None:
            judged.extend(outcomes)
            watcher.on_question(outcomes)
            watcher.write(replace(base, outcomes=score.fill(course.checks.specs, judged)))

        result = run_checks(
            course.checks, live, run, secret=course.secret, seed=seed, student_id=sid, on_question=on_question
        )
        live.close()
        cells = tuple(live.records[index] for index in sorted(live.records))
    report = replace(
        base,
        outcomes=score.settle(course.checks.specs, result.outcomes, course.assignment.total),
        leaderboard=result.leaderboard,
        notes=(*base.notes, *result.notes),
        cells=cells,
        seconds=time.monotonic() - started,
        complete=True,
    )
    watcher.write(report)
    return Graded(report, prepared.notebook, result.student_id)


def explain(
    source: Path,
    course: Course,
    zygote: Zygote,
    *,
    check: str,
    require: Level | None = None,
    seed: int | None = None,
    student_id: str | None = None,
) -> Explanation:
    """For staff: run the submission again, and keep the hidden inputs and both values of one check."""
    try:
        prepared = _prepare(source, course, None, seed)
    except SubmissionError as error:
        raise CourseError(f"this submission can't be graded as it stands: {error}", where=source) from error
    with _running(prepared, course, zygote, require, None, Watcher()) as (live, run, _):
        return explain_check(course.checks, live, run, check, secret=course.secret, seed=seed, student_id=student_id)


def variant_grader(course: Course, zygote: Zygote, folder: Path) -> Callable[[Variant], Sequence[Outcome]]:
    """Grades a pretended hand-in of `validate` as a notebook, through every stage; `folder` holds it meanwhile."""

    def grade_variant(variant: Variant) -> Sequence[Outcome]:
        answers = dict(variant.change)
        answers["STUDENT_ID"] = f"STUDENT_ID = {STUDENT!r}"
        answers["hand"] = f"hand = {dict(variant.hand)!r}"
        path = folder / course.assignment.notebook
        path.write_text(notebook_text(with_answers(course.assignment, answers)), encoding="utf-8")
        return grade(path, course, zygote, student_id=STUDENT).report.outcomes

    return grade_variant


@dataclass(frozen=True)
class _Prepared:
    """A hand-in that can be run. report: what is known before it runs."""

    notebook: NotebookNode
    report: Report
    files: Mapping[str, bytes] = field(default_factory=dict)


def _prepare(source: Path, course: Course, metadata: Mapping[str, Any] | None, seed: int | None) -> _Prepared:
    """collect and sanitise. Raises SubmissionError."""
    submission = collect(
        source,
        wanted=_wanted(course.assignment),
        assignment=course.assignment.name,
        notebook=course.assignment.notebook,
        metadata=metadata,
    )
    notebook, edits, notes = sanitise(submission, course.release, course.assignment)
    notes = (*submission.notes, *notes, *map(_edit_note, edits))
    files, left_out = _work_files(submission.files, course.data)
    if left_out:
        said = f"such as {left_out[0][:80]!r}: at most {LOOSE_FILES} files of {LOOSE_BYTES >> 20} MiB together are."
        notes = (*notes, Note(f"Not all files next to the notebook were copied for it to open, {said}"))
    return _Prepared(notebook, _first_report(course, submission, notes, seed), files)


def _work_files(loose: Mapping[str, bytes], data: Mapping[str, bytes]) -> tuple[dict[str, bytes], list[str]]:
    """What lies in the work folder, and which loose files of the hand-in don't: the course's data goes first."""
    files = dict(data)
    folders = {str(parent) for name in data for parent in PurePosixPath(name).parents}
    left_out, room = [], LOOSE_BYTES
    for name, content in sorted(loose.items()):
        parents = {str(parent) for parent in PurePosixPath(name).parents}
        possible = all(len(os.fsencode(part)) <= 255 for part in PurePosixPath(name).parts)
        if not possible or name in files or name in folders or not parents.isdisjoint(files):
            continue
        if len(content) > room or len(files) - len(data) >= LOOSE_FILES:
            left_out.append(name)
            continue
        files[name] = content
        folders |= parents
        room -= len(content)
    return files, left_out


@contextmanager
def _running(
    prepared: _Prepared,
    course: Course,
    zygote: Zygote,
    require: Level | None,
    seconds: float | None,
    watcher: Watcher,
) -> Iterator[tuple[LiveNotebook, Run, Report]]:
    """The notebook after all its cells ran, its kernel alive, inside its sandbox."""
    assignment = course.assignment
    limits = assignment.limits
    deadline = time.monotonic() + (seconds if seconds is not None else limits.run_seconds) - RESERVE_SECONDS
    # The kernel's own random numbers follow from the hand-in's bytes: a regrade and a replay meet the same ones.
    seed = derive(b"kernel", prepared.report.sha256)
    with Sandbox(zygote, limits, require=_required(assignment, require), files=prepared.files, seed=seed) as sandbox:
        isolation = sandbox.isolation
        _refuse_readable_reference(assignment, isolation)
        base = replace(prepared.report, isolation=isolation, practice_only=_practice_only(isolation))
        watcher.write(base)
        live = LiveNotebook(
            sandbox,
            prepared.notebook,
            limits,
            deadline=deadline,
            open_probe=_opener(sandbox, limits),
            on_cell=watcher.on_cell,
        )
        try:
            run = execute(live, prepared.notebook, isolation)
            yield live, run, replace(base, cells=run.cells, notes=(*base.notes, *run.notes))
        finally:
            live.close()


def _opener(sandbox: Sandbox, limits: Limits) -> Callable[[Any], ProbeClient]:
    """Makes the probe's client for a fresh kernel."""

    def over() -> Reason | None:
        usage = sandbox.usage()
        return usage.over if usage is not None else None

    def open_probe(kernel: Kernel) -> ProbeClient:
        return ProbeClient(kernel.probe, limits, alive=kernel.status, status_fileno=kernel.status_fileno(), watch=over)

    return open_probe


def _wanted(assignment: Assignment) -> tuple[str, ...]:
    return tuple(name for question in assignment.questions for name in question.functions)


def _required(assignment: Assignment, asked: Level | None) -> Level:
    """The stricter of the two."""
    return min(asked or Level.C, assignment.require_isolation, key=lambda level: level.value)


def _practice_only(isolation: Isolation) -> bool:
    """Level C without Landlock and seccomp can't promise that nothing is forged."""
    return isolation.level is Level.C and not {"landlock", "seccomp"} <= set(isolation.layers)


def _refuse_readable_reference(assignment: Assignment, isolation: Isolation) -> None:
    """At level B secrecy rests on folder modes alone; a user's tree is never changed behind their back."""
    if isolation.level is not Level.B:
        return
    folder = assignment.reference.parent
    closed = any(not parent.stat().st_mode & 0o001 for parent in (folder, *folder.resolve().parents))
    if not closed:
        raise CourseError(
            "at isolation level B (no Landlock here) students' code could read this folder; "
            f"run `chmod 700 {folder}` and grade again",
            where=folder,
        )


def _first_report(course: Course, submission: Submission, notes: Sequence[Note], seed: int | None) -> Report:
    """The report before anything ran: every check undecided."""
    assignment = course.assignment
    return Report(
        assignment=assignment.name,
        title=assignment.title,
        version=assignment.version,
        total=assignment.total,
        outcomes=score.fill(course.checks.specs, ()),
        submission=submission.name,
        sha256=submission.sha256,
        questions=assignment.questions,
        written_points=assignment.written_points,
        notes=tuple(notes),
        complete=False,
        seed="course" if seed is None else "staff",
        grader_version=__version__,
        visibility=assignment.visibility,
        settings=assignment.settings,
    )


def _refused(course: Course, source: Path, reason: str) -> Report:
    """A hand-in that can't be graded as it stands: every check BLOCKED, the total still the declared one."""
    nobody = Submission(source.name, b"", "")
    base = _first_report(course, nobody, (), None)
    return replace(base, outcomes=score.block_all(course.checks.specs, reason), refused=reason, complete=True)


def _edit_note(edit: Any) -> Note:
    where = f" (cell {edit.cell})" if edit.cell is not None else ""
    return Note(f"{edit.what}{where}", staff_only=True)


def _sid(metadata: Mapping[str, Any] | None) -> str | None:
    """The student's id as the platform knows it; a group's first member speaks for it."""
    users = (metadata or {}).get("users")
    if isinstance(users, list) and users and isinstance(users[0], dict):
        sid = users[0].get("sid")
        return str(sid) if sid else None
    return None
