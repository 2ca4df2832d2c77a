"""`softmark class …`: what people type, and what they read when it can't be done."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from test_batch_gradebook import F, P, fill, report_of, student
from typer.testing import CliRunner, Result

from autograder.batch.executors import open_pool
from autograder.batch.run import take_in
from autograder.batch.source import open_source
from autograder.batch.store import Store
from autograder.cli import app
from autograder.errors import CourseError
from tests.batch.made_class import COURSE, made, write_folder


def softmark(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["class", *map(str, arguments)])


def refusal(result: Result) -> str:
    """The sentence of a call that was refused before anything happened."""
    assert isinstance(result.exception, CourseError), result.output
    return str(result.exception)


@pytest.fixture
def graded(tmp_path: Path) -> Path:
    """A folder of results with two students."""
    rows = [(student(1), report_of(P, P, P)), (student(2), report_of(P, F, F, mistakes=["overflows"]))]
    with fill(tmp_path / "out", rows) as store:
        store.set_meta(assignment="mini")
    return tmp_path / "out"


def test_report_writes_grades_and_page_for_their_owner_only(graded: Path) -> None:
    """Both files are there, nobody else may read them, and a second call makes them again, byte for byte."""
    assert softmark("report", graded).exit_code == 0
    first = (graded / "grades.csv").read_bytes()
    assert softmark("report", graded).exit_code == 0
    assert (graded / "grades.csv").read_bytes() == first
    assert (graded / "class.html").stat().st_mode & 0o077 == 0
    assert (graded / "grades.csv").stat().st_mode & 0o077 == 0
    assert not (graded / "class-anonymous.html").exists()


def test_anonymous_writes_its_own_page_and_no_grades(graded: Path) -> None:
    """Showing a class its mistakes never rewrites the staff's files."""
    assert softmark("report", graded, "--anonymous").exit_code == 0
    assert "First1" not in (graded / "class-anonymous.html").read_text()
    assert not (graded / "grades.csv").exists()


def test_diff_says_who_what_and_nothing_when_nothing_changed(graded: Path, tmp_path: Path) -> None:
    """A list for people, a table for programs."""
    assert "no score changes" in softmark("diff", graded, graded).output
    fill(tmp_path / "new", [(student(1), report_of(P, P, P)), (student(2), report_of(P, P, F))]).close()
    result = softmark("diff", graded, tmp_path / "new", "--csv", tmp_path / "diff.csv")
    assert "1 submission changes" in result.output
    with (tmp_path / "diff.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["submission"], row["check"], row["was"]) == ("1002", "1.2", "0 FAILED overflows")


def test_results_are_never_mixed(graded: Path, tmp_path: Path) -> None:
    """A folder with results needs --resume, and takes no other assignment."""
    folder = write_folder(tmp_path / "class", [made()[0]])
    common = (folder, "--course", COURSE, "--out", graded)
    assert "go on with --resume" in refusal(softmark("grade", *common, "-a", "mini"))
    assert "results of 'mini'" in refusal(softmark("grade", *common, "-a", "other", "--resume"))
    assert softmark("grade", *common, "-a", "mini", "--isolation", "D").exit_code == 2


def test_a_folder_without_results_is_said_by_every_command(tmp_path: Path) -> None:
    """report, written, similar and diff name the command that comes first."""
    for command in ("report", "written", "similar"):
        assert "run `softmark class grade` first" in refusal(softmark(command, tmp_path / "nowhere"))
    assert "no such folder" in refusal(softmark("diff", tmp_path / "nowhere", tmp_path / "nowhere"))
    grade = ("grade", tmp_path / "no", "-a", "mini", "--course", COURSE, "--out", tmp_path / "o")
    assert "no such folder" in refusal(softmark(*grade))


@pytest.mark.parametrize("what", ["no-zip.zip", "bad-yaml", "no-submission", "nothing", "no-assignment"])
def test_a_class_that_is_refused_leaves_nothing_behind(what: str, tmp_path: Path) -> None:
    """Unreadable, broken, empty, or for an assignment that is not there: a sentence, and no folder of results."""
    source = tmp_path / what
    if what == "no-zip.zip":
        source.write_bytes(b"PK\x03\x04 and no more")
    else:
        source.mkdir()
    if what in ("bad-yaml", "no-submission"):
        text = "--- {}\n" if what == "no-submission" else "submission_1:\n  :score: 1\n  :a: [1\n"
        (source / "submission_metadata.yml").write_text(text)
    if what == "no-assignment":
        write_folder(source, [made()[0]])
    name = "nobody" if what == "no-assignment" else "mini"
    said = refusal(softmark("grade", source, "-a", name, "--course", COURSE, "--out", tmp_path / "out"))
    assert any(part in said for part in ("no zip", "after its name", "no submission", "nothing in it", "no assignment"))
    assert not (tmp_path / "out").exists()


def test_a_place_that_can_not_hold_results_is_named(tmp_path: Path) -> None:
    """A file where the folder should be is said in words and stays as it was."""
    folder = write_folder(tmp_path / "class", [made()[0]])
    (tmp_path / "file").write_text("mine")
    said = refusal(softmark("grade", folder, "-a", "mini", "--course", COURSE, "--out", tmp_path / "file"))
    assert "can't be kept here" in said
    assert (tmp_path / "file").read_text() == "mine"


def test_a_missing_roster_leaves_everything_as_it_was(graded: Path, tmp_path: Path) -> None:
    """The roster is read before anything is written."""
    assert "can't be read" in refusal(softmark("report", graded, "--roster", tmp_path / "none.csv"))
    assert not (graded / "grades.csv").exists()


def test_an_empty_class_is_said(tmp_path: Path) -> None:
    """An export without submissions is no class."""
    (tmp_path / "export").mkdir()
    (tmp_path / "export/submission_metadata.yml").write_text("--- {}\n")
    with (
        Store(tmp_path / "out", make=True) as store,
        open_source(tmp_path / "export") as source,
        pytest.raises(CourseError, match="no submission in it"),
    ):
        take_in(source, store)


def test_too_little_room_is_said_before_anything_is_graded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Free space is looked at first; the sentence says how much is needed."""

    folder = write_folder(tmp_path / "class", [made()[0]])
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=1))
    with (
        Store(tmp_path / "out", make=True) as store,
        open_source(folder) as source,
        pytest.raises(CourseError, match="0 MB are free; make room"),
    ):
        take_in(source, store)


@pytest.mark.slow
def test_no_scheduler_is_said(tmp_path: Path) -> None:
    """An address where no Dask listens is named."""
    pytest.importorskip("distributed")
    with pytest.raises(CourseError, match="no Dask scheduler answers"), open_pool("dask://127.0.0.1:9"):
        pass
