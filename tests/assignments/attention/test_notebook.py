"""The notebook that students get, filled in: what it prints and draws."""

from __future__ import annotations

import re

import pytest

from autograder.assignment import load_assignment
from autograder.release import filled
from tests.assignments.notebooks import COURSE, run

ASSIGNMENT = load_assignment(COURSE, "attention")


@pytest.mark.usefixtures("no_matplotlib")
def test_the_filled_notebook_passes_all_public_checks_with_torch_alone() -> None:
    """Right answers: nothing raises, eight checks pass, the weights appear as a table of percentages."""
    raised, said = run(filled(ASSIGNMENT))
    assert raised == []
    assert said.count("the public check passes") == 8
    assert re.search(r"the +100%( +·){8}", said)
    assert re.search(r"ran for \d+\.\d s", said)


def test_the_heat_map_is_drawn_where_matplotlib_is_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """One picture of nine by nine weights, nothing above the diagonal."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    monkeypatch.setattr(plt, "show", lambda: None)
    raised, _ = run(filled(ASSIGNMENT))
    assert raised == []
    image = plt.gcf().axes[0].images[0].get_array()
    plt.close("all")
    assert image.shape == (9, 9)
    assert (image[0, 1:] == 0).all()
