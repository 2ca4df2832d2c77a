"""The notebook that students get, filled in: what it prints and draws."""

from __future__ import annotations

import re

import pytest

from autograder.assignment import load_assignment
from autograder.release import filled
from tests.assignments.notebooks import COURSE, run

ASSIGNMENT = load_assignment(COURSE, "lstm")


@pytest.mark.usefixtures("no_matplotlib")
def test_the_filled_notebook_passes_all_public_checks_with_torch_alone() -> None:
    """Right answers: nothing raises, seven checks pass, the gates appear as rows of characters."""
    raised, said = run(filled(ASSIGNMENT))
    assert raised == []
    assert said.count("the public check passes") == 7
    assert re.search(r"forget gate f \|█{16} █{13} █{9}\|", said)
    assert "step        1     2     3" in said
    assert "w = 0.5 1.000 0.500 0.250 0.125" in said
    assert re.search(r"\n +step  1        10.*\n +input x \|    █", said)
    assert re.search(r"ran for \d+\.\d s", said)


def test_the_heat_map_is_drawn_where_matplotlib_is_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven rows of forty steps, from 1: the forget gate closes at the two −1 only, the cell holds 0 or 1."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    monkeypatch.setattr(plt, "show", lambda: None)
    raised, _ = run(filled(ASSIGNMENT))
    assert raised == []
    axes = plt.gcf().axes[0]
    image = axes.images[0].get_array()
    limits = axes.get_xlim()
    plt.close("all")
    assert image.shape == (7, 40)
    assert limits == (0.5, 40.5)
    assert [t for t in range(40) if image[2, t] < 0.5] == [16, 30]
    assert ((abs(image[5]) < 1e-3) | (abs(image[5] - 1) < 1e-3)).all()
