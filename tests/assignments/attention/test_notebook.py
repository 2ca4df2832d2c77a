"""The notebook that students get, filled in: what it prints and draws."""

from __future__ import annotations

import re

import pytest

from autograder.assignment import load_assignment
from autograder.release import blank, filled
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
    assert re.findall(r"H\d  can.*", said) == ["H1  can be read", "H2  can be read", "H3  can be read"]


@pytest.mark.parametrize(
    ("answer", "said_of_h1"),
    [
        ("None", "no answer yet"),
        ("[[1, 2 / 3], [0.5, 7]]", "can be read"),
        ("[1, 2, 0.5, 7]", "cannot be read"),
        ("[[1, 2], [3]]", "cannot be read"),
        ('[["1", "2"], ["0.5", "7"]]', "cannot be read"),
        ("torch.ones(2, 2)", "cannot be read"),
    ],
)
def test_the_notebook_says_whether_a_hand_answer_has_the_right_form(answer: str, said_of_h1: str) -> None:
    """Nesting, lengths and numbers; never whether it is right."""
    notebook = blank(ASSIGNMENT)
    for cell in notebook.cells:
        cell.source = cell.source.replace('hand = {"H1": None,', f'hand = {{"H1": {answer},')
    _, said = run(notebook)
    assert f"H1  {said_of_h1}" in said
    assert "H2  no answer yet" in said


def test_the_heat_map_is_drawn_where_matplotlib_is_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """One picture of nine by nine weights, and only what lies above the diagonal in grey."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt
    import numpy as np

    monkeypatch.setattr(plt, "show", lambda: None)
    raised, _ = run(filled(ASSIGNMENT))
    assert raised == []
    image = plt.gcf().axes[0].images[0].get_array()
    plt.close("all")
    assert image.shape == (9, 9)
    assert (image.mask == ~np.tri(9, dtype=bool)).all()
