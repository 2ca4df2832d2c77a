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
    assert re.search(r"step  4  0.1250", said)
    assert re.search(r"ran for \d+\.\d s", said)


def test_the_heat_map_is_drawn_where_matplotlib_is_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six rows of forty steps: the forget gate closes at the two −1 only, the cell holds 0 or 1."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    monkeypatch.setattr(plt, "show", lambda: None)
    raised, _ = run(filled(ASSIGNMENT))
    assert raised == []
    image = plt.gcf().axes[0].images[0].get_array()
    plt.close("all")
    assert image.shape == (6, 40)
    assert [t for t in range(40) if image[2, t] < 0.5] == [16, 30]
    assert ((abs(image[4]) < 1e-3) | (abs(image[4] - 1) < 1e-3)).all()
