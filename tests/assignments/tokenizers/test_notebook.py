"""The notebook that students get, filled in: what it prints and draws."""

from __future__ import annotations

import re

import pytest

from autograder.assignment import load_assignment
from autograder.checks import sibling
from autograder.release import filled
from tests.assignments.notebooks import COURSE, run

ASSIGNMENT = load_assignment(COURSE, "tokenizers")
SOLUTION = sibling(COURSE / "reference/tokenizers/checks.py", "solution")


@pytest.mark.usefixtures("no_matplotlib")
def test_the_filled_notebook_passes_all_public_checks_with_torch_alone() -> None:
    """Right answers: nothing raises, eight checks pass, tokens stand side by side, the comparison is printed."""
    raised, said = run(filled(ASSIGNMENT))
    assert raised == []
    assert said.count("the public check passes") == 8
    assert re.search(r"BPE +\d+ T\|he\|·re\|", said)
    assert re.search(r"byte +\d+ 54\|68\|65\|20", said)
    assert len(re.findall(r"H\d can be read", said)) == 3
    assert re.search(r"ran for \d+\.\d s", said)


@pytest.mark.usefixtures("no_matplotlib")
def test_the_comparison_shows_what_the_text_says_of_it() -> None:
    """Characters are best per token and subwords per character; spelling the unknown words makes words worse."""
    _, said = run(filled(ASSIGNMENT))
    rows = re.findall(r"^ *(\w[\w, ]*?) +\d+ +[\d.]+ +([\d.]+)% +([\d.]+) +([\d.]+)$", said, re.MULTILINE)
    unknown, per_token, per_char = ({row[0]: float(row[n]) for row in rows} for n in (1, 2, 3))
    assert list(per_char) == ["word", "character", "byte", "BPE", "WordPiece", "unigram", "word, spelled"]
    assert min(per_token, key=per_token.__getitem__) == "character"
    assert min(per_char, key=per_char.__getitem__) == "word"
    assert unknown["word"] > 15, "many words are unknown, in the training text too"
    subwords = [per_char[name] for name in ("BPE", "WordPiece", "unigram")]
    assert max(subwords) < 0.75 * per_char["word, spelled"] < 0.75 * per_char["character"]
    assert per_char["character"] < per_char["byte"], "some characters have two bytes"
    assert sum(share > 0 for share in unknown.values()) == 1


def test_the_sentence_holds_what_the_text_says_of_it() -> None:
    """Two words and two letters are not in the training text, and the other letters are."""
    words, letters = set(SOLUTION.train_text.split()), set(SOLUTION.train_text)
    assert not words & {"repainter", "met"}
    assert set("The repainter met naïve Zoë!") - letters == {"Z", "ë"}
    assert 18_000 < len(SOLUTION.train_text) < 20_000


def test_the_picture_is_drawn_where_matplotlib_is_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six rows of boxes, one for each tokenizer; a box for each character, and the widths of its bytes add up to it."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    monkeypatch.setattr(plt, "show", lambda: None)
    raised, _ = run(filled(ASSIGNMENT))
    assert raised == []
    axes = plt.gcf().axes[0]
    rows: dict[int, list[tuple[float, float]]] = {}
    for patch in axes.patches:
        rows.setdefault(round(patch.get_y() + 0.35), []).append((patch.get_x(), patch.get_width()))
    labels = [label.get_text() for label in axes.get_yticklabels()]
    plt.close("all")
    assert labels == ["word", "character", "byte", "BPE", "WordPiece", "unigram"]
    sentence = "The repainter met naïve Zoë!"
    assert len(rows[1]) == len(sentence)
    assert len(rows[2]) == len(sentence.encode())
    assert all(sum(rows[row][-1]) == len(sentence) for row in range(6)), "each row ends where the sentence ends"
