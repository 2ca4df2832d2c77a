"""`softmark new` writes an assignment that works at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from autograder.assignment import load_assignment, read_secret
from autograder.checks import load_checks
from autograder.errors import CourseError
from autograder.release import derive, filled, release, with_answers
from autograder.scaffold import new
from autograder.validate import validate


def run(notebook: Any) -> dict[str, Any]:
    """The names that a notebook's code defines."""
    names: dict[str, Any] = {}
    for cell in notebook.cells:
        if cell.cell_type == "code" and not cell.id.startswith("demo"):
            exec(compile(cell.source, cell.id, "exec"), names)
    return names


def test_a_new_assignment_releases_at_once(tmp_path: Path) -> None:
    """Notebook, zip and secret are written, and a second look finds them in step."""
    assert all(path.is_file() for path in new(tmp_path, "norms"))
    assignment = load_assignment(tmp_path, "norms")
    done = release(assignment)
    assert done.notebook.is_file()
    assert done.archive.is_file()
    assert release(assignment, check=True).differences == ()


def test_its_reference_passes_its_public_checks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The filled notebook runs from top to bottom, the empty one stops at the first check."""
    new(tmp_path, "norms")
    assignment = load_assignment(tmp_path, "norms")
    run(filled(assignment))
    assert capsys.readouterr().out.count("the public check passes") == 2
    with pytest.raises(NotImplementedError):
        run(derive(assignment))


def test_it_validates_at_once(tmp_path: Path) -> None:
    """Reference, empty notebook, each mistake, each alternative and the mutants behave as they should."""
    new(tmp_path, "norms")
    assignment = load_assignment(tmp_path, "norms")
    release(assignment)
    found = validate(load_checks(assignment), secret=read_secret(tmp_path), seeds=(None, 1, 2))
    assert found.failures == ()
    assert found.share("mistake") == (15, 15)
    assert found.share("alternative") == (9, 9)


def test_its_mistakes_become_notebooks(tmp_path: Path) -> None:
    """Every mistake's and alternative's source can be put into the filled notebook."""
    new(tmp_path, "norms")
    assignment = load_assignment(tmp_path, "norms")
    checks = load_checks(assignment)
    changes = [h.change for h in checks.hypotheses] + [checks.alternative_change(a) for a in checks.alternatives]
    assert len(changes) > 8
    for change in changes:
        notebook = with_answers(assignment, change)
        assert notebook != filled(assignment)
        for cell in notebook.cells:
            if cell.cell_type == "code" and not cell.id.startswith("demo"):
                compile(cell.source, cell.id, "exec")


@pytest.mark.parametrize("taken", ["assignments", "reference"])
def test_nothing_is_overwritten(tmp_path: Path, taken: str) -> None:
    """A folder of that name in either half stops it, and nothing is written anywhere."""
    (tmp_path / taken / "norms").mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(CourseError, match="nothing is overwritten"):
        new(tmp_path, "norms")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["", "../x", "Norms", "a b", "1st", "a/b", ".x", "a-b"])
def test_names_that_would_be_no_folder_or_module_are_refused(tmp_path: Path, name: str) -> None:
    """The name becomes a folder and a word in code."""
    with pytest.raises(CourseError):
        new(tmp_path, name)
    assert list(tmp_path.iterdir()) == []


def test_a_second_assignment_shares_the_course(tmp_path: Path) -> None:
    """Two assignments and one secret live side by side."""
    new(tmp_path, "norms")
    new(tmp_path, "other")
    release(load_assignment(tmp_path, "norms"))
    assert not release(load_assignment(tmp_path, "other")).made_secret
