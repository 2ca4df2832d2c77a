"""The notebook that students get, filled in: what it prints and draws."""

from __future__ import annotations

import re

import pytest

from autograder.assignment import load_assignment
from autograder.release import filled
from tests.assignments.notebooks import COURSE, run

ASSIGNMENT = load_assignment(COURSE, "tokenizers")


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
    assert heights.count(-1) == len("The unkindest naïve robot!")
