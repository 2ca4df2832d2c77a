"""reference → the student's notebook and the hand-out zip.

The student's notebook is derived from `reference/<name>/solution.py` and never edited by hand. Deriving is a pure
function of that file and `assignment.toml`: cell ids follow from role, question and position, so that two releases
are equal byte for byte. Before anything is written, everything public is searched for pieces of the hidden files.

The same cells, filled instead of emptied, make the submissions by which the grader itself is graded.
"""

from __future__ import annotations

import difflib
import io
import os
import re
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.assignment import ensure_secret
from autograder.errors import CourseError
from autograder.leaks import hidden_pieces, leaks_in_folder, leaks_in_notebook
from autograder.model import Assignment
from autograder.solution import (
    SolutionCell,
    blank_source,
    defined_names,
    read_solution,
    rename_definition,
    replace_definition,
    solved_source,
)

__all__ = ["Released", "blank", "derive", "filled", "notebook_text", "release", "with_answers"]

#: Key of the metadata that ties cells to questions and the notebook to its release.
KEY = "softmark"
#: The earliest time that a zip can hold; every entry has it.
_EPOCH = (1980, 1, 1, 0, 0, 0)
#: Roles whose cells editors should not let be changed. Given cells stay open: a student may add an import there.
_LOCKED = ("public-check",)


@dataclass(frozen=True, slots=True)
class Released:
    """What a release wrote, or with check=True would change. differences: one line each; empty when in step."""

    notebook: Path
    archive: Path
    differences: tuple[str, ...] = ()
    made_secret: bool = False


def derive(assignment: Assignment) -> Any:
    """The student's notebook, an nbformat 4.5 NotebookNode. Raises CourseError with file, line and cell."""
    cells = _cells(assignment)
    reference = _reference_names(cells)
    asked = {name for question in assignment.questions for name in question.functions}
    sources = [blank_source(c, reference, asked) if c.role == "answer" else c.source for c in cells]
    handed_out = [(c, s) for c, s in zip(cells, sources, strict=True) if c.role != "hidden"]
    return _notebook(assignment, handed_out)


def blank(assignment: Assignment) -> Any:
    """The notebook of a student who did nothing: the release as it is."""
    return derive(assignment)


def filled(assignment: Assignment) -> Any:
    """The reference as a student's notebook: must get all points.

    Answers keep their bodies and lose the follow-through parameters; helpers of hidden cells come along.
    """
    return with_answers(assignment, {})


def with_answers(assignment: Assignment, answers: Mapping[str, str]) -> Any:
    """The reference's notebook with some answers exchanged: how mistakes and alternatives become submissions.

    answers: name of a function (also of a helper in a hidden cell), class or constant → source that takes its place,
    or id of a question → source of the whole answer cell. A source with one definition under another name gets the
    right name; decorators `@mistake` and `@alternative` and follow-through parameters are taken off.
    Raises CourseError for a key that no cell has.
    """
    cells = _cells(assignment)
    reference = _reference_names(cells)
    open_keys = set(answers)
    pairs = []
    for cell in cells:
        source = cell.source
        if cell.role in ("answer", "hidden"):
            source, used = _exchange(cell, answers)
            open_keys -= used
            source = solved_source(source, cell.place, reference)
        pairs.append((cell, source))
    if open_keys:
        raise CourseError(
            f"no answer cell defines {', '.join(sorted(open_keys))}", where=assignment.reference / "solution.py"
        )
    return _notebook(assignment, pairs)


def _exchange(cell: SolutionCell, answers: Mapping[str, str]) -> tuple[str, set[str]]:
    """The cell's source with the answers that belong to it, and their keys."""
    source, used = cell.source, set()
    if cell.role == "answer" and cell.question in answers:
        source, used = answers[str(cell.question)], {str(cell.question)}
    for name in defined_names(source, cell.place):
        if name in answers:
            by = rename_definition(answers[name], cell.place, name, drop=("mistake", "alternative"))
            source = replace_definition(source, cell.place, name, by)
            used.add(name)
    return source, used


def _cells(assignment: Assignment) -> tuple[SolutionCell, ...]:
    """The reference's cells, checked against the assignment's questions."""
    path = assignment.reference / "solution.py"
    cells = read_solution(path)
    ids = {q.id for q in assignment.questions}
    answered: dict[str, SolutionCell] = {}
    owner: dict[str, SolutionCell] = {}
    for cell in cells:
        if cell.role in ("answer", "public-check") and cell.question not in ids:
            raise cell.place.error(f"question {cell.question!r} is not in assignment.toml")
        if cell.role == "answer":
            _one_answer(cell, answered, owner)
    for question in assignment.questions:
        for function in question.functions:
            if function not in owner:
                raise CourseError(
                    f"no answer cell defines `{function}`, which question {question.id} asks for", where=path
                )
            if owner[function].question != question.id:
                raise owner[function].place.error(f"`{function}` belongs to question {question.id} by assignment.toml")
    return cells


def _one_answer(cell: SolutionCell, answered: dict[str, SolutionCell], owner: dict[str, SolutionCell]) -> None:
    """Note a question's answer cell and its names; a second one for the same is an error."""
    before = answered.setdefault(str(cell.question), cell)
    if before is not cell:
        raise cell.place.error(
            f"question {cell.question} has two answer cells: this one and cell {before.place.cell} "
            f"(line {before.place.line})"
        )
    for name, line in defined_names(cell.source, cell.place).items():
        if owner.setdefault(name, cell) is not cell:
            raise cell.place.error(f"`{name}` is defined in cell {owner[name].place.cell} too", line)


def _reference_names(cells: Sequence[SolutionCell]) -> set[str]:
    return {
        name for cell in cells if cell.role in ("answer", "hidden") for name in defined_names(cell.source, cell.place)
    }


def _notebook(assignment: Assignment, cells: Sequence[tuple[SolutionCell, str]]) -> Any:
    from nbformat import v4

    ids = _ids([cell for cell, _ in cells])
    return v4.new_notebook(
        cells=[_notebook_cell(cell, source, name) for (cell, source), name in zip(cells, ids, strict=True)],
        metadata={
            KEY: {"assignment": assignment.name, "version": assignment.version},
            "colab": {"provenance": []},
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"file_extension": ".py", "mimetype": "text/x-python", "name": "python"},
        },
    )


def _notebook_cell(cell: SolutionCell, source: str, id: str) -> Any:
    from nbformat import v4

    metadata: dict[str, Any] = {}
    if cell.role not in ("text", "hidden"):
        metadata[KEY] = {"role": cell.role, **({"question": cell.question} if cell.question else {})}
        metadata["deletable"] = False
    if cell.role in _LOCKED:
        metadata["editable"] = False
    make: Any = {"code": v4.new_code_cell, "markdown": v4.new_markdown_cell, "raw": v4.new_raw_cell}[cell.kind]
    return make(source=source, id=id, metadata=metadata)


def _ids(cells: Sequence[SolutionCell]) -> list[str]:
    """One id a cell: role, question and the number among cells of the same role and question."""
    counts: Counter[str] = Counter()
    ids = []
    for cell in cells:
        stem = re.sub(r"[^A-Za-z0-9-]", "_", f"{cell.role}-{cell.question}" if cell.question else cell.role)[:56]
        counts[stem] += 1
        ids.append(f"{stem}-{counts[stem]}")
    return ids


def notebook_text(notebook: Any) -> str:
    """The file's content: keys sorted, one line a value, so that equal notebooks are equal files."""
    import nbformat

    return str(nbformat.writes(notebook, version=4)) + "\n"


def release(assignment: Assignment, out: Path | None = None, *, check: bool = False) -> Released:
    """Write the student's notebook and the hand-out zip, or with check=True only say what would change.

    out: folder of the zip, by default `out/` of the course. The course's secret is made if it is missing.
    Raises CourseError, and writes nothing, when a piece of a hidden file is in a public one.
    """
    course = assignment.folder.parent.parent
    notebook = derive(assignment)
    path = assignment.folder / assignment.notebook
    archive = (out or course / "out") / f"{assignment.name}.zip"
    _refuse_leaks(assignment, notebook, path)
    text = notebook_text(notebook)
    content = _archive(assignment, text)
    if check:
        return Released(path, archive, tuple(_differences(path, text, archive, content)))
    _write(path, text.encode())
    archive.parent.mkdir(parents=True, exist_ok=True)
    _write(archive, content)
    return Released(path, archive, made_secret=ensure_secret(course))


def _refuse_leaks(assignment: Assignment, notebook: Any, path: Path) -> None:
    hidden = hidden_pieces(_cells(assignment), assignment.reference)
    leaks = leaks_in_notebook(hidden, notebook, assignment.notebook)
    leaks += leaks_in_folder(hidden, assignment.folder, skip={path})
    if leaks:
        raise CourseError("a hidden piece would be handed out: " + "; ".join(leaks), where=assignment.folder)


def _archive(assignment: Assignment, text: str) -> bytes:
    """The hand-out: one folder with the notebook and `data/`. Stored, not packed: packers differ between machines."""
    files = {assignment.notebook: text.encode()}
    data = assignment.folder / "data"
    for path in sorted(data.rglob("*")) if data.is_dir() else ():
        if path.is_symlink():
            raise CourseError("the hand-out can't hold a link", where=path)
        if path.is_file():
            files[path.relative_to(assignment.folder).as_posix()] = path.read_bytes()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(f"{assignment.name}/{name}", _EPOCH)
            entry.external_attr, entry.create_system = 0o100644 << 16, 3
            archive.writestr(entry, files[name])
    return buffer.getvalue()


def _differences(path: Path, text: str, archive: Path, content: bytes) -> list[str]:
    """What a release would change: lines of a diff of the notebook; the zip only where one was made."""
    if not path.is_file():
        return [f"{path.name}: missing"]
    old = path.read_text(encoding="utf-8", errors="replace").splitlines()
    lines = list(
        difflib.unified_diff(old, text.splitlines(), f"{path.name} (now)", f"{path.name} (derived)", "", "", 1, "")
    )
    if archive.is_file() and archive.read_bytes() != content:
        lines.append(f"{archive.name}: out of step with the notebook or its data")
    return lines


def _write(path: Path, content: bytes) -> None:
    """Replace the file in one step."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.write_bytes(content)
    temporary.replace(path)
