"""The notebook that students get: in step with the reference, runs from top to bottom, teaches what it promises."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from autograder.assignment import load_assignment
from autograder.checks import load_checks
from autograder.release import derive, filled, notebook_text

COURSE = Path(__file__).parents[3]
ASSIGNMENT = load_assignment(COURSE, "tokenizers")


def run(notebook: Any) -> tuple[list[tuple[str, str]], str]:
    """(role, exception) of the cells that raise, and everything that was printed."""
    space: dict[str, Any] = {}
    raised = []
    with contextlib.redirect_stdout(io.StringIO()) as said:
        for cell in notebook.cells:
            if cell.cell_type == "code":
                try:
                    exec(cell.source, space)
                except Exception as error:
                    raised.append((cell.metadata.get("softmark", {}).get("role", "hidden"), type(error).__name__))
    return raised, said.getvalue()


@pytest.fixture
def no_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)


def test_the_public_notebook_is_in_step_with_the_reference() -> None:
    """What lies in assignments/ is what release derives."""
    assert (ASSIGNMENT.folder / ASSIGNMENT.notebook).read_text(encoding="utf-8") == notebook_text(derive(ASSIGNMENT))


@pytest.mark.usefixtures("no_matplotlib")
def test_the_handed_out_notebook_runs_and_only_misses_answers() -> None:
    """Given cells run; public checks and the picture stop at NotImplementedError and at nothing else."""
    raised, said = run(derive(ASSIGNMENT))
    assert {role for role, _ in raised} == {"public-check", "demo"}
    assert {name for _, name in raised} == {"NotImplementedError"}
    assert "Type your student id" in said


@pytest.mark.usefixtures("no_matplotlib")
def test_the_filled_notebook_passes_all_public_checks_with_torch_alone() -> None:
    """Right answers: nothing raises, eight checks pass, tokens stand side by side, the comparison is printed."""
    raised, said = run(filled(ASSIGNMENT))
    assert raised == []
    assert said.count("the public check passes") == 8
    assert re.search(r"BPE +\d+ T\|he\|·un", said)
    assert re.search(r"byte +\d+ 54\|68\|65\|20", said)
    bits = {row[0]: row[1:] for row in re.findall(r"(character|BPE) .* ([\d.]+) +([\d.]+)\n", said)}
    assert float(bits["BPE"][0]) > float(bits["character"][0]), "BPE has more bits a token"
    assert float(bits["BPE"][1]) < float(bits["character"][1]), "and fewer bits a character"
    assert re.search(r"ran for \d+\.\d s", said)


def test_the_picture_is_drawn_where_matplotlib_is_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six rows of boxes, one for each tokenizer, and a box for each character of the sentence."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    monkeypatch.setattr(plt, "show", lambda: None)
    raised, _ = run(filled(ASSIGNMENT))
    assert raised == []
    axes = plt.gcf().axes[0]
    heights = [round(patch.get_y() + 0.35) for patch in axes.patches]
    labels = [label.get_text() for label in axes.get_yticklabels()]
    plt.close("all")
    assert labels == ["word", "character", "byte", "BPE", "WordPiece", "unigram"]
    assert heights.count(-1) == len("The unkindest lanterns rewatched naïve robots!")


def test_the_table_at_the_top_tells_the_points_of_the_checks() -> None:
    """The points in the table are those of the checks, question by question and in order."""
    text = next(cell.source for cell in derive(ASSIGNMENT).cells if cell.cell_type == "markdown")
    rows = [row for row in text.splitlines() if re.match(r"\| Q\d", row)]
    told = [[float(re.search(r"[\d.]+$", part.strip())[0]) for part in row.split("|")[4].split("·")] for row in rows]
    points = [float(spec.points) for spec in load_checks(ASSIGNMENT).specs if spec.question != "9"]
    assert [value for row in told for value in row] == points
    assert [float(row.split("|")[3]) for row in rows] == [sum(values) for values in told]
