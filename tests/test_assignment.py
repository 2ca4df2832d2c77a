"""assignment.toml → Assignment: what is read, what is refused, where the secret lives."""

from __future__ import annotations

import re
import stat
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.assignment import (
    assignment_names,
    ensure_secret,
    is_test_secret,
    load_assignment,
    read_secret,
)
from autograder.errors import CourseError
from autograder.folders import find_course
from autograder.model import Level, Limits, Visibility

GOOD = """\
title = "A set"
total = 3

[[questions]]
id = "1"
title = "First"
points = 1
functions = ["f"]

[[questions]]
id = "2"
title = "Second"
points = 2
functions = ["g", "H"]
needs = ["1"]
"""


def course_with(folder: Path, toml: str = GOOD, name: str = "set") -> Path:
    """A course with one assignment whose settings are `toml`."""
    (folder / "assignments" / name).mkdir(parents=True)
    (folder / "reference" / name).mkdir(parents=True)
    (folder / "assignments" / name / "assignment.toml").write_text(toml, encoding="utf-8")
    return folder


@pytest.fixture
def course(tmp_path: Path) -> Path:
    return course_with(tmp_path)


def test_a_complete_file_becomes_an_assignment(course: Path) -> None:
    """What the file says is what the assignment holds; the rest has the documented defaults."""
    read = load_assignment(course, "set")
    assert (read.name, read.title, read.version, read.notebook) == ("set", "A set", "1", "set.ipynb")
    assert read.total == 3
    assert [(q.id, q.points, q.functions, q.needs) for q in read.questions] == [
        ("1", 1, ("f",), ()),
        ("2", 2, ("g", "H"), ("1",)),
    ]
    assert (read.visibility, read.require_isolation, read.limits) == (Visibility.VISIBLE, Level.C, Limits())
    assert read.folder == course / "assignments" / "set"
    assert read.reference == course / "reference" / "set"


def test_limits_override_only_what_they_name(tmp_path: Path) -> None:
    """A [limits] table changes its own keys and leaves the other limits alone."""
    read = load_assignment(course_with(tmp_path, GOOD + "\n[limits]\ncell_seconds = 2.5\nprocesses = 9\n"), "set")
    assert read.limits == Limits(cell_seconds=2.5, processes=9)


def test_optional_tables_are_kept_as_settings(tmp_path: Path) -> None:
    """[gradescope] and [leaderboard] are validated and handed on as plain values."""
    extra = """
[gradescope]
group_dates = "earliest"
rate_limit = { submissions = 3, hours = 24 }
late = { percent_per_day = 10 }

[[leaderboard.columns]]
name = "loss"
order = "asc"
"""
    settings = load_assignment(course_with(tmp_path, GOOD + extra), "set").settings
    assert settings["gradescope"]["group_dates"] == "earliest"
    assert settings["gradescope"]["rate_limit"] == {"submissions": 3, "hours": 24.0}
    assert settings["gradescope"]["late"] == {"grace_minutes": 0.0, "percent_per_day": 10.0}
    assert [dict(c) for c in settings["leaderboard"]["columns"]] == [{"name": "loss", "order": "asc"}]


@pytest.mark.parametrize(
    ("old", "new", "key", "reason"),
    [
        ("title = ", "titel = ", "title", "missing"),
        ("total = 3", "total = 3\npionts = 2", "pionts", "unknown key"),
        ('functions = ["f"]', 'function = ["f"]', "questions[1].function", "unknown key"),
        ("total = 3", "total = 4", None, "add up to 3, but total = 4"),
        ('id = "2"', 'id = "1"', None, "'1' appears 2 times"),
        ('["g", "H"]', '["g", "f"]', None, "'f' appears 2 times"),
        ('needs = ["1"]', 'needs = ["7"]', None, "no earlier question"),
        ('needs = ["1"]', 'needs = ["2"]', None, "no earlier question"),
        ("points = 1", "points = -1", "questions[1].points", "negative"),
        ("points = 1", "points = true", "questions[1].points", "a number or a string"),
        ("points = 1", "points = nan", "questions[1].points", "not a number of points"),
        ("points = 1", 'points = "1/0"', "questions[1].points", "not a number of points"),
        ('["f"]', '["not a name"]', "questions[1].functions.0", "pattern"),
        ("total = 3", 'total = 3\nname = "other"', "name", "differs from the folder"),
        ("total = 3", 'total = 3\nnotebook = "../x.ipynb"', "notebook", "plain file name"),
        ("total = 3", 'total = 3\nvisibility = "sometimes"', "visibility", "visible"),
        ("total = 3", 'total = 3\npreload = ["os; print()"]', "preload.0", "pattern"),
        ("total = 3", "total = 3\n[limits]\ncell_second = 2", "limits.cell_second", "unknown key"),
        ("total = 3", "total = ", None, "not valid TOML"),
    ],
)
def test_a_broken_file_is_refused_with_its_place(tmp_path: Path, old: str, new: str, key: str, reason: str) -> None:
    """Each planted fault is a CourseError that names the file, the key where there is one, and the reason."""
    assert old in GOOD
    toml = GOOD + new.partition("\n")[2] if "[limits]" in new else GOOD.replace(old, new, 1)
    with pytest.raises(CourseError, match=re.escape(reason)) as caught:
        load_assignment(course_with(tmp_path, toml), "set")
    assert str(caught.value.where).endswith("assignment.toml")
    assert caught.value.key == key


@given(parts=st.lists(st.integers(1, 400), min_size=1, max_size=6))
def test_decimal_points_are_exact(parts: list[int], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Points written with two decimals add up exactly, where floats would not."""
    total = Fraction(sum(parts), 100)
    tables = "".join(f'[[questions]]\nid = "q{i}"\ntitle = "t"\npoints = {p / 100:.2f}\n' for i, p in enumerate(parts))
    course = course_with(tmp_path_factory.mktemp("c"), f'title = "t"\ntotal = {float(total):.2f}\n{tables}')
    read = load_assignment(course, "set")
    assert read.total == total == sum(q.points for q in read.questions)


def test_thirds_can_be_written_as_strings(tmp_path: Path) -> None:
    """Three thirds are one."""
    tables = "".join(f'[[questions]]\nid = "{i}"\ntitle = "t"\npoints = "1/3"\n' for i in range(3))
    assert load_assignment(course_with(tmp_path, f'title = "t"\ntotal = 1\n{tables}'), "set").total == 1


@pytest.mark.parametrize("name", ["nothing", "../set", "", "a/b", ".hidden"])
def test_a_name_that_is_no_assignment_is_refused(course: Path, name: str) -> None:
    """Unknown names and paths are CourseErrors, not tracebacks."""
    with pytest.raises(CourseError):
        load_assignment(course, name)


def test_an_unknown_assignment_lists_the_known_ones(course: Path) -> None:
    """Whoever misspells a name reads which names there are."""
    with pytest.raises(CourseError, match="this course has: set"):
        load_assignment(course, "sett")
    assert assignment_names(course) == ("set",)


def test_an_assignment_without_its_hidden_folder_is_refused(course: Path) -> None:
    """The public half alone can't be graded."""
    (course / "reference" / "set").rmdir()
    with pytest.raises(CourseError, match="hidden folder"):
        load_assignment(course, "set")


def test_the_course_is_the_nearest_parent_with_both_folders(course: Path) -> None:
    """From anywhere inside, the innermost course is found; a given folder is taken as it is."""
    inner = course / "assignments" / "set"
    assert find_course(inner) == course
    nested = course_with(course / "assignments" / "set" / "data" / "nested")
    assert find_course(nested / "assignments" / "set") == nested
    assert find_course(nested, course) == course


def test_no_course_is_a_plain_error(tmp_path: Path) -> None:
    """Outside of a course, and for a given folder that is none, the error says what was expected."""
    with pytest.raises(CourseError, match="--course"):
        find_course(tmp_path)
    with pytest.raises(CourseError, match="is no course"):
        find_course(tmp_path, tmp_path)


def test_grading_without_a_secret_is_refused(course: Path) -> None:
    """A missing secret is an error that says how to make one."""
    with pytest.raises(CourseError, match="softmark release"):
        read_secret(course)


def test_a_made_secret_is_private_and_stays(course: Path) -> None:
    """The secret is made once, 32 random bytes that only the owner can read."""
    assert ensure_secret(course)
    first = read_secret(course)
    assert len(first) == 32
    assert not is_test_secret(first)
    assert stat.S_IMODE((course / "reference" / ".secret").stat().st_mode) == 0o600
    assert not ensure_secret(course)
    assert read_secret(course) == first


def test_two_courses_get_two_secrets(tmp_path: Path) -> None:
    """Secrets are drawn, not derived."""
    one, two = course_with(tmp_path / "one"), course_with(tmp_path / "two")
    assert ensure_secret(one)
    assert ensure_secret(two)
    assert read_secret(one) != read_secret(two)


def test_a_marked_secret_is_known_as_one(course: Path) -> None:
    """Tests and the demo carry a secret that says so."""
    (course / "reference" / ".secret").write_text("test-only: demo\n")
    assert is_test_secret(read_secret(course))


@pytest.mark.parametrize("text", ["", "test-only:", "abc", "0" * 63, "z" * 64, "0" * 64 + "0"])
def test_a_damaged_secret_is_refused(course: Path, text: str) -> None:
    """A secret that was cut off is not silently taken as another one."""
    (course / "reference" / ".secret").write_text(text)
    with pytest.raises(CourseError, match="64 hexadecimal digits"):
        read_secret(course)
