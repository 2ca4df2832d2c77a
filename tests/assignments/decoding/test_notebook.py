"""The notebook that students get, filled in: what it prints and draws."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from autograder.assignment import load_assignment
from autograder.release import filled
from tests.assignments.notebooks import COURSE, run

ASSIGNMENT = load_assignment(COURSE, "decoding")


@pytest.fixture(autouse=True)
def beside_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Students run the notebook in its own folder."""
    monkeypatch.chdir(ASSIGNMENT.folder)


@pytest.mark.usefixtures("no_matplotlib")
def test_the_filled_notebook_passes_all_public_checks_with_torch_alone() -> None:
    """Right answers: nothing raises, eight checks pass, the tree appears as text."""
    raised, said = run(filled(ASSIGNMENT))
    assert raised == []
    assert said.count("the public check passes") == 8
    assert "best:   ing$ 4.1230 after 29 pops" in said
    assert re.search(r"g 26   ◀ ing\n", said)
    assert re.search(r"A\*: ing\$ 4.1230 after 5 pops", said)
    assert said.count("(worse than greedy)") == 2
    assert [line for line in said.splitlines() if line.endswith("can be read")] == [
        f"{part}  can be read" for part in ("H1", "H2", "H3")
    ]
    assert re.search(r"ran for \d+\.\d s", said)


def test_the_tree_is_drawn_where_matplotlib_is_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """One picture: a box for each of the 29 popped prefixes, a line to each but the first, four of them coloured."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    monkeypatch.setattr(plt, "show", lambda: None)
    raised, _ = run(filled(ASSIGNMENT))
    assert raised == []
    axes = plt.gcf().axes[0]
    colours = [line.get_color() for line in axes.lines]
    boxes = [box.get_text() for box in axes.texts]
    plt.close("all")
    assert (len(boxes), len(colours), colours.count("tab:red")) == (29, 28, 4)
    assert {"start 0", "i 11", "$ 28"} < set(boxes)


def test_the_notebook_runs_without_its_data_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A single file on Colab: the short list of words takes the place of the data, and its model teaches the same."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.chdir(tmp_path)
    raised, said = run(filled(ASSIGNMENT))
    assert raised == []
    assert re.search(r"^151 words, ", said, re.MULTILINE)
    assert re.search(r"greedy: se\$ 4\.\d+\nbest:   ing\$ 4\.\d+", said)
    assert re.findall(r"k = +(\d+):.*worse than greedy", said) == ["2", "5"]


def test_the_word_list_comes_with_its_licence() -> None:
    """The notice lies beside the data, and no file is over a megabyte."""
    data = ASSIGNMENT.folder / "data"
    assert "permission notice appear" in (data / "words.LICENSE.txt").read_text(encoding="utf-8")
    assert all(file.stat().st_size < 2**20 for file in data.iterdir())
