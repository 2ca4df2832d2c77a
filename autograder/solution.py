"""The reference as a notebook: `reference/<name>/solution.py` → cells, and what may be cut out of a cell's source.

`solution.py` is a py:percent notebook that can also be imported. Every code cell says what it is for, in the `# %%`
line: `softmark={"role": "answer", "question": "1"}`. Nothing is cut by markers in the text. An answer cell is cut by
its syntax: bodies of functions and methods go, signatures and docstrings stay, and code that is neither a definition
nor a constant is an error. So a misspelt word can stop a release, but it can't publish an answer.

The cuts are made in the text, at places that come from the syntax tree, so that comments and layout survive.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from autograder.errors import CourseError

__all__ = [
    "ROLES",
    "Place",
    "SolutionCell",
    "blank_source",
    "defined_names",
    "read_solution",
    "rename_definition",
    "replace_definition",
    "solved_source",
]

#: What a cell can be for. `hidden` cells hold helpers of the reference and are not handed out.
ROLES = ("text", "given", "answer", "public-check", "demo", "written", "hidden")
_CELL_KEYS = {"softmark", "tags"}
_SOFTMARK_KEYS = {"role", "question", "keep", "blank"}
_JUPYTEXT_OWN = {"lines_to_next_cell", "lines_to_end_of_cell_marker", "cell_marker"}
_LIVE = "active-ipynb"
_WIDTH = 120
_STUB = "raise NotImplementedError"

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Place:
    """Where in `solution.py` a cell is: for messages. line: of its `# %%`, from 1 · cell: its number, from 1."""

    path: Path
    line: int | None
    cell: int

    def error(self, reason: str, line: int = 0) -> CourseError:
        """A CourseError at the cell's own `line`-th line (0: the cell as a whole)."""
        where = str(self.path) if self.line is None else f"{self.path}:{self.line + line}"
        return CourseError(reason, where=where, key=f"cell {self.cell}")


@dataclass(frozen=True, slots=True)
class SolutionCell:
    """One cell of the reference.

    kind: code, markdown or raw · keep: functions whose bodies stay · blank: names whose assigned value goes.
    """

    kind: str
    source: str
    role: str
    place: Place
    question: str | None = None
    keep: tuple[str, ...] = ()
    blank: tuple[str, ...] = ()


# ---------------------------------------------------------------------------------------------------------------
# reading


def read_solution(path: Path) -> tuple[SolutionCell, ...]:
    """All cells of a py:percent file. Raises CourseError with file, line and cell for anything not understood."""
    import jupytext

    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise CourseError("the reference is missing", where=path) from None
    except UnicodeDecodeError as error:
        raise CourseError(f"the reference is not UTF-8: {error}", where=path) from error
    cells = jupytext.reads(text, fmt="py:percent").cells
    lines = _marker_lines(text, len(cells))
    return tuple(
        _cell(raw, Place(path, line, number)) for number, (raw, line) in enumerate(zip(cells, lines, strict=True), 1)
    )


def _marker_lines(text: str, count: int) -> list[int | None]:
    """The line of each cell's `# %%`; None for all when the file's cells can't be told from its lines."""
    found = [number for number, line in enumerate(text.splitlines(), 1) if re.match(r"# ?%%+( |\[|$)", line)]
    if len(found) == count - 1:  # the first cell has no marker
        found.insert(0, 1)
    return list(found) if len(found) == count else [None] * count


def _cell(raw: Any, place: Place) -> SolutionCell:
    metadata = {key: value for key, value in raw.metadata.items() if key not in _JUPYTEXT_OWN}
    _no_unknown_keys(metadata, place)
    mark = metadata.get("softmark", {})
    if not isinstance(mark, dict):
        raise place.error(f'softmark={mark!r} must be an object such as {{"role": "given"}}')
    _known(mark, _SOFTMARK_KEYS, "softmark has the unknown key", place)
    role = _role(mark, raw.cell_type, place)
    if role == "demo" and raw.cell_type == "code" and _LIVE not in metadata.get("tags", []):
        raise place.error(f'a demo cell carries tags=["{_LIVE}"], so that importing the reference does not run it')
    return SolutionCell(
        kind=raw.cell_type,
        source=raw.source,
        role=role,
        place=place,
        question=_question(mark, role, place),
        keep=_names(mark, "keep", role, place),
        blank=_names(mark, "blank", role, place),
    )


def _no_unknown_keys(metadata: dict[str, Any], place: Place) -> None:
    broken = metadata.get("incorrectly_encoded_metadata")
    if broken is not None:
        raise place.error(f"this cell's options can't be read: {broken}")
    _known(metadata, _CELL_KEYS, "the cell has the unknown option", place)
    tags = metadata.get("tags", [])
    if not isinstance(tags, list) or any(tag != _LIVE for tag in tags):
        raise place.error(f'unknown tags {tags!r}: only ["{_LIVE}"] is known')


def _known(given: dict[str, Any], known: Collection[str], what: str, place: Place) -> None:
    for key in given:
        if key not in known:
            raise place.error(f"{what} {key!r}; known are: {', '.join(sorted(known))}")


def _role(mark: dict[str, Any], kind: str, place: Place) -> str:
    role = mark.get("role")
    if role is None:
        if kind == "code":
            raise place.error('a code cell says its role: softmark={"role": "given"}, for example')
        return "text"
    if role not in ROLES:
        raise place.error(f"unknown role {role!r}; known are: {', '.join(ROLES)}")
    if (role in ("text", "written")) != (kind != "code"):
        raise place.error(f"the role {role!r} does not fit a {kind} cell")
    return str(role)


def _question(mark: dict[str, Any], role: str, place: Place) -> str | None:
    question = mark.get("question")
    if question is None and role in ("answer", "public-check", "written"):
        raise place.error(f"a cell with the role {role!r} names its question")
    if question is not None and (not isinstance(question, str) or not question):
        raise place.error(f'question={question!r} must be a string such as "1"')
    return question


def _names(mark: dict[str, Any], key: str, role: str, place: Place) -> tuple[str, ...]:
    names = mark.get(key, [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise place.error(f"{key}={names!r} must be a list of names")
    if names and role != "answer":
        raise place.error(f"{key} makes sense in an answer cell only")
    return tuple(names)


# ---------------------------------------------------------------------------------------------------------------
# text with places from its syntax tree


@dataclass(frozen=True, slots=True)
class _Cut:
    start: int
    end: int
    by: str


class _Source:
    """A cell's text, its tree and its tokens, with character offsets for both."""

    def __init__(self, text: str, place: Place) -> None:
        self.text, self.place = text, place
        try:
            self.tree = ast.parse(text)
            self.tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
        except (SyntaxError, tokenize.TokenError) as error:
            line = getattr(error, "lineno", None) or 0
            raise place.error(f"this cell is not plain Python: {error}", line) from None
        self.lines = re.findall(r"[^\n]*\n|[^\n]+", text)  # not splitlines: Python's lines end at \n only
        self._starts = [0]
        for line_text in self.lines:
            self._starts.append(self._starts[-1] + len(line_text))

    def at(self, line: int, column: int) -> int:
        """Offset of a token's place (columns in characters)."""
        return self._starts[line - 1] + column

    def start(self, node: ast.stmt | ast.expr) -> int:
        return self._of_tree(node.lineno, node.col_offset)

    def end(self, node: ast.stmt | ast.expr) -> int:
        return self._of_tree(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)

    def _of_tree(self, line: int, column: int) -> int:
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        return self._starts[line - 1] + len(text.encode()[:column].decode())

    def end_with_comments(self, node: Function) -> int:
        """The function's end, with the rest of its last line and the comments below that are indented like its body."""
        line = node.end_lineno or node.lineno
        last = line
        for number in range(line + 1, len(self.lines) + 1):
            stripped = self.lines[number - 1].strip()
            indent = len(self.lines[number - 1]) - len(self.lines[number - 1].lstrip())
            if stripped.startswith("#") and indent > node.col_offset:
                last = number
            elif stripped:
                break
        return self._starts[last - 1] + len(self.lines[last - 1].rstrip("\r\n"))

    def apply(self, cuts: Sequence[_Cut]) -> str:
        text = self.text
        for cut in sorted(cuts, key=lambda c: (c.start, c.end), reverse=True):
            text = text[: cut.start] + cut.by + text[cut.end :]
        return text


@dataclass(frozen=True, slots=True)
class _Header:
    """Offsets of a `def`: behind its `(`, at its `)`, behind its `:`, and behind a comment on the line of the `:`."""

    open: int
    close: int
    colon: int
    end: int
    items: tuple[tuple[str, int, int], ...]  # (name or * or /, start, end) of each parameter


def _header(source: _Source, node: Function) -> _Header:
    """Read a `def` up to its colon, from the tokens."""
    tokens = [t for t in source.tokens if (t.start >= (node.lineno, 0) and source.at(*t.start) >= source.start(node))]
    depth, opened, closed = 0, -1, -1
    items: list[tuple[str, int, int]] = []
    current: list[tokenize.TokenInfo] = []
    for index, token in enumerate(tokens):
        if token.string in ("(", "[", "{") and token.type == tokenize.OP:
            depth += 1
            if depth == 1 and token.string == "(" and opened < 0:
                opened = index
                continue
        elif token.string in (")", "]", "}") and token.type == tokenize.OP:
            depth -= 1
            if depth == 0 and opened >= 0 and closed < 0:
                closed = index
                _take(source, current, items)
                continue
        elif token.string == ":" and depth == 0 and closed >= 0:
            follower = tokens[index + 1]
            colon = source.at(*token.end)
            end = source.at(*follower.end) if follower.type == tokenize.COMMENT else colon
            return _Header(source.at(*tokens[opened].end), source.at(*tokens[closed].start), colon, end, tuple(items))
        if opened >= 0 and closed < 0:
            if token.string == "," and depth == 1:
                _take(source, current, items)
            elif token.type not in (tokenize.NL, tokenize.COMMENT):
                current.append(token)
    raise source.place.error(f"the signature of {node.name} can't be read", node.lineno)


def _take(source: _Source, current: list[tokenize.TokenInfo], items: list[tuple[str, int, int]]) -> None:
    if current:
        items.append((current[0].string, source.at(*current[0].start), source.at(*current[-1].end)))
        current.clear()


# ---------------------------------------------------------------------------------------------------------------
# what is cut


def defined_names(source: str, place: Place) -> dict[str, int]:
    """Names that a cell defines at top level → their line: functions, classes, assigned names."""
    return {name: node.lineno for node in _Source(source, place).tree.body for name in _binds(node)}


def _binds(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, Function | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        yield from (t.id for target in targets for t in ast.walk(target) if isinstance(t, ast.Name))


def solved_source(source: str, place: Place, reference: Collection[str]) -> str:
    """An answer cell as a student would write it: no follow-through parameters, bodies as they are.

    reference: names of functions and classes that the reference defines in answer cells.
    """
    read = _Source(source, place)
    cuts = [cut for node in _functions(read.tree.body) for cut in _follow_through(read, node, reference, blank=False)]
    return read.apply(cuts)


def blank_source(cell: SolutionCell, reference: Collection[str], asked: Collection[str] = ()) -> str:
    """An answer cell as it is handed out: bodies are `raise NotImplementedError`, docstrings stay.

    reference: names that the reference defines · asked: names that the question asks for; where they are no
    functions (`hand = {"H1": 6}`), their values go as if they were listed in the cell's blank=[…].
    """
    return _Blanking(cell, reference, asked).text()


class _Blanking:
    """Collects the cuts of one answer cell, and which names of its options were met."""

    def __init__(self, cell: SolutionCell, reference: Collection[str], asked: Collection[str]) -> None:
        self.cell, self.reference = cell, reference
        self.emptied = {*cell.blank, *asked}
        self.read = _Source(cell.source, cell.place)
        self.met: set[str] = set()

    def text(self) -> str:
        cuts = [cut for node in self.read.tree.body for cut in self.cuts(node, "")]
        for name in (*self.cell.keep, *self.cell.blank):
            if name not in self.met:
                raise self.cell.place.error(f"{name!r} is listed in this cell's options, but it is not defined here")
        if not cuts:
            raise self.cell.place.error("this answer cell holds nothing that a student could answer")
        return self.read.apply(cuts)

    def cuts(self, node: ast.stmt, inside: str) -> list[_Cut]:
        """The cuts in one statement of the cell (inside = "") or of a class (inside = "Class.")."""
        if isinstance(node, Function):
            return self.function(node, inside)
        if isinstance(node, ast.ClassDef):
            return [cut for n in node.body for cut in self.cuts(n, f"{inside}{node.name}.")]
        if isinstance(node, ast.Assign | ast.AnnAssign) and set(_binds(node)) & self.emptied:
            self.met |= set(_binds(node))
            return [_blank_value(self.read, node)]
        if not _harmless(node):
            first = ast.unparse(node).splitlines()[0]
            raise self.cell.place.error(
                f"`{first}` is code outside a function body; an answer cell holds definitions, imports and constants "
                "only. Put the line into a function or into another cell, or list its name in blank=[…]",
                node.lineno,
            )
        return []

    def function(self, node: Function, inside: str) -> list[_Cut]:
        kept = {node.name, inside + node.name} & set(self.cell.keep)
        self.met |= kept
        cuts = _follow_through(self.read, node, self.reference, blank=not kept)
        return cuts if kept else [*cuts, _blank_body(self.read, node)]


def _harmless(node: ast.stmt) -> bool:
    """Imports, docstrings, `pass`, declared types and constants are handed out as they are."""
    if isinstance(node, ast.Import | ast.ImportFrom | ast.Pass):
        return True
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) and (isinstance(node.value.value, str) or node.value.value is ...)
    if isinstance(node, ast.Assign):
        return _constant(node.value)
    return isinstance(node, ast.AnnAssign) and (node.value is None or _constant(node.value))


def _constant(value: ast.expr) -> bool:
    """Literals, names, attributes, subscripts, and arithmetic on them: nothing is called or computed over data."""
    allowed = (
        ast.Constant, ast.Name, ast.Attribute, ast.Subscript, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.Slice,
        ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop, ast.expr_context,
    )  # fmt: skip
    return all(isinstance(node, allowed) for node in ast.walk(value))


def _blank_value(read: _Source, node: ast.Assign | ast.AnnAssign) -> _Cut:
    """`hand = {"H1": …}` becomes `hand = {"H1": None}`: keys show the form, values go; a text becomes an empty one."""
    value = node.value
    if value is None:
        raise read.place.error("a name listed in blank=[…] has no value here", node.lineno)
    by = '""' if isinstance(value, ast.Constant) and isinstance(value.value, str) else "None"
    if isinstance(value, ast.Dict) and all(isinstance(key, ast.Constant) for key in value.keys):
        by = "{" + ", ".join(f"{_text(key)}: None" for key in value.keys if isinstance(key, ast.Constant)) + "}"
    return _Cut(read.start(value), read.end(value), by)


def _text(key: ast.Constant) -> str:
    return f'"{key.value}"' if isinstance(key.value, str) and key.value.isidentifier() else repr(key.value)


def _blank_body(read: _Source, node: Function) -> _Cut:
    header, first = _header(read, node), node.body[0]
    indent = first.col_offset if _own_line(read, first) else node.col_offset + 4
    begin = read.end(first) if ast.get_docstring(node, clean=False) is not None else header.end
    return _Cut(begin, max(begin, read.end_with_comments(node)), "\n" + " " * indent + _STUB)


def _own_line(read: _Source, node: ast.stmt) -> bool:
    return not read.lines[node.lineno - 1][: node.col_offset].strip()


def _functions(body: Sequence[ast.stmt]) -> Iterator[Function]:
    """Functions and methods, classes inside classes too; not functions inside functions."""
    for node in body:
        if isinstance(node, Function):
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body)


def _follow_through(read: _Source, node: Function, reference: Collection[str], *, blank: bool) -> list[_Cut]:
    """Cut keyword-only parameters whose default is a reference function.

    Where the parameter has another name than the function, the body starts with `name = function` instead.
    """
    pairs = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    gone = {a.arg: d.id for a, d in pairs if isinstance(d, ast.Name) and d.id in reference}
    if not gone:
        return []
    header = _header(read, node)
    cuts = [_Cut(header.open, header.close, _on_one_line(read, header, _parameters(read, header, gone)))]
    renamed = [f"{name} = {function}" for name, function in gone.items() if name != function]
    if renamed and not blank:
        cuts.append(_prologue(read, node, renamed))
    return cuts


def _parameters(read: _Source, header: _Header, gone: Collection[str]) -> str:
    """The text between the parentheses without the parameters that go."""
    kept = [item for item in header.items if item[0] not in gone]
    while True:  # a bare * with no keyword-only parameter behind it is a syntax error
        star = next((i for i, item in enumerate(kept) if item[0] == "*" and item[2] == item[1] + 1), None)
        if star is None or (star + 1 < len(kept) and kept[star + 1][0] != "**"):
            break
        del kept[star]
    if not kept:
        return ""
    following = dict(pairwise(header.items))
    text = read.text[header.open : header.items[0][1]]
    for item in kept[:-1]:
        text += read.text[item[1] : following[item][1]]
    return text + read.text[kept[-1][1] : kept[-1][2]] + read.text[header.items[-1][2] : header.close]


def _on_one_line(read: _Source, header: _Header, parameters: str) -> str:
    """What is left of the parameters without line breaks, where it fits and holds no comment."""
    short = re.sub(r"\s*\n\s*", " ", parameters).strip().removesuffix(",")
    before = header.open - (read.text.rfind("\n", 0, header.open) + 1)
    behind = header.colon - header.close
    return short if "#" not in parameters and before + len(short) + behind <= _WIDTH else parameters


def _prologue(read: _Source, node: Function, lines: list[str]) -> _Cut:
    has_docstring = ast.get_docstring(node, clean=False) is not None
    body = node.body[1:] if has_docstring else node.body
    if not body:
        return _Cut(read.end(node.body[0]), read.end(node.body[0]), "")
    between = "\n" + " " * body[0].col_offset if _own_line(read, body[0]) else "; "
    return _Cut(read.start(body[0]), read.start(body[0]), "".join(line + between for line in lines))


def replace_definition(source: str, place: Place, name: str, by: str) -> str:
    """Put `by` where `source` defines `name` (function with its decorators, class, or assignment) at top level."""
    read = _Source(source, place)
    nodes = [node for node in read.tree.body if name in set(_binds(node))]
    if not nodes:
        raise place.error(f"{name!r} is not defined in this cell")
    node = nodes[-1]
    decorators = getattr(node, "decorator_list", [])
    line = min([node.lineno, *(d.lineno for d in decorators)])
    return read.apply([_Cut(read.at(line, 0), read.end(node), by.strip("\n"))])


def rename_definition(source: str, place: Place, name: str, drop: Collection[str] = ()) -> str:
    """Give the only definition in `source` this name, and take off decorators whose function is listed in `drop`.

    Sources with several definitions, or none, are returned as they are.
    """
    read = _Source(source, place)
    definitions = [node for node in read.tree.body if isinstance(node, Function | ast.ClassDef)]
    if len(definitions) != 1:
        return source
    node = definitions[0]
    cuts = [
        _Cut(read.at(d.lineno, 0), read.at((d.end_lineno or d.lineno) + 1, 0), "")
        for d in node.decorator_list
        if _decorator_name(d) in drop
    ]
    if node.name != name:
        word = next(
            t for t in read.tokens if t.string == node.name and t.start >= (node.lineno, 0) and t.type == tokenize.NAME
        )
        cuts.append(_Cut(read.at(*word.start), read.at(*word.end), name))
    return read.apply(cuts)


def _decorator_name(node: ast.expr) -> str:
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
