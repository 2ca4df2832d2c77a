"""The command line: the only part of Softmark that prints or exits.

Exit status: 0 graded, whatever the score and whatever the student did · 2 wrong call or inconsistent course ·
3 fault of the grader or of course code · 4 the submission can't be graded as it stands.

Commands that run student or course code replace this process by a grader process (see `worker`) and go on in
`obey`; so `softmark --help` imports neither torch nor Jupyter.
"""

from __future__ import annotations

import json
import os
import socket
import traceback
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from autograder import __version__
from autograder.cli import authoring, classes, grading, platform
from autograder.cli.console import stderr

if TYPE_CHECKING:
    from autograder.sandbox import Zygote

__all__ = ["app", "main", "obey"]

app = typer.Typer(
    name="softmark",
    help="Grade notebooks of language-model and deep-learning courses. The reference stays out of reach.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(classes.app, name="class")
for command in (*grading.COMMANDS, *authoring.COMMANDS, *platform.COMMANDS, *classes.COMMANDS):
    app.command(command.__name__.rstrip("_").replace("_", "-"))(command)


@app.command(
    "exam",
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def exam(context: typer.Context) -> None:
    """Practice exams: question bank, papers, exports, item analysis (`softmark exam --help`)."""
    from exam_bank.cli import app as exams  # its imports would slow down every other command

    exams(context.args, prog_name="softmark exam")


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version_: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Options that stand before the command."""


def main() -> None:
    """The console script `softmark`."""
    from autograder.errors import CourseError

    try:
        app()
    except CourseError as error:
        stderr.print(f"[bold red]softmark:[/] {_plain(error)}", soft_wrap=True, highlight=False)
        raise SystemExit(2) from None


#: Orders that a grader process obeys: name → function(orders, zygote) → exit status.
_ORDERS: dict[str, Callable[[dict[str, Any], Zygote], int]] = {**grading.ORDERS, **authoring.ORDERS, **platform.ORDERS}


def obey(fd: int, zygote: Zygote) -> int:
    """Carry out the orders that wait on `fd`; called by the grader process after it forked its zygote."""
    from autograder.errors import CourseError, GraderFault

    try:
        with os.fdopen(fd, "rb") as stream:
            orders = json.loads(stream.readline())
            if orders["command"] == "serve":
                return _serve(stream, zygote)
        return _ORDERS[orders["command"]](orders, zygote)
    except CourseError as error:
        stderr.print(f"[bold red]course error:[/] {_plain(error)}", soft_wrap=True, highlight=False)
        return 2
    except GraderFault as error:
        stderr.print(f"[bold red]grader fault:[/] {_plain(error)}", soft_wrap=True, highlight=False)
        return 3
    except Exception:
        # Whatever nobody foresaw is a fault of ours too: say so, with all that helps to find it.
        stderr.print(f"[bold red]grader fault:[/] {_plain_text(traceback.format_exc())}", soft_wrap=True)
        return 3


def _serve(stream: IO[bytes], zygote: Zygote) -> int:
    from autograder.service import serve

    with socket.socket(fileno=os.dup(stream.fileno())) as answers:
        serve(stream, answers, zygote)
    return 0


def _plain(error: Exception) -> str:
    return _plain_text(str(error))


def _plain_text(text: str) -> str:
    from rich.markup import escape

    return escape(text)
