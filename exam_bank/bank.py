"""Read question files, strictly: each error says file, line or key, reason and way out.

A file is a YAML head between two lines `---`, then Markdown: the stem, one div per part, one solution div.

    ::: {.part key=before}        one per entry of `parts`, in the same order
    ::: solution                  exactly one, last

The fences are found line by line, outside of code blocks; Markdown itself is left to pandoc.
"""

from __future__ import annotations

import functools
import hashlib
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from exam_bank import strict_yaml
from exam_bank.errors import BankError
from exam_bank.model import Head, Question

__all__ = [
    "HOME",
    "QUESTIONS",
    "Bank",
    "Topics",
    "fence",
    "load_bank",
    "load_question",
    "load_topics",
    "most_telling",
    "scan",
]

HOME = Path(__file__).parent
QUESTIONS = HOME / "questions"
_PART = re.compile(r":::+ *\{\.part +key=([a-z][a-z0-9_-]*)\}\s*\Z")
_SOLUTION = re.compile(r":::+ *solution\s*\Z")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True)
class Topics:
    """The tree of topics: `area/leaf` → words for it."""

    leaves: dict[str, str]

    def matches(self, pattern: str) -> list[str]:
        """The leaves that `area/leaf` or `area/*` names."""
        if pattern.endswith("/*"):
            return [leaf for leaf in self.leaves if leaf.startswith(pattern[:-1])]
        return [pattern] if pattern in self.leaves else []


@dataclass(frozen=True)
class Bank:
    """All questions under one folder."""

    root: Path
    questions: tuple[Question, ...]
    topics: Topics

    @functools.cached_property
    def by_topic(self) -> dict[str, list[Question]]:
        """The questions of each leaf."""
        found: dict[str, list[Question]] = {}
        for question in self.questions:
            found.setdefault(question.head.topic, []).append(question)
        return found

    def __getitem__(self, question_id: str) -> Question:
        for question in self.questions:
            if question.id == question_id:
                return question
        raise BankError(
            f"there is no question {question_id!r} among {len(self.questions)}.",
            where=self.root,
            way_out="`list` shows the ids.",
        )


def load_topics(path: Path | None = None) -> Topics:
    """Read topics.toml: one table an area, `leaf = "words"`."""
    where = path or HOME / "topics.toml"
    try:
        table = tomllib.loads(where.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as fault:
        raise BankError(f"can't be read as TOML: {fault}.", where=where) from fault
    return Topics({f"{area}/{leaf}": words for area, leaves in table.items() for leaf, words in leaves.items()})


def fence(line: str) -> str | None:
    """What a fence line opens: a part's key, `solution`, or `` for a closing line; None if it is no fence."""
    if not line.startswith(":::"):
        return None
    if set(line.strip()) == {":"}:
        return ""
    part = _PART.match(line)
    if part:
        return part[1]
    return "solution" if _SOLUTION.match(line) else "?"


def _in_code(lines: Sequence[str]) -> list[bool]:
    """For each line, whether it belongs to a fenced code block."""
    inside, marks = "", []
    for line in lines:
        mark = line.strip()[:3]
        toggles = mark in ("```", "~~~") and (not inside or mark == inside)
        marks.append(bool(inside) or toggles)
        if toggles:
            inside = "" if inside else mark
    return marks


def _split_head(text: str, path: Path) -> tuple[str, list[str], int]:
    """(head, lines of the body, 1-based line where the body starts)."""
    lines = text.split("\n")
    if not lines or lines[0].strip() != "---":
        raise BankError("starts with no YAML head.", where=path, line=1, way_out="Put `---` in the first line.")
    for i, line in enumerate(lines[1:], start=1):
        if line.strip() == "---":
            return "\n".join(["", *lines[1:i]]), lines[i + 1 :], i + 2
    raise BankError("the YAML head doesn't end.", where=path, line=1, way_out="Close it with a line `---`.")


def _head(source: str, path: Path) -> Head:
    try:
        located = strict_yaml.load(source)
    except strict_yaml.YamlFault as fault:
        raise BankError(f"{fault.reason}.", where=path, line=fault.line, way_out="Mend that line.") from None
    try:
        return Head.model_validate(located.value)
    except ValidationError as errors:
        first = most_telling(errors)
        place = tuple(step for step in first["loc"] if isinstance(step, (str, int)))
        known = place
        while known and known not in located.lines:
            known = known[:-1]
        key = ".".join(map(str, known or place))
        raise BankError(
            f"{_reason(first['type'], first['msg'], first.get('input'))}.",
            where=path,
            line=located.line(place),
            key=key or None,
            way_out=_way_out(first["type"], place),
        ) from None


def most_telling(errors: ValidationError) -> ErrorDetails:
    """The error to report: a key that isn't known, since a misspelt key is missing under its right name too."""
    return min(errors.errors(), key=lambda error: error["type"] != "extra_forbidden")


def _reason(kind: str, message: str, given: object) -> str:
    if kind == "extra_forbidden":
        return "this key is not known"
    if kind == "missing":
        return "a required key is missing"
    words = message.removeprefix("Value error, ")
    return words if kind == "value_error" else f"{words} (found {given!r})"


def _way_out(kind: str, place: tuple[str | int, ...]) -> str:
    if kind == "extra_forbidden":
        return "Check its spelling, or take it out."
    if kind == "missing":
        return f"Add `{place[-1]}:` to the head."
    if kind in ("string_type", "bool_type", "list_type"):
        return 'Numbers that are printed go in quotes, e.g. "3.50".'
    return ""


@dataclass
class _Body:
    """Where the pieces of a body start and end (indexes into its lines)."""

    parts: list[tuple[str, int]]
    solution: int | None = None
    end: int | None = None


def _find_fences(lines: Sequence[str], offset: int, path: Path) -> _Body:
    """Check the order of the fences, and find the solution."""
    body, opened = _Body([]), ""
    for i, (line, code) in enumerate(zip(lines, _in_code(lines), strict=True)):
        kind = None if code else fence(line)
        if kind is None:
            if body.end is not None and line.strip():
                raise BankError("text after the solution div.", where=path, line=i + offset, way_out="Move it up.")
            continue
        if kind == "?" or (kind and opened) or (not kind and not opened):
            raise BankError(
                f"{line.strip()!r} is no fence that is expected here.",
                where=path,
                line=i + offset,
                way_out="Fences are `::: {.part key=NAME}`, `::: solution` and `:::`, and they don't nest.",
                rule="Q004",
            )
        if kind and body.solution is not None:
            raise BankError("a div after the solution.", where=path, line=i + offset, way_out="The solution is last.")
        if kind == "solution":
            body.solution = i
        elif kind:
            body.parts.append((kind, i + offset))
        elif opened == "solution":
            body.end = i
        opened = kind
    if opened:
        raise BankError(f"the div {opened!r} isn't closed.", where=path, way_out="Close it with `:::`.", rule="Q004")
    return body


def load_question(path: Path) -> Question:
    """Read one file. Raises BankError with the rule that it breaks."""
    raw = path.read_bytes()
    try:
        text = raw.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as fault:
        raise BankError(f"is not UTF-8: {fault.reason}.", where=path, way_out="Save it as UTF-8.") from None
    _refuse_control_characters(text, path)
    source, lines, offset = _split_head(text, path)
    head = _head(source, path)
    body = _find_fences(lines, offset, path)
    if body.solution is None or body.end is None:
        raise BankError(
            "there is no solution div.", where=path, way_out="End the file with `::: solution` … `:::`.", rule="Q024"
        )
    question = Question(
        head=head,
        path=path,
        student="\n".join(lines[: body.solution]),
        solution="\n".join(lines[body.solution + 1 : body.end]),
        student_line=offset,
        solution_line=offset + body.solution + 1,
        body_parts=tuple(body.parts),
        sha256=_digest(raw, path, head),
    )
    _check(question)
    return question


def _refuse_control_characters(text: str, path: Path) -> None:
    for number, line in enumerate(text.split("\n"), start=1):
        found = _CONTROL.search(line)
        if found:
            raise BankError(
                f"the character U+{ord(found[0]):04X} can't be printed.",
                where=path,
                line=number,
                way_out="Take it out.",
                rule="Q033",
            )


def _digest(raw: bytes, path: Path, head: Head) -> str:
    code = (
        path.with_name(head.generator).read_bytes()
        if head.generator and path.with_name(head.generator).exists()
        else b""
    )
    return hashlib.sha256(raw + b"\x1f" + code).hexdigest()


def _check(question: Question) -> None:
    """What the head and the body have to agree on."""
    head, path = question.head, question.path
    if head.id != path.stem:
        raise BankError(
            f"the id is {head.id!r}, the file is called {path.name!r}.",
            where=path,
            key="id",
            way_out="Give both one name.",
            rule="Q002",
        )
    total = sum(part.points for part in head.parts)
    if total != head.points:
        raise BankError(
            f"the parts add up to {total} points, the head says {head.points}.",
            where=path,
            key="points",
            way_out="Change one of them.",
            rule="Q003",
        )
    said, found = [part.key for part in head.parts], [key for key, _ in question.body_parts]
    if said != found:
        raise BankError(
            f"the head has the parts {said}, the body has {found}.",
            where=path,
            key="parts",
            way_out="Same parts, same order.",
            rule="Q004",
        )
    generator = question.generator_path
    if generator is not None and not generator.is_file():
        raise BankError(
            f"the generator {head.generator!r} isn't beside the file.",
            where=path,
            key="generator",
            way_out="Its name is the id with `_` for `-`, and `.py`.",
        )
    computed = [part.key for part in head.parts if part.choices == "computed"]
    if computed and generator is None:
        raise BankError(
            f"the choices of {computed} are computed, but there is no generator.",
            where=path,
            key="generator",
            way_out="Name the module in `generator`.",
        )


def scan(root: Path) -> tuple[list[Question], list[BankError]]:
    """All question files under a folder (or one file), and what is wrong with those that can't be read."""
    questions: list[Question] = []
    errors: list[BankError] = []
    for path in _files(root):
        try:
            questions.append(load_question(path))
        except BankError as fault:
            errors.append(fault)
    seen: dict[str, Path] = {}
    for question in questions:
        first = seen.setdefault(question.id, question.path)
        if first != question.path:
            errors.append(
                BankError(
                    f"the id {question.id!r} is taken by {first}.",
                    where=question.path,
                    key="id",
                    way_out="Ids are unique over all topics.",
                    rule="Q000",
                )
            )
    return questions, errors


def _files(root: Path) -> Iterable[Path]:
    if root.is_file():
        return [root.with_suffix(".md")]
    if not root.is_dir():
        raise BankError("there is no such folder or file.", where=root, way_out="Name a folder of question files.")
    found = sorted(path for path in root.rglob("*.md") if path.name != "README.md")
    if not found:
        raise BankError("holds no question files.", where=root, way_out="Questions are files `TOPIC/ID.md`.")
    return found


def load_bank(root: Path | None = None, *, topics: Topics | None = None) -> Bank:
    """Read a bank; the first file that is wrong raises."""
    where = root or QUESTIONS
    questions, errors = scan(where)
    if errors:
        raise errors[0]
    return Bank(where, tuple(questions), topics or load_topics())
