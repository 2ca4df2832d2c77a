"""`submission_metadata.yml`, streamed: who handed in what, without parsing what nobody asked for.

Theory of operation. The file is Ruby's YAML with one block a submission, and nearly all of it is old results. Parsing
600 result sets takes seconds and hundreds of megabytes, so the file is cut into blocks at the lines that start a
submission, and of each block only the head is parsed: the results and the history are left out unless they are wanted.
One block is held in memory at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import yaml

from autograder.batch.people import HandIn, Person, slug
from autograder.errors import CourseError

__all__ = ["METADATA", "Block", "blocks", "hand_in", "read_results"]

#: Name of the file that makes a folder an export.
METADATA = "submission_metadata.yml"
_LARGEST_BLOCK = 256 * 2**20
_LARGEST_HEAD = 2**20
_DEEPEST = 40
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_SKIPPED = (b"  :results:", b"  :history:")


@dataclass(slots=True)
class Block:
    """The lines of one submission. key: `submission_<id>` · head: without results and history · earlier: how many
    attempts the history holds · results: the text of the results, kept when it is asked for."""

    key: str
    head: bytes
    earlier: int
    results: bytes = b""


def blocks(lines: Iterable[bytes], where: Path | str, *, results: bool = False) -> Iterator[Block]:
    """Cut the stream into blocks. Raises CourseError for what is no export of notebooks."""
    reader: _Reader | None = None
    for number, line in enumerate(lines, 1):
        if line.strip() in (b"{}", b"--- {}"):
            continue  # a class without submissions
        if line[:1] not in (b" ", b"\t", b"\n", b"\r", b"#", b"-"):
            if reader is not None:
                yield reader.block()
            reader = _Reader(_key(line, where, number), where, results)
        elif reader is not None:
            reader.take(line)
        elif line[:1] == b"-" and not line.startswith(b"---"):
            raise CourseError(f"line {number} is no submission", where=where)
    if reader is not None:
        yield reader.block()


def _key(line: bytes, where: Path | str, number: int) -> str:
    key = line.decode("utf-8", "replace").strip()
    name = key.removesuffix(":").strip("\"'")
    if name.endswith(".pdf"):
        raise CourseError("this is the export of a PDF assignment; there are no notebooks in it to grade", where=where)
    if not name.startswith("submission_") or not key.endswith(":"):
        raise CourseError(f"line {number} is {key[:60]!r}, but `submission_<id>:` was expected", where=where)
    return name


class _Reader:
    """Collects one block line by line."""

    def __init__(self, key: str, where: Path | str, results: bool) -> None:
        self.key, self.where, self.keep = key, where, results
        self.head: list[bytes] = []
        self.results: list[bytes] = []
        self.earlier, self.size, self.head_size = 0, 0, 0
        self.part = b""

    def take(self, line: bytes) -> None:
        self.size += len(line)
        if line[:3] == b"  :":
            self.part = next((name for name in _SKIPPED if line.startswith(name)), b"")
        if not self.part:
            self.head.append(line)
            self.head_size += len(line)
        elif self.part == b"  :history:":
            self.earlier += line.startswith((b"  - ", b"    - :")) and not line.startswith(b"    - :name")
        elif self.keep:
            self.results.append(line)
        if self.size > _LARGEST_BLOCK or self.head_size > _LARGEST_HEAD:
            raise CourseError(f"the entry {self.key} is too large to be read", where=self.where)

    def block(self) -> Block:
        return Block(self.key, b"".join(self.head), self.earlier, b"".join(self.results))


def hand_in(block: Block, where: Path | str) -> HandIn:
    """The head of a block as a value."""
    head = _parsed(block.head, block.key, where)
    submitters = head.get(":submitters")
    people = tuple(_person(one) for one in submitters if isinstance(one, dict)) if isinstance(submitters, list) else ()
    score = head.get(":score")
    return HandIn(
        id=slug(block.key.removeprefix("submission_")),
        people=people,
        created=_time(head.get(":created_at")),
        score=float(score) if isinstance(score, int | float) and not isinstance(score, bool) else None,
        status=str(head[":status"]) if head.get(":status") else None,
        attempts=block.earlier + 1,
    )


def _person(entry: Mapping[str, Any]) -> Person:
    name, sid, email = (entry.get(key) for key in (":name", ":sid", ":email"))
    return Person(str(name or ""), str(sid) if sid not in (None, "") else None, str(email) if email else None)


def _time(value: object) -> str | None:
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).isoformat()
    return value.isoformat() if isinstance(value, date) else None


def read_results(block: Block, where: Path | str) -> Mapping[str, Any] | None:
    """`:results` of a block that was read with `results=True`: the platform's own form, or None."""
    found = _parsed(block.results, block.key, where).get(":results") if block.results else None
    return found if isinstance(found, dict) else None


def _parsed(text: bytes, key: str, where: Path | str) -> Mapping[str, Any]:
    """A mapping from plain YAML: no tags, no aliases, no deep nesting."""
    try:
        _refuse_tricks(text)
        found = yaml.load(text, Loader=_LOADER)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = _reason(error)
        raise CourseError(f"the entry {key} can't be read: {reason}", where=where) from None
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise CourseError(f"the entry {key} is no mapping", where=where)
    return found


def _reason(error: Exception) -> str:
    """What is wrong, and in which line of the entry."""
    problem, mark = getattr(error, "problem", None), getattr(error, "problem_mark", None)
    where = f", in line {mark.line + 1} after its name" if mark else ""
    return " ".join(f"{problem or error}{where}".split())[:200]


def _refuse_tricks(text: bytes) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.AliasEvent):
            raise ValueError("it holds an alias")
        if tag := getattr(event, "tag", None):
            raise ValueError(f"it holds the tag {tag}")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise ValueError("it is nested too deeply")
