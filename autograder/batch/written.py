"""The written answers as one PDF a student, with the same pages for everybody, as Gradescope's PDF assignments ask.

Theory of operation. An answer is what a student wrote into the prompt's cell, and the Markdown cells of their own that
follow it. pandoc reads it with everything switched off that could reach another file or format, our code exchanges
pictures for files of our own or for a word, and pandoc writes Typst, in which text can't act as markup. A question
gets as many pages as the longest answer of the class needs, up to a limit; an answer that is longer still is set
smaller, and at last cut, with a note on the page and in `pages.csv`. A missing answer keeps its pages.
"""

from __future__ import annotations

import base64
import json
import re
import subprocess
import tempfile
import urllib.parse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from autograder.batch.gradebook import write_csv
from autograder.batch.notebooks import OwnCell, Prompt, prompts, read_hand_in
from autograder.batch.store import Store, Submitted
from autograder.errors import CourseError, GraderFault
from autograder.model import Assignment
from autograder.report.gradescope import write_atomic
from autograder.report.text import clean, one_line

__all__ = ["Answer", "Written", "answers_of", "set_pdf", "write_all"]

_SIZES = (11.0, 9.5, 8.0, 7.0)
_MOST_PAGES = 3
_LONGEST = 60_000
_CUT = '#text(weight: 700, "Cut here: the answer is longer than its pages. The rest is in the notebook.")'
_MOST_FORMULAS = 60
_LARGEST_PICTURE = 12 * 2**20
_SECONDS = 20
# Raw HTML is read, so that it can be shown as the code that it is; pandoc alone would drop it.
_OFF = "raw_attribute attributes bracketed_spans fenced_divs footnotes definition_lists fancy_lists alerts emoji smart"
_DIALECT = "commonmark_x+hard_line_breaks-yaml_metadata_block" + "".join(f"-{name}" for name in _OFF.split())
_PICTURES = {b"\x89PNG\r\n": "png", b"\xff\xd8\xff": "jpg", b"GIF8": "gif"}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a student wrote to one prompt. text: Markdown, empty when missing · pictures: name → bytes."""

    question: str
    text: str = ""
    pictures: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Written:
    """One PDF. state: question → answered, missing, smaller or cut."""

    submission: str
    path: Path
    state: Mapping[str, str]


# ── what a student wrote ──────────────────────────────────────────────────────────────────────────────────────
def answers_of(path: Path, assignment: Assignment, asked: Sequence[Prompt]) -> tuple[Answer, ...]:
    """One answer a prompt; a hand-in that can't be read has none."""
    found = read_hand_in(path, assignment)
    if found is None:
        return tuple(Answer(prompt.question) for prompt in asked)
    return tuple(_answer(prompt, found.cells, found.files) for prompt in asked)


def _answer(prompt: Prompt, cells: Sequence[OwnCell], files: Mapping[str, bytes]) -> Answer:
    parts: list[OwnCell] = []
    for cell in cells:
        if cell.key == prompt.key:
            parts = [replace(cell, source=without_prompt(cell.source, prompt.text))]
        elif parts and cell.kind == "markdown" and cell.key is None:
            parts.append(cell)
        elif parts:
            break
    pictures = {name: data for cell in parts for name, data in _attached(cell.attachments)}
    text = "\n\n".join(cell.source.strip() for cell in parts).strip()
    return Answer(prompt.question, clean(text), {**_loose(text, files), **pictures})


def without_prompt(source: str, prompt: str) -> str:
    """The student's own lines: those of the prompt go, in their order, wherever the student wrote between them."""
    left = [line.strip() for line in prompt.splitlines() if line.strip()]
    kept = []
    for line in source.splitlines():
        if left and line.strip() == left[0]:
            left.pop(0)
        elif left and line.strip() and line.strip() in left:
            del left[: left.index(line.strip()) + 1]
        else:
            kept.append(_after_label(line, left))
    return "\n".join(kept).strip()


def _after_label(line: str, left: list[str]) -> str:
    """`*Your answer:* Because …` on one line: the label belongs to the prompt."""
    for label in left:
        if re.search(r":\W*$", label) and line.strip().startswith(label):
            del left[: left.index(label) + 1]
            return line.strip().removeprefix(label)
    return line


def _attached(attachments: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    for name, forms in attachments.items():
        for kind, data in forms.items() if isinstance(forms, dict) else ():
            if str(kind).startswith("image/") and isinstance(data, str) and len(data) < 2 * _LARGEST_PICTURE:
                try:
                    yield f"attachment:{name}", base64.b64decode(data)
                except ValueError:
                    continue


def _loose(text: str, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Pictures that lie beside the notebook and are named in the text."""
    return {name: data for name, data in files.items() if name in text or urllib.parse.quote(name) in text}


# ── Markdown → Typst ──────────────────────────────────────────────────────────────────────────────────────────
def _pandoc(source: str, *options: str) -> str:
    try:
        import pypandoc  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        raise CourseError("this needs pandoc and Typst: install softmark[exam]") from None
    command = [str(pypandoc.get_pandoc_path()), "--sandbox", "--data-dir=/nonexistent", *options]
    try:
        done = subprocess.run(command, input=source.encode(), capture_output=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise GraderFault(f"pandoc did not end within {_SECONDS} s") from None
    if done.returncode:
        raise GraderFault(f"pandoc ended with {done.returncode}: {done.stderr.decode(errors='replace')[:300]}")
    return done.stdout.decode()


def to_typst(answer: Answer, folder: Path, *, each: bool = False) -> str:
    """Typst content of an answer; its pictures go into `folder`. Falls back to plain text where pandoc fails.

    each: try every formula and picture alone, and show what can't be set as it was typed.
    """
    try:
        tree = json.loads(_pandoc(answer.text[:_LONGEST], "-f", _DIALECT, "-t", "json"))

        def settable(node: Mapping[str, Any]) -> bool:
            return _is_settable(_typst({**tree, "blocks": [{"t": "Para", "c": [node]}]}), folder)

        walk = _Walk(answer, folder, settable if each else lambda node: True)
        return _typst({**tree, "blocks": walk.nodes(tree["blocks"])})
    except (GraderFault, ValueError, RecursionError):
        return plain(answer.text)


def _typst(tree: Mapping[str, Any]) -> str:
    return _pandoc(json.dumps(tree), "-f", "json", "-t", "typst", "--wrap=none", "--syntax-highlighting=none")


def plain(text: str) -> str:
    """Text as it was typed."""
    return "\n\n".join(f"#text({_literal(part)})" for part in text[:_LONGEST].split("\n") if part.strip())


def _literal(text: str) -> str:
    return json.dumps(one_line(text, 20_000), ensure_ascii=False).replace("\\/", "/")


class _Walk:
    """Exchanges pictures for files of ours, and raw pieces for code. settable: whether this node can be set at all."""

    def __init__(self, answer: Answer, folder: Path, settable: Callable[[Mapping[str, Any]], bool]) -> None:
        self.answer, self.folder, self.settable = answer, folder, settable
        self.made = self.formulas = 0

    def nodes(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.nodes(one) for one in value]
        if not isinstance(value, dict):
            return value
        kind: str | None = value.get("t")
        content: Any = value.get("c")
        if kind == "Image":
            return self._image(content)
        if kind == "Math":
            return self._formula(value)
        if kind in ("RawInline", "RawBlock"):
            code = {"t": "Code", "c": [["", [], []], str(content[1])]}
            return code if kind == "RawInline" else {"t": "Para", "c": [code]}
        if kind == "Header":
            return {"t": "Para", "c": [{"t": "Strong", "c": self.nodes(content[2])}]}
        return {key: self.nodes(one) for key, one in value.items()}

    def _formula(self, node: Mapping[str, Any]) -> Any:
        """The formula, or its LaTeX as code."""
        self.formulas += 1
        if self.formulas <= _MOST_FORMULAS and self.settable(node):
            return node
        kind, text = node["c"]
        mark = "$$" if kind["t"] == "DisplayMath" else "$"
        return {"t": "Code", "c": [["", [], []], f"{mark}{text}{mark}"]}

    def _image(self, content: Any) -> Any:
        target = str(content[2][0])
        data = self._bytes(target)
        kind = next((kind for magic, kind in _PICTURES.items() if data.startswith(magic)), None)
        if kind is not None and len(data) <= _LARGEST_PICTURE:
            self.made += 1
            name = f"{self.answer.question}-{self.made}.{kind}"
            (self.folder / name).write_bytes(data)
            node = {"t": "Image", "c": [["", [], [["width", "80%"]]], [], [f"/{name}", ""]]}
            if self.settable(node):
                return node
        return {"t": "Emph", "c": [{"t": "Str", "c": f"[picture not included: {one_line(target, 80)}]"}]}

    def _bytes(self, target: str) -> bytes:
        if target.startswith("data:image/") and ";base64," in target[:40]:
            try:
                return base64.b64decode(target.partition(",")[2])
            except ValueError:
                return b""
        return self.answer.pictures.get(target) or self.answer.pictures.get(urllib.parse.unquote(target)) or b""


# ── Typst → PDF ───────────────────────────────────────────────────────────────────────────────────────────────
_HEAD = """\
#set document(title: {title})
#set page(paper: "a4", margin: (x: 2.2cm, top: 2.6cm, bottom: 2cm), numbering: "1 / 1",
  header: [#set text(size: 9pt); #{who} #h(1fr) #{title} #v(-0.6em) #line(length: 100%, stroke: 0.4pt)])
#set par(justify: false, leading: 0.62em, spacing: 0.9em)
#set image(fit: "contain")
#let horizontalrule = line(length: 100%, stroke: 0.4pt)
"""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A question as it is set. content: Typst · size: of the type in pt · pages: how many it gets, 0 as it needs."""

    question: str
    content: str
    size: float = _SIZES[0]
    pages: int = 0
    state: str = "answered"


def _document(who: str, title: str, pieces: Sequence[_Piece], used: Mapping[str, int]) -> str:
    parts = [_HEAD.format(who=_literal(who), title=_literal(title))]
    for place, piece in enumerate(pieces):
        name = _literal(piece.question)
        parts += ["#pagebreak()"] if place else []
        parts += [f"#context [#metadata((id: {name}, at: 0, page: here().page()))<mark>]"]
        parts += [f"#text(size: 13pt, weight: 700, {_literal(f'Question {piece.question}')})", ""]
        parts += [f"#[\n#set text(size: {piece.size}pt)\n{piece.content}\n]"]
        parts += [f"#context [#metadata((id: {name}, at: 1, page: here().page()))<mark>]"]
        missing = piece.pages - used.get(piece.question, piece.pages)
        parts += ['#pagebreak()\n#text(fill: gray, "This page stays empty.")'] * max(0, missing)
    return "\n".join(parts)


def _set(document: str, folder: Path) -> tuple[bytes, dict[str, int]]:
    """The PDF and how many pages each question used. Raises GraderFault when Typst can't set it."""
    try:
        import typst
    except ImportError:
        raise CourseError("this needs pandoc and Typst: install softmark[exam]") from None
    main = folder / "main.typ"
    main.write_text(document, encoding="utf-8")
    compiler = typst.Compiler(str(main), root=str(folder))
    try:
        pdf = compiler.compile(format="pdf")
        marks = json.loads(compiler.query("<mark>", field="value"))
    except typst.TypstError as error:
        raise GraderFault(f"Typst can't set this: {error.message}") from error
    first = {mark["id"]: mark["page"] for mark in marks if mark["at"] == 0}
    used = {mark["id"]: mark["page"] - first[mark["id"]] + 1 for mark in marks if mark["at"] == 1}
    if not isinstance(pdf, bytes):
        raise GraderFault("Typst gave no PDF")
    return pdf, used


def set_pdf(who: str, title: str, answers: Sequence[Answer], pages: Mapping[str, int]) -> tuple[bytes, dict[str, str]]:
    """One student's PDF with exactly `pages` pages a question, and what became of each answer."""
    with tempfile.TemporaryDirectory(prefix="softmark-written-") as name:
        folder = Path(name)
        pieces = [_fitted(answer, pages[answer.question], title, folder) for answer in answers]
        _, used = _set(_document(who, title, pieces, {}), folder)
        pdf, _ = _set(_document(who, title, pieces, used), folder)
    return pdf, {piece.question: piece.state for piece in pieces}


def _fitted(answer: Answer, pages: int, title: str, folder: Path) -> _Piece:
    """The answer at the largest size at which it fits; at the smallest it is cut until it does."""
    if not answer.text:
        return _Piece(answer.question, "_No answer was handed in._", pages=pages, state="missing")
    content, used = _settable(answer, folder), 0
    for size in _SIZES:
        state = "answered" if size == _SIZES[0] else "smaller"
        piece = _Piece(answer.question, content, size, pages, state)
        used = _pages_of(piece, title, folder)
        if used <= pages:
            return piece
        if used > 4 * pages:
            break  # no smaller type makes up for that
    return _cut(answer, used, pages, title, folder)


def _cut(answer: Answer, used: int, pages: int, title: str, folder: Path) -> _Piece:
    """As much of the answer as its pages hold at the smallest size, and a word that more is in the notebook."""
    text = answer.text[:_LONGEST]
    while True:
        text = (
            text[: int(len(text) * min(0.9, 2.2 * pages / used))] if used > 2 * pages else text[: len(text) * 9 // 10]
        )
        content = f"{_settable(replace(answer, text=text), folder)}\n\n{_CUT}"
        piece = _Piece(answer.question, content, _SIZES[-1], pages, "cut")
        used = _pages_of(piece, title, folder)
        if used <= pages:
            return piece


def _settable(answer: Answer, folder: Path) -> str:
    """Content that Typst accepts: as pandoc wrote it, else without the formulas and pictures that can't be set, or
    else the plain text."""
    for each in (False, True):
        content = to_typst(answer, folder, each=each)
        if _is_settable(content, folder):
            return content
    return plain(answer.text)


def _is_settable(content: str, folder: Path) -> bool:
    try:
        _set(_document("", "", [_Piece("1", content)], {}), folder)
    except GraderFault:
        return False
    return True


def _pages_of(piece: _Piece, title: str, folder: Path) -> int:
    return _set(_document("", title, [piece], {}), folder)[1][piece.question]


# ── the class ─────────────────────────────────────────────────────────────────────────────────────────────────
def write_all(
    store: Store,
    assignment: Assignment,
    out: Path,
    *,
    pages: Mapping[str, int] | None = None,
    watch: Callable[[int], None] = lambda done: None,
) -> tuple[Written, ...]:
    """A PDF for each submission in `out`, and `pages.csv`. pages: pages a question, else as the class needs."""
    asked = prompts(assignment)
    if not asked:
        raise CourseError("this assignment has no written question", where=assignment.folder / assignment.notebook)
    unknown = set(pages or {}) - {prompt.question for prompt in asked}
    if unknown:
        raise CourseError(f"{', '.join(sorted(unknown))} is no written question", key="--pages")
    fixed = {prompt.question: 1 for prompt in asked} | dict(pages or {})
    if pages is None:
        fixed |= _needed(store, assignment, asked)
    out.mkdir(mode=0o700, parents=True, exist_ok=True)
    done = []
    for number, submitted in enumerate(store.submissions(), 1):
        answers = answers_of(submitted.path, assignment, asked)
        pdf, state = set_pdf(_who(submitted), assignment.title, answers, fixed)
        path = out / f"{submitted.id}.pdf"
        write_atomic(path, pdf)
        done.append(Written(submitted.id, path, state))
        watch(number)
    write_atomic(out / "pages.csv", write_csv(_table(done, fixed)))
    return tuple(done)


def _needed(store: Store, assignment: Assignment, asked: Sequence[Prompt]) -> dict[str, int]:
    """Pages of the longest answer to each prompt, by its length in lines and pictures; then measured."""
    longest: dict[str, tuple[int, Answer]] = {}
    for submitted in store.submissions():
        for answer in answers_of(submitted.path, assignment, asked):
            size = sum(1 + len(line) // 90 for line in answer.text.splitlines()) + 25 * answer.text.count("![")
            if size > longest.get(answer.question, (0, answer))[0]:
                longest[answer.question] = (size, answer)
    needed = {}
    with tempfile.TemporaryDirectory(prefix="softmark-written-") as name:
        for question, (_, answer) in longest.items():
            piece = _Piece(question, _settable(answer, Path(name)))
            needed[question] = min(_MOST_PAGES, _pages_of(piece, "", Path(name)))
    return needed


def _who(submitted: Submitted) -> str:
    people = [" ".join(filter(None, (one_line(p.name, 60), p.sid))) for p in submitted.hand_in.people]
    return ", ".join(people[:6]) or submitted.id


def _table(done: Sequence[Written], pages: Mapping[str, int]) -> Iterator[list[str]]:
    yield ["submission", "file", *(f"{question} ({count} pages)" for question, count in pages.items())]
    for one in done:
        yield [one.submission, one.path.name, *(one.state[question] for question in pages)]


def parse_pages(text: str) -> dict[str, int]:
    """`E=2,F=1` → pages a question. Raises CourseError."""
    found = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = re.fullmatch(r"([^=\s]+)=([1-9][0-9]?)", part)
        if match is None:
            raise CourseError(f"{part!r} is not QUESTION=PAGES, such as E=2", key="--pages")
        found[match[1]] = int(match[2])
    return found
