"""The notebook that students get, filled in: what it prints and draws."""

from __future__ import annotations

import re
import time

import pytest
import torch

from autograder.assignment import load_assignment
from autograder.release import filled
from tests.assignments.notebooks import COURSE, run

ASSIGNMENT = load_assignment(COURSE, "minigpt")


@pytest.mark.usefixtures("no_matplotlib")
def test_the_filled_notebook_passes_all_public_checks_with_torch_alone() -> None:
    """Right answers: nothing raises, eight checks pass, both pictures appear as text, in less than 20 CPU seconds."""
    torch.set_num_threads(1)
    begun = time.process_time()
    raised, said = run(filled(ASSIGNMENT))
    assert raised == []
    assert said.count("the public check passes") == 8
    assert "position 7: fast pair at   41°, slow pair at   40°" in said
    assert re.search(r"steps 180 to 199 GPT: 0\.[4-7]\d one character: 1\.[67]\d", said)
    assert re.search(r"ran for \d+\.\d s", said)
    assert time.process_time() - begun < 20


def test_the_pictures_are_drawn_where_matplotlib_is_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two circles with eight arrows each, and two curves of 200 losses."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    monkeypatch.setattr(plt, "show", lambda: None)
    raised, _ = run(filled(ASSIGNMENT))
    circles, curves = (plt.figure(n) for n in plt.get_fignums())
    plt.close("all")
    assert raised == []
    assert [len(panel.texts) for panel in circles.axes] == [16, 16]
    assert [len(line.get_ydata()) for line in curves.axes[0].lines[:2]] == [200, 200]
