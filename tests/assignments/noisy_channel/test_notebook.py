"""The notebook that students get, filled in: what it prints and draws."""

from __future__ import annotations

import contextlib
import io
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
    assert re.search(r"^( +\w+)+\n( +↓)+\n( +-\d+\.\d →)+\n\[<s>\].*\[\w+ -\d+\.\d\].*\[</s>\]$", said, re.MULTILINE)
    assert re.search(r"ran for \d+\.\d s", said)


@pytest.mark.usefixtures("no_matplotlib")
def test_channel_and_prior_are_worth_more_together() -> None:
    """The notebook shows it in numbers, and in a sentence that the channel alone gets wrong."""
    _, said = run(filled(ASSIGNMENT))
    typed, prior, channel, both = (int(n) for n in re.findall(r"(\d+) of \d+ words are right", said))
    assert typed < min(prior, channel) <= max(prior, channel) < both
    shown = dict(re.findall(r"^(channel alone|both) +([a-z ]+)$", said, re.MULTILINE))
    assert shown["channel alone"] != shown["both"]


def test_the_form_of_hand_calculations_is_told() -> None:
    """No answer yet, one that can be read, and one that can't; nothing about right or wrong."""
    cell = next(cell.source for cell in filled(ASSIGNMENT).cells if "def check_hand" in cell.source)
    for hand, words in [
        ({"H1": None, "H2": None, "H3": None}, ["no answer", "no answer", "no answer"]),
        ({"H1": [1, 0.5, 0], "H2": ("a", "b", "c", 0.1), "H3": 2.5}, ["can be read"] * 3),
        ({"H1": [1, 0.5], "H2": ["a", "b", "c", "0.1"], "H3": [2.5]}, ["can't be read"] * 3),
        ({"H1": "0.5", "H2": 0.1}, ["can't be read", "can't be read", "no answer"]),
    ]:
        with contextlib.redirect_stdout(io.StringIO()) as said:
            exec(cell, {"hand": hand})
        lines = said.getvalue().splitlines()
        assert [line.split(":")[0] for line in lines] == ["H1", "H2", "H3"]
        assert all(word in line for word, line in zip(words, lines, strict=True)), lines


def test_the_trellis_is_drawn_where_matplotlib_is_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """One picture: every candidate is a box, and the best path is one red line from each place to the next."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    monkeypatch.setattr(plt, "show", lambda: None)
    raised, _ = run(filled(ASSIGNMENT))
    assert raised == []
    axes = plt.gcf().axes[0]
    places = len(axes.get_xticks())
    red = [line for line in axes.lines if line.get_color() == "tab:red"]
    boxes = [text for text in axes.texts if text.get_bbox_patch() is not None]
    chosen = [text for text in boxes if text.get_bbox_patch().get_facecolor()[2] < 1]
    plt.close("all")
    assert places > 3
    assert len(red) == places - 1
    assert len(chosen) == places < len(boxes)
    steps = [text for text in axes.texts if re.fullmatch(r"[-−]\d+\.\d", text.get_text())]
    assert len(steps) == places - 1
    assert "score" in axes.get_title()
