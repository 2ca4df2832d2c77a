"""The bytes of a hand-in → its cells. Reads what people really hand in, and says in plain words what it can't read.

The notebook library is not used for reading: it loses the source of notebooks without a version key, recurses over
metadata, and turns small faults into errors that name no cause. Here the JSON is decoded once, outputs are cut out
of large files before that, and only what the grader needs is taken: kind, source, id, tag and run number of a cell.
How many values there are is counted before any of them is made, since a byte of JSON can cost thirty of memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from autograder.errors import SubmissionError
from autograder.lean import LARGE, TooLarge, lean, utf_16_of
from autograder.model import Edit, Note

__all__ = ["Cell", "Decoded", "decode"]

#: More code cells or characters than any course's notebook has.
MAX_CELLS = 2_000
MAX_SOURCE = 2 * 2**20
#: Characters of all text cells that are kept; the rest is nothing but pictures, and text is not run.
MAX_TEXT = 2**20
#: Values of a notebook without its outputs, in a file from this size on.
MAX_VALUES = 300_000
_COUNTED = 2**20
_SAVE_AGAIN = "Open the notebook in Jupyter or Colab, save it, and hand it in again."
_RIGHT_FILE = (
    "Check that it is the right file. In Jupyter or Colab choose File → Download → Download .ipynb, and hand that in."
)
_NEXT_TIME = "It was graded all the same. Next time, open it in Jupyter or Colab and save it before you hand it in."


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell as it was handed in.

    number: as the student counts, from 1 · kind: code, markdown or raw · role, question: of its tag, if that has the
    right form · count: the saved run number.
    """

    number: int
    kind: str
    source: str
    id: str | None = None
    role: str | None = None
    question: str | None = None
    count: int | None = None

    @property
    def tagged(self) -> bool:
        return self.role is not None or self.question is not None


@dataclass(slots=True)
class Decoded:
    """A notebook's cells, what its metadata says of assignment, release and Python version, and what was met."""

    cells: list[Cell] = field(default_factory=list)
    assignment: str | None = None
    version: str | None = None
    python: str | None = None
    notes: list[Note] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)

    def note(self, text: str) -> None:
        self.notes.append(Note(text))


def decode(content: bytes, key: str) -> Decoded:
    """All cells of a notebook file. key: name of the metadata that holds tags.

    Raises SubmissionError with the cause and what to do.
    """
    found = Decoded()
    if len(content) > LARGE and not utf_16_of(content):
        content = _without_outputs(content, found)
    if len(content) > _COUNTED:
        _refuse_too_many_values(content)
    text = _text(content, found)
    del content  # all of these can be large, and one odd character makes a text four times as wide
    notebook = _notebook(_json(text, found))
    del text
    _about_the_version(notebook, found)
    metadata = _table(notebook.get("metadata"))
    _refuse_other_language(metadata)
    mark = _table(metadata.get(key))
    found.assignment, found.version = _word(mark.get("assignment")), _word(mark.get("version"))
    found.python = _word(_table(metadata.get("language_info")).get("version"))
    _read_cells(_raw_cells(notebook), key, found)
    if not found.cells:
        raise SubmissionError("The notebook has no cells with anything in them. Check that you saved the right file.")
    return found


# ---------------------------------------------------------------------------------------------------------------
# text


def _text(content: bytes, found: Decoded) -> str:
    """Bytes → text. UTF-8 silently, with or without a byte-order mark; anything else with a note."""
    if encoding := utf_16_of(content):
        found.note("The file is saved as UTF-16 instead of UTF-8; it was converted.")
        return content.decode(encoding, "replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        found.note(
            f"The file is not UTF-8 (byte {error.start}); it was read as Latin-1, so some letters may be wrong. "
            "Save it as UTF-8."
        )
        return content.decode("latin-1")


def _without_outputs(content: bytes, found: Decoded) -> bytes:
    try:
        content, dropped = lean([content], 2 * MAX_SOURCE)
    except TooLarge:
        raise SubmissionError(_TOO_MUCH) from None
    if dropped:
        found.edits.append(Edit(f"dropped {dropped // 1_000_000} MB of saved outputs and pictures"))
    return content


_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_TOO_MUCH = "The notebook holds more than 2 million characters of code and text. Hand in less."


def _refuse_too_many_values(content: bytes) -> None:
    outside = _STRING.sub(b"", content)
    if sum(map(outside.count, (b",", b"[", b"{"))) > MAX_VALUES:
        raise SubmissionError(
            f"The notebook's file holds more than {MAX_VALUES} values beside its outputs, far more than any notebook "
            f"needs. {_SAVE_AGAIN}"
        )


# ---------------------------------------------------------------------------------------------------------------
# JSON


def _json(text: str, found: Decoded) -> Any:
    """The first complete JSON value of the text."""
    begin = len(text) - len(text.lstrip())
    decoder = json.JSONDecoder(strict=False, parse_int=_whole, parse_constant=str)
    try:
        value, end = decoder.raw_decode(text, begin)
    except RecursionError:
        raise SubmissionError(f"The notebook is nested too deeply to be read. {_SAVE_AGAIN}") from None
    except ValueError as error:
        raise SubmissionError(_broken(text, error)) from None
    rest = text[end:].strip()
    if rest:
        line = text.count("\n", 0, end) + 1
        found.note(f"There is text behind the end of the notebook (line {line}); it was left out. {_NEXT_TIME}")
    return value


def _whole(digits: str) -> int:
    """Integers of a notebook are short; a huge one is not worth the time."""
    return int(digits) if len(digits) < 20 else 0


def _broken(text: str, error: ValueError) -> str:
    """Why a text is no JSON, for the student."""
    if not text.strip():
        return f"The file is empty. {_SAVE_AGAIN}"
    marks = [
        n for n, line in enumerate(text.splitlines(), 1) if re.match(r"(<{7}|>{7}|\|{7}) |={7}$|<{7}$|>{7}$", line)
    ]
    if marks:
        listed = ", ".join(map(str, marks[:9])) + (", …" if len(marks) > 9 else "")
        return (
            f"The notebook holds unresolved Git conflict markers, in lines {listed} of the file. Decide which version "
            "you want, remove the markers, check that the notebook opens in Jupyter, and hand it in again."
        )
    if text.lstrip()[:1] not in "{[":
        return f"The file is not a notebook: it does not begin like one. {_RIGHT_FILE}"
    line, column = getattr(error, "lineno", None), getattr(error, "colno", None)
    place = f" in line {line}, column {column}" if line else ""
    if getattr(error, "pos", 0) >= len(text.rstrip()) - 1 or "Unterminated" in str(error):
        return f"The notebook's file was cut off{place}: its end is missing. {_SAVE_AGAIN}"
    return f"The notebook's file is damaged{place}, so it can't be opened. {_SAVE_AGAIN}"


def _notebook(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        kind = "a list" if isinstance(value, list) else "a single value"
        raise SubmissionError(f"The file is valid JSON, but not a notebook: it holds {kind}. {_RIGHT_FILE}")
    if not isinstance(value.get("cells"), list) and not isinstance(value.get("worksheets"), list):
        raise SubmissionError(f"The file is valid JSON, but not a notebook: it has no cells. {_RIGHT_FILE}")
    return value


def _about_the_version(notebook: Mapping[str, Any], found: Decoded) -> None:
    major = notebook.get("nbformat")
    if not isinstance(notebook.get("cells"), list):
        found.note(f"The notebook has the old format {major}; it was converted to format 4. {_NEXT_TIME}")
    elif "nbformat" not in notebook:
        found.note(f"The notebook's file does not say its format version; it was read as format 4. {_NEXT_TIME}")
    elif isinstance(major, int) and not isinstance(major, bool) and major > 4:
        found.note(
            f"The notebook has format version {major}, which is newer than 4; its cells could be read all the same. "
            "To save it as version 4, open it in Colab or JupyterLab and download it from there."
        )


def _refuse_other_language(metadata: Mapping[str, Any]) -> None:
    """R, Julia and other notebooks: their cells would all be syntax errors."""
    spec, info = _table(metadata.get("kernelspec")), _table(metadata.get("language_info"))
    named = [_word(info.get("name")), _word(spec.get("language"))]
    named = [name for name in named if name] or [_KERNELS.get((_word(spec.get("name")) or "").split("-")[0].lower())]
    languages = [name for name in named if name]
    if languages and not any(re.match(r"i?python|sage|xpython", name.lower()) for name in languages):
        language = languages[0][:20]
        raise SubmissionError(
            f"This is {'an' if language[:1].upper() in 'AEIOR' and len(language) == 1 else 'a'} {language} notebook, "
            "but Python is expected. Write the answers in a notebook with a Python kernel."
        )


_KERNELS = {"ir": "R", "julia": "Julia", "bash": "Bash", "javascript": "JavaScript", "xcpp17": "C++"}


# ---------------------------------------------------------------------------------------------------------------
# cells


def _raw_cells(notebook: Mapping[str, Any]) -> list[Any]:
    """The cells, also of format 3 and older, where they lie in worksheets."""
    if isinstance(notebook.get("cells"), list):
        return list(notebook["cells"])
    sheets = [_table(sheet).get("cells") for sheet in notebook["worksheets"]]
    return [_upgraded(_table(cell)) for cells in sheets if isinstance(cells, list) for cell in cells]


def _upgraded(cell: dict[str, Any]) -> dict[str, Any]:
    """A cell of format 3: `input` is the source of code, headings have a level."""
    kind = cell.get("cell_type")
    if kind == "code":
        return {**cell, "source": cell.get("input", ""), "execution_count": cell.get("prompt_number")}
    if kind == "heading":
        level = cell.get("level")
        marks = "#" * (level if isinstance(level, int) and 1 <= level <= 6 else 1)
        return {**cell, "cell_type": "markdown", "source": f"{marks} {_source(cell.get('source'))}"}
    return cell


def _read_cells(raw: list[Any], key: str, found: Decoded) -> None:
    total, outputs, room, odd = 0, 0, MAX_TEXT, []
    for number, value in enumerate(raw, 1):
        table = _table(value)
        cell = _cell(number, table, key)
        if cell.kind != "code":
            cell = _shortened(cell, room, found)
            room -= len(cell.source)
        mark = _table(table.get("metadata")).get(key)
        if mark is not None and not _good_mark(mark):
            odd.append(number)
        outputs += bool(table.get("outputs"))
        total += len(cell.source)
        if total > MAX_SOURCE:
            raise SubmissionError(_TOO_MUCH)
        if cell.source.strip() or cell.tagged:
            found.cells.append(cell)
    if len(found.cells) > MAX_CELLS:
        raise SubmissionError(
            f"The notebook has {len(found.cells)} cells that are not empty; at most {MAX_CELLS} are read. Hand in less."
        )
    if outputs:
        found.edits.append(Edit(f"dropped the saved outputs of {outputs} cells"))
    if odd:
        listed = ", ".join(map(str, odd[:9]))
        found.note(
            f"The hidden tags of cells {listed} have a wrong form and were ignored; answers are found by the names of "
            "their functions instead."
            if len(odd) > 1
            else f"The hidden tag of cell {listed} has a wrong form and was ignored; answers are found by the names of "
            "their functions instead."
        )


def _shortened(cell: Cell, room: int, found: Decoded) -> Cell:
    if len(cell.source) <= room:
        return cell
    found.edits.append(Edit(f"left out the end of a text of {len(cell.source)} characters", cell.number))
    return replace(cell, source=cell.source[:room])


def _good_mark(mark: object) -> bool:
    return isinstance(mark, dict) and all(
        mark.get(k) is None or _word(mark[k]) is not None for k in ("role", "question")
    )


def _cell(number: int, table: dict[str, Any], key: str) -> Cell:
    mark = _table(_table(table.get("metadata")).get(key))
    kind = table.get("cell_type")
    if kind not in ("code", "markdown", "raw"):
        kind = "code" if "outputs" in table or "execution_count" in table else "raw"
    count = table.get("execution_count")
    return Cell(
        number=number,
        kind=kind,
        source=_source(table.get("source")),
        id=_word(table.get("id")),
        role=_word(mark.get("role")),
        question=_word(mark.get("question")),
        count=count if isinstance(count, int) and not isinstance(count, bool) and 0 < count < 10**9 else None,
    )


def _source(value: Any) -> str:
    """A string or a list of strings; lone surrogates, which can't be written, become question marks."""
    if isinstance(value, list):
        value = "".join(part for part in value if isinstance(part, str))
    if not isinstance(value, str):
        return ""
    return _without_surrogates(value).replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")


def _without_surrogates(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _word(value: Any) -> str | None:
    """A short string, or an integer as one; None for everything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    return value if isinstance(value, str) and 0 < len(value) <= 200 else None
