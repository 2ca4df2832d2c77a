"""Hand-ins read for staff: the cells that a student wrote, told apart from those that were handed out.

Only JSON is parsed here, with a cap; nothing of it runs.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autograder.cells import read_notebook
from autograder.collect import collect
from autograder.errors import CourseError, SubmissionError
from autograder.model import Assignment
from autograder.pysource import parse_cell

__all__ = ["OwnCell", "Pages", "Prompt", "own_cells", "prompts", "read_hand_in", "release_cells", "release_names"]

_LARGEST = 200 * 2**20


@dataclass(frozen=True, slots=True)
class OwnCell:
    """A cell as it stands in a hand-in. key: of the handed-out cell that it is, None for a student's own."""

    kind: str
    source: str
    key: str | None = None
    attachments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A written question. key: id of its cell · text: the prompt as handed out."""

    question: str
    key: str
    text: str


@dataclass(frozen=True)
class Pages:
    """A hand-in's cells and its loose files."""

    cells: tuple[OwnCell, ...]
    files: Mapping[str, bytes]


def release_cells(assignment: Assignment) -> list[Any]:
    """Cells of the notebook that was handed out. Raises CourseError."""
    path = assignment.folder / assignment.notebook
    try:
        return list(read_notebook(path).cells)
    except (OSError, ValueError) as error:
        raise CourseError(f"the student's notebook can't be read: {error}", where=path) from None


def prompts(assignment: Assignment) -> tuple[Prompt, ...]:
    """The written questions, in the notebook's order."""
    found = []
    for cell in release_cells(assignment):
        mark = cell.metadata.get("softmark", {})
        if mark.get("role") == "written":
            found.append(Prompt(str(mark.get("question")), str(cell.get("id", "")), str(cell.source)))
    return tuple(found)


def release_names(assignment: Assignment) -> frozenset[str]:
    """What the handed-out cells define: the course's own helpers and the functions that are asked for."""
    names: set[str] = set()
    for cell in release_cells(assignment):
        tree = parse_cell(str(cell.source)) if cell.cell_type == "code" else None
        names |= {name for node in getattr(tree, "body", ()) for name in _bound(node)}
    return frozenset(names)


def _bound(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    if isinstance(node, ast.Assign):
        yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def read_hand_in(path: Path, assignment: Assignment) -> Pages | None:
    """The cells of the notebook that would be graded; None when there is none that can be read."""
    wanted = tuple(name for question in assignment.questions for name in question.functions)
    try:
        found = collect(path, wanted=wanted, assignment=assignment.name, notebook=assignment.notebook, attachments=True)
        if len(found.notebook) > _LARGEST:
            return None
        read = json.loads(found.notebook.decode("utf-8-sig", "replace"))
        return Pages(tuple(own_cells(read, release_cells(assignment))), found.files)
    except (SubmissionError, ValueError, RecursionError):
        return None


def own_cells(notebook: Any, release: list[Any]) -> Iterator[OwnCell]:
    """Cells with what they are in the release: by role and question, by id, or by their text."""
    keys = {str(cell.get("id", "")) for cell in release}
    texts = {_plain(str(cell.source)): str(cell.get("id", "")) for cell in release}
    marks = {_mark(cell): str(cell.get("id", "")) for cell in release if _mark(cell)[0] == "written"}
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    for cell in cells if isinstance(cells, list) else ():
        if not isinstance(cell, dict):
            continue
        source = cell.get("source", "")
        text = "".join(map(str, source)) if isinstance(source, list) else str(source)
        own_key = str(cell.get("id", ""))
        key = marks.get(_mark(cell)) or texts.get(_plain(text)) or (own_key if own_key in keys else None)
        attachments = cell.get("attachments")
        yield OwnCell(str(cell.get("cell_type", "")), text, key, attachments if isinstance(attachments, dict) else {})


def _mark(cell: Mapping[str, Any]) -> tuple[str, str]:
    metadata = cell.get("metadata")
    mark = metadata.get("softmark") if isinstance(metadata, dict) else None
    return (str(mark.get("role")), str(mark.get("question"))) if isinstance(mark, dict) else ("", "")


def _plain(text: str) -> str:
    return " ".join(text.split())
