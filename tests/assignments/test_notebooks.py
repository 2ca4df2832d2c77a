"""What holds for the notebooks of all assignments: in step with the reference, runnable as handed out, points told."""

from __future__ import annotations

import re

import pytest

from autograder.assignment import load_assignment
from autograder.checks import load_checks
from autograder.model import Assignment
from autograder.release import derive, notebook_text
from tests.assignments.notebooks import COURSE, run


@pytest.fixture(params=sorted(path.parent.name for path in COURSE.glob("reference/*/solution.py")))
def assignment(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Assignment:
    """Each in turn; students run a notebook in its own folder."""
    found = load_assignment(COURSE, request.param)
    monkeypatch.chdir(found.folder)
    return found


def test_the_public_notebook_is_in_step_with_the_reference(assignment: Assignment) -> None:
    """What lies in assignments/ is what release derives."""
    assert (assignment.folder / assignment.notebook).read_text(encoding="utf-8") == notebook_text(derive(assignment))


def test_no_line_of_code_is_wider_than_a_page(assignment: Assignment) -> None:
    """100 characters: what is cut on a page is often what a check wanted to say."""
    code = [cell.source for cell in derive(assignment).cells if cell.cell_type == "code"]
    assert [line for source in code for line in source.splitlines() if len(line) > 100] == []


@pytest.mark.usefixtures("no_matplotlib")
def test_the_handed_out_notebook_runs_and_only_misses_answers(assignment: Assignment) -> None:
    """Given cells run; public checks and demos stop where an answer is missing, or what it made, and nowhere else."""
    raised, said = run(derive(assignment))
    assert {role for role, _ in raised} == {"public-check", "demo"}
    assert {name for _, name in raised} - {"NameError"} == {"NotImplementedError"}
    assert "Type your student id" in said


def test_the_table_at_the_top_tells_the_points_of_the_checks(assignment: Assignment) -> None:
    """The points in the table are those of the checks, question by question and in order; the last is by hand."""
    text = next(cell.source for cell in derive(assignment).cells if cell.cell_type == "markdown")
    rows = [row for row in text.splitlines() if re.match(r"\| Q\d", row)]
    told = [[float(re.search(r"[\d.]+$", part.strip())[0]) for part in row.split("|")[4].split("·")] for row in rows]
    by_hand = assignment.questions[-1].id
    points = [float(spec.points) for spec in load_checks(assignment).specs if spec.question != by_hand]
    assert [value for row in told for value in row] == points
    assert [float(row.split("|")[3]) for row in rows] == [sum(values) for values in told]
