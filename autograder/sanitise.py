"""A submission → the notebook that we are willing to run, the edits made, and notes to the student.

Theory of operation. The hand-in's bytes are decoded into cells; everything that is not a cell's source is dropped:
outputs, attachments, widgets, metadata, kernel. Then the course's own cells are put back from the release, matched
by tag, id, equal source, or place, so that what a student did to them decides nothing. All other cells are the
student's; they stay, in their order, and are run. Answers are found by the names that they define; a tag is a hint.

A given cell that a student changed is not lost: what they added to it (imports, own helpers, a personal id) runs
right after the course's version. The function is pure: it reads no file and changes no argument.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from autograder.avoided import places
from autograder.cells import new_cell, new_notebook
from autograder.decode import Cell, Decoded, decode
from autograder.model import Assignment, Edit, Note, QuestionSpec, Submission
from autograder.pysource import (
    MAX_TOKENS,
    Definitions,
    count_tokens,
    definitions,
    is_stub,
    look_alike,
    parse_cell,
    unbound_names,
)

__all__ = ["sanitise"]

#: Name of the metadata that holds our tags, in releases and in what is run.
_KEY = "softmark"
#: Roles whose cells are the course's.
_COURSE = ("given", "public-check")
_TEXT_HELP = (
    "Click the cell, press Esc and then Y (in Colab: copy the text into a new code cell), run it, save, and hand it in "
    "again."
)


def sanitise(
    submission: Submission, release: Any, assignment: Assignment, *, key: str = _KEY
) -> tuple[Any, tuple[Edit, ...], tuple[Note, ...]]:
    """The notebook to run (nbformat 4.5), the edits, and what was met.

    release: the course's student notebook (NotebookNode) · key: name of the metadata that holds the hand-in's tags.
    Each cell of the result carries `{"softmark": {"cell": n, "role": …, "question": …}}`, where n is the cell's number
    in the hand-in, from 1, and is missing for cells that the hand-in lacks. The notebook's own `softmark` says, where
    it is known, which `python` the student ran, and whether the saved `run_order` was "in order" or "out of order".
    Raises SubmissionError with one or two plain sentences when the file holds no notebook for Python.
    """
    found = decode(submission.notebook, key)
    work = _Work(found, _release_cells(release), assignment)
    cells = work.cells()
    notes = (*work.top_notes(), *found.notes, *work.notes)
    said = {"python": found.python, "run_order": work.run_order()}
    return _notebook(cells, assignment, said), (*found.edits, *work.edits), notes


# ---------------------------------------------------------------------------------------------------------------
# values


@dataclass(frozen=True, slots=True)
class _Course:
    """One cell of the release. place: its index there."""

    place: int
    kind: str
    source: str
    id: str
    role: str | None
    question: str | None


@dataclass(frozen=True)
class _Own:
    """One cell of the hand-in with what is known about it. course: the release's cell that it is a copy of.

    place: where it stands in the release's order, for cells that belong there.
    """

    cell: Cell
    role: str | None = None
    question: str | None = None
    course: _Course | None = None
    place: int | None = None
    source: str = ""
    parsed: ast.Module | SyntaxError | None = None

    @cached_property
    def defined(self) -> Definitions:
        return definitions(self.parsed) if isinstance(self.parsed, ast.Module) else {}


def _read(cells: Sequence[Cell], release: Sequence[_Course]) -> list[_Own]:
    """The cells with their trees, as far as these fit into memory: the shortest cells are analysed first.

    Those of the release stand in every hand-in, and are analysed once.
    """
    known = {c.source for c in release}
    own = [_Own(c, source=_without_backends(c.source) if c.kind == "code" else c.source) for c in cells]
    room = MAX_TOKENS
    for index, mine in sorted(enumerate(own), key=lambda place: len(place[1].source)):
        if mine.cell.kind == "code":
            given = _course_tree(mine.source) if mine.source in known else None
            room -= count_tokens(mine.source, room) if given is None else 0
            if room < 0:
                break
            own[index] = replace(mine, parsed=given or parse_cell(mine.source))
    return own


@lru_cache(maxsize=1024)
def _course_tree(source: str) -> ast.Module | SyntaxError | None:
    return parse_cell(source)


@dataclass(frozen=True, slots=True)
class _Out:
    """One cell of the result."""

    kind: str
    source: str
    id: str | None
    role: str | None = None
    question: str | None = None
    number: int | None = None
    place: int | None = None


def _release_cells(release: Any) -> tuple[_Course, ...]:
    cells = []
    for place, cell in enumerate(release["cells"]):
        mark = cell.get("metadata", {}).get(_KEY, {})
        source = "".join(cell["source"])
        cells.append(
            _Course(place, cell["cell_type"], source, str(cell.get("id", "")), mark.get("role"), mark.get("question"))
        )
    return tuple(cells)


@lru_cache(maxsize=1024)
def _plain(source: str) -> str:
    """Source for comparing: without trailing blanks and outer empty lines."""
    return "\n".join(line.rstrip() for line in source.strip().splitlines())


# ---------------------------------------------------------------------------------------------------------------
# the work


class _Work:
    """One hand-in on its way: cells matched, answers found, course cells restored."""

    def __init__(self, found: Decoded, release: Sequence[_Course], assignment: Assignment) -> None:
        self.found, self.release, self.assignment = found, release, assignment
        self.edits: list[Edit] = []
        self.notes: list[Note] = []
        self.owner = {name: q for q in assignment.questions for name in q.functions}
        self.setup = next((c for c in release if c.role == "given" and c.kind == "code"), None)
        self.unknown: list[Cell] = []
        self.own = self._answers(self._matched())

    def cells(self) -> list[_Out]:
        """The cells of the result, in order; edits and notes are collected on the way."""
        own = list(self._without_stub_copies())
        self._about_answers(own)
        self._about_sources(own)
        self._about_avoided(own)
        out = [piece for cell in own for piece in self._pieces(cell)]
        out = self._with_missing(out)
        if self.setup is not None:
            out = [self._course_out(self.setup, self._number_of(self.setup)), *out]
        return out

    def _about_avoided(self, own: Sequence[_Own]) -> None:
        """Tell staff, and nobody else, where an answer may use what it was asked to do without."""
        mine = [(one, one.parsed) for one in own if one.course is None and isinstance(one.parsed, ast.Module)]
        for question in self.assignment.questions:
            if not question.avoid:
                continue
            found = list(places([tree for _, tree in mine], question.functions, question.avoid))
            if found:
                listed = ", ".join(
                    f"cell {mine[at][0].cell.number} line {line} ({what})" for at, line, what in found[:5]
                )
                asked = _code(question.avoid)
                said = f"question {question.id} is to be written without {asked}: look at {listed}. This is no proof."
                self.notes.append(Note(said, question.id, staff_only=True))

    # -- matching

    def _matched(self) -> list[_Own]:
        """Hand-in cells with the course cell of which each is a copy, tried from the surest sign to the weakest."""
        own = _read(self.found.cells, self.release)
        free = [c for c in self.release if c.role in _COURSE]
        for sign in _SIGNS:
            for index, mine in enumerate(own):
                hit = next((c for c in free if sign(mine.cell, c)), None) if mine.course is None else None
                if hit is not None:
                    own[index] = replace(mine, course=hit, place=hit.place, role=hit.role, question=hit.question)
                    free.remove(hit)
        own = self._by_place(own, free)
        return [self._text_place(mine) for mine in own]

    def _by_place(self, own: list[_Own], free: list[_Course]) -> list[_Own]:
        """Without tags and ids (old formats), the same number of cells in the same kinds is the release's order."""
        kinds = [m.cell.kind for m in own]
        if any(m.cell.tagged or m.cell.id for m in own) or kinds != [c.kind for c in self.release]:
            return own
        return [
            replace(m, course=c, place=c.place, role=c.role, question=c.question)
            if m.course is None and c in free
            else m
            for m, c in zip(own, self.release, strict=True)
        ]

    def _text_place(self, mine: _Own) -> _Own:
        """Where an untouched text, demo or written cell stands in the release."""
        if mine.place is not None:
            return mine
        for course in self.release:
            if course.role not in (*_COURSE, "answer") and course.kind == mine.cell.kind:
                same = mine.cell.id == course.id or _plain(mine.cell.source) == _plain(course.source)
                tagged = course.role is not None and (course.role, course.question) == (
                    mine.cell.role,
                    mine.cell.question,
                )
                if same or tagged:
                    return replace(mine, place=course.place, role=course.role, question=course.question)
        return mine

    # -- answers

    def _answers(self, own: Sequence[_Own]) -> list[_Own]:
        """Tie cells to questions: by a tag that fits, else by the function that they define."""
        return [mine if mine.course is not None or mine.role is not None else self._answer(mine) for mine in own]

    def _answer(self, mine: _Own) -> _Own:
        question = self._tagged_question(mine.cell)
        if question is None:
            question = next((self.owner[name] for name in mine.defined if name in self.owner), None)
            if question is None and mine.cell.role in (None, "answer") and mine.cell.question is not None:
                self.unknown.append(mine.cell)
        if question is None:
            return mine
        place = next((c.place for c in self.release if c.role == "answer" and c.question == question.id), None)
        return replace(mine, role="answer", question=question.id, place=place)

    def _tagged_question(self, cell: Cell) -> QuestionSpec | None:
        """The question of an answer's tag; "q1" is read as "1" where only that exists."""
        if cell.role not in (None, "answer") or cell.question is None:
            return None
        known = {q.id: q for q in self.assignment.questions}
        return known.get(cell.question) or known.get(cell.question.removeprefix("q").removeprefix("Q"))

    def _defining(self, own: Sequence[_Own], name: str) -> list[_Own]:
        return [mine for mine in own if name in mine.defined and mine.course is None]

    def _without_stub_copies(self) -> Iterator[_Own]:
        """All cells but those that would only put stubs over answers further up."""
        for index, mine in enumerate(self.own):
            earlier = self._covered(mine, self.own[:index])
            if earlier is None:
                yield mine
                continue
            number, question = mine.cell.number, mine.question
            self.edits.append(Edit("left out a copy that would have undone an answer", number))
            self.notes.append(
                Note(
                    f"Cell {number} defines {_code(mine.defined)} a second time, without an answer, and would have "
                    f"undone cell {earlier.cell.number}. Cell {earlier.cell.number} was graded. Delete cell {number}.",
                    question=question,
                    needs_human=True,
                )
            )

    def _covered(self, mine: _Own, earlier: Sequence[_Own]) -> _Own | None:
        """The cell with the real answer, if this one holds nothing but stubs of functions defined before."""
        names = [name for name in mine.defined if name in self.owner]
        if not names or len(names) != len(mine.defined) or mine.course is not None:
            return None
        if not isinstance(mine.parsed, ast.Module) or len(mine.parsed.body) != len(names):
            return None
        real = [e for name in names for e in self._defining(earlier, name) if not is_stub(e.defined[name])]
        return real[-1] if real and all(is_stub(mine.defined[name]) for name in names) else None

    # -- the course's cells

    def _pieces(self, mine: _Own) -> Iterator[_Out]:
        """What takes a hand-in cell's place in the result."""
        cell, course = mine.cell, mine.course
        if course is None:
            yield _Out(cell.kind, mine.source, cell.id, mine.role, mine.question, cell.number, mine.place)
            return
        changed = _plain(cell.source) != _plain(course.source)
        if changed or cell.kind != course.kind:
            self.edits.append(Edit(f"restored the {_called(course)}", cell.number))
        if course is not self.setup:
            yield self._course_out(course, cell.number)
        if changed and course.role == "given":
            added = _added([c.source for c in self.release if c.role == "given" and c.kind == "code"], mine.source)
            if added:
                self.notes.append(
                    Note(
                        f"You changed cell {cell.number}, which belongs to the assignment. The assignment's version "
                        "runs first, then what you added. Put your own lines into a cell of their own."
                    )
                )
                yield _Out("code", added, None, None, None, cell.number, course.place)

    def _course_out(self, course: _Course, number: int | None) -> _Out:
        return _Out(course.kind, course.source, course.id, course.role, course.question, number, course.place)

    def _number_of(self, course: _Course) -> int | None:
        return next((mine.cell.number for mine in self.own if mine.course is course), None)

    def _with_missing(self, out: list[_Out]) -> list[_Out]:
        """Put in the course cells that the hand-in lacks, where the release has them."""
        present = {mine.course.place for mine in self.own if mine.course is not None}
        for course in self.release:
            if course.role not in _COURSE or course.kind != "code" or course.place in present or course is self.setup:
                continue
            self.edits.append(Edit(f"put back the {_called(course)}, which was missing"))
            out.insert(_spot(course, out), self._course_out(course, None))
        if self.setup is not None and self.setup.place not in present:
            self.edits.append(Edit(f"put back the {_called(self.setup)}, which was missing"))
        return out

    # -- notes

    def top_notes(self) -> Iterator[Note]:
        """What a student must see first: nothing answered, another assignment, an old release."""
        if self._is_blank():
            yield Note(
                "This is the unmodified release: no answer was changed. Check that you saved the notebook and handed "
                "in the right file."
            )
        name, version = self.found.assignment, self.found.version
        if name is not None and name != self.assignment.name:
            yield Note(
                f"The notebook says that it belongs to the assignment {name[:60]!r}, not to {self.assignment.name!r}. "
                "It was graded all the same; check that you handed in the right file.",
                needs_human=True,
            )
        elif version is not None and version != self.assignment.version:
            yield Note(
                f"The notebook comes from release {version[:30]} of the assignment; the current one is release "
                f"{self.assignment.version}. Answers that still fit were graded."
            )
        for cell in self.unknown:
            yield Note(
                f"Cell {cell.number} says that it answers question {(cell.question or '')[:30]!r}, which this release "
                "does not have, and it defines none of the functions that are asked for.",
                needs_human=True,
            )

    def _is_blank(self) -> bool:
        """Whether every code cell is as it was handed out, and no written answer was touched."""
        known = {_plain(c.source) for c in self.release}
        answers = {_plain(c.source) for c in self.release if c.role == "answer"}
        kept = {_plain(m.cell.source) for m in self.own}
        watched = [m for m in self.own if m.course is None and (m.cell.kind == "code" or m.role == "written")]
        return bool(answers) and answers <= kept and all(_plain(m.cell.source) in known for m in watched)

    def _about_answers(self, own: Sequence[_Own]) -> None:
        for question in self.assignment.questions:
            texts = [m for m in own if m.cell.kind != "code" and self._is_answer_as_text(m, question)]
            for name in question.functions:
                cells = self._defining(own, name)
                real = [m for m in cells if not is_stub(m.defined[name])]
                if not cells and texts:
                    self._about_text(texts[0], question)
                    break
                self._about_doubles(name, question, real or cells)

    def _is_answer_as_text(self, mine: _Own, question: QuestionSpec) -> bool:
        if mine.role == "answer" and mine.question == question.id:
            return True
        return mine.role is None and any(
            re.search(rf"^\s*(def|class)\s+{re.escape(name)}\b", mine.cell.source, re.MULTILINE)
            for name in question.functions
        )

    def _about_text(self, mine: _Own, question: QuestionSpec) -> None:
        self.notes.append(
            Note(
                f"Cell {mine.cell.number}, the answer to question {question.id}, is a text cell and not a code cell, "
                f"so it can't be run. {_TEXT_HELP}",
                question=question.id,
                needs_human=True,
            )
        )

    def _about_doubles(self, name: str, question: QuestionSpec, cells: Sequence[_Own]) -> None:
        """Two different definitions of one function: the last one counts."""
        if len(cells) > 1 and len({ast.dump(m.defined[name]) for m in cells}) > 1:
            numbers = [str(m.cell.number) for m in cells]
            self.notes.append(
                Note(
                    f"`{name}` is defined in cells {', '.join(numbers[:-1])} and {numbers[-1]}. All of them ran, and "
                    f"the last one, cell {numbers[-1]}, was graded.",
                    question=question.id,
                )
            )

    def _about_sources(self, own: Sequence[_Own]) -> None:
        for mine in own:
            if mine.cell.kind == "code" and mine.course is None:
                if mine.source != mine.cell.source:
                    self.edits.append(Edit("pictures are drawn inline, whatever the cell asks for", mine.cell.number))
                self._about_look_alikes(mine)
            if mine.cell.kind == "code" and "google.colab" in mine.source:
                self.notes.append(Note(_about_colab(mine), question=mine.question))
        self._about_hidden_state(own)

    def _about_look_alikes(self, mine: _Own) -> None:
        if not isinstance(mine.parsed, SyntaxError):
            return
        odd = look_alike(mine.source, mine.parsed.lineno)
        if odd is not None:
            name, line, column = odd
            self.notes.append(
                Note(
                    f"Cell {mine.cell.number} can't be run: in line {line}, column {column} there is a {name}, which "
                    "only looks like a sign of Python. Type it again on the keyboard.",
                    question=mine.question,
                )
            )

    def run_order(self) -> str | None:
        """Whether the saved run numbers rise from top to bottom; None where there are none."""
        counts = [m.cell.count for m in self.own if m.cell.kind == "code" and m.cell.count is not None]
        if not counts:
            return None
        return "in order" if counts == sorted(set(counts)) else "out of order"

    def _about_hidden_state(self, own: Sequence[_Own]) -> None:
        """Run numbers out of order, and a name that no cell defines: it was there in the student's session only."""
        trees = [m.parsed for m in own if isinstance(m.parsed, ast.Module)]
        code = [m for m in own if m.cell.kind == "code"]
        if self.run_order() != "out of order" or len(trees) != len(code):
            return
        course = [_course_tree(c.source) for c in self.release if c.role in _COURSE and c.kind == "code"]
        names = unbound_names([*trees, *(tree for tree in course if isinstance(tree, ast.Module))])
        if names:
            self.notes.append(
                Note(
                    f"{_code(names)} {'is' if len(names) == 1 else 'are'} not defined by any cell, and the saved run "
                    "numbers are out of order: the notebook worked in your session only. Restart the kernel, run all "
                    "cells from the top, and repair what fails."
                )
            )


def _same_tag(cell: Cell, course: _Course) -> bool:
    return cell.role == course.role and cell.question == course.question


def _same_source(cell: Cell, course: _Course) -> bool:
    return cell.kind == course.kind and _plain(cell.source) == _plain(course.source)


#: Signs by which a hand-in's cell is known as a course cell, surest first.
_SIGNS = (
    lambda cell, course: _same_tag(cell, course) and cell.id == course.id,
    lambda cell, course: _same_tag(cell, course) and _same_source(cell, course),
    _same_tag,
    lambda cell, course: not cell.tagged and cell.id == course.id and cell.kind == course.kind,
    lambda cell, course: not cell.tagged and _same_source(cell, course),
)


def _spot(course: _Course, out: Sequence[_Out]) -> int:
    """Where a missing course cell goes: a given cell before all that follows it, a check behind its answer."""
    if course.role == "public-check":
        behind = [i for i, cell in enumerate(out) if cell.question == course.question or _before(cell, course)]
        return behind[-1] + 1 if behind else len(out)
    return next((i for i, cell in enumerate(out) if cell.place is not None and cell.place > course.place), len(out))


def _before(cell: _Out, course: _Course) -> bool:
    return cell.place is not None and cell.place < course.place


def _called(course: _Course) -> str:
    return f"{'given' if course.role == 'given' else 'public check'} cell {course.id!r}"


def _code(names: Collection[str]) -> str:
    """The first few names as code."""
    shown = [f"`{name}`" for name in list(names)[:4]]
    return ", ".join(shown) + (", …" if len(names) > 4 else "")


def _without_backends(source: str) -> str:
    """`%matplotlib widget` and other windows need what a grader has not; pictures go inline."""
    source = re.sub(r"(?m)^(\s*%matplotlib[ \t]+)(?!inline\b|agg\b|--list\b|-l\b)\S+[^\n]*$", r"\1inline", source)
    return re.sub(r"(run_line_magic\(\s*['\"]matplotlib['\"]\s*,\s*['\"])(?!inline['\"])[^'\"]*", r"\1inline", source)


def _about_colab(mine: _Own) -> str:
    text = f"Cell {mine.cell.number} uses `google.colab`, which exists in Colab only; it can't do anything here."
    if "files.upload" in mine.source:
        text += " Put the file that you upload there next to the notebook, and hand in both."
    elif "drive.mount" in mine.source:
        text += " Files on your drive can't be read here: hand them in next to the notebook."
    return text


def _added(given: Sequence[str], mine: str) -> str:
    """What a student added to a given cell: statements that bind no name of given cells, and values of settings.

    given: sources of the course's given cells. A cell that can't be told apart (magics, syntax errors) adds nothing.
    """
    own = parse_cell(mine)
    if not isinstance(own, ast.Module) or mine.lstrip().startswith("%%"):
        return ""
    course = [node for source in given for node in _body(source)]
    known = {ast.dump(node) for node in course}
    bound = {name: node for node in course for name in _binds(node)}
    kept = [node for node in own.body if ast.dump(node) not in known and _is_own(node, bound)]
    return "\n".join(ast.unparse(node) for node in kept)


def _body(source: str) -> list[ast.stmt]:
    tree = _course_tree(source)
    return tree.body if isinstance(tree, ast.Module) else []


def _binds(node: ast.stmt) -> Iterator[str]:
    yield from definitions(ast.Module([node], []))
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from ((alias.asname or alias.name).split(".")[0] for alias in node.names)


def _is_own(node: ast.stmt, bound: Mapping[str, ast.stmt]) -> bool:
    taken = [bound[name] for name in _binds(node) if name in bound]
    return all(_is_setting(other) for other in taken) and (not taken or _is_setting(node))


def _is_setting(node: ast.stmt) -> bool:
    """`STUDENT_ID = "…"`: a name with a plain value, which a student is meant to fill in."""
    return isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Constant)


# ---------------------------------------------------------------------------------------------------------------
# the result


def _notebook(cells: Sequence[_Out], assignment: Assignment, said: Mapping[str, str | None]) -> Any:
    taken: set[str] = set()
    return new_notebook(
        [new_cell(c.kind, c.source, id=_unique(c.id, taken), metadata=_mark(c)) for c in cells],
        {
            _KEY: {"assignment": assignment.name, "version": assignment.version}
            | {name: value for name, value in said.items() if value is not None},
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
    )


def _mark(cell: _Out) -> dict[str, Any]:
    values = {"role": cell.role, "question": cell.question, "cell": cell.number}
    mark = {name: value for name, value in values.items() if value is not None}
    return {_KEY: mark} if mark else {}


def _unique(id: str | None, taken: set[str]) -> str:
    """A valid id that no earlier cell has."""
    stem = id if id is not None and re.fullmatch(r"[A-Za-z0-9_-]{1,60}", id) else "own"
    name, number = stem, 1
    while name in taken:
        number += 1
        name = f"{stem[:55]}-{number}"
    taken.add(name)
    return name
