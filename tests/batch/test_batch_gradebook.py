"""grades.csv, the roster, and what changes between two gradings."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.batch.compare import compare
from autograder.batch.fingerprint import Key
from autograder.batch.gradebook import gradebook, guard, read_csv, read_roster, unguard, write_csv
from autograder.batch.insight import class_view, correlation
from autograder.batch.people import HandIn, Person
from autograder.batch.store import Store, Submitted
from autograder.errors import CourseError
from autograder.model import CheckSpec, Note, Outcome, QuestionSpec, Reason, Report, Verdict
from autograder.report.class_report import class_html
from autograder.service import report_to_json

KEY = Key("mini 1", "course", "0", "course")
SPECS = (
    CheckSpec("1.1", "1", "It is finite.", Fraction(1)),
    CheckSpec("1.2", "1", "It sums to 1 along `dim`.", Fraction(1, 3)),
    CheckSpec("2.1", "2", "It agrees.", Fraction(2, 3)),
)
QUESTIONS = (QuestionSpec("1", "Softmax", Fraction(4, 3)), QuestionSpec("2", "Attention", Fraction(2, 3)))
P, F, G = Verdict.PASSED, Verdict.FAILED, Verdict.GRADER_FAULT


def report_of(*verdicts: Verdict, mistakes: Sequence[str] = (), **more: object) -> Report:
    outcomes = tuple(
        Outcome(spec, v, spec.points if v is P else Fraction(0), None if v is P else Reason.WRONG)
        for spec, v in zip(SPECS, verdicts, strict=True)
    )
    if mistakes:
        named = {"mistakes": tuple(mistakes), "hints": tuple(f"hint for {name}" for name in mistakes)}
        outcomes = tuple(replace(o, **named) if o.verdict is F else o for o in outcomes)
    base = Report(
        "mini", "Mini <&> title", "1", Fraction(2), outcomes, "a.ipynb", "00", questions=QUESTIONS, seconds=1.5
    )
    return replace(base, **more)  # type: ignore[arg-type]


def fill(folder: Path, rows: Sequence[tuple[HandIn, Report | None]]) -> Store:
    """A store with these submissions and results."""
    store = Store(folder, make=True)
    submitted = [Submitted(hand_in, folder / hand_in.id, f"sha-{n}") for n, (hand_in, _) in enumerate(rows)]
    store.register(iter(submitted))
    store.set_meta(title="Mini", total="2", source="x", kind="folder", template=report_to_json(report_of(G, G, G)))
    for one, (_, report) in zip(submitted, rows, strict=True):
        if report is not None:
            store.record(
                one, KEY, report_to_json(report), "fault" if report.faults else "graded", f"{hash(one.id):016x}"[-16:]
            )
    return store


def student(number: int, **more: object) -> HandIn:
    person = Person(f"First{number} Last{number}", f"{number:08d}", f"s{number}@example.edu")
    return HandIn(str(1000 + number), (person,), created="2026-03-05T02:58:07.412903+00:00", **more)  # type: ignore[arg-type]


# ── cells ─────────────────────────────────────────────────────────────────────────────────────────────────────
@given(st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=20))
@settings(deadline=None, max_examples=400)
def test_a_cell_is_read_back_unchanged_and_is_no_formula(cell: str) -> None:
    """Through a real CSV writer and reader; and no written cell starts as a spreadsheet's formula does."""
    line = next(csv.reader(io.StringIO(write_csv([["x", cell]]).decode("utf-8"), newline="")))
    assert unguard(line[1]) == cell
    assert not line[1].lstrip().startswith(("=", "+", "-", "@", "＝", "＋", "－", "＠"))


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@x", "\t=1", "'=1", "''=1", " =1"])
def test_formulas_are_text(cell: str) -> None:
    """Each gets one apostrophe, which reading takes off."""
    assert guard(cell) == f"'{cell}"
    assert unguard(guard(cell)) == cell


# ── roster ────────────────────────────────────────────────────────────────────────────────────────────────────
def test_people_are_matched_by_sid_then_by_email(tmp_path: Path) -> None:
    """SIDs keep their zeros; e-mail counts in small letters; who is missing has a line; strangers are named."""
    roster = tmp_path / "roster.csv"
    roster.write_text(
        "\ufeffFirst Name,Last Name,SID,Email,Role,Section\n"
        "Ada,Lovelace,00000001,,Student,A\nBob,B,,S2@Example.edu,Student,B\nMia,Missing,9,,Student,A\nTa,T,,ta@x,TA,\n",
        encoding="utf-8",
    )
    with fill(
        tmp_path / "out", [(student(1), report_of(P, P, P)), (student(2), report_of(P, F, F)), (student(3), None)]
    ) as store:
        book = gradebook(store, read_roster(roster))
    rows = list(csv.DictReader(io.StringIO(book.csv().decode())))
    assert [(r["First Name"], r["SID"], r["Status"], r["Total Score"]) for r in rows] == [
        ("Ada", "00000001", "Graded", "2.0"),
        ("Bob", "", "Graded", "1.0"),
        ("Mia", "9", "Missing", ""),
        ("First3", "00000003", "Ungraded", ""),
    ]
    assert rows[0]["Submission Time"] == "2026-03-05 02:58:07 +0000"
    assert rows[0]["1: Softmax (1.333333 pts)"] == "1.333333"
    assert any("not on the roster" in note for note in book.notes)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"A,B\n1,2\n", "SID or Email"),
        (b"SID\n1\n1\n", "twice"),
        (b"\xff\xfe\x00", "UTF-8"),
        (None, "can't be read"),
    ],
)
def test_a_bad_roster_is_refused_in_words(content: bytes | None, words: str, tmp_path: Path) -> None:
    """Missing, empty, without columns, with a SID twice, not text."""
    path = tmp_path / "roster.csv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CourseError, match=words):
        read_roster(path)


def test_a_group_is_graded_once_and_reported_for_each(tmp_path: Path) -> None:
    """Two members, one submission, two lines with the same points."""
    group = HandIn("7", (Person("A B", "1"), Person("C D", "2")))
    with fill(tmp_path, [(group, report_of(P, P, F))]) as store:
        rows = gradebook(store).rows
    assert [(row.student.sid, row.submission, float(row.total or 0)) for row in rows] == [
        ("1", "7", pytest.approx(4 / 3)),
        ("2", "7", pytest.approx(4 / 3)),
    ]


def test_of_two_submissions_the_latest_counts_and_staff_are_told(tmp_path: Path) -> None:
    """Neither is lost: the note names both."""
    late = replace(student(1), id="late", created="2026-03-06T00:00:00+00:00")
    with fill(tmp_path, [(late, report_of(P, F, F)), (student(1), report_of(P, P, P))]) as store:
        book = gradebook(store)
    (row,) = book.rows
    assert (row.submission, row.others) == ("late", ("1001",))
    assert "2 submissions: late counts (the latest), not 1001" in " ".join(book.notes)


def test_a_fault_is_never_a_number(tmp_path: Path) -> None:
    """The row is Ungraded, the total and the question's points are empty, other questions keep theirs."""
    with fill(tmp_path, [(student(1), report_of(P, P, G))]) as store:
        book = gradebook(store)
    (row,) = list(csv.DictReader(io.StringIO(book.csv().decode())))
    assert (row["Status"], row["Total Score"]) == ("Ungraded", "")
    assert row["2: Attention (0.666667 pts)"] == ""
    assert row["1: Softmax (1.333333 pts)"] == "1.333333"


def test_written_grades_are_read_back(tmp_path: Path) -> None:
    """What `read_csv` reads is what was written, names that look like formulas included."""
    evil = HandIn("7", (Person('=HYPERLINK("http://x") Zed', "0001", "-a@b"),))
    with fill(tmp_path, [(evil, report_of(P, P, P))]) as store:
        (tmp_path / "grades.csv").write_bytes(gradebook(store).csv())
    (row,) = read_csv(tmp_path / "grades.csv")
    assert (row["First Name"], row["Last Name"], row["SID"]) == ('=HYPERLINK("http://x")', "Zed", "0001")
    assert b"'=HYPERLINK" in (tmp_path / "grades.csv").read_bytes()


# ── diff ──────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_difference_names_student_check_and_verdicts(tmp_path: Path) -> None:
    """Only what differs is listed, with points and diagnosis before and after; what is gone is listed too."""
    old = [
        (student(1), report_of(P, F, F, mistakes=["overflows"])),
        (student(2), report_of(P, P, P)),
        (student(3), None),
        (student(4), report_of(P, P, P)),
    ]
    new = [
        (student(1), report_of(P, P, F, mistakes=["overflows"])),
        (student(2), report_of(P, P, P)),
        (student(3), report_of(P, P, G)),
    ]
    for name, rows in (("old", old), ("new", new)):
        fill(tmp_path / name, rows).close()
    changes = {change.submission: change for change in compare(tmp_path / "old", tmp_path / "new")}
    assert set(changes) == {"1001", "1003", "1004"}
    ((number, was, now),) = changes["1001"].checks
    assert (number, was.said, now.said) == ("1.2", "FAILED overflows", "PASSED")
    assert changes["1001"].difference == Fraction(1, 3)
    assert changes["1003"].after is None
    assert changes["1004"].after is None


def test_a_difference_to_the_export_matches_by_number_then_by_name(tmp_path: Path) -> None:
    """Gradescope's recorded floats and numbers are compared with ours; equal points are no difference."""
    export = tmp_path / "export"
    (export / "submission_1001").mkdir(parents=True)
    (export / "submission_metadata.yml").write_text(
        "submission_1001:\n  :submitters:\n  - :name: A B\n  :score: 1.0\n  :results:\n    score: 1.0\n    tests:\n"
        "    - {name: other words, number: '1.1', score: 1.0, max_score: 1.0}\n"
        "    - {name: 'It sums to 1 along `dim`.', number: '9', score: 0.3333333333, max_score: 0.3333333333}\n"
        "    - {name: It agrees., number: '2.1', score: 0.0, max_score: 0.6666666667}\n"
        "    - {name: Your notebook, number: '0'}\n  :history: []\n"
    )
    fill(tmp_path / "new", [(student(1), report_of(P, P, P))]).close()
    (change,) = compare(export, tmp_path / "new")
    assert [(number, float(was.points), float(now.points)) for number, was, now in change.checks] == [
        ("2.1", 0.0, pytest.approx(2 / 3))
    ]


# ── insight ───────────────────────────────────────────────────────────────────────────────────────────────────
def test_discrimination_is_the_correlation_with_the_rest() -> None:
    """Perfect agreement is 1, its mirror −1; without variance there is none."""
    pairs = [(float(n % 3), 2.0 * (n % 3) + 1) for n in range(12)]
    assert correlation(pairs) == pytest.approx(1)
    assert correlation([(x, -y) for x, y in pairs]) == pytest.approx(-1)
    assert correlation([(1.0, y) for _, y in pairs]) is None


@given(st.lists(st.tuples(st.floats(0, 9), st.floats(0, 99)), min_size=3, max_size=30))
@settings(deadline=None, max_examples=60)
def test_correlation_agrees_with_the_library(pairs: list[tuple[float, float]]) -> None:
    """Against `statistics.correlation`."""
    import statistics

    xs, ys = zip(*pairs, strict=True)
    found = correlation(pairs)
    if found is not None and statistics.pstdev(xs) > 1e-3 and statistics.pstdev(ys) > 1e-3:
        assert found == pytest.approx(statistics.correlation(xs, ys), abs=1e-6)


def test_mistakes_are_counted_once_a_submission_and_ranked(tmp_path: Path) -> None:
    """Two checks of one submission are one student; the commonest comes first, with checks and average cost."""
    rows = [(student(n), report_of(P, F, F, mistakes=["b"] if n else ["a"])) for n in range(3)]
    with fill(tmp_path, rows) as store:
        view = class_view(store, gradebook(store))
    assert [(m.name, m.question, m.students) for m in view.mistakes] == [
        ("b", "1", 2),
        ("b", "2", 2),
        ("a", "1", 1),
        ("a", "2", 1),
    ]
    assert view.mistakes[0].lost == pytest.approx(1 / 3)
    assert [c.passed for c in view.checks] == [3, 0, 0]


def secrets_of(rows: Sequence[tuple[HandIn, Report | None]]) -> Iterator[str]:
    for hand_in, _ in rows:
        yield hand_in.id
        for person in hand_in.people:
            yield from filter(None, (person.sid, person.email, *person.name.split()))


def test_the_anonymous_page_tells_nobody_apart(tmp_path: Path) -> None:
    """No name, number, address, id, note or file of a student is in it, not in a sample of code either."""
    note = Note("look at First1's odd file", staff_only=True, needs_human=True)
    rows = [(student(n), report_of(P, F, F, mistakes=["b"], notes=(note,), refused=None)) for n in range(1, 4)]
    with fill(tmp_path, rows) as store:
        folder = store.files_of("1001")
        folder.mkdir(parents=True)
        source = "# by First1\ndef softmax(s, dim):\n    '''I am Last1'''\n    x = 'First1 made this'\n    return s"
        cell = {"cell_type": "code", "source": source, "metadata": {"softmark": {"role": "answer", "question": "1"}}}
        import json

        (folder / "executed.ipynb").write_text(json.dumps({"cells": [cell]}))
        book = gradebook(store)
        named, anonymous = (class_html(class_view(store, book, anonymous=a)) for a in (False, True))
        (folder / "executed.ipynb").write_text(
            json.dumps({"cells": [{**cell, "source": "def softmax(first1):\n    return 0"}]})
        )
        without = class_html(class_view(store, book, anonymous=True))
    assert "def softmax(s, dim):" in anonymous
    assert "def softmax" not in without
    for secret in secrets_of(rows):
        assert secret in named
        assert secret.lower() not in anonymous.lower()
    assert "odd file" in named
    assert "odd file" not in anonymous


def test_nothing_graded_and_an_empty_result_have_a_page(tmp_path: Path) -> None:
    """A page and a gradebook can be made at any time, before the first result too."""
    with fill(tmp_path, [(student(1), None)]) as store:
        book = gradebook(store)
        assert "No submission is fully graded yet" in class_html(class_view(store, book))
        assert b"Ungraded" in book.csv()
