"""The submissions that `softmark demo` grades: made from the assignment, so that they never fall out of step.

`reference/<name>/demo.toml` says what is different from a right submission: named mistakes, answers of its own, or
cells that stand before a question's answer.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import nbformat
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from autograder.checks import Checks
from autograder.errors import CourseError
from autograder.model import Assignment
from autograder.release import with_answers

__all__ = ["Shipped", "submissions"]


@dataclass(frozen=True)
class Shipped:
    """One submission of the demo: a name for its folder, a title for the table, the notebook."""

    name: str
    title: str
    notebook: Any


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Cell(_Strict):
    before: str  # id of the question whose answer cell it precedes
    source: str


class _Submission(_Strict):
    name: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
    title: str
    mistakes: list[str] = []
    answers: dict[str, str] = {}
    cells: list[_Cell] = []


class _File(_Strict):
    submission: Annotated[list[_Submission], Field(min_length=1)]


def submissions(assignment: Assignment, checks: Checks) -> tuple[Shipped, ...]:
    """The demo's submissions. CourseError names what is wrong in demo.toml."""
    path = assignment.reference / "demo.toml"
    if not path.is_file():
        raise CourseError("this assignment ships no demo", where=path)
    try:
        read = _File.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (ValidationError, tomllib.TOMLDecodeError) as error:
        raise CourseError(str(error), where=path) from error
    return tuple(
        Shipped(one.name, one.title, _notebook(one, assignment, checks, where=str(path))) for one in read.submission
    )


def _notebook(one: _Submission, assignment: Assignment, checks: Checks, where: str) -> Any:
    notebook = with_answers(assignment, {**_mistaken(one, checks, where), **one.answers})
    for extra in one.cells:
        places = [
            index
            for index, cell in enumerate(notebook.cells)
            if (tag := cell.metadata.get("softmark", {})).get("role") == "answer"
            and tag.get("question") == extra.before
        ]
        if not places:
            raise CourseError(f"no answer cell of question {extra.before!r}", where=where, key=one.name)
        cell = nbformat.v4.new_code_cell(extra.source, id=f"extra-{places[0]}")
        notebook.cells.insert(places[0], cell)
    return notebook


def _mistaken(one: _Submission, checks: Checks, where: str) -> Mapping[str, str]:
    """The definitions that one named mistake, or a pair ("a", "b"), changes."""
    if not one.mistakes:
        return {}
    for hypothesis in checks.hypotheses:
        if sorted(hypothesis.names) == sorted(one.mistakes):
            return hypothesis.change
    raise CourseError(f"no mistake or pair {one.mistakes!r} in mistakes.py", where=where, key=one.name)
