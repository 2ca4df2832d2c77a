"""`softmark package`, `emulate`, `gradescope`: everything about the platform."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from autograder.cli.console import stderr, stdout

if TYPE_CHECKING:
    from autograder.emulator import Payload, Starter
    from autograder.pipeline import Course
    from autograder.sandbox import Zygote

__all__ = ["COMMANDS", "ORDERS"]

CourseOption = Annotated[
    Path | None, typer.Option("--course", help="The course's folder; else the nearest one above with a reference/.")
]


#: What tells docker and podman where their daemon and their files are.
_ENGINE_VARIABLES = ("DOCKER_", "CONTAINER", "XDG_RUNTIME_DIR")


def _orders(command: str, course: Path | None, **values: Any) -> dict[str, Any]:
    from autograder.folders import find_course

    given = {k: str(v.absolute()) if isinstance(v, Path) else v for k, v in values.items()}
    return {"command": command, "course": str(find_course(Path.cwd(), course)), **given}


# ── gradescope ────────────────────────────────────────────────────────────────────────────────────────────────────
def gradescope(
    root: Annotated[Path, typer.Option("--root", help="The platform's folder.")] = Path("/autograder"),
) -> None:
    """Inside Gradescope: grade what lies in ROOT/submission into ROOT/results/results.json."""
    from autograder.errors import GraderFault
    from autograder.gradescope import run

    try:
        status = run(root.absolute(), say=_say)
    except GraderFault as error:
        _say(f"grader fault: {error}")
        status = 3
    raise typer.Exit(status)


def _say(line: str) -> None:
    # A check may have closed our stdout. The log is lost then; the result must not be.
    with contextlib.suppress(OSError, ValueError):
        stdout.print(line, markup=False, soft_wrap=True)


def _obey_gradescope(orders: dict[str, Any], zygote: Zygote) -> int:
    from autograder.gradescope import grade_orders

    return grade_orders(orders, zygote, _say)


# ── package ───────────────────────────────────────────────────────────────────────────────────────────────────────
def package(
    assignment: Annotated[str | None, typer.Argument(help="Name of the assignment.")] = None,
    course: CourseOption = None,
    out: Annotated[Path | None, typer.Option("--out", help="The autograder zip to write.")] = None,
    image_context: Annotated[
        Path | None, typer.Option("--image-context", help="The folder to write for `docker build`.")
    ] = None,
    python_url: Annotated[
        str | None,
        typer.Option(envvar="PYTHON_URL", help="Zip: tarball of a relocatable CPython ≥ 3.11 in a folder python/."),
    ] = None,
    python_sha256: Annotated[str | None, typer.Option(envvar="PYTHON_SHA256", help="Zip: its SHA-256.")] = None,
    torch_index_url: Annotated[
        str, typer.Option(envvar="TORCH_INDEX_URL", help="Zip: an index of CPU wheels of torch.")
    ] = "https://download.pytorch.org/whl/cpu",
    probe: Annotated[
        bool, typer.Option("--probe", help="Instead: a tiny autograder that asks the platform what it is.")
    ] = False,
) -> None:
    """Pack an assignment for Gradescope: a zip to upload, or the context of an image."""
    from autograder.worker import exec_grader

    if probe:
        _write_probe(out)
        return
    if assignment is None:
        raise typer.BadParameter("name the assignment to pack", param_hint="ASSIGNMENT")
    if out is None and image_context is None:
        raise typer.BadParameter("name --out FILE.zip, --image-context DIR, or both", param_hint="--out")
    if out is not None and not (python_url and python_sha256):
        raise typer.BadParameter(
            "the zip needs an interpreter to install: give --python-url and --python-sha256", param_hint="--python-url"
        )
    exec_grader(
        _orders(
            "package",
            course,
            assignment=assignment,
            out=out,
            context=image_context,
            interpreter=[python_url, python_sha256, torch_index_url],
        )
    )


def _write_probe(out: Path | None) -> None:
    from autograder.package import probe_files, write_zip

    target = out or Path("probe.zip")
    write_zip(probe_files(), target)
    stdout.print(str(target), soft_wrap=True)


def _obey_package(orders: dict[str, Any], zygote: Zygote) -> int:
    from autograder.package import Interpreter, package_files, write_context, write_zip
    from autograder.pipeline import open_course

    files = package_files(open_course(Path(orders["course"]), orders["assignment"]))
    if orders["out"]:
        write_zip(files, Path(orders["out"]), Interpreter(*orders["interpreter"]))
        stdout.print(orders["out"], soft_wrap=True)
    if orders["context"]:
        write_context(files, Path(orders["context"]))
        stdout.print(orders["context"], soft_wrap=True)
    stderr.print("It holds the reference and the course's secret: keep it, and any image of it, private.")
    return 0


# ── emulate ───────────────────────────────────────────────────────────────────────────────────────────────────────
def emulate(
    assignment: Annotated[str, typer.Argument(help="Name of the assignment.")],
    submission: Annotated[Path, typer.Argument(help="A notebook, or a folder or zip that holds it.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for what the platform would get and show.")],
    course: CourseOption = None,
    seconds: Annotated[float, typer.Option("--timeout", min=1, help="The platform's limit in seconds.")] = 600,
    image: Annotated[str | None, typer.Option("--image", help="Run in a container of this image.")] = None,
    engine: Annotated[str, typer.Option("--engine", help="docker or podman.")] = "docker",
    cpus: Annotated[float, typer.Option("--cpus", help="Of the container.")] = 0.5,
    memory: Annotated[int, typer.Option("--memory", help="Of the container, in MB.")] = 768,
    metadata: Annotated[Path | None, typer.Option("--metadata", help="A submission_metadata.json to use.")] = None,
    export: Annotated[Path | None, typer.Option("--export", help="A class export to take the metadata from.")] = None,
    id: Annotated[str | None, typer.Option("--id", help="Number of the submission in the export.")] = None,
    due: Annotated[str | None, typer.Option("--due", help="The due date, ISO 8601 with its offset.")] = None,
) -> None:
    """Do what Gradescope does with one submission, and show what staff and the student would see."""
    from autograder.worker import exec_grader

    if not submission.exists():
        raise typer.BadParameter(f"{submission} does not exist", param_hint="SUBMISSION")
    if (export is None) != (id is None):
        raise typer.BadParameter("--export and --id go together", param_hint="--export")
    values: dict[str, Any] = {"seconds": seconds, "image": image, "engine": engine, "cpus": cpus, "memory": memory}
    values["engine_environment"] = {k: v for k, v in os.environ.items() if k.startswith(_ENGINE_VARIABLES)}
    sources = {"metadata": metadata, "export": export, "id": id, "due": due}
    exec_grader(_orders("emulate", course, assignment=assignment, submission=submission, out=out, **values, **sources))


def _obey_emulate(orders: dict[str, Any], zygote: Zygote) -> int:
    from autograder.emulator import emulate as run
    from autograder.package import package_files, write_source
    from autograder.pipeline import open_course

    course, out = open_course(Path(orders["course"]), orders["assignment"]), Path(orders["out"])
    work = out / "autograder"
    work.mkdir(parents=True, exist_ok=True)
    if orders["image"] is None:
        write_source(package_files(course), work / "source")
        (work / "run_autograder").write_bytes((work / "source" / "run_autograder").read_bytes())
        (work / "run_autograder").chmod(0o755)
    zygote.close()
    payload = run(
        work, Path(orders["submission"]), _metadata(orders, course), _starter(orders), seconds=orders["seconds"]
    )
    return _show(payload, out, course)


def _starter(orders: dict[str, Any]) -> Starter:
    from autograder.emulator import Box, InContainer, InFolder

    if orders["image"] is None:
        return InFolder()
    os.environ.update(orders["engine_environment"])  # a grader process starts without them
    return InContainer(orders["image"], (orders["engine"],), Box(orders["cpus"], orders["memory"]))


def _metadata(orders: dict[str, Any], course: Course) -> dict[str, Any]:
    from autograder.emulator import metadata_from_export, plain_metadata

    if orders["metadata"]:
        read: dict[str, Any] = json.loads(Path(orders["metadata"]).read_text(encoding="utf-8"))
        return read
    if orders["export"]:
        return metadata_from_export(Path(orders["export"]), orders["id"], course.assignment, due=orders["due"])
    return plain_metadata(course.assignment, due=orders["due"])


def _show(payload: Payload, out: Path, course: Course) -> int:
    """Files and a summary of what was posted; 1 for the two codes after which the platform's program exits 1."""
    from autograder.emulator import Moment, advice, view, view_page

    (out / "payload.json").write_text(json.dumps(payload.posted(), indent=1) + "\n", encoding="utf-8")
    for moment in Moment:
        page = view_page(view(payload, moment))
        (out / f"view-{moment}.html").write_text(page, encoding="utf-8", errors="replace")
    shown = view(payload, Moment.STAFF)
    stdout.print(f"{course.assignment.title}: {shown.total or shown.output} in {payload.elapsed_time:.1f} s")
    stdout.print(f"exit status {payload.exit_status}, error code {payload.error_code}", markup=False)
    for warning in advice(payload.results):
        stderr.print(f"warning: {warning}", markup=False)
    stdout.print(f"{out / 'payload.json'} · {out / 'view-staff.html'} · {out / 'view-before-due.html'}", soft_wrap=True)
    return 1 if payload.failed else 0


COMMANDS: tuple[Callable[..., None], ...] = (package, emulate, gradescope)
ORDERS: dict[str, Callable[[dict[str, Any], Zygote], int]] = {
    "package": _obey_package,
    "emulate": _obey_emulate,
    "gradescope": _obey_gradescope,
}
