"""Written answers as PDFs, and code that is alike."""

from __future__ import annotations

import base64
import io
import shutil
import subprocess
from pathlib import Path
from typing import Any

import nbformat
import pytest

from autograder.assignment import load_assignment
from autograder.batch.notebooks import own_cells, prompts, release_cells
from autograder.batch.people import HandIn, Person
from autograder.batch.similar import class_codes, find_pairs, similar_html
from autograder.batch.store import Store, Submitted
from autograder.batch.written import (
    Answer,
    _settable,
    answers_of,
    parse_pages,
    set_pdf,
    to_typst,
    without_prompt,
    write_all,
)
from autograder.errors import CourseError
from tests.batch.made_class import COURSE
from tests.hand_ins import answered

ASSIGNMENT = load_assignment(COURSE, "mini")
#: Three colours side by side, as a PNG.
FORMULA = "Because $e^{1000}$ is larger than any float:\n\n$$\\frac{e^{s_i-m}}{\\sum_j e^{s_j-m}}$$"


def png() -> bytes:
    from PIL import Image

    stream = io.BytesIO()
    Image.new("RGB", (30, 10), "red").save(stream, "PNG")
    return stream.getvalue()


def with_answer(text: str, *, own_cell: bool = False, attachments: dict[str, Any] | None = None) -> Any:
    """The reference's notebook with a written answer, in the prompt's cell or in one below it."""
    notebook = answered("mini", course=COURSE)
    place, cell = next(
        (i, c) for i, c in enumerate(notebook.cells) if c.metadata.get("softmark", {}).get("role") == "written"
    )
    if own_cell:
        cell = nbformat.v4.new_markdown_cell(text, id="mine")
        notebook.cells.insert(place + 1, cell)
    else:
        cell.source += "\n\n" + text
    if attachments:
        cell.attachments = attachments
    return notebook


def save(notebook: Any, folder: Path, name: str = "mini.ipynb") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(nbformat.writes(notebook, version=4))
    return folder / name


def pages_and_text(pdf: bytes, folder: Path) -> tuple[int, str]:
    """As a reader that is not ours sees it."""
    path = folder / "x.pdf"
    path.write_bytes(pdf)
    text = subprocess.run(["pdftotext", "-layout", str(path), "-"], capture_output=True, check=True, text=True).stdout
    return text.count("\f"), text


@pytest.mark.parametrize("own_cell", [True, False])
def test_an_answer_is_found_without_its_prompt(own_cell: bool, tmp_path: Path) -> None:
    """In the prompt's cell or below it; the prompt itself is not part of it."""
    path = save(with_answer("It would overflow.", own_cell=own_cell), tmp_path)
    (answer,) = answers_of(path, ASSIGNMENT, prompts(ASSIGNMENT))
    assert answer.text == "It would overflow."


def test_an_answer_survives_what_editors_do(tmp_path: Path) -> None:
    """Without ids and metadata the prompt is found by its text; a prompt that was rewritten is found by its mark."""
    notebook = with_answer("Below.", own_cell=True)
    for cell in notebook.cells:
        cell.metadata.clear()
        cell.id = f"x{cell.id}"[:60]
    assert answers_of(save(notebook, tmp_path), ASSIGNMENT, prompts(ASSIGNMENT))[0].text == "Below."
    notebook = with_answer("x")
    notebook.cells[-1].source = "My own words only."
    assert answers_of(save(notebook, tmp_path), ASSIGNMENT, prompts(ASSIGNMENT))[0].text == "My own words only."


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("# Why?\n\nsay\n\n*Your answer:*\nBecause.", "Because."),
        ("# Why?\nsay\n*Your answer:* Because.", "Because."),
        ("# Why?\nBetween.\nsay\n*Your answer:*\nBecause.", "Between.\nBecause."),
        ("# Why?\n\nsay\n\n*Your answer:*\n", ""),
        ("Only mine.\nsay it again", "Only mine.\nsay it again"),
    ],
)
def test_the_prompt_goes_and_the_answer_stays(source: str, expected: str) -> None:
    """Line by line, in order, wherever the student wrote."""
    assert without_prompt(source, "# Why?\n\nsay\n\n*Your answer:*") == expected


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="no pdftotext here")
@pytest.mark.parametrize(
    ("text", "state"),
    [("", "missing"), (FORMULA, "answered"), ("word " * 1200, "smaller"), ("word " * 20_000, "cut")],
    ids=["missing", "formula", "long", "endless"],
)
def test_every_paper_has_the_same_pages(text: str, state: str, tmp_path: Path) -> None:
    """One page or three, missing or endless: the count is kept, and what happened stands on the page."""
    for pages in (1, 3):
        long = text * 3 if pages == 3 and state in ("smaller", "cut") else text
        pdf, states = set_pdf('Ada "Zed" #1', "Mini", [Answer("5", long)], {"5": pages})
        count, words = pages_and_text(pdf, tmp_path)
        assert (count, states["5"]) == (pages, state)
        assert 'Ada "Zed" #1' in words
        assert ("No answer was handed in" in words) == (state == "missing")
        assert ("Cut here" in words) == (state == "cut")


def test_text_can_not_act_and_pictures_come_from_the_hand_in_only(tmp_path: Path) -> None:
    """Typst, TeX and HTML in an answer are words; attachments and data are shown, addresses are not fetched."""
    text = '#import "/etc/passwd" \\input{/etc/passwd} <b>bold</b> '
    text += "![a](attachment:a.png) ![b](http://x/y.png) ![c](/etc/passwd)"
    answer = Answer("5", text, {"attachment:a.png": png()})
    made = to_typst(answer, tmp_path)
    assert made.count("image(") == 1
    assert (tmp_path / "5-1.png").read_bytes() == png()
    assert "\\#import" in made
    assert made.count("picture not included") == 2
    pdf, states = set_pdf("A", "T", [answer], {"5": 1})
    assert states["5"] == "answered"
    assert b"passwd:" not in pdf


def test_a_broken_picture_or_formula_costs_its_form_only(tmp_path: Path) -> None:
    """What can't be set is shown as it was typed or named; everything else of the answer keeps its form."""
    broken = Answer(
        "5",
        "See ![x](attachment:x.png), ![y](attachment:y.png), *this*, $a^b$, $\\frac{1$ and $\\nosuchmacro{x}$.",
        {"attachment:x.png": b"\x89PNG\r\n\x1a\nbroken", "attachment:y.png": png()},
    )
    made = _settable(broken, tmp_path)
    assert "picture not included: attachment:x.png" in made
    assert all(part in made for part in ("#emph[this]", "$a^b$", "image(", "nosuchmacro"))
    pdf, states = set_pdf("A", "T", [broken], {"5": 1})
    assert states["5"] == "answered"
    assert pdf.startswith(b"%PDF")


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="no pdftotext here")
def test_a_class_gets_one_paper_each(tmp_path: Path) -> None:
    """All papers have the pages that the longest answer needs; unreadable hand-ins have theirs too; the table says
    what happened."""
    attached = {"p.png": {"image/png": base64.b64encode(png()).decode()}}
    save(with_answer(f"{FORMULA}\n\n![p](attachment:p.png)", own_cell=True, attachments=attached), tmp_path / "a")
    save(with_answer("Because of floats. " * 400), tmp_path / "b")
    (tmp_path / "c").mkdir()
    (tmp_path / "c/mini.ipynb").write_text("<html>")
    with Store(tmp_path / "out", make=True) as store:
        rows = (HandIn(name, (Person(f"Name {name}", f"00{name}"),)) for name in "abc")
        store.register(iter(Submitted(one, tmp_path / one.id, "sha") for one in rows))
        done = write_all(store, ASSIGNMENT, tmp_path / "out/written")
        with pytest.raises(CourseError, match="no written question"):
            write_all(store, ASSIGNMENT, tmp_path / "out/written", pages={"9": 1})
    assert [one.state["5"] for one in done] == ["answered", "answered", "missing"]
    counts = {pages_and_text(one.path.read_bytes(), tmp_path)[0] for one in done}
    assert counts == {2}
    assert "Name b 00b" in pages_and_text(done[1].path.read_bytes(), tmp_path)[1]
    table = (tmp_path / "out/written/pages.csv").read_text()
    assert "5 (2 pages)" in table
    assert "c,c.pdf,missing" in table


def test_pages_are_named_by_question() -> None:
    """`E=2,F=1`, and nothing else."""
    assert parse_pages("E=2, F=1") == {"E": 2, "F": 1}
    with pytest.raises(CourseError, match="QUESTION=PAGES"):
        parse_pages("E")


# ── similar ───────────────────────────────────────────────────────────────────────────────────────────────────
LONG = """
def attention(Q, K, V):
    total = torch.zeros(Q.shape[0], V.shape[1], dtype=V.dtype)
    for row in range(Q.shape[0]):
        weights = [float((Q[row] * K[column]).sum()) / Q.shape[1] ** 0.5 for column in range(K.shape[0])]
        largest = max(weights)
        weights = [math.exp(weight - largest) for weight in weights]
        for column, weight in enumerate(weights):
            total[row] += weight / sum(weights) * V[column]
    return total
"""
RENAMED = (
    LONG.replace("total", "out").replace("weights", "w").replace("column", "j").replace("largest", "m") + "# mine\n"
)
OTHER = (
    "def attention(Q, K, V):\n"
    "    return torch.nn.functional.scaled_dot_product_attention(Q[None], K[None], V[None])[0]\n"
)


def test_renaming_hides_nothing_and_the_hand_out_counts_for_nothing() -> None:
    """The pair that differs in names only is found; what was handed out makes nobody alike."""
    given = (
        "def my_numbers(student_id, which):\n    digest = hashlib.blake2b(student_id.encode()).digest()\n"
        "    return [2 + digest[0] % 7, 11 + digest[1] % 9]\n"
    )
    codes = {"a": LONG + given, "b": RENAMED + given, "c": OTHER + given, "d": given}
    (pair,) = find_pairs(codes, given)
    assert {pair.left, pair.right} == {"a", "b"}
    assert min(pair.share) > 0.7
    shared = "".join(text for text, is_shared in pair.marked[0] if is_shared)
    assert "11 + digest" not in shared
    assert "".join(text for text, _ in pair.marked[0]) == codes["a"]


def test_what_the_class_shares_makes_nobody_alike() -> None:
    """When everyone wrote the same standard solution there is no pair to look at."""
    codes = {str(n): LONG for n in range(9)}
    assert find_pairs(codes, "") == []
    codes |= {"x": RENAMED + OTHER * 4, "y": RENAMED + OTHER * 4}
    assert {(p.left, p.right) for p in find_pairs(codes, "")} == {("x", "y")}


def test_the_list_shows_both_sides_and_no_verdict(tmp_path: Path) -> None:
    """A page without a script, names escaped, with the sentence that it decides nothing."""
    with Store(tmp_path / "out", make=True) as store:
        rows = []
        for name, source in (("a", LONG), ("b", RENAMED), ("c", OTHER)):
            save(answered("mini", {"attention": source.replace("# mine\n", "")}, course=COURSE), tmp_path / name)
            rows.append(Submitted(HandIn(name, (Person(f"<b>{name}"),)), tmp_path / name, "sha"))
        store.register(iter(rows))
        codes, handed_out = class_codes(store, ASSIGNMENT)
    assert set(codes) == {"a", "b", "c"}
    pairs = find_pairs(codes, handed_out)
    assert (pairs[0].left, pairs[0].right) == ("a", "b")
    page = similar_html("Mini", pairs, {"a": "<b>a", "b": "<b>b"}, 3)
    assert "&lt;b&gt;a and &lt;b&gt;b" in page
    assert "decides nothing" in page
    assert "<script" not in page


def test_cells_are_told_apart_from_the_hand_out() -> None:
    """Whatever a notebook's JSON holds, reading it never fails, and a given cell is known by its text."""
    release = release_cells(ASSIGNMENT)
    given = next(cell for cell in release if cell.cell_type == "code")
    odd = {
        "cells": [None, 3, {"source": 5}, {"cell_type": "code", "source": ["x", 1]}, {"source": given.source, "id": 7}]
    }
    found = list(own_cells(odd, release))
    assert [cell.key is None for cell in found] == [True, True, False]
    assert list(own_cells([], release)) == []
