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
ASSIGNMENT = load_assignment(COURSE, "decoding")


@pytest.fixture(autouse=True)
def beside_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Students run the notebook in its own folder."""
    monkeypatch.chdir(ASSIGNMENT.folder)


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
    """Right answers: nothing raises, eight checks pass, the tree appears as text."""
    raised, said = run(filled(ASSIGNMENT))
    assert raised == []
    assert said.count("the public check passes") == 8
    assert "best:   ing$ 4.1230 after 29 pops" in said
    assert re.search(r"g   ◀ ing\n", said)
    assert re.search(r"A\*: ing\$ 4.1230 after 5 pops", said)
    assert re.search(r"ran for \d+\.\d s", said)


def test_the_tree_is_drawn_where_matplotlib_is_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """One picture: a node for each of the 29 popped prefixes, a line to each but the first, four of them coloured."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    monkeypatch.setattr(plt, "show", lambda: None)
    raised, _ = run(filled(ASSIGNMENT))
    assert raised == []
    axes = plt.gcf().axes[0]
    colours = [line.get_color() for line in axes.lines]
    nodes = len(axes.collections)
    plt.close("all")
    assert (nodes, len(colours), colours.count("tab:red")) == (29, 28, 4)


def test_the_notebook_runs_without_its_data_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A single file on Colab: the short list of words takes the place of the data."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.chdir(tmp_path)
    raised, said = run(filled(ASSIGNMENT))
    assert raised == []
    assert re.search(r"^20\d words, ", said, re.MULTILINE)


def test_the_word_list_comes_with_its_licence() -> None:
    """The notice lies beside the data, and no file is over a megabyte."""
    data = ASSIGNMENT.folder / "data"
    assert "permission notice appear" in (data / "words.LICENSE.txt").read_text(encoding="utf-8")
    assert all(file.stat().st_size < 2**20 for file in data.iterdir())


def test_the_table_at_the_top_tells_the_points_of_the_checks() -> None:
    """The points in the table are those of the checks, question by question and in order."""
    text = next(cell.source for cell in derive(ASSIGNMENT).cells if cell.cell_type == "markdown")
    rows = [row for row in text.splitlines() if re.match(r"\| Q\d", row)]
    told = [[float(re.search(r"[\d.]+$", part.strip())[0]) for part in row.split("|")[4].split("·")] for row in rows]
    points = [float(spec.points) for spec in load_checks(ASSIGNMENT).specs if spec.question != "9"]
    assert [value for row in told for value in row] == points
    assert [float(row.split("|")[3]) for row in rows] == [sum(values) for values in told]
