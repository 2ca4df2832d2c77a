"""`assignments/<name>/assignment.toml` → `Assignment`: settings read once, checked once, frozen.

A course is a folder with `assignments/` (public) and `reference/` (hidden). Everything that an instructor can set
is a key of this file; a key that is not known is an error, so that a misspelt setting never stays without effect.
"""

from __future__ import annotations

import os
import re
import secrets
import tomllib
from collections import Counter
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from autograder.errors import CourseError
from autograder.model import Assignment, Level, Limits, QuestionSpec, Visibility

__all__ = [
    "SECRET_FILE",
    "assignment_names",
    "ensure_secret",
    "is_test_secret",
    "load_assignment",
    "read_secret",
]

#: Where the course's secret lives, below `reference/`.
SECRET_FILE = ".secret"
_TEST_MARK = "test-only:"


def _points(value: object) -> Fraction:
    """Points are whole numbers, decimals, or strings such as "1/3"; decimals are taken as they are written."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError('points are a number or a string like "1/3"')
    try:
        points = Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{value!r} is not a number of points") from None
    if points < 0:
        raise ValueError("points can't be negative")
    return points


Points = Annotated[Fraction, BeforeValidator(_points)]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Identifier = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Module = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$")]
QuestionId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]


class _Table(BaseModel):
    """A table of the file: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class _Question(_Table):
    id: QuestionId
    title: Text
    points: Points
    functions: tuple[Identifier, ...] = ()
    needs: tuple[QuestionId, ...] = ()
    avoid: tuple[Identifier, ...] = ()


class _Limits(_Table):
    cell_seconds: float | None = Field(default=None, gt=0)
    call_seconds: float | None = Field(default=None, gt=0)
    run_seconds: float | None = Field(default=None, gt=0)
    grace_seconds: float | None = Field(default=None, ge=0)
    memory_bytes: int | None = Field(default=None, gt=0)
    processes: int | None = Field(default=None, gt=0)
    files: int | None = Field(default=None, gt=0)
    file_bytes: int | None = Field(default=None, gt=0)
    disk_bytes: int | None = Field(default=None, gt=0)
    disk_files: int | None = Field(default=None, gt=0)
    output_bytes: int | None = Field(default=None, gt=0)
    output_messages: int | None = Field(default=None, gt=0)
    output_text: int | None = Field(default=None, gt=0)
    reply_bytes: int | None = Field(default=None, gt=0)


class _RateLimit(_Table):
    """At most so many counted submissions in a window of hours."""

    submissions: int = Field(ge=1)
    hours: float = Field(gt=0)


class _Late(_Table):
    """What lateness costs. Without this table it costs nothing."""

    grace_minutes: float = Field(default=0.0, ge=0)
    percent_per_day: float = Field(default=0.0, ge=0, le=100)
    days: int | None = Field(default=None, ge=0)


class _Gradescope(_Table):
    group_dates: Literal["latest", "earliest"] = "latest"
    rate_limit: _RateLimit | None = None
    late: _Late | None = None


class _Column(_Table):
    name: Text
    order: Literal["asc", "desc"] = "desc"


class _Leaderboard(_Table):
    columns: tuple[_Column, ...] = Field(min_length=1)


class _File(_Table):
    """The whole file."""

    name: Text | None = None
    title: Text
    version: Text = "1"
    total: Points
    written_points: Points = Fraction(0)
    notebook: Text | None = None
    visibility: Visibility = Visibility.VISIBLE
    require_isolation: Level = Level.C
    preload: tuple[Module, ...] = ()
    questions: tuple[_Question, ...] = Field(min_length=1)
    limits: _Limits = _Limits()
    gradescope: _Gradescope = _Gradescope()
    leaderboard: _Leaderboard | None = None

    @model_validator(mode="after")
    def _questions_fit_together(self) -> _File:
        """Ids and functions are unique, `needs` points back, points add up."""
        ids = [q.id for q in self.questions]
        _no_double(ids, "question id")
        _no_double([name for q in self.questions for name in q.functions], "function")
        for place, question in enumerate(self.questions):
            for need in question.needs:
                if need not in ids[:place]:
                    raise ValueError(f"question {question.id} needs {need!r}, which is no earlier question")
        total = sum((q.points for q in self.questions), Fraction(0))
        if total != self.total:
            raise ValueError(f"the questions' points add up to {total}, but total = {self.total}")
        return self


def _no_double(values: list[str], what: str) -> None:
    for value, count in Counter(values).items():
        if count > 1:
            raise ValueError(f"the {what} {value!r} appears {count} times")


def assignment_names(course: Path) -> tuple[str, ...]:
    """Names of all assignments of a course, sorted."""
    return tuple(sorted(path.parent.name for path in (course / "assignments").glob("*/assignment.toml")))


def load_assignment(course: Path, name: str) -> Assignment:
    """Read and check one assignment. Raises CourseError with file and key."""
    folder, path = course / "assignments" / name, course / "assignments" / name / "assignment.toml"
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise CourseError(f"{name!r} is no name of an assignment: letters, digits, `_` and `-`", where=course)
    if not path.is_file():
        known = ", ".join(assignment_names(course)) or "none"
        raise CourseError(f"there is no assignment {name!r}; this course has: {known}", where=path)
    read = _validated(path)
    if read.name is not None and read.name != name:
        raise CourseError(f"{read.name!r} differs from the folder's name {name!r}", where=path, key="name")
    notebook = read.notebook or f"{name}.ipynb"
    if not notebook.endswith(".ipynb") or Path(notebook).name != notebook:
        raise CourseError(f"{notebook!r} is no plain file name that ends in .ipynb", where=path, key="notebook")
    if not (course / "reference" / name).is_dir():
        raise CourseError("the hidden folder of this assignment is missing", where=course / "reference" / name)
    return Assignment(
        name=name,
        title=read.title,
        version=read.version,
        total=read.total,
        questions=tuple(QuestionSpec(q.id, q.title, q.points, q.functions, q.needs, q.avoid) for q in read.questions),
        folder=folder,
        reference=course / "reference" / name,
        notebook=notebook,
        written_points=read.written_points,
        visibility=read.visibility,
        require_isolation=read.require_isolation,
        preload=read.preload,
        limits=_limits(read.limits),
        settings=read.model_dump(include={"gradescope", "leaderboard"}, exclude_none=True),
    )


def _validated(path: Path) -> _File:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CourseError(f"not valid TOML: {error}", where=path) from error
    try:
        return _File.model_validate(content)
    except ValidationError as error:
        key, reason = _first(error, content)
        raise CourseError(reason, where=path, key=key) from None


def _first(error: ValidationError, content: dict[str, Any]) -> tuple[str | None, str]:
    """Key and sentence of the first problem; the number of further ones is said."""
    problems = error.errors(include_url=False, include_context=False)
    first, more = problems[0], len(problems) - 1
    reason = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        reason = "unknown key; is it misspelt?"
    elif first["type"] == "missing":
        reason = "this key is missing"
    loc = list(first["loc"])
    if len(loc) > 1 and loc[0] == "questions" and isinstance(loc[1], int):
        loc[:2] = [_question_label(content, loc[1])]
    return ".".join(map(str, loc)) or None, reason + (f" (and {more} more)" if more else "")


def _question_label(content: dict[str, Any], index: int) -> str:
    entry = content["questions"][index]
    return f"questions[{entry.get('id', index) if isinstance(entry, dict) else index}]"


def _limits(read: _Limits) -> Limits:
    given = {f.name: getattr(read, f.name) for f in fields(Limits)}
    return Limits(**{name: value for name, value in given.items() if value is not None})


def read_secret(course: Path) -> bytes:
    """The course's secret, from which all hidden draws follow. Raises CourseError when it is missing or broken."""
    path = course / "reference" / SECRET_FILE
    try:
        text = path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        raise CourseError(
            "the course has no secret yet; run `softmark release`, which makes one, and keep the file", where=path
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"the course's secret can't be read: {error}", where=path) from error
    if text.startswith(_TEST_MARK) and len(text) > len(_TEST_MARK):
        return text.encode()
    if not re.fullmatch(r"[0-9a-f]{64}", text):
        raise CourseError("the course's secret is not 64 hexadecimal digits; restore the file", where=path)
    return bytes.fromhex(text)


def is_test_secret(secret: bytes) -> bool:
    """Whether this secret is a marked one, which anybody may know: for tests and the demo only."""
    return secret.startswith(_TEST_MARK.encode())


def ensure_secret(course: Path) -> bool:
    """Make the secret if there is none (readable by its owner only). Returns whether one was made."""
    path = course / "reference" / SECRET_FILE
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(secrets.token_hex(32) + "\n")
    return True
