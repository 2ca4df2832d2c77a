"""Metadata for one hand-in, as the platform would write it: plain, or from a class export.

In an export's YAML the server's keys are Ruby symbols (`:created_at`), the map's key is `submission_<id>`, and the
active submission may be older than one of its history: only what came before it counts as earlier.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from autograder.errors import CourseError
from autograder.model import Assignment

__all__ = ["metadata_from_export", "plain_metadata"]

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def plain_metadata(assignment: Assignment, **dates: str | None) -> dict[str, Any]:
    """One student, handed in now, no earlier submission. dates: of the assignment, ISO 8601.

    No student number: so the one in the notebook counts for personal numbers.
    """
    return {
        "id": 1,
        "created_at": _iso(datetime.now(UTC)),
        "assignment_id": None,
        "assignment": _assignment(assignment, dates),
        "submission_method": "upload",
        "users": [_user({":name": "A Student", ":email": "a.student@example.edu"})],
        "previous_submissions": [],
    }


def metadata_from_export(path: Path, submission: str, assignment: Assignment, **dates: str | None) -> dict[str, Any]:
    """Metadata of one submission of an export.

    path: submission_metadata.yml, or the folder that holds it · submission: the number or `submission_<number>`.
    Raises CourseError for a file that is no such export or does not hold the submission.
    """
    if path.is_dir():
        path = next(iter(sorted(path.rglob("submission_metadata.yml"))), path / "submission_metadata.yml")
    entries = _load(path)
    key = submission if submission.startswith("submission_") else f"submission_{submission}"
    entry = entries.get(key)
    if not isinstance(entry, dict):
        raise CourseError(f"the export holds no {key}; it has {', '.join(sorted(map(str, entries))[:5])} …", where=path)
    created = _utc(entry.get(":created_at"), path)
    return {
        "id": int(key.removeprefix("submission_")),
        "created_at": _iso(created),
        "assignment_id": None,
        "assignment": _assignment(assignment, dates, group=len(entry.get(":submitters") or ()) > 1),
        "submission_method": "upload",
        "users": [_user(one) for one in entry.get(":submitters") or ()],
        "previous_submissions": _earlier(entry, created, path),
    }


def _load(path: Path) -> Mapping[str, Any]:
    try:
        with path.open("rb") as file:
            entries = yaml.load(file, Loader=_LOADER)  # a safe loader: tags of Ruby are refused
    except (OSError, yaml.YAMLError) as error:
        raise CourseError(f"this export can't be read: {error}", where=path) from error
    if not isinstance(entries, dict) or not any(str(key).startswith("submission_") for key in entries):
        raise CourseError("this is no export of a programming assignment: no `submission_…` in it", where=path)
    return entries


def _earlier(entry: Mapping[str, Any], created: datetime, path: Path) -> list[dict[str, Any]]:
    """Those before the active one, by time; results on the latest only."""
    dated = [(_utc(one.get(":created_at"), path), one) for one in entry.get(":history") or ()]
    found = sorted(((time, one) for time, one in dated if time < created), key=lambda pair: pair[0])
    earlier = [
        {
            "id": one.get(":id"),
            "submission_time": _iso(time),
            "score": one.get(":score"),
            "autograder_error": one.get(":status") == "failed",
        }
        for time, one in found
    ]
    if found:
        earlier[-1]["results"] = found[-1][1].get(":results")
    return earlier


def _utc(value: object, path: Path) -> datetime:
    if not isinstance(value, datetime):
        raise CourseError(f"{value!r} is no time", where=path, key=":created_at")
    return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)


def _iso(time: datetime) -> str:
    return time.isoformat(timespec="microseconds")


def _user(one: Mapping[str, Any]) -> dict[str, Any]:
    """A person with a made-up id that is the same in each run."""
    email = str(one.get(":email") or "")
    number = int.from_bytes(hashlib.sha256(email.lower().encode()).digest()[:4], "big") % 9_000_000 + 1_000_000
    return {"id": number, "email": email, "name": str(one.get(":name") or ""), "sid": one.get(":sid")}


def _assignment(assignment: Assignment, dates: Mapping[str, str | None], group: bool = False) -> dict[str, Any]:
    return {
        "id": 1,
        "course_id": 1,
        "title": assignment.title,
        "due_date": dates.get("due"),
        "late_due_date": dates.get("late_due"),
        "release_date": dates.get("release"),
        "group_submission": group,
        "group_size": None,
        "total_points": str(float(assignment.total + assignment.written_points)),
    }
