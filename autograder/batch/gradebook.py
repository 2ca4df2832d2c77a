"""`grades.csv`: derived from the store, made again at any time, with Gradescope's columns.

People are matched with the roster by SID where both sides have one, else by the platform's own number, else by e-mail
in small letters. A SID stays text, since it may start with zeros. A cell that a spreadsheet would run as a formula
gets an apostrophe in front, and so does a cell that already has one there; so reading takes exactly one off again and
no cell ever changes. A fault of the grader is never a number: the row says Ungraded, and its points stay empty.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from autograder.batch.people import Person, identity
from autograder.batch.store import Recorded, Store
from autograder.errors import CourseError
from autograder.model import Outcome, Report, Verdict
from autograder.report.student import number_key

__all__ = ["Gradebook", "Row", "Student", "gradebook", "guard", "read_csv", "read_roster", "unguard", "write_csv"]

_FORMULA = re.compile(r"'*\s*[=+\-@＝＋－＠]|'*[\t\r\n]")
_LARGEST = 64 * 2**20
_HEAD = (
    "First Name",
    "Last Name",
    "SID",
    "Email",
    "Sections",
    "Total Score",
    "Max Points",
    "Status",
    "Submission ID",
    "Submission Time",
    "Lateness (H:M:S)",
    "View Count",
    "Submission Count",
)


def guard(cell: str) -> str:
    """The cell as text that no spreadsheet takes for a formula."""
    return f"'{cell}" if _FORMULA.match(cell) else cell


def unguard(cell: str) -> str:
    """The inverse of `guard`."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def write_csv(rows: Iterable[Sequence[str]]) -> bytes:
    """UTF-8 with CR LF, as the platform writes it."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    for row in rows:
        writer.writerow([guard(cell) for cell in row])
    return stream.getvalue().encode("utf-8", "replace")


def read_csv(path: Path) -> list[dict[str, str]]:
    """Rows by column name. Raises CourseError for what is no table."""
    try:
        if path.stat().st_size > _LARGEST:
            raise CourseError("this file is too large for a table of students", where=path)
        text = path.read_bytes().decode("utf-8-sig")
        lines = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except OSError as error:
        raise CourseError(f"this can't be read: {error.strerror}", where=path) from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise CourseError(f"this is no CSV file in UTF-8: {error}", where=path) from None
    if not lines:
        raise CourseError("this file is empty; a first line with column names was expected", where=path)
    names = [unguard(name).strip() for name in lines[0]]
    return [dict(zip(names, map(unguard, line), strict=False)) for line in lines[1:] if any(line)]


# ── roster ────────────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class Student:
    """One line of the roster."""

    first: str
    last: str
    sid: str = ""
    email: str = ""
    sections: str = ""
    lms: str = ""


_COLUMNS = {
    "first": ("first name", "first", "given name", "firstname"),
    "last": ("last name", "last", "surname", "family name", "lastname"),
    "name": ("name", "full name", "student", "student name"),
    "sid": ("sid", "student id", "sis user id", "id number", "student number", "matriculation number"),
    "email": ("email", "e-mail", "email address", "mail", "sis login id"),
    "sections": ("sections", "section", "section_name"),
    "lms": ("id", "canvas id", "moodle id"),
    "role": ("role",),
}


def read_roster(path: Path) -> tuple[Student, ...]:
    """Students of a roster: Gradescope's download, Canvas' gradebook, or any table with a name and an e-mail or SID.

    Raises CourseError when it has no such columns, or a SID or e-mail twice.
    """
    rows = read_csv(path)
    names = {name.lower(): name for name in (rows[0] if rows else {})}
    where = {key: next((names[n] for n in known if n in names), None) for key, known in _COLUMNS.items()}
    if where["sid"] is None and where["email"] is None and where["lms"] is None:
        raise CourseError("the roster needs a column SID or Email", where=path)
    students = tuple(_student(row, where) for row in rows if _is_student(row, where))
    for what in ("sid", "email"):
        seen: set[str] = set()
        for student in students:
            value = getattr(student, what).lower()
            if value and value in seen:
                raise CourseError(f"{value} appears twice", where=path, key=str(where[what]))
            seen.add(value)
    return students


def _is_student(row: Mapping[str, str], where: Mapping[str, str | None]) -> bool:
    role = row.get(where["role"] or "", "").strip().lower()
    return role in ("", "student") and any(row.get(where[key] or "", "").strip() for key in ("sid", "email", "lms"))


def _student(row: Mapping[str, str], where: Mapping[str, str | None]) -> Student:
    value = {key: row.get(name, "").strip() if name else "" for key, name in where.items()}
    first, last = value["first"], value["last"]
    if not first and not last:
        first, last = split_name(value["name"])
    return Student(first, last, value["sid"], value["email"], value["sections"], value["lms"])


def split_name(name: str) -> tuple[str, str]:
    """First and last name; "Last, First" is turned round."""
    if "," in name:
        last, _, first = name.partition(",")
        return first.strip(), last.strip()
    first, _, last = name.strip().rpartition(" ")
    return (first, last) if first else (last, "")


# ── rows ──────────────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class Row:
    """One student's line. submission: id, or None when missing · status: Graded, Ungraded or Missing · cells: points
    a question, None where they are open · others: ids of further submissions of the same person, not counted."""

    student: Student
    submission: str | None
    status: str
    total: Fraction | None = None
    created: str | None = None
    attempts: int | None = None
    questions: Mapping[str, Fraction | None] = field(default_factory=dict)
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class Gradebook:
    """All rows, and what staff should know about them."""

    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    template: Report | None

    def csv(self) -> bytes:
        return write_csv(self._lines())

    def _lines(self) -> Iterator[list[str]]:
        questions = [(q.id, q.title, q.points) for q in self.template.questions] if self.template else []
        columns = [f"{key}: {title} ({_number(points)} pts)" for key, title, points in questions]
        yield [*_HEAD, *columns]
        most = _number(self.template.total) if self.template else ""
        for row in self.rows:
            student = row.student
            yield [
                *(student.first, student.last, student.sid, student.email, student.sections),
                *(_number(row.total), most if row.submission else "", row.status),
                *(row.submission or "", _time(row.created), "", "", str(row.attempts or "")),
                *(_number(row.questions.get(key)) for key, _, _ in questions),
            ]


def _number(points: Fraction | None) -> str:
    return "" if points is None else str(round(float(points), 6))


def _time(created: str | None) -> str:
    """Gradescope's form: 2026-03-04 21:58:07 -0500."""
    found = re.fullmatch(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?([+-]\d\d):(\d\d)", created or "")
    return f"{found[1]} {found[2]} {found[3]}{found[4]}" if found else created or ""


@dataclass
class _Line:
    """A result with one of its people."""

    person: Person
    row: Row


def gradebook(store: Store, roster: Sequence[Student] | None = None) -> Gradebook:
    """Match everybody who handed in with the roster; a submission of a group gives each member a row."""
    notes: list[str] = []
    lines = list(_lines(store, notes))
    index = _Index(roster or ())
    matched: dict[int, list[_Line]] = {}
    strangers: dict[str, list[_Line]] = {}
    for line in lines:
        place = index.find(line.person)
        if place is not None:
            matched.setdefault(place, []).append(line)
        else:
            strangers.setdefault(identity(line.person, line.row.submission or ""), []).append(line)
    rows = [_chosen(student, matched.get(place, []), notes) for place, student in enumerate(roster or ())]
    for group in strangers.values():
        student = _as_student(group[0].person)
        if roster is not None:
            notes.append(f"{_name(student)} ({group[0].row.submission}) is not on the roster")
        rows.append(_chosen(student, group, notes))
    return Gradebook(tuple(rows), tuple(notes), store.template())


def _lines(store: Store, notes: list[str]) -> Iterator[_Line]:
    results = {one.submission: one for one in _light(store)}
    for submitted in store.submissions():
        hand_in = submitted.hand_in
        notes += [f"{hand_in.id}: {note}" for note in hand_in.notes]
        found = results.get(hand_in.id)
        base = found or Row(Student("", ""), hand_in.id, "Ungraded")
        for person in hand_in.people or (Person(),):
            yield _Line(
                person,
                Row(
                    *(Student("", ""), hand_in.id, base.status, base.total),
                    created=hand_in.created,
                    attempts=hand_in.attempts,
                    questions=base.questions,
                ),
            )


def _light(store: Store) -> Iterator[Row]:
    """Results without their reports."""
    for recorded in store.results():
        yield _row(recorded)


def _row(recorded: Recorded) -> Row:
    report = recorded.report
    questions: dict[str, Fraction | None] = {}
    for outcome in sorted(report.outcomes, key=lambda o: number_key(o.spec.number)):
        questions[outcome.spec.question] = _added(questions.get(outcome.spec.question, Fraction(0)), outcome)
    open_points = bool(report.faults) or not report.complete
    return Row(
        *(Student("", ""), recorded.submission, "Ungraded" if open_points else "Graded"),
        total=None if open_points else report.earned,
        questions=questions,
    )


def _added(sum_: Fraction | None, outcome: Outcome) -> Fraction | None:
    """Points of a question; open as soon as one of its checks is."""
    return None if sum_ is None or outcome.verdict is Verdict.GRADER_FAULT else sum_ + outcome.earned


class _Index:
    """The roster by SID, platform number and e-mail."""

    def __init__(self, roster: Sequence[Student]) -> None:
        self.by: dict[tuple[str, str], int] = {}
        for place, student in enumerate(roster):
            for kind, value in (("sid", student.sid), ("lms", student.lms), ("email", student.email.lower())):
                if value:
                    self.by[kind, value] = place

    def find(self, person: Person) -> int | None:
        keys = (("sid", person.sid), ("lms", person.lms), ("email", (person.email or "").lower()))
        return next((self.by[kind, value] for kind, value in keys if value and (kind, value) in self.by), None)


def _as_student(person: Person) -> Student:
    return Student(*split_name(person.name), person.sid or "", person.email or "", "", person.lms or "")


def _name(student: Student) -> str:
    return f"{student.first} {student.last}".strip() or student.email or student.sid or "somebody"


def _chosen(student: Student, lines: Sequence[_Line], notes: list[str]) -> Row:
    """A person's row: of several submissions the latest counts, and staff are told."""
    if not lines:
        return Row(student, None, "Missing")
    rows = sorted((line.row for line in lines), key=lambda row: row.created or "")
    others = tuple(row.submission or "" for row in rows[:-1])
    if others:
        which = "the latest" if rows[-1].created else "the last in the source"
        not_counted = f"{rows[-1].submission} counts ({which}), not {', '.join(others)}"
        notes.append(f"{_name(student)} has {len(rows)} submissions: {not_counted}")
    row = rows[-1]
    return Row(
        *(student, row.submission, row.status, row.total),
        created=row.created,
        attempts=row.attempts,
        questions=row.questions,
        others=others,
    )
