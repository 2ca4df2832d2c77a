"""What the site shows to whom and when, and metadata from a class export."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from autograder.emulator import Moment, Payload, metadata_from_export, plain_metadata, view, view_page
from autograder.errors import CourseError
from autograder.metadata import understand
from autograder.pipeline import Course

DATA = Path(__file__).parent / "data"
STUDENT = [Moment.BEFORE_DUE, Moment.AFTER_DUE, Moment.AFTER_LATE_DUE, Moment.PUBLISHED]


def payload(**results: Any) -> Payload:
    return Payload("the log", results, 1.0, 0, None, "")


def one(visibility: str | None, **more: Any) -> dict[str, Any]:
    test = {"number": "1.1", "name": "A", "score": 1.0, "max_score": 2.0, "output": "<b>text</b>", **more}
    return test | ({"visibility": visibility} if visibility else {})


@pytest.mark.parametrize(
    ("visibility", "seen"),
    [
        (None, [True, True, True, True]),
        ("visible", [True, True, True, True]),
        ("after_due_date", [False, False, True, True]),
        ("after_published", [False, False, False, True]),
        ("hidden", [False, False, False, False]),
    ],
)
def test_a_hidden_check_hides_the_total(visibility: str | None, seen: list[bool]) -> None:
    """While any check is hidden from a student, so is the total; staff see everything."""
    result = payload(score=3.0, tests=[one(visibility), one(None, number="1.2", score=2.0)])
    views = [view(result, moment) for moment in STUDENT]
    assert [len(shown.tests) == 2 for shown in views] == seen
    assert [shown.total == "3 / 4" for shown in views] == seen
    staff = view(result, Moment.STAFF)
    assert staff.total == "3 / 4"
    assert len(staff.tests) == 2


def test_after_the_due_date_means_after_the_late_one_where_that_is_allowed() -> None:
    """Without late hand-ins the due date itself counts."""
    result = payload(score=1.0, tests=[one("after_due_date")])
    assert view(result, Moment.AFTER_DUE, late_allowed=True).total is None
    assert view(result, Moment.AFTER_DUE, late_allowed=False).total == "1 / 2"


def test_a_visibility_is_inherited_and_can_be_overridden() -> None:
    """From the top level, unless the test has its own."""
    result = payload(score=2.0, visibility="hidden", tests=[one(None), one("visible")])
    assert len(view(result, Moment.BEFORE_DUE).tests) == 1


def test_the_log_is_for_staff_unless_asked() -> None:
    """`stdout_visibility` opens it."""
    assert view(payload(score=1), Moment.PUBLISHED).stdout is None
    assert view(payload(score=1), Moment.STAFF).stdout == "the log"
    assert view(payload(score=1, stdout_visibility="after_published"), Moment.PUBLISHED).stdout == "the log"
    assert view(payload(score=1, stdout_visibility="after_published"), Moment.BEFORE_DUE).stdout is None


def test_null_results_are_a_failure_to_execute() -> None:
    """The student sees no log."""
    lost = Payload("secret", None, 1.0)
    assert view(lost, Moment.BEFORE_DUE).failed
    assert view(lost, Moment.BEFORE_DUE).stdout is None
    assert view(lost, Moment.STAFF).stdout == "secret"


@pytest.mark.parametrize("format", ["text", "html", "simple_format", "md", "ansi"])
def test_pages_run_nothing(format: str) -> None:
    """Text of a student is escaped, whatever its format says."""
    evil = "<script>alert(1)</script>\x1b[31m"
    result = payload(
        score=1, output=evil, tests=[one(None, output=evil, output_format=format, name=evil)],
        leaderboard=[{"name": evil, "value": evil}],
    )  # fmt: skip
    for moment in Moment:
        page = view_page(view(result, moment))
        assert "<script" not in page
        assert "alert(1)" in page


# ── exports ───────────────────────────────────────────────────────────────────────────────────────────────────────
def test_only_what_came_before_counts_as_earlier(mini: Course) -> None:
    """Two earlier submissions for one student, none for another whose active one is the oldest."""
    found = metadata_from_export(DATA / "export_example.yml", "400000123", mini.assignment)
    assert [one["id"] for one in found["previous_submissions"]] == [400000050, 400000077]
    assert [one["autograder_error"] for one in found["previous_submissions"]] == [True, False]
    assert ["results" in one for one in found["previous_submissions"]] == [False, True]
    assert found["created_at"] == "2026-03-05T02:58:07.412903+00:00"
    assert found["assignment"]["total_points"] == "22.0"
    older = metadata_from_export(DATA / "export_example.yml", "submission_400000231", mini.assignment)
    assert older["previous_submissions"] == []


def test_people_have_the_same_made_up_id_each_time(mini: Course) -> None:
    """A group keeps its order; a missing student number stays missing; the object is plain JSON."""
    found = metadata_from_export(DATA / "export_example.yml", "400000123", mini.assignment)
    again = metadata_from_export(DATA / "export_example.yml", "400000123", mini.assignment)
    assert found == again == json.loads(json.dumps(found))
    assert [user["sid"] for user in found["users"]] == ["00471122", "00471123"]
    assert len({user["id"] for user in found["users"]}) == 2
    alone = metadata_from_export(DATA / "export_example.yml", "400000200", mini.assignment)
    assert alone["users"][0]["sid"] is None
    assert understand(alone).problems == ()


def test_an_export_is_found_in_its_folder(mini: Course, tmp_path: Path) -> None:
    """The folder's name does not matter."""
    (tmp_path / "assignment_1_export").mkdir()
    shutil.copy(DATA / "export_example.yml", tmp_path / "assignment_1_export" / "submission_metadata.yml")
    assert metadata_from_export(tmp_path, "400000200", mini.assignment)["id"] == 400000200


@pytest.mark.parametrize("text", ["", "- a", "123.pdf: {':original_filename:': x}", "submission_1: !ruby/object:X {}"])
def test_what_is_no_export_of_notebooks_is_refused(mini: Course, tmp_path: Path, text: str) -> None:
    """With a sentence that says so; Ruby's tags are not read."""
    path = tmp_path / "submission_metadata.yml"
    path.write_text(text)
    with pytest.raises(CourseError):
        metadata_from_export(path, "1", mini.assignment)


def test_an_unknown_submission_is_refused(mini: Course) -> None:
    """The sentence names some that exist."""
    with pytest.raises(CourseError, match="submission_400000123"):
        metadata_from_export(DATA / "export_example.yml", "1", mini.assignment)


def test_plain_metadata_is_as_the_platform_documents_it(mini: Course) -> None:
    """All documented keys, nothing unreadable."""
    found = plain_metadata(mini.assignment, due="2026-03-04T23:59:00-05:00")
    assert understand(found).problems == ()
    assert understand(found).due is not None
    assert isinstance(found["assignment"]["total_points"], str)
