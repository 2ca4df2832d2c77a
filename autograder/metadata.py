"""`submission_metadata.json`: what the platform says of a hand-in, taken with a pinch of salt.

Every field is optional, unknown keys are ignored, and a missing or broken file means that nothing is known: it is
noted for staff and never ends a run. Names and addresses are read by nobody; ids are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

__all__ = ["Earlier", "Metadata", "Person", "parse_time", "read_metadata", "understand"]

_LARGEST = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Person:
    """One of those who handed in. due: their own due date, extension included, where the platform tells it."""

    sid: str | None = None
    due: datetime | None = None


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier submission. failed: the autograder did, not the student · results: on the latest only."""

    time: datetime | None
    failed: bool = False
    results: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Metadata:
    """What is known. problems: sentences for staff about what could not be read · raw: the object as it came."""

    created: datetime | None = None
    due: datetime | None = None
    late_due: datetime | None = None
    people: tuple[Person, ...] = ()
    earlier: tuple[Earlier, ...] = ()  # by time
    problems: tuple[str, ...] = ()
    raw: Mapping[str, Any] = field(default_factory=dict)

    @property
    def previous(self) -> Mapping[str, Any] | None:
        """`results` of the latest earlier submission, when the platform gave them."""
        return self.earlier[-1].results if self.earlier else None


def read_metadata(path: Path) -> Metadata:
    """The file as values; never raises for anything that is in it."""
    try:
        if path.stat().st_size > _LARGEST:
            return Metadata(problems=(f"{path.name} is too large to be read",))
        read = json.loads(path.read_bytes())
    except OSError as error:
        return Metadata(problems=(f"no metadata: {path.name}: {error.strerror}",))
    except (ValueError, RecursionError):
        return Metadata(problems=(f"no metadata: {path.name} is no JSON",))
    return understand(read)


def understand(read: object) -> Metadata:
    """What an object that should be the platform's metadata says."""
    if not isinstance(read, dict):
        return Metadata(problems=("no metadata: an object was expected",))
    problems: list[str] = []
    assignment = _mapping(read.get("assignment"))
    earlier = [
        Earlier(
            _time(one, "submission_time", problems),
            failed=bool(one.get("autograder_error")),
            results=found if isinstance(found := one.get("results"), dict) else None,
        )
        for one in _mappings(read.get("previous_submissions"))
    ]
    return Metadata(
        created=_time(read, "created_at", problems),
        due=_time(assignment, "due_date", problems),
        late_due=_time(assignment, "late_due_date", problems),
        people=tuple(_person(one, problems) for one in _mappings(read.get("users"))),
        earlier=tuple(sorted(earlier, key=lambda one: one.time or datetime.min.replace(tzinfo=UTC))),
        problems=tuple(problems),
        raw=read,
    )


def _person(user: Mapping[str, Any], problems: list[str]) -> Person:
    sid = user.get("sid")
    return Person(str(sid) if sid else None, _time(_mapping(user.get("assignment")), "due_date", problems))


def _time(holder: Mapping[str, Any], key: str, problems: list[str]) -> datetime | None:
    value = holder.get(key)
    if value is None:
        return None
    time = parse_time(value)
    if time is None:
        problems.append(f"metadata: {key} is no time")
    return time


def parse_time(value: object) -> datetime | None:
    """ISO 8601 with an offset or a trailing Z; without either it is taken as UTC. None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        time = datetime.fromisoformat(value)
        time = time if time.tzinfo else time.replace(tzinfo=UTC)
        time.astimezone(UTC)  # year 1 with an offset has no UTC
    except (ValueError, OverflowError):
        return None
    return time


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _mappings(value: object) -> Iterator[Mapping[str, Any]]:
    yield from (one for one in value if isinstance(one, dict)) if isinstance(value, list) else ()
