"""What is known of a class: one SQLite file, opened by the coordinating process only, beside one folder a submission.

Theory of operation. State is derived from recorded results and never from a queue: a submission is done when a result
stands under its key (submission, SHA-256 of the hand-in, assignment, course, grader, seed), and that is one row of one
transaction. So grading happens at least once and is recorded exactly once, whoever is killed when. A worker fills a
private folder named by a token; the row with that token is committed first, then the folder is renamed to its place,
and what a crash left between the two is repaired at the next start. Two coordinators can't share a store: an `flock`
is held, which the kernel gives back even after a kill -9. The journal is SQLite's ordinary one, since write-ahead
logging needs shared memory that network disks don't have.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from autograder.batch.fingerprint import Key
from autograder.batch.people import HandIn, Person
from autograder.errors import CourseError, GraderFault
from autograder.model import Report
from autograder.service import report_from_json

__all__ = ["Recorded", "Store", "Submitted"]

_FILE = "class.sqlite"
_VERSION = "1"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS submissions (
    id TEXT PRIMARY KEY, place INTEGER NOT NULL, path TEXT NOT NULL, sha256 TEXT NOT NULL, hand_in TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS results (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    submission TEXT NOT NULL, sha256 TEXT NOT NULL, assignment TEXT NOT NULL, course TEXT NOT NULL,
    grader TEXT NOT NULL, seed TEXT NOT NULL,
    kind TEXT NOT NULL, token TEXT NOT NULL, report BLOB NOT NULL, recorded TEXT NOT NULL,
    UNIQUE (submission, sha256, assignment, course, grader, seed));
CREATE TABLE IF NOT EXISTS deaths (
    submission TEXT NOT NULL, course TEXT NOT NULL, reason TEXT NOT NULL, happened TEXT NOT NULL);
"""
_CURRENT = "SELECT MAX(number) FROM results GROUP BY submission"


@dataclass(frozen=True, slots=True)
class Submitted:
    """A hand-in as it stands in the store. path: what is graded · sha256: of its bytes."""

    hand_in: HandIn
    path: Path
    sha256: str

    @property
    def id(self) -> str:
        return self.hand_in.id


@dataclass(frozen=True, slots=True)
class Recorded:
    """A result. kind: graded, refused (the hand-in can't be graded) or fault (set aside, or open points)."""

    submission: str
    kind: str
    key: Key
    report: Report
    token: str
    recorded: str


class Store:
    """The results of one class in `folder`; a context manager. Raises CourseError in plain words."""

    def __init__(self, folder: Path, *, make: bool = False) -> None:
        self.folder = folder
        if not make and not (folder / _FILE).is_file():
            raise CourseError("there are no results of a class here; run `softmark class grade` first", where=folder)
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = self._locked() if make else -1
        except OSError as error:
            raise CourseError(f"results can't be kept here: {error.strerror}", where=folder) from None
        try:
            self._open()
        except sqlite3.Error as error:
            self.close()
            raise CourseError(f"the results can't be read: {error}", where=folder / _FILE) from error

    def _locked(self) -> int:
        """Be the only coordinator of this folder."""
        descriptor = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(descriptor, 32, 0).decode(errors="replace")
            os.close(descriptor)
            raise CourseError(f"another run (process {owner}) writes here; wait for it", where=self.folder) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        return descriptor

    def _open(self) -> None:
        path = self.folder / _FILE
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("PRAGMA cache_size = -2000")
        self._db.executescript(_SCHEMA)
        if (version := self.meta("version")) not in (None, _VERSION):
            raise sqlite3.DatabaseError(f"they are of format {version}, and this program knows {_VERSION}")
        if version is None:
            self.set_meta(version=_VERSION)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """All or nothing; a full disk leaves what was there before."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            yield
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            raise GraderFault(
                f"{self.folder / _FILE} can't be written: {error}. What was recorded before is intact; make room, then "
                "go on with --resume"
            ) from error
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            raise

    # ── meta ──────────────────────────────────────────────────────────────────────────────────────────────────
    def meta(self, key: str) -> str | None:
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else None

    def set_meta(self, **values: str) -> None:
        with self._transaction():
            self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())

    def set_fingerprint(self, course: str, found: Mapping[str, str]) -> None:
        """Remember what a key's course consisted of, so that a later change can be described."""
        self.set_meta(**{f"fingerprint:{course}": json.dumps(found)})

    def fingerprint(self, course: str) -> dict[str, str] | None:
        text = self.meta(f"fingerprint:{course}")
        return dict(json.loads(text)) if text else None

    def template(self) -> Report | None:
        """A report with all declared checks and nobody's answers."""
        text = self.meta("template")
        return report_from_json(text) if text else None

    # ── submissions ───────────────────────────────────────────────────────────────────────────────────────────
    def register(self, submitted: Iterator[Submitted]) -> None:
        """Replace what is known of the source; results stay."""
        with self._transaction():
            self._db.execute("DELETE FROM submissions")
            for place, one in enumerate(submitted):
                values = (one.id, place, str(one.path), one.sha256, json.dumps(asdict(one.hand_in)))
                self._db.execute("INSERT INTO submissions VALUES (?, ?, ?, ?, ?)", values)

    def submissions(self) -> Iterator[Submitted]:
        """In the source's order, one at a time."""
        for path, sha256, text in self._db.execute("SELECT path, sha256, hand_in FROM submissions ORDER BY place"):
            yield Submitted(_hand_in(json.loads(text)), Path(path), sha256)

    def submission(self, id: str) -> Submitted | None:
        row = self._db.execute("SELECT path, sha256, hand_in FROM submissions WHERE id = ?", (id,)).fetchone()
        return Submitted(_hand_in(json.loads(row[2])), Path(row[0]), row[1]) if row else None

    def count(self) -> int:
        return int(self._db.execute("SELECT COUNT(*) FROM submissions").fetchone()[0])

    # ── results ───────────────────────────────────────────────────────────────────────────────────────────────
    def is_done(self, one: Submitted, key: Key) -> bool:
        return self._db.execute(f"SELECT 1 FROM results WHERE {_WHERE}", _values(one, key)).fetchone() is not None

    def record(self, one: Submitted, key: Key, report: str, kind: str, token: str) -> None:
        """Record a result and put its files in their place. report: as JSON."""
        row = (*_values(one, key), kind, token, zlib.compress(report.encode(), 6), _now())
        with self._transaction():
            self._db.execute(f"INSERT OR REPLACE INTO results ({_COLUMNS}) VALUES ({','.join('?' * 10)})", row)
            self._db.execute("DELETE FROM deaths WHERE submission = ?", (one.id,))
        self._publish(one.id, token)

    def carry(self, ids: Sequence[str], old: Key, new: Key) -> None:
        """What a change can't have touched keeps its result under the new key."""
        with self._transaction():
            for one in ids:
                self._db.execute(
                    f"INSERT OR REPLACE INTO results ({_COLUMNS}) SELECT submission, sha256, ?, ?, ?, ?, kind, token, "
                    "report, recorded FROM results WHERE submission = ? AND assignment = ? AND course = ? "
                    "AND grader = ? AND seed = ?",
                    (new.assignment, new.course, new.grader, new.seed, one, *_key_values(old)),
                )

    def results(self) -> Iterator[Recorded]:
        """The latest result of each submission that the source still has, in the source's order, one at a time."""
        query = (
            "SELECT r.* FROM results r JOIN submissions s ON s.id = r.submission "
            f"WHERE r.number IN ({_CURRENT}) ORDER BY s.place"
        )
        for row in self._db.execute(query):
            yield _recorded(row)

    def result(self, id: str) -> Recorded | None:
        query = "SELECT * FROM results WHERE submission = ? ORDER BY number DESC LIMIT 1"
        row = self._db.execute(query, (id,)).fetchone()
        return _recorded(row) if row else None

    def has_results(self) -> bool:
        return self._db.execute("SELECT 1 FROM results LIMIT 1").fetchone() is not None

    # ── deaths ────────────────────────────────────────────────────────────────────────────────────────────────
    def died(self, id: str, key: Key, reason: str) -> tuple[str, ...]:
        """Remember that a worker died of this submission; returns all reasons so far."""
        with self._transaction():
            self._db.execute("INSERT INTO deaths VALUES (?, ?, ?, ?)", (id, key.course, reason, _now()))
        query = "SELECT reason FROM deaths WHERE submission = ? AND course = ? ORDER BY rowid"
        return tuple(str(row[0]) for row in self._db.execute(query, (id, key.course)))

    def forgive(self, id: str) -> None:
        with self._transaction():
            self._db.execute("DELETE FROM deaths WHERE submission = ?", (id,))

    # ── files ─────────────────────────────────────────────────────────────────────────────────────────────────
    def files_of(self, id: str) -> Path:
        """The folder with results.json, report.html and the executed notebook."""
        return self.folder / "submissions" / id

    def attempt(self, id: str, token: str) -> Path:
        """Where a worker writes before anything is recorded."""
        return self.folder / "submissions" / ".attempts" / f"{id}.{token}"

    def _publish(self, id: str, token: str) -> None:
        made, place = self.attempt(id, token), self.files_of(id)
        if made.is_dir():
            if place.exists():
                place.rename(made.with_name(f"{made.name}.old"))
            made.rename(place)
            shutil.rmtree(made.with_name(f"{made.name}.old"), ignore_errors=True)

    def repair(self) -> None:
        """Finish or sweep what a killed run left: folders of recorded results go to their place, others go away."""
        attempts = self.folder / "submissions" / ".attempts"
        if not attempts.is_dir():
            return
        tokens = dict(self._db.execute(f"SELECT submission, token FROM results WHERE number IN ({_CURRENT})"))
        for made in sorted(attempts.iterdir()):
            found = re.fullmatch(r"(.+)\.([0-9a-f]{16})", made.name)
            if found and tokens.get(found[1]) == found[2]:
                self._publish(found[1], found[2])
            else:
                shutil.rmtree(made, ignore_errors=True)

    def close(self) -> None:
        if hasattr(self, "_db"):
            self._db.close()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_NAMES = ("submission", "sha256", "assignment", "course", "grader", "seed")
_COLUMNS = ", ".join((*_NAMES, "kind", "token", "report", "recorded"))
_WHERE = " AND ".join(f"{name} = ?" for name in _NAMES)


def _key_values(key: Key) -> tuple[str, str, str, str]:
    return key.assignment, key.course, key.grader, key.seed


def _values(one: Submitted, key: Key) -> tuple[str, ...]:
    return (one.id, one.sha256, *_key_values(key))


def _recorded(row: Sequence[Any]) -> Recorded:
    _, submission, _, assignment, course, grader, seed, kind, token, report, recorded = row
    key = Key(assignment, course, grader, seed)
    return Recorded(submission, kind, key, report_from_json(zlib.decompress(report).decode()), token, recorded)


def _hand_in(values: Mapping[str, Any]) -> HandIn:
    people = tuple(Person(**one) for one in values["people"])
    return HandIn(**{**values, "people": people, "notes": tuple(values["notes"])})


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
