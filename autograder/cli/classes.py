"""`softmark class …` and `softmark accept`: a whole class, from the export to grades and insight."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from autograder.cli.console import stderr, stdout

if TYPE_CHECKING:
    from fractions import Fraction

    from autograder.batch.compare import Change
    from autograder.batch.run import Job, Progress
    from autograder.batch.source import Source
    from autograder.batch.store import Store
    from autograder.model import Assignment

__all__ = ["COMMANDS", "app"]

app = typer.Typer(no_args_is_help=True, help="A whole class: grade it, look at it, compare it.")

CourseOption = Annotated[
    Path | None, typer.Option("--course", help="The course's folder; else the nearest one above with a reference/.")
]
AssignmentOption = Annotated[str, typer.Option("--assignment", "-a", help="Name of the assignment.")]
#: How often a run without a terminal says how far it is.
_TELL_SECONDS = 15.0

ResultsArgument = Annotated[Path, typer.Argument(help="Folder that `class grade` filled.")]


def _find_course(course: Path | None) -> Path:
    from autograder.folders import find_course

    return find_course(Path.cwd(), course)


def _level(text: str) -> str | None:
    if text not in ("auto", "A", "B", "C"):
        raise typer.BadParameter(f"{text!r} is not one of auto, A, B, C", param_hint="--isolation")
    return None if text == "auto" else text


def _assignment_of(store: Store, course: Path | None) -> Assignment:
    from autograder.assignment import load_assignment

    return load_assignment(_find_course(course), store.meta("assignment") or "")


# ── grade ─────────────────────────────────────────────────────────────────────────────────────────────────────
@app.command()
def grade(
    source: Annotated[Path, typer.Argument(help="Gradescope's export, a Canvas or Moodle download, or a folder.")],
    assignment: AssignmentOption,
    out: Annotated[Path, typer.Option("--out", help="Folder for the results.")],
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, max=1000, help="Grader processes; else one a core.")
    ] = None,
    executor: Annotated[str, typer.Option("--executor", help="local, dask://HOST:PORT or slurm.")] = "local",
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Grade only this submission, again if need be.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on; what is recorded stays.")] = False,
    course: CourseOption = None,
    isolation: Annotated[str, typer.Option("--isolation", help="auto, or the lowest level: A, B or C.")] = "auto",
    practice: Annotated[
        bool, typer.Option("--practice", help="Accept a machine that can't keep the reference apart.")
    ] = False,
    seed: Annotated[int | None, typer.Option("--seed", help="Staff only: draw other hidden inputs. Recorded.")] = None,
    pages: Annotated[
        bool, typer.Option("--pages", help="Also write executed.html for each; costs half as much again.")
    ] = False,
) -> None:
    """Grade every active submission; each result is recorded once, and a stopped run can go on."""
    from autograder.assignment import load_assignment
    from autograder.batch.run import Job
    from autograder.batch.source import open_source
    from autograder.batch.store import Store

    job = Job(
        *(_find_course(course), assignment, _level(isolation), seed),
        only=tuple(only or ()),
        practice=practice,
        pages=pages,
    )
    if not out.exists():
        load_assignment(job.course, assignment)  # a wrong name is said before anything is made
    out_, source_ = out.absolute(), source.absolute()
    with _stoppable(), open_source(source_) as opened, _swept(out_), Store(out_, make=True) as store:
        _refuse_mixing(store, assignment, out, resume or bool(only))
        progress = _run(opened, store, job, executor, jobs)
    _tell(progress, out)


@contextmanager
def _swept(out: Path) -> Iterator[None]:
    """When nothing could be taken in, the folder that was made for it goes away again."""
    import shutil

    from autograder.batch.store import Store

    fresh = not out.exists()
    try:
        yield
    except BaseException:
        if fresh and out.is_dir():
            with Store(out) as store:
                empty = store.count() == 0
            if empty:
                shutil.rmtree(out)
        raise


def _refuse_mixing(store: Store, assignment: str, out: Path, resume: bool) -> None:
    from autograder.errors import CourseError

    before = store.meta("assignment")
    if before not in (None, assignment):
        raise CourseError(f"this folder holds results of {before!r}; name another one", where=out)
    if store.has_results() and not resume:
        raise CourseError("this folder holds results already: go on with --resume, or name another one", where=out)


@contextmanager
def _stoppable() -> Iterator[None]:
    """SIGTERM ends a run as Ctrl-C does."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, stop) if main else None
    try:
        yield
    except KeyboardInterrupt:
        stderr.print("\nstopped; what was recorded stays. Go on with --resume.")
        raise typer.Exit(130) from None
    finally:
        if main:
            signal.signal(signal.SIGTERM, before)


def _run(source: Source, store: Store, job: Job, executor: str, jobs: int | None) -> Progress:
    from autograder.batch.executors import open_pool
    from autograder.batch.run import grade_class, take_in
    from autograder.errors import GraderFault

    try:
        with stderr.status("reading the submissions …"):
            take_in(source, store)
        for note in source.notes[:20]:
            stderr.print(Text(f"note: {note}"), soft_wrap=True)
        with open_pool(executor, jobs) as pool, _live(store.count()) as watch:
            return grade_class(job, store, pool, watch)
    except OSError as error:
        stderr.print(Text(f"grader fault: {error}. What was recorded stays; go on with --resume", "bold red"))
        raise typer.Exit(3) from None
    except GraderFault as error:
        stderr.print(Text(f"grader fault: {error}", style="bold red"), soft_wrap=True)
        raise typer.Exit(3) from None


@contextmanager
def _writing(where: Path) -> Iterator[None]:
    """What can't be written is said in a sentence; files are replaced as a whole or not at all."""
    from autograder.errors import CourseError

    try:
        yield
    except OSError as error:
        raise CourseError(
            f"this can't be written: {error.strerror}; what was there before stays", where=where
        ) from None


@contextmanager
def _live(count: int) -> Iterator[Callable[[Progress], None]]:
    """A line that says how many are done, failed, how fast, and how long it will take."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        *(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()),
        *(TextColumn("{task.fields[failed]}"), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn()),
    )
    with Bar(*columns, console=stderr, disable=not stderr.is_terminal) as bar:
        task = bar.add_task("starting", total=count, failed="")

        told = time.monotonic()

        def watch(progress: Progress) -> None:
            nonlocal told
            if not stderr.is_terminal and time.monotonic() - told > _TELL_SECONDS:
                told = time.monotonic()
                stderr.print(f"{progress.done} of {progress.total} done, {progress.faults} faults")
            rate = bar.tasks[0].speed
            bar.update(
                task,
                description=f"grading {60 * rate:.0f}/min" if rate else "grading",
                total=progress.total,
                completed=progress.done,
                failed=", ".join(
                    f"{count} {word}"
                    for count, word in ((progress.faults, "faults"), (progress.refused, "can't be graded"))
                    if count
                ),
            )

        yield watch


def _tell(progress: Progress, out: Path) -> None:
    again = f", {progress.retried} tried again" if progress.retried else ""
    stdout.print(
        f"{progress.done} graded, {progress.skipped} recorded before, {progress.refused} that can't be graded, "
        f"{progress.faults} with a grader fault{again}",
        soft_wrap=True,
    )
    for name in progress.set_aside:
        stderr.print(
            f"set aside: {name} ended its grader process twice; look at it, then --only {name}", soft_wrap=True
        )
    stdout.print(f"next: softmark class report {out}", soft_wrap=True)
    if progress.faults:
        raise typer.Exit(3)


# ── report ────────────────────────────────────────────────────────────────────────────────────────────────────
@app.command()
def report(
    results: ResultsArgument,
    roster: Annotated[
        Path | None, typer.Option("--roster", help="CSV with all students: SID or e-mail, names.")
    ] = None,
    anonymous: Annotated[bool, typer.Option("--anonymous", help="A page without students, to show in class.")] = False,
) -> None:
    """Write grades.csv and class.html; they are derived and can be made again at any time."""
    from autograder.batch.gradebook import gradebook, read_roster
    from autograder.batch.insight import class_view
    from autograder.batch.store import Store
    from autograder.report.class_report import class_html
    from autograder.report.gradescope import write_atomic

    with Store(results) as store, _writing(results):
        book = gradebook(store, read_roster(roster) if roster else None)
        view = class_view(store, book, anonymous=anonymous)
        if anonymous:
            path = results / "class-anonymous.html"
            write_atomic(path, class_html(view).encode())
            stdout.print(str(path), soft_wrap=True)
            return
        write_atomic(results / "grades.csv", book.csv())
        write_atomic(results / "class.html", class_html(view).encode())
    for note in book.notes[:50]:
        stderr.print(Text(f"note: {note}"), soft_wrap=True)
    stdout.print(f"{results / 'grades.csv'} · {results / 'class.html'}", soft_wrap=True)


# ── diff ──────────────────────────────────────────────────────────────────────────────────────────────────────
@app.command()
def diff(
    old: Annotated[Path, typer.Argument(help="Results of an earlier grading, or Gradescope's export.")],
    new: Annotated[Path, typer.Argument(help="Results of the present one.")],
    csv: Annotated[Path | None, typer.Option("--csv", help="Also write the list to this file.")] = None,
) -> None:
    """Whose score changes, in which check, and why."""
    from autograder.batch.compare import compare, why
    from autograder.batch.gradebook import write_csv
    from autograder.report.gradescope import write_atomic

    changes = list(compare(old, new))
    if csv is not None:
        heads = ["submission", "students", "before", "after", "check", "was", "is"]
        with _writing(csv):
            write_atomic(csv, write_csv([heads, *_rows(changes)]))
    if reason := why(old, new):
        stdout.print(Text(reason), soft_wrap=True)
    if not changes:
        stdout.print("no score changes")
        return
    from rich.table import Table

    title = "1 submission changes" if len(changes) == 1 else f"{len(changes)} submissions change"
    table = Table(title=title, title_justify="left")
    for name in ("submission", "students", "points", "change", "checks"):
        table.add_column(name, justify="right" if name in ("points", "change") else "left", overflow="fold")
    for change in changes:
        details = "\n".join(f"{number}: {_told(was)} → {_told(now)}" for number, was, now in change.checks)
        totals = f"{_points(change.before)} → {_points(change.after)}"
        table.add_row(change.submission, Text(change.people), totals, _signed(change.difference), Text(details))
    stdout.print(table)


def _rows(changes: list[Change]) -> Iterator[list[str]]:
    for change in changes:
        head = [change.submission, change.people, _points(change.before), _points(change.after)]
        yield from ([*head, number, _told(was), _told(now)] for number, was, now in change.checks)
        if not change.checks:
            yield [*head, "", "", ""]


def _points(points: Fraction | None) -> str:
    from autograder.cli.tables import points as text

    return "–" if points is None else text(points)


def _signed(points: Fraction | None) -> str:
    return "" if points is None else f"{float(points):+.2f}".rstrip("0").rstrip(".")


def _told(check: Any) -> str:
    return "not there" if check is None else f"{_points(check.points)} {check.said}".strip()


# ── accept ────────────────────────────────────────────────────────────────────────────────────────────────────
def accept(
    submission: Annotated[str, typer.Argument(help="A notebook, or with --class the id of a submission.")],
    check: Annotated[str, typer.Option("--check", help="Number of the check that refused it, such as 1.2.")],
    results: Annotated[Path | None, typer.Option("--class", help="Folder of results to bring up to date.")] = None,
    assignment: Annotated[str | None, typer.Option("--assignment", "-a", help="Name; known with --class.")] = None,
    course: CourseOption = None,
    jobs: Annotated[int | None, typer.Option("--jobs", min=1)] = None,
    isolation: Annotated[str, typer.Option("--isolation", help="auto, or the lowest level: A, B or C.")] = "auto",
    practice: Annotated[
        bool, typer.Option("--practice", help="Accept a machine that can't keep the reference apart.")
    ] = False,
) -> None:
    """File a right answer that was refused as an alternative, validate, and grade again what the change touches."""
    from autograder.batch.run import Job
    from autograder.batch.store import Store

    if results is None and assignment is None:
        raise typer.BadParameter("name the assignment, or --class", param_hint="--assignment")
    root = _find_course(course)
    if results is None:
        _file(root, assignment or "", Path(submission), check, submission)
        return
    with _stoppable(), Store(results.absolute(), make=True) as store:
        found = store.submission(submission)
        path = found.path if found is not None else Path(submission)
        name = store.meta("assignment") or assignment or ""
        question = _file(root, name, path, check, submission)
        _grade_again(store, Job(root, name, _level(isolation), practice=practice), question, jobs)


def _file(root: Path, name: str, path: Path, check: str, said: str) -> str:
    """File the alternative and validate; returns the question. Leaves with status 2 while a check refuses it."""
    from autograder.assignment import load_assignment
    from autograder.batch.accept import answer_of, file_alternative
    from autograder.batch.notebooks import read_hand_in, release_names
    from autograder.errors import CourseError

    assignment = load_assignment(root, name)
    question = check.partition(".")[0]
    spec = next((q for q in assignment.questions if q.id == question), None)
    if spec is None:
        raise CourseError(f"there is no check {check}", where=assignment.folder, key="--check")
    pages = read_hand_in(path, assignment)
    if pages is None:
        raise CourseError("there is no notebook in it that can be read", where=path)
    source = answer_of(
        [cell.source for cell in pages.cells if cell.kind == "code"], spec.functions, release_names(assignment)
    )
    filed = file_alternative(assignment, question, source, f"Refused by check {check} in {Path(said).name}; accepted.")
    word = "filed as" if filed.new else "already filed as"
    stdout.print(f"{word} {filed.name} in {filed.path}", soft_wrap=True)
    command = [sys.executable, "-m", "autograder.cli", "validate", name, "--course", str(root), "--question", question]
    if subprocess.run([*command, "--seeds", "3"], check=False).returncode:
        stderr.print(
            f"Not yet: the checks of today refuse it (or something else is wrong, see above). Change check {check} in "
            f"{assignment.reference / 'checks.py'}, then run the same command again.",
            soft_wrap=True,
        )
        raise typer.Exit(2)
    return question


def _grade_again(store: Store, job: Job, question: str, jobs: int | None) -> None:
    from dataclasses import replace

    from autograder.assignment import load_assignment, read_secret
    from autograder.batch.accept import touched
    from autograder.batch.executors import open_pool
    from autograder.batch.fingerprint import Key, fingerprint
    from autograder.batch.run import grade_class

    assignment = load_assignment(job.course, job.assignment)
    found = fingerprint(assignment, read_secret(job.course))
    new, first = Key.of(assignment, found, None), next(iter(store.results()), None)
    if first is None:
        return
    store.set_fingerprint(new.course, dict(found))
    again = touched(store, first.key, new, question)
    if again == ():
        stdout.print("no submission of the class is touched")
        return
    job = replace(job, only=again or ())
    with open_pool("local", jobs) as pool, _live(store.count()) as watch:
        progress = grade_class(job, store, pool, watch)
    everybody = (
        "the whole class, since more than this question's checks changed" if again is None else "what it touches"
    )
    stdout.print(f"{progress.done} graded again: {everybody}", soft_wrap=True)


# ── written and similar ───────────────────────────────────────────────────────────────────────────────────────
@app.command()
def written(
    results: ResultsArgument,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for the PDFs; else `written` in the results.")
    ] = None,
    pages: Annotated[str | None, typer.Option("--pages", help="Pages a question, such as E=2; else as needed.")] = None,
    course: CourseOption = None,
) -> None:
    """The written answers as one PDF a student, with the same pages for everybody."""
    from autograder.batch.store import Store
    from autograder.batch.written import parse_pages, write_all

    with Store(results) as store, _writing(out or results / "written"):
        fixed = parse_pages(pages) if pages else None
        with _live(store.count()) as watch:
            done = write_all(
                store,
                _assignment_of(store, course),
                out or results / "written",
                pages=fixed,
                watch=_count(watch, store),
            )
    states = [state for one in done for state in one.state.values()]
    told = ", ".join(
        f"{states.count(state)} {state}" for state in ("answered", "missing", "smaller", "cut") if state in states
    )
    stdout.print(f"{len(done)} PDFs in {out or results / 'written'}: {told}", soft_wrap=True)


def _count(watch: Callable[[Progress], None], store: Store) -> Callable[[int], None]:
    from autograder.batch.run import Progress

    total = store.count()
    return lambda done: watch(Progress(total=total, done=done))


@app.command()
def similar(
    results: ResultsArgument,
    least: Annotated[float, typer.Option("--least", min=0.05, max=1.0, help="Smallest shared part to list.")] = 0.5,
    course: CourseOption = None,
) -> None:
    """Pairs of submissions whose code is alike, as a list to look at: never a verdict."""
    from autograder.batch.similar import class_codes, find_pairs, similar_html
    from autograder.batch.store import Store
    from autograder.report.gradescope import write_atomic

    with Store(results) as store, stderr.status("comparing …"):
        assignment = _assignment_of(store, course)
        codes, handed_out = class_codes(store, assignment)
        names = {one.id: ", ".join(p.name for p in one.hand_in.people) for one in store.submissions()}
        pairs = find_pairs(codes, handed_out, least=least)
    path = results / "similar.html"
    with _writing(path):
        write_atomic(path, similar_html(assignment.title, pairs, names, len(codes)).encode())
    stdout.print(f"{len(pairs)} pairs to look at: {path}", soft_wrap=True)


COMMANDS: tuple[Callable[..., None], ...] = (accept,)
