"""The papers: accessible by two foreign checkers, solutions that move nothing and hide nothing, boxes where they say."""

from __future__ import annotations

import io
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import outloud
import pdfplumber
import pdfua
import pytest
import typst
from exam_helpers import exam_of
from PIL import Image

from exam_bank.assemble import assemble
from exam_bank.bank import Bank, load_bank
from exam_bank.blueprint import load_blueprint
from exam_bank.errors import BankError
from exam_bank.model import Exam
from exam_bank.render import paper as paper_module
from exam_bank.render.paper import PAGES, Papers, exam_source, render_exam
from exam_bank.render.tree import Store

# Known noise: TBL-014 calls tagged tables untagged, TXT-004 is about pieces of brackets, PAG-001 takes the heading
# of a question at the top of a page for a running head.
NOISE = {"TBL-014", "TXT-004", "PAG-001"}
DPI = 72


@pytest.fixture(scope="module")
def papers(exam: Exam, store: Store) -> Papers:
    return render_exam(exam, store)


@pytest.fixture(scope="module")
def files(papers: Papers, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("papers")
    found = {"paper": folder / "paper.pdf", "solutions": folder / "solutions.pdf"}
    found["paper"].write_bytes(papers.paper)
    found["solutions"].write_bytes(papers.solutions)
    return found


def pages(path: Path, pages_: int) -> list[np.ndarray]:
    """Grey pictures of the first pages, 0 = black."""
    command = ["pdftoppm", "-r", str(DPI), "-gray", "-l", str(pages_), str(path), str(path.with_suffix(""))]
    subprocess.run(command, check=True)
    return [np.asarray(Image.open(each)) for each in sorted(path.parent.glob(f"{path.stem}-*.pgm"))]


def faults(path: Path) -> list[str]:
    """What two foreign checkers of accessibility find."""
    theirs = [
        f"{finding.rule}: {finding.message}"
        for finding in outloud.check(str(path)).findings
        if finding.rule not in NOISE
    ]
    return [str(finding) for finding in pdfua.validate(str(path)).findings] + theirs


def lost(paper: np.ndarray, solved: np.ndarray) -> int:
    """Pixels of question ink that the solutions don't show."""
    return int(((paper < 128) & (solved >= 200)).sum())


def text_of(path: Path) -> str:
    return subprocess.run(["pdftotext", "-layout", path, "-"], capture_output=True, check=True, text=True).stdout


@pytest.mark.parametrize("name", ["paper", "solutions"])
def test_two_foreign_checkers_find_no_fault(files: dict[str, Path], name: str) -> None:
    """pdfua: nothing; outloud: nothing but the known noise, so no formula or picture without words."""
    assert faults(files[name]) == []


@pytest.mark.slow
def test_an_exam_of_the_bank_passes_both_checkers(tmp_path: Path) -> None:
    """The default blueprint with the questions that are shipped: paper and solutions."""
    exam = assemble(load_blueprint(), load_bank(), 42, 1)[0]
    papers = render_exam(exam, Store())
    for name, data in (("paper", papers.paper), ("solutions", papers.solutions)):
        path = tmp_path / f"{name}.pdf"
        path.write_bytes(data)
        assert faults(path) == []


def test_the_foreign_checkers_do_find_faults(tmp_path: Path) -> None:
    """Negative control: a PDF without tags, title and language fails both."""
    bare = tmp_path / "bare.pdf"
    Image.new("L", (200, 200), 255).save(bare)
    assert list(pdfua.validate(str(bare)).findings)
    assert [finding for finding in outloud.check(str(bare)).findings if finding.severity == "error"]
    assert len(faults(bare)) > 2


def test_a_picture_without_words_is_refused(exam: Exam, store: Store) -> None:
    """Negative control: Typst's own UA-1 check is on."""
    item = next(item for item in exam.items if item.variant.figures)
    bare = {name: replace(figure, alt="") for name, figure in item.variant.figures.items()}
    section = replace(exam.sections[0], items=(replace(item, variant=replace(item.variant, figures=bare)),))
    with pytest.raises(BankError, match="missing alt text"):
        render_exam(replace(exam, sections=(section,)), store)


def test_the_same_exam_gives_the_same_bytes(exam: Exam, papers: Papers) -> None:
    """With a store of its own, in another temporary folder."""
    assert render_exam(exam, Store()) == papers


def test_solutions_lose_no_ink_and_add_it_in_boxes_only(files: dict[str, Path], papers: Papers) -> None:
    """Rendered: question ink minus solution ink is 0 pixels; new ink lies inside declared boxes and bubbles."""
    before, after = pages(files["paper"], papers.pages), pages(files["solutions"], papers.pages)
    assert len(before) == papers.pages == len(after)
    scale = DPI / 72
    for number, (paper, solved) in enumerate(zip(before, after, strict=True), start=1):
        assert lost(paper, solved) == 0
        new = (paper >= 250) & (solved < 200)
        for box in papers.boxes:
            if box["page"] == number and box["kind"] in ("box", "circle", "square"):
                x, y = int(box["x"] * scale) - 1, int(box["y"] * scale) - 1
                new[y : y + int(box["height"] * scale) + 3, x : x + int(box["width"] * scale) + 3] = False
        assert int(new.sum()) == 0, f"ink outside of boxes on page {number}"
    assert sum(int((a < 200).sum()) for a in after) > sum(int((b < 200).sum()) for b in before)


def growing_boxes() -> str:
    """The template with boxes as high as their content, as if nobody had fixed their size."""
    growing = paper_module._TEMPLATE.replace(
        "height: height, stroke: stroke, clip: true",
        "height: if solved { auto } else { height }, stroke: stroke, clip: true",
    )
    growing = growing.replace(
        "if solved { place(top + left, dx: 4pt", "if solved { block(inset: 30pt)[#key]; place(top + left, dx: 4pt"
    )
    assert growing.count("auto }") == 1
    assert growing.count("block(inset: 30pt)") == 1
    return growing


def test_marks_that_move_are_refused(bank: Bank, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: with boxes that grow the solutions move marks, and the build refuses them."""
    monkeypatch.setattr(paper_module, "_TEMPLATE", growing_boxes())
    with pytest.raises(BankError, match="move") as caught:
        render_exam(exam_of(bank), store)
    assert caught.value.rule == "Q024"


def test_the_rendered_comparison_sees_ink_that_is_lost(
    bank: Bank, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control: the pictures of such solutions lose hundreds of pixels of the questions on every page."""
    monkeypatch.setattr(paper_module, "_TEMPLATE", growing_boxes())
    source = tmp_path / "exam.typ"
    source.write_text(exam_source(exam_of(bank), store, {}), encoding="utf-8")
    pictures = []
    for solved in ("no", "yes"):
        made = typst.compile(str(source), format="pdf", ignore_system_fonts=True, sys_inputs={"solutions": solved})
        path = tmp_path / f"{solved}.pdf"
        assert isinstance(made, bytes)
        path.write_bytes(made)
        pictures.append(pages(path, 3))
    assert min(lost(paper, solved) for paper, solved in zip(*pictures, strict=True) if (paper < 128).sum() > 5000) > 100


def test_boxes_are_where_the_file_says(files: dict[str, Path], papers: Papers) -> None:
    """Every declared answer box with a frame is a rectangle that pdfplumber finds, within half a point."""
    framed = [b for b in papers.boxes if b["kind"] == "box" and b["id"].count("/") < 3]
    assert len(framed) > 10
    with pdfplumber.open(files["paper"]) as document:
        rectangles = [
            [(r["x0"], r["top"], r["x1"] - r["x0"], r["bottom"] - r["top"]) for r in [*p.rects, *p.curves]]
            for p in document.pages
        ]
    for box in framed:
        wanted = (box["x"], box["y"], box["width"], box["height"])
        near = [r for r in rectangles[box["page"] - 1] if max(abs(a - b) for a, b in zip(r, wanted, strict=True)) < 0.6]
        assert near, box


def test_marks_are_circles_for_one_and_squares_for_many(exam: Exam, papers: Papers) -> None:
    """Q021 in print: the kind of each bubble follows from the type of its part."""
    kinds = {mark["id"]: mark["kind"] for mark in papers.boxes}
    for item in exam.items:
        for part in item.variant.parts:
            wanted = {"single": "circle", "true-false": "circle", "multi": "square"}.get(part.spec.type)
            marks = [kind for name, kind in kinds.items() if name.startswith(f"{item.label}/{part.spec.key}/")]
            if wanted:
                assert set(marks) == {wanted}
                assert len(marks) == len(part.choices)


def test_the_paper_holds_no_answers_and_the_solutions_hold_all(files: dict[str, Path], exam: Exam) -> None:
    """Q025 on the PDF's text: sentences of explanations, model answers and reasons are in the solutions only."""
    shown, solved = " ".join(text_of(files["paper"]).split()), " ".join(text_of(files["solutions"]).split())
    for words in (
        "Rotations form a group",
        "Nothing is learned on the shortcut",
        "Explanations",
        "uses the query heads",
    ):
        assert words not in shown
        assert words in solved
    for item in exam.items:
        assert f"{item.label}. (" in shown
    assert "perplexity or the perplexity" in solved


def test_pages_are_numbered_alike_in_both(files: dict[str, Path], papers: Papers) -> None:
    """`page 1 of n` counts the exam's own pages, explanations apart."""
    for path in files.values():
        text = text_of(path)
        assert re.findall(r"page (\d+) of (\d+)", text) == [
            (str(i), str(papers.pages)) for i in range(1, papers.pages + 1)
        ]


def test_an_answer_that_doesnt_fit_its_box_is_refused(exam: Exam, store: Store) -> None:
    """Q024 with the size that is needed and the size that is there."""
    item = next(item for item in exam.items if item.variant.id == "rope-shift")
    long = replace(item.variant.parts[0], expected=("word " * 600,))
    variant = replace(item.variant, parts=(long, *item.variant.parts[1:]))
    section = replace(exam.sections[0], items=(replace(item, variant=variant),))
    with pytest.raises(BankError, match="Enlarge `box`") as caught:
        render_exam(replace(exam, sections=(section,)), store)
    assert caught.value.rule == "Q024"
    assert "rope-shift" in str(caught.value)


def test_a_question_longer_than_a_page_is_refused(exam: Exam, store: Store) -> None:
    """A question is never broken over pages."""
    item = exam.items[0]
    variant = replace(item.variant, stem="A long line of text.\n\n" * 90)
    section = replace(exam.sections[0], items=(replace(item, variant=variant),))
    with pytest.raises(BankError, match="longer than a page"):
        render_exam(replace(exam, sections=(section,)), store)


def test_a_short_formula_stands_on_the_line_of_its_text(exam: Exam, store: Store) -> None:
    """Also beside a matrix, where lines are spaced otherwise: letters, a bracket below the line, an index."""
    stem = r"Here $B$, $3\cdot(4)\,C$ and $D_1$ stand beside $\begin{bmatrix}1 \\ 2\end{bmatrix}$."
    item = replace(exam.items[0], variant=replace(exam.items[0].variant, stem=stem))
    made = render_exam(replace(exam, sections=(replace(exam.sections[0], items=(item,)),)), store)
    with pdfplumber.open(io.BytesIO(made.paper)) as document:
        chars = document.pages[1].chars
    lines = {char["text"]: round(char["matrix"][5], 1) for char in reversed(chars)}
    assert [lines[sign] for sign in ("𝐵", "𝐶", "𝐷")] == [lines["H"]] * 3


def test_no_explanation_is_cut_off_from_its_answer(exam: Exam, store: Store, tmp_path: Path) -> None:
    """The last line of a page is never the answers of a question whose explanation is on the next one."""
    items = tuple(replace(item, label=f"A{i}") for i, item in enumerate(exam.items * 6, start=1))
    path = tmp_path / "solutions.pdf"
    path.write_bytes(render_exam(replace(exam, sections=(replace(exam.sections[0], items=items),)), store).solutions)
    pages_ = [page.strip().splitlines() for page in text_of(path).split("\f") if "explanations, page" in page]
    ends = [next(line for line in reversed(page[:-1]) if line.strip()).strip() for page in pages_]
    assert len(ends) > 5
    assert [line for line in ends if line.startswith(("Answers.", "Question "))] == []


@pytest.mark.parametrize(("layout", "paper"), [("plain", "a4"), ("crowdmark", "us-letter")])
def test_other_papers(bank: Bank, store: Store, layout: str, paper: str) -> None:
    """A4 has A4 pages; the Crowdmark layout keeps 3.8 cm blank on top of every page."""
    made = render_exam(exam_of(bank, layout=layout, paper=paper), store)
    with pdfplumber.open(io.BytesIO(made.paper)) as document:
        for page in document.pages:
            assert (float(page.width), float(page.height)) == pytest.approx(PAGES[paper], abs=0.5)
            if layout == "crowdmark":
                assert min(char["top"] for char in page.chars) >= 3.8 * 72 / 2.54 - 0.5


def test_grey_print_keeps_the_filled_marks_apart(files: dict[str, Path], papers: Papers, exam: Exam) -> None:
    """In grey, a filled bubble is at least half as dark as black ink, an empty one has a white middle."""
    solved = pages(files["solutions"], papers.pages)
    paper = pages(files["paper"], papers.pages)
    filled = 0
    for mark in papers.boxes:
        if mark["kind"] in ("circle", "square"):
            x, y = int(mark["x"] + 4.5), int(mark["y"] + 4.5)
            assert paper[mark["page"] - 1][y, x] > 240
            filled += solved[mark["page"] - 1][y, x] < 128
    right = sum(choice.right for item in exam.items for part in item.variant.parts for choice in part.choices)
    assert filled == right > 0
