"""What `grade` leaves in its output folder, written so that a reader never meets half a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from autograder.cells import notebook_text
from autograder.model import Report
from autograder.pipeline import Graded
from autograder.report import gradescope
from autograder.report.html import report_html
from autograder.report.notebook import executed_html

__all__ = ["write_pages", "write_results"]


def write_results(report: Report, out: Path, previous: Mapping[str, Any] | None = None) -> None:
    """results.json, valid by Gradescope's rules; called before any student code runs and after each question.

    previous: `results` of the submission before this one, for "since your last submission".
    """
    gradescope.write_atomic(out / "results.json", gradescope.to_json(report, previous))


def write_pages(graded: Graded, out: Path, previous: Mapping[str, Any] | None = None, *, executed: bool = True) -> None:
    """report.html, executed.ipynb and executed.html, for whoever grades locally.

    executed: with executed.html, which costs as much as grading does; a class goes without.
    """
    pages = {"report.html": report_html(graded.report, previous=previous)}
    if graded.notebook is not None:
        pages["executed.ipynb"] = notebook_text(graded.notebook)
        if executed:
            pages["executed.html"] = executed_html(graded.notebook)
    for name, text in pages.items():
        gradescope.write_atomic(out / name, text.encode(), mode=0o644)
