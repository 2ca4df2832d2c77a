"""Where a course is. Apart from `assignment`, since a command looks for its course before anything slow is imported."""

from __future__ import annotations

from pathlib import Path

from autograder.errors import CourseError

__all__ = ["find_course"]


def find_course(start: Path, course: Path | None = None) -> Path:
    """The course's folder: `course` if given, else the nearest parent of `start` with both folders in it.

    Raises CourseError when there is none.
    """
    where = (course or start).resolve()
    candidates = [where] if course is not None else [where, *where.parents]
    for folder in candidates:
        if (folder / "assignments").is_dir() and (folder / "reference").is_dir():
            return folder
    raise CourseError(
        "this is no course: a folder that holds `assignments` and `reference` was expected here"
        + ("" if course is not None else " or above; name it with --course"),
        where=where,
    )
