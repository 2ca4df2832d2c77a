"""Hand-ins for tests: the reference's notebook with some answers exchanged, or with cells of a student's own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat

from autograder.assignment import load_assignment
from autograder.release import with_answers

__all__ = ["ROOT", "SECRET", "STUDENT", "answered", "hand", "insert", "write"]

ROOT = Path(__file__).resolve().parent.parent
#: Marked, so that nobody takes it for a course's.
SECRET = "test-only:tests"
STUDENT = "ada"


def answered(assignment: str, answers: Mapping[str, str] | None = None, *, course: Path = ROOT) -> Any:
    """The reference as a student's notebook; `answers`: function or constant → source in its place."""
    return with_answers(load_assignment(course, assignment), answers or {})


def insert(notebook: Any, source: str, *, before: str | None = None) -> Any:
    """Put a code cell before the answer of a question, or at the end."""
    place = len(notebook.cells)
    for index, cell in enumerate(notebook.cells):
        tag = cell.metadata.get("softmark", {})
        if tag.get("role") == "answer" and tag.get("question") == before:
            place = index
            break
    notebook.cells.insert(place, nbformat.v4.new_code_cell(source, id=f"mine-{place}-{len(notebook.cells)}"))
    return notebook


def hand(notebook: Any, values: Mapping[str, Any], student: str = STUDENT) -> Any:
    """Fill in the hand calculations."""
    return insert(notebook, f"STUDENT_ID = {student!r}\nhand = {dict(values)!r}")


def write(notebook: Any, folder: Path, name: str = "attention.ipynb") -> Path:
    path = folder / name
    path.write_text(nbformat.writes(notebook, version=4), encoding="utf-8")
    return path
