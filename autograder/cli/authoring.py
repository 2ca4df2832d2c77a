"""`softmark validate`, `release`, `new`: for those who write assignments."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from autograder.cli.console import stderr, stdout

if TYPE_CHECKING:
    from autograder.sandbox import Zygote
    from autograder.validate import Row, Validation

__all__ = ["COMMANDS", "ORDERS"]

AssignmentArgument = Annotated[str, typer.Argument(help="Name of the assignment.")]
CourseOption = Annotated[
    Path | None, typer.Option("--course", help="The course's folder; else the nearest one above with a reference/.")
]


def release(
    assignment: AssignmentArgument,
    course: CourseOption = None,
    out: Annotated[Path | None, typer.Option("--out", help="Folder of the hand-out zip.")] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; fail when the notebook is out of step.")
    ] = False,
) -> None:
    """Derive the student's notebook from the reference, and pack the hand-out."""
    from autograder.assignment import load_assignment
    from autograder.folders import find_course
    from autograder.release import release as write

    root = find_course(Path.cwd(), course)
    released = write(load_assignment(root, assignment), out, check=check)
    if not check:
        stdout.print(f"{released.notebook}\n{released.archive}", soft_wrap=True)
        if released.made_secret:
            stdout.print(f"made {root / 'reference' / '.secret'}: back it up, never publish it", soft_wrap=True)
    elif released.differences:
        for line in released.differences:
            stdout.print(line, markup=False, soft_wrap=True)
        stderr.print(f"out of step with the reference: run `softmark release {assignment}`")
        raise typer.Exit(2)
    else:
        stdout.print(f"{released.notebook}: in step with the reference", soft_wrap=True)


def validate(
    assignment: AssignmentArgument,
    course: CourseOption = None,
    question: Annotated[str | None, typer.Option("--question", help="Only this question, e.g. 3.")] = None,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="How many seeds the sweep draws inputs from.")] = 5,
    mutants: Annotated[
        int | None,
        typer.Option("--mutants", min=0, help="At most so many generated mutants, spread evenly. [default: all]"),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, max=1000, help="So many seeds at once; else one a core.")
    ] = None,
    sandbox: Annotated[bool, typer.Option(help="Also grade each variant once as a notebook.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Grade the grader: the reference, each mistake and pair, each alternative, generated mutants."""
    from autograder.folders import find_course
    from autograder.worker import exec_grader

    root = find_course(Path.cwd(), course)
    values = {"course": str(root), "assignment": assignment, "question": question, "seeds": seeds, "mutants": mutants}
    exec_grader({"command": "validate", **values, "jobs": jobs, "sandbox": sandbox, "as_json": as_json})


def _obey_validate(orders: dict[str, Any], zygote: Zygote) -> int:
    from autograder.forks import cores
    from autograder.pipeline import open_course, variant_grader
    from autograder.validate import validate as put_to_test

    course = open_course(Path(orders["course"]), orders["assignment"])
    draws = [None, *range(1, orders["seeds"])]
    tried = 0
    with tempfile.TemporaryDirectory(prefix="softmark-validate-") as folder, stderr.status("validating …") as status:

        def tell(rows: Sequence[Row]) -> None:
            nonlocal tried
            tried += len(rows)
            for row in rows:
                status.update(Text(f"validating … {tried} tried, last: {row.kind} {row.name}"))
                if not row.ok:  # a sweep takes minutes: what is wrong is said at once
                    stderr.print(_row_text(row), soft_wrap=True)

        grader = variant_grader(course, zygote, Path(folder)) if orders["sandbox"] else None
        found = put_to_test(
            course.checks,
            secret=course.secret,
            seeds=draws,
            question=orders["question"],
            mutants=orders["mutants"],
            jobs=orders["jobs"] or cores(),
            grade_variant=grader,
            on_rows=tell,
        )
    if orders["as_json"]:
        rows = [{name: getattr(row, name) for name in row.__dataclass_fields__} for row in found.rows]
        stdout.print_json(json.dumps({"ok": found.ok, "seconds": found.seconds, "rows": rows}))
    else:
        _show(found, orders["assignment"])
    return 0 if found.ok else 2


def _show(found: Validation, assignment: str) -> None:
    from rich.table import Table

    table = Table(title=f"{assignment}: the grader, graded", title_justify="left")
    table.add_column("what was tried")
    table.add_column("as it should", justify="right")
    for kind in dict.fromkeys(row.kind for row in found.rows):
        well, total = found.share(kind)
        table.add_row(_KINDS.get(kind, kind), f"{well} of {total}")
    stdout.print(table)
    for row in found.rows:
        if not row.ok or row.kind in ("survivor", "mutants"):
            stdout.print(_row_text(row), soft_wrap=True)
    verdict = "[green]all as it should be[/]" if found.ok else f"[red]{len(found.failures)} to look at[/]"
    stdout.print(f"{verdict} · {found.seconds:.1f} s")


def _row_text(row: Row) -> Text:
    place = f"Q{row.question} " if row.question else ""
    seed = f" (seed {row.seed})" if row.seed is not None else ""
    advice = f" → look at check {', '.join(row.checks)}" if row.checks else ""
    return Text(f"{place}{row.kind} {row.name}{seed}: {row.detail}{advice}", style="" if row.ok else "red")


_KINDS = {
    "reference": "the reference gets all points",
    "empty": "an empty notebook gets none",
    "mistake": "a mistake is noticed, named, and loses what it should",
    "pair": "a pair of mistakes is named",
    "alternative": "another right way loses nothing",
    "mutants": "generated mutants lose points (99 % at least)",
    "survivor": "mutants that keep all points: is each the same function?",
}


def new(
    name: Annotated[str, typer.Argument(help="Name of the new assignment, e.g. my_topic.")], course: CourseOption = None
) -> None:
    """Write a small complete assignment that releases and validates at once."""
    from autograder.folders import find_course
    from autograder.scaffold import new as write

    for path in write(find_course(Path.cwd(), course), name):
        stdout.print(str(path), soft_wrap=True)
    stdout.print(f"next: softmark release {name} && softmark validate {name}")


COMMANDS: tuple[Callable[..., None], ...] = (validate, release, new)
ORDERS: dict[str, Callable[[dict[str, Any], Zygote], int]] = {"validate": _obey_validate}
