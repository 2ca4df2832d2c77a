"""`softmark grade`, `demo`, `explain`, `doctor`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from autograder.cli.console import stderr, stdout

if TYPE_CHECKING:
    from autograder.model import Report
    from autograder.sandbox import Zygote

__all__ = ["COMMANDS", "ORDERS"]

AssignmentOption = Annotated[str, typer.Option("--assignment", "-a", help="Name of the assignment.")]
CourseOption = Annotated[
    Path | None, typer.Option("--course", help="The course's folder; else the nearest one above with a reference/.")
]
IsolationOption = Annotated[
    str, typer.Option("--isolation", help="auto, or the lowest level to accept: A, B or C. See `softmark doctor`.")
]
SeedOption = Annotated[int | None, typer.Option("--seed", help="Staff only: draw other hidden inputs. Recorded.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
SubmissionArgument = Annotated[Path, typer.Argument(help="A notebook, or a folder or zip that holds it.")]


def _orders(command: str, **values: Any) -> dict[str, Any]:
    return {"command": command} | {k: str(v) if isinstance(v, Path) else v for k, v in values.items()}


def _find_course(course: Path | None) -> Path:
    from autograder.folders import find_course

    return find_course(Path.cwd(), course)


def _level(text: str) -> str | None:
    if text not in ("auto", "A", "B", "C"):
        raise typer.BadParameter(f"{text!r} is not one of auto, A, B, C", param_hint="--isolation")
    return None if text == "auto" else text


# ── grade ─────────────────────────────────────────────────────────────────────────────────────────────────────
def grade(
    submission: SubmissionArgument,
    assignment: AssignmentOption,
    course: CourseOption = None,
    out: Annotated[Path, typer.Option("--out", help="Folder for results.json and the pages.")] = Path("out"),
    isolation: IsolationOption = "auto",
    seed: SeedOption = None,
    student: Annotated[str | None, typer.Option("--student", help="The student's id, for personal numbers.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Grade one submission: results.json, report.html, executed.ipynb, and a table."""
    from autograder.worker import exec_grader

    if not submission.exists():
        raise typer.BadParameter(f"{submission} does not exist", param_hint="SUBMISSION")
    exec_grader(
        _orders(
            "grade",
            submission=submission.absolute(),
            assignment=assignment,
            course=_find_course(course),
            out=out.absolute(),
            require=_level(isolation),
            seed=seed,
            student=student,
            as_json=as_json,
        )
    )


def _obey_grade(orders: dict[str, Any], zygote: Zygote) -> int:
    from autograder.cli.tables import isolation_line, outcome_table
    from autograder.model import Level
    from autograder.output import write_pages, write_results
    from autograder.pipeline import Watcher, open_course
    from autograder.pipeline import grade as grade_one
    from autograder.report import gradescope

    course = open_course(Path(orders["course"]), orders["assignment"])
    out = Path(orders["out"])
    out.mkdir(parents=True, exist_ok=True)
    graded = grade_one(
        Path(orders["submission"]),
        course,
        zygote,
        require=Level(orders["require"]) if orders["require"] else None,
        seed=orders["seed"],
        student_id=orders["student"],
        watcher=Watcher(write=lambda report: write_results(report, out)),
    )
    write_pages(graded, out)
    if orders["as_json"]:
        stdout.print_json(json.dumps(gradescope.render(graded.report)))
        return _status(graded.report)
    report = graded.report
    if report.refused:
        stderr.print(f"[bold yellow]not graded:[/] {_escape(report.refused)}")
    stdout.print(outcome_table(report))
    for note in report.notes:
        if not note.staff_only:
            stdout.print(f"note: {_escape(note.text)}")
    if report.isolation is not None:
        stdout.print(f"[dim]{_escape(isolation_line(report.isolation))}[/]")
    if report.practice_only:
        stdout.print("[bold yellow]Practice only, not for grades[/]: this machine can't keep the reference apart.")
    for outcome in report.faults:
        stderr.print(f"[bold magenta]grader fault[/] in {outcome.spec.number}: {_escape(outcome.staff)}")
    stdout.print(f"{out / 'report.html'} · {out / 'results.json'}", soft_wrap=True)
    return _status(report)


def _status(report: Report) -> int:
    if report.refused:
        return 4
    return 3 if report.faults else 0


def _escape(text: str) -> str:
    from rich.markup import escape

    return escape(text)


# ── demo ──────────────────────────────────────────────────────────────────────────────────────────────────────
def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for the notebooks and pages.")] = Path("demo-out"),
    course: CourseOption = None,
    assignment: AssignmentOption = "attention",
) -> None:
    """Grade six shipped submissions, from all right to one that tries to read the reference."""
    from autograder.worker import exec_grader

    exec_grader(_orders("demo", course=_find_course(course), assignment=assignment, out=out.absolute()))


def _obey_demo(orders: dict[str, Any], zygote: Zygote) -> int:
    import nbformat
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from autograder.cli.tables import isolation_line, summary_table
    from autograder.demo import submissions
    from autograder.output import write_pages, write_results
    from autograder.pipeline import Graded, Watcher, open_course
    from autograder.pipeline import grade as grade_one

    # A fresh clone has no secret of its own yet, and the demo's inputs may be guessed.
    course = open_course(Path(orders["course"]), orders["assignment"], secret=b"test-only:demo")
    shipped = submissions(course.assignment, course.checks)
    done: list[tuple[str, Report, str]] = []
    started = time.monotonic()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=stderr) as bar:
        task = bar.add_task("grading", total=len(shipped))
        for number, one in enumerate(shipped, 1):
            bar.update(task, description=one.title)
            folder = Path(orders["out"]) / f"{number}-{one.name}"
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{course.assignment.name}.ipynb"
            path.write_text(nbformat.writes(one.notebook, version=4) + "\n", encoding="utf-8")

            def write(report: Report, folder: Path = folder) -> None:
                write_results(report, folder)

            graded: Graded = grade_one(path, course, zygote, watcher=Watcher(write=write))
            write_pages(graded, folder)
            done.append((one.title, graded.report, _findings(graded.report)))
            bar.advance(task)
    stdout.print(summary_table(done))
    report = done[0][1]
    if report.isolation is not None:
        stdout.print(f"[dim]{_escape(isolation_line(report.isolation))}[/]")
    stdout.print(f"{len(done)} submissions in {time.monotonic() - started:.1f} s. Pages to look at:")
    for number, one in enumerate(shipped, 1):
        stdout.print(f"  {Path(orders['out']) / f'{number}-{one.name}' / 'report.html'}", soft_wrap=True)
    return 3 if any(r.faults for _, r, _ in done) else 0


def _findings(report: Report) -> str:
    """The commonest things that the table should say: named mistakes first, else reasons."""
    names = [name for outcome in report.outcomes for name in outcome.mistakes]
    reasons = [str(outcome.reason) for outcome in report.outcomes if outcome.reason and not outcome.mistakes]
    found = list(dict.fromkeys([*names, *reasons]))
    return ", ".join(found[:4]) + (f" and {len(found) - 4} more" if len(found) > 4 else "") if found else "all right"


# ── explain ───────────────────────────────────────────────────────────────────────────────────────────────────
def explain(
    submission: SubmissionArgument,
    assignment: AssignmentOption,
    check: Annotated[str, typer.Option("--check", help="Number of the check, such as 1.2.")],
    course: CourseOption = None,
    seed: SeedOption = None,
    student: Annotated[str | None, typer.Option("--student", help="The student's id, for personal numbers.")] = None,
    isolation: IsolationOption = "auto",
) -> None:
    """STAFF ONLY: the hidden inputs, the student's and the expected values, the seed, the nearest mistakes."""
    from autograder.worker import exec_grader

    exec_grader(
        _orders(
            "explain",
            submission=submission.absolute(),
            assignment=assignment,
            course=_find_course(course),
            check=check,
            seed=seed,
            student=student,
            require=_level(isolation),
        )
    )


def _obey_explain(orders: dict[str, Any], zygote: Zygote) -> int:
    from autograder.cli.tables import explanation_lines
    from autograder.model import Level
    from autograder.pipeline import explain as explain_one
    from autograder.pipeline import open_course

    course = open_course(Path(orders["course"]), orders["assignment"])
    require = Level(orders["require"]) if orders["require"] else None
    explanation = explain_one(
        Path(orders["submission"]),
        course,
        zygote,
        check=orders["check"],
        seed=orders["seed"],
        student_id=orders["student"],
        require=require,
    )
    stdout.print("[bold red]STAFF ONLY[/]: hidden inputs and expected values. Don't paste this into a reply.")
    for line in explanation_lines(explanation):
        stdout.print(line, soft_wrap=True, markup=False)
    return 0


# ── doctor ────────────────────────────────────────────────────────────────────────────────────────────────────
_REMEDIES = {
    "uid": "run as root (inside a container that is the default), so that student code can get a uid of its own",
    "landlock": "needs Linux 5.13 or newer and a container engine whose profile lets the landlock calls through",
    "seccomp": "needs Linux with CONFIG_SECCOMP_FILTER on x86_64 or aarch64",
    "no_new_privs": "needs Linux 3.5 or newer",
    "rlimits": "needs Linux",
    "no-network": "comes with seccomp",
}


def doctor(as_json: JsonOption = False) -> None:
    """Which isolation layers hold on this machine, and what to do about the others."""
    from autograder.sandbox import probe_layers

    found = probe_layers()
    if as_json:
        layers = {"level": found.level, "layers": list(found.layers), "missing": dict(found.missing)}
        stdout.print_json(json.dumps(layers))
        return
    stdout.print(f"isolation level [bold]{found.level}[/]")
    for layer in found.layers:
        stdout.print(f"  [green]holds[/]    {layer}")
    for layer, why in found.missing.items():
        stdout.print(f"  [yellow]missing[/]  {layer}: {_escape(why)}. {_REMEDIES.get(layer, '')}", soft_wrap=True)
    if found.missing:
        stdout.print("With fewer layers than an assignment asks for, grading refuses to start.")


COMMANDS: tuple[Callable[..., None], ...] = (grade, demo, explain, doctor)
ORDERS: dict[str, Callable[[dict[str, Any], Zygote], int]] = {
    "grade": _obey_grade,
    "demo": _obey_demo,
    "explain": _obey_explain,
}
