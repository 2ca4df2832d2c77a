"""Who handed in what: the values that every reader of a class produces."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["HandIn", "Person", "digest_of", "identity", "slug"]


@dataclass(frozen=True, slots=True)
class Person:
    """One of those who handed in. sid stays text, since it may start with zeros · lms: the platform's own number."""

    name: str = ""
    sid: str | None = None
    email: str | None = None
    lms: str | None = None


def identity(person: Person, submission: str) -> str:
    """What two submissions of one person have in common; of somebody unknown it is the submission itself."""
    return person.sid or person.lms or (person.email or "").lower() or f"submission {submission}"


@dataclass(frozen=True, slots=True)
class HandIn:
    """One active submission, as the source tells of it.

    id: a name that is safe as a folder's · created: ISO 8601 · score, status: what the platform had recorded ·
    attempts: how often they submitted, when that is known · late: what the file name says · notes: for staff.
    """

    id: str
    people: tuple[Person, ...] = ()
    created: str | None = None
    score: float | None = None
    status: str | None = None
    attempts: int | None = None
    late: bool | None = None
    notes: tuple[str, ...] = field(default=())


def slug(name: str) -> str:
    """A name as part of a path: letters, digits, dot, hyphen; what would lose its difference gets a hash."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    short = re.sub(r"[^A-Za-z0-9.-]+", "-", plain).strip(".-")[:60]
    if short == name:
        return short
    return f"{short or 'submission'}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def digest_of(path: Path) -> str:
    """SHA-256 of a hand-in: a file's bytes, or names, sizes and bytes of a folder. Links are named, not followed."""
    digest = hashlib.sha256()
    for name, file in _plain_files(path):
        digest.update(f"{name}\0{file.lstat().st_size}\0".encode("utf-8", "surrogatepass"))
        _add(digest, file)
    return digest.hexdigest()


def _plain_files(path: Path) -> Iterator[tuple[str, Path]]:
    if not path.is_dir() or path.is_symlink():
        yield "", path
        return
    for folder, folders, files in os.walk(path):
        folders.sort()
        for name in sorted(files):
            file = Path(folder) / name
            yield file.relative_to(path).as_posix(), file


def _add(digest: hashlib._Hash, file: Path) -> None:
    """The bytes of a plain file; a fifo or a device must not make us wait."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        digest.update(f"\0{error.errno}\0".encode())
        return
    with os.fdopen(descriptor, "rb") as stream:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            while block := stream.read(1 << 20):
                digest.update(block)
