"""The words of the exam bank as values: heads of question files, questions, variants, parts, choices.

A *question* is a file; a *variant* is what one seed makes of it; a *part* is what earns points. Heads are strict
pydantic models (unknown keys are errors, nothing is converted); everything else is a frozen dataclass.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

__all__ = [
    "CHOICE_TYPES",
    "NUMBER_TYPES",
    "OPEN_TYPES",
    "Choice",
    "Exam",
    "ExamSection",
    "Figure",
    "Head",
    "Item",
    "Part",
    "PartSpec",
    "PartType",
    "Question",
    "RubricLine",
    "Tolerance",
    "Variant",
    "group_of",
    "points_in_pt",
    "sha256_of",
]

PartType = Literal[
    "true-false",
    "single",
    "multi",
    "numeric",
    "numeric-vector",
    "table",
    "match",
    "short",
    "code",
    "derivation",
    "essay",
]
CHOICE_TYPES = frozenset({"true-false", "single", "multi"})
NUMBER_TYPES = frozenset({"numeric", "numeric-vector", "table"})
OPEN_TYPES = frozenset({"code", "derivation", "essay"})

_STRICT = ConfigDict(extra="forbid", strict=True, frozen=True)
_UNITS = {"cm": 72 / 2.54, "mm": 7.2 / 2.54, "pt": 1.0, "in": 72.0}

# Which keys a part of each type may have beside key, type and points.
_ALLOWED: dict[str, frozenset[str]] = {
    "true-false": frozenset({"answer", "choices"}),
    "single": frozenset({"shuffle", "choices", "answer"}),
    "multi": frozenset({"shuffle", "choices", "credit", "answer"}),
    "numeric": frozenset({"answer", "tolerance", "decimals", "unit", "box"}),
    "numeric-vector": frozenset({"answer", "tolerance", "decimals", "unit", "rows", "box"}),
    "table": frozenset({"answer", "tolerance", "decimals", "unit", "rows", "columns", "box"}),
    "match": frozenset({"answer", "rows", "columns", "shuffle"}),
    "short": frozenset({"answer", "accept", "case", "box"}),
    "code": frozenset({"answer", "rubric", "box"}),
    "derivation": frozenset({"answer", "rubric", "box"}),
    "essay": frozenset({"answer", "rubric", "box"}),
}
_NEEDED: dict[str, tuple[str, ...]] = {
    "numeric": ("tolerance",),
    "numeric-vector": ("tolerance",),
    "table": ("rows", "columns"),
    "match": ("rows", "columns"),
    "code": ("rubric", "box"),
    "derivation": ("rubric", "box"),
    "essay": ("rubric", "box"),
}


def points_in_pt(length: str) -> float:
    """A length such as `1.4cm`, `14mm`, `40pt` or `1in` in points; ValueError for anything else."""
    unit = length[-2:]
    if unit not in _UNITS:
        raise ValueError(f"{length!r} is no length: write a number and cm, mm, pt or in, e.g. 1.4cm")
    return round(float(length[:-2]) * _UNITS[unit], 2)


def group_of(part_type: str) -> str:
    """The blueprint's name for a type: `computed` for number answers, `open` for what a human reads or spells."""
    if part_type in NUMBER_TYPES:
        return "computed"
    return "open" if part_type in OPEN_TYPES or part_type == "short" else part_type


def sha256_of(value: object) -> str:
    """SHA-256 of the value as sorted JSON: the name under which parameters are remembered."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


class Tolerance(BaseModel):
    """A number is right within max(abs, rel · |key|)."""

    model_config = _STRICT
    abs: float = Field(0.0, ge=0)
    rel: float = Field(0.0, ge=0, lt=1)

    def around(self, key: float) -> float:
        """The accepted distance from this key."""
        return max(self.abs, self.rel * abs(key))


class RubricLine(BaseModel):
    """What a human reader gives points for."""

    model_config = _STRICT
    points: int = Field(ge=1)
    text: str = Field(min_length=3)


class PartSpec(BaseModel):
    """One entry of `parts` in a question's head."""

    model_config = _STRICT
    key: str = Field(pattern=r"^[a-z][a-z0-9_-]*$")
    type: PartType
    points: int = Field(ge=1)
    shuffle: bool = False
    choices: Literal["computed"] | None = None
    credit: Literal["all", "each"] = "all"
    answer: bool | str | list[str] | list[list[str]] | None = None
    accept: list[str] | None = None
    case: Literal["ignore", "exact"] = "ignore"
    tolerance: Tolerance | None = None
    decimals: int | None = Field(None, ge=0, le=12)
    unit: str = ""
    rows: list[str] | None = None
    columns: list[str] | None = None
    box: str | None = None
    rubric: list[RubricLine] | None = None

    @model_validator(mode="after")
    def _keys_fit_the_type(self) -> PartSpec:
        given = self.model_fields_set - {"key", "type", "points"}
        extra = sorted(given - _ALLOWED[self.type])
        if extra:
            allowed = ", ".join(sorted(_ALLOWED[self.type]))
            raise ValueError(
                f"part {self.key!r} of type {self.type} can't have {', '.join(extra)} (it may have {allowed})"
            )
        missing = [name for name in _NEEDED.get(self.type, ()) if getattr(self, name) is None]
        if missing:
            raise ValueError(f"part {self.key!r} of type {self.type} needs {', '.join(missing)}")
        if self.box is not None:
            points_in_pt(self.box)
        if self.rubric is not None and sum(line.points for line in self.rubric) != self.points:
            total = sum(line.points for line in self.rubric)
            raise ValueError(
                f"the rubric lines of part {self.key!r} add up to {total}, the part has {self.points} points"
            )
        if self.type == "short" and self.answer is not None and self.accept is not None:
            raise ValueError(f"part {self.key!r} has both `answer` and `accept`: keep one")
        return self


class Head(BaseModel):
    """The YAML head of a question file."""

    model_config = _STRICT
    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    version: int = Field(ge=1)
    title: str = Field(min_length=3)
    topic: str = Field(pattern=r"^[a-z0-9-]+/[a-z0-9-]+$")
    objectives: list[str] = Field(default_factory=list)
    source: str = Field(min_length=3)
    status: Literal["draft", "reviewed", "retired"]
    difficulty: Literal[1, 2, 3]
    minutes: float = Field(gt=0, le=60)
    points: int = Field(ge=1)
    calculator: bool = False
    generator: str | None = None
    max_versions: int | None = Field(None, ge=1)
    exclusive: str | None = None
    parts: list[PartSpec] = Field(min_length=1)


@dataclass(frozen=True)
class Question:
    """A question file, read but not yet instantiated.

    student, solution: Jinja sources of what comes before and inside the solution div;
    student_line, solution_line: where they start in the file (1-based).
    """

    head: Head
    path: Path
    student: str
    solution: str
    student_line: int
    solution_line: int
    body_parts: tuple[tuple[str, int], ...]
    sha256: str

    @property
    def id(self) -> str:
        """The question's id, which is its file name."""
        return self.head.id

    @property
    def generator_path(self) -> Path | None:
        """The module with `generate` and `verify`, if the question has parameters."""
        return None if self.head.generator is None else self.path.with_name(self.head.generator)

    @property
    def main_type(self) -> str:
        """The type that carries the most points (the first of them)."""
        totals: dict[str, int] = {}
        for part in self.head.parts:
            totals[part.type] = totals.get(part.type, 0) + part.points
        return max(totals, key=lambda kind: totals[kind])


@dataclass(frozen=True)
class Choice:
    """One choice of a part; `index` is its place in the source, which the shuffle leaves alone."""

    index: int
    text: str
    right: bool
    why: str = ""
    fixed: bool = False


@dataclass(frozen=True)
class Figure:
    """A drawing as SVG text, with the words for those who don't see it."""

    svg: str
    alt: str


@dataclass(frozen=True)
class Part:
    """One part of a variant, as printed.

    choices, columns: in printed order. expected: by type: numeric 1 string; numeric-vector one a component;
    table row by row; match the right column's text per row; short all accepted spellings; open types the model
    answer as Markdown (or nothing).
    wrong: planned wrong answers in the shape of `expected`. computed: the answer comes from the generator.
    """

    spec: PartSpec
    text: str
    choices: tuple[Choice, ...] = ()
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()
    wrong: tuple[tuple[str, ...], ...] = ()
    computed: bool = False

    @property
    def right_letters(self) -> str:
        """The letters of the right choices in printed order, e.g. `BD`; for true/false `T` or `F`."""
        if self.spec.type == "true-false":
            return "".join(choice.text[0] for choice in self.choices if choice.right)
        return "".join(chr(ord("A") + i) for i, choice in enumerate(self.choices) if choice.right)


@dataclass(frozen=True)
class Variant:
    """What one (seed, number) makes of a question."""

    question: Question
    seed: int | str
    number: int | str
    params: Mapping[str, Any]
    stem: str
    parts: tuple[Part, ...]
    solution: str
    figures: Mapping[str, Figure] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The question's id."""
        return self.question.id

    @property
    def params_hash(self) -> str:
        """SHA-256 of the parameters."""
        return sha256_of(self.params)

    @property
    def points(self) -> int:
        """The question's points."""
        return self.question.head.points


@dataclass(frozen=True)
class Item:
    """A numbered question of an exam: `label` is section and place, e.g. `B3`."""

    label: str
    variant: Variant


@dataclass(frozen=True)
class ExamSection:
    """A section of an exam."""

    id: str
    title: str
    items: tuple[Item, ...]

    @property
    def points(self) -> int:
        """The section's points."""
        return sum(item.variant.points for item in self.items)


@dataclass(frozen=True)
class Exam:
    """One version of an exam, with everything decided."""

    title: str
    version: int
    seed: int | str
    minutes: float
    paper: str
    layout: str
    instructions: str
    sections: tuple[ExamSection, ...]

    @property
    def items(self) -> tuple[Item, ...]:
        """All questions in order."""
        return tuple(item for section in self.sections for item in section.items)

    @property
    def points(self) -> int:
        """All points."""
        return sum(section.points for section in self.sections)
