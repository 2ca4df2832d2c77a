"""The notebook that students get, filled in: what it prints and draws."""

from __future__ import annotations

import contextlib
import io
import re
import time
from typing import Any

import pytest
import torch

from autograder.assignment import load_assignment
from autograder.release import derive, filled
from tests.assignments.grading import Grading
from tests.assignments.notebooks import COURSE, run

ASSIGNMENT = load_assignment(COURSE, "minigpt")
NOTEBOOK = filled(ASSIGNMENT)
grading = Grading("minigpt")


@pytest.mark.usefixtures("no_matplotlib")
def test_the_filled_notebook_passes_all_public_checks_with_torch_alone() -> None:
    """Right answers: nothing raises, eight checks pass, both pictures appear as text, in less than 20 CPU seconds."""
    torch.set_num_threads(1)
    begun = time.process_time()
    raised, said = run(NOTEBOOK)
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
    raised, _ = run(NOTEBOOK)
    circles, curves = (plt.figure(n) for n in plt.get_fignums())
    plt.close("all")
    assert raised == []
    assert [len(panel.texts) for panel in circles.axes] == [16, 16]
    assert [len(line.get_ydata()) for line in curves.axes[0].lines[:2]] == [200, 200]


# ── public checks ───────────────────────────────────────────────────────────────────────────────────────────────────
def source_of(role: str, question: str) -> str:
    """The source of the last cell of this role and question."""
    wanted = {"role": role, "question": question}
    return [cell.source for cell in NOTEBOOK.cells if cell.metadata.get("softmark") == wanted][-1]


def said_by(source: str, space: dict[str, Any]) -> str:
    """What a cell prints; what it stops with, if it does."""
    with contextlib.redirect_stdout(io.StringIO()) as said:
        try:
            exec(source, space)
        except AssertionError as error:
            return str(error)
    return said.getvalue()


def changed(function: str, *edits: tuple[str, str]) -> dict[str, Any]:
    """The reference's namespace with one function edited."""
    text = grading.checks.source.definition(function)
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return grading.reference({function: text})


TILED = (
    "z.repeat_interleave(self.query_heads // self.kv_heads, dim=1)",
    "z.repeat(1, self.query_heads // self.kv_heads, 1, 1)",
)
TILED_STEP = (
    "k, v = k.repeat_interleave(share, dim=1), v.repeat_interleave(share, dim=1)",
    "k, v = k.repeat(1, share, 1, 1), v.repeat(1, share, 1, 1)",
)
NEW_OPTIMISER = "optimiser = torch.optim.AdamW(model.parameters(), lr=lr)\n        optimiser.zero_grad()"
PLAIN = {
    "float32 angles": (
        "1",
        "rope_angles",
        [("positions, speeds)", "positions, speeds).float()")],
        "torch.float64, not",
    ),
    "always float64": (
        "2",
        "apply_rope",
        [("torch.cat([left, right], dim=-1)", "torch.cat([left.double(), right], dim=-1)")],
        "torch.float32, not",
    ),
    "tiled heads": ("4", "GroupedQueryAttention", [TILED], "values of heads 1, 0, 0, 1"),
    "a float": ("5", "kv_cache_bytes", [("values *", "1.0 * values *")], "Python ints, not"),
    "no start values": ("6", "GPT", [("set_start_values(self)", "pass")], "call set_start_values"),
    "bias of the head": ("6", "GPT", [("bias=False", "bias=True")], "no bias"),
    "tiled heads in a step": ("7", "step", [TILED_STEP], "logits of the whole text"),
    "targets not shifted": ("8", "train", [("windows[:, 1:]", "windows[:, :-1]")], "loss 1"),
    "gradients add up": ("8", "train", [("optimiser.zero_grad()", "pass")], "loss 2"),
    "a new optimiser each step": ("8", "train", [("optimiser.zero_grad()", NEW_OPTIMISER)], "loss 2"),
    "Adam": ("8", "train", [("optim.AdamW", "optim.Adam")], "loss 2"),
    "no generator": ("8", "train", [(", generator=gen", "")], "generator=gen"),
    "evaluation mode": ("8", "train", [("model.train()", "pass")], "model.train() first"),
    "losses as tensors": ("8", "train", [("loss.item()", "loss.detach()")], "Python floats, not"),
}


@pytest.mark.parametrize("name", PLAIN)
def test_a_public_check_stops_a_plain_mistake_and_says_why(name: str) -> None:
    """What goes wrong most often is seen before the hand-in, with a sentence that fits."""
    question, function, edits, sentence = PLAIN[name]
    space = changed(function, *edits)
    if question == "7":
        said_by(source_of("public-check", "6"), space)
    assert sentence in said_by(source_of("public-check", question), space)


def test_a_step_that_changes_the_old_cache_is_stopped() -> None:
    """One list for all caches: the first one grows with the last."""
    space = changed(
        "step",
        ("model.tok(ids_new), []", "model.tok(ids_new), [] if cache is None else cache"),
        ("grown.append((k, v))", "grown[number : number + 1] = [(k, v)]"),
    )
    said_by(source_of("public-check", "6"), space)
    assert "after later steps too" in said_by(source_of("public-check", "7"), space)


def test_the_model_of_q7s_check_is_no_other_models_name() -> None:
    """The training's cells don't touch it, so that the check of Q7 can be run again after them."""
    cells = [cell.source for cell in NOTEBOOK.cells if cell.cell_type == "code"]
    later = cells[cells.index(source_of("public-check", "7")) + 1 :]
    assert re.search(r"\bsmall\b", source_of("public-check", "7"))
    assert not any(re.search(r"\bsmall\b", source) for source in later)


# ── hand calculations ───────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"H1": None, "H2": None, "H3": None}, ["no answer yet"] * 3),
        ({"H1": [0.5, 1, 2, 2], "H2": (7, 8.0), "H3": [[0] * 9, 5]}, ["can be read"] * 3),
        ({"H1": [0.5, 1, 2], "H2": ["7", 8], "H3": [0] * 9 + [5]}, ["the form should be"] * 3),
        ({}, ["no answer yet"] * 3),
    ],
)
def test_the_form_of_the_hand_calculations_is_told_and_never_whether_they_are_right(
    answer: dict[str, Any], said: list[str]
) -> None:
    """Nesting, lengths and numbers; wrong numbers in the right form can be read."""
    space = grading.reference() | {"STUDENT_ID": "ada", "hand": answer}
    lines = said_by(source_of("demo", "9"), space).splitlines()
    assert [line.split(":")[0] for line in lines] == ["H1", "H2", "H3"]
    assert all(wanted in line for wanted, line in zip(said, lines, strict=True))


def test_no_line_of_code_is_longer_than_a_hundred_characters() -> None:
    """Students read the notebook in a browser, where code does not wrap. Answers are theirs."""
    blank = [cell.source for cell in derive(ASSIGNMENT).cells if cell.cell_type == "code"]
    assert [line for source in blank for line in source.splitlines() if len(line) > 100] == []
