"""The notebook that students get, filled in: what it prints and draws."""

from __future__ import annotations

import re

import pytest

from autograder.assignment import load_assignment
from autograder.release import filled
from tests.assignments.notebooks import COURSE, run

ASSIGNMENT = load_assignment(COURSE, "noisy_channel")


@pytest.mark.usefixtures("no_matplotlib")
def test_the_filled_notebook_passes_all_public_checks_with_torch_alone() -> None:
    """Right answers: nothing raises, nine checks pass, the trellis appears as columns of words."""
    raised, said = run(filled(ASSIGNMENT))
    assert raised == []
    assert said.count("the public check passes") == 9
    assert re.search(r"^( +\w+)+\n( +↓)+\n.*\[\w+\]", said, re.MULTILINE)
    assert re.search(r"ran for \d+\.\d s", said)


def test_the_trellis_is_drawn_where_matplotlib_is_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """One picture: every candidate is a box, and the best path is one red line from each place to the next."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    monkeypatch.setattr(plt, "show", lambda: None)
    raised, said = run(filled(ASSIGNMENT))
    assert raised == []
    axes = plt.gcf().axes[0]
    places = len(axes.get_xticks())
    red = [line for line in axes.lines if line.get_color() == "tab:red"]
    chosen = [text for text in axes.texts if text.get_bbox_patch().get_facecolor()[2] < 1]
    plt.close("all")
    assert places > 3
    assert len(red) == places - 1
    assert len(chosen) == places < len(axes.texts)
    right = [int(n) for n in re.findall(r"(\d+) of \d+ words are right", said)]
    assert right[0] < right[1]
