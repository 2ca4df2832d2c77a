"""`softmark validate`, `release`, `new`: for those who write assignments."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from autograder.cli.console import stderr, stdout

if TYPE_CHECKING:
    from autograder.sandbox import Zygote

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
    from autograder.assignment import find_course, load_assignment
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


def new(
    name: Annotated[str, typer.Argument(help="Name of the new assignment, e.g. my_topic.")], course: CourseOption = None
) -> None:
    """Write a small complete assignment that releases and validates at once."""
    from autograder.assignment import find_course
    from autograder.scaffold import new as write

    for path in write(find_course(Path.cwd(), course), name):
        stdout.print(str(path), soft_wrap=True)
    stdout.print(f"next: softmark release {name} && softmark validate {name}")


COMMANDS: tuple[Callable[..., None], ...] = (release, new)
ORDERS: dict[str, Callable[[dict[str, Any], Zygote], int]] = {}
