"""Does a public file hold a piece of the hidden ones? Compared as syntax trees, so that layout does not matter.

Hidden pieces are: whole bodies of reference functions and of other right answers, single statements and expressions
of them that are long enough to be no accident, and the same of hidden checks. Public code is every code cell, every
fenced block of a text and every `.py` file. Text is also searched for the hidden lines themselves, without spaces.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autograder.errors import CourseError
from autograder.solution import SolutionCell

__all__ = ["Hidden", "hidden_pieces", "leaks_in_file", "leaks_in_folder", "leaks_in_notebook", "leaks_in_text"]

#: From this many nodes on, one statement or expression that two files share is no accident. Checks build inputs, as
#: public checks do, so more must coincide there.
_LONG, _LONG_IN_CHECKS = 11, 16
#: The same for a whole function body of several statements, and of one.
_BODY, _ONE = 8, 12
#: The same for a line of text, in characters without spaces.
_LINE = 26


@dataclass(slots=True)
class Hidden:
    """What must not turn up: dump of a tree, or a line without spaces → where it comes from."""

    trees: dict[str, str] = field(default_factory=dict)
    bodies: dict[tuple[str, ...], str] = field(default_factory=dict)
    lines: dict[str, str] = field(default_factory=dict)

    def drop(self, other: Hidden) -> None:
        """Forget what `other` holds too: it is public on purpose."""
        self.trees = {piece: origin for piece, origin in self.trees.items() if piece not in other.trees}
        self.bodies = {piece: origin for piece, origin in self.bodies.items() if piece not in other.bodies}
        self.lines = {piece: origin for piece, origin in self.lines.items() if piece not in other.lines}

    def add(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, source: str, origin: str, *, lines: bool, long: int = _LONG
    ) -> None:
        """All pieces of one function's body of at least `long` nodes; with lines=True its single lines too."""
        body = [s for s in _without_docstring(node.body) if not isinstance(s, ast.Import | ast.ImportFrom)]
        sizes = [_size(statement) for statement in body]
        if sum(sizes) >= (_BODY if len(body) > 1 else _ONE):
            self.bodies[tuple(map(_dump, body))] = origin
        for piece in _pieces(body):
            if _size(piece) >= long:
                self.trees[_dump(piece)] = origin
        text = source.split("\n")
        for statement in body if lines else ():
            for line in text[statement.lineno - 1 : statement.end_lineno]:
                squeezed = _squeeze(line)
                if len(squeezed) >= _LINE:
                    self.lines[squeezed] = origin


def _size(node: ast.AST) -> int:
    return sum(not isinstance(n, ast.expr_context) for n in ast.walk(node))


def _dump(node: ast.AST) -> str:
    return ast.dump(node, annotate_fields=False)


def _squeeze(text: str) -> str:
    return re.sub(r"\s+", "", text)


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return body[1:]
    return body


def _pieces(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """Statements at any depth, and the values that they return, assign or evaluate."""
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.stmt):
                yield node
                value = getattr(node, "value", None)
                if isinstance(value, ast.expr):
                    yield value


def _all_functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def hidden_pieces(cells: Sequence[SolutionCell], reference: Path) -> Hidden:
    """Everything of an assignment's hidden folder that must not be handed out.

    Methods that an answer cell keeps are public on purpose, and so are checks marked `@public`.
    """
    hidden, public = Hidden(), Hidden()
    for cell in cells:
        if cell.kind == "code" and cell.role in ("answer", "hidden"):
            for node in _outer_functions(ast.parse(cell.source).body):
                into = public if node[0] & set(cell.keep) else hidden
                into.add(node[1], cell.source, f"the reference's {node[1].name}", lines=True)
    for name, what in (("alternatives.py", "the alternative"), ("checks.py", "the hidden check")):
        _add_file(hidden, public, reference / name, what)
    hidden.drop(public)
    return hidden


def _outer_functions(
    body: Sequence[ast.stmt], inside: str = ""
) -> Iterator[tuple[set[str], ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Functions and methods with the names under which an author can list them."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield {node.name, inside + node.name}, node
        elif isinstance(node, ast.ClassDef):
            yield from _outer_functions(node.body, f"{inside}{node.name}.")


def _add_file(hidden: Hidden, public: Hidden, path: Path, what: str) -> None:
    if not path.is_file():
        return
    source = path.read_text(encoding="utf-8")
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise CourseError(f"not valid Python: {error.msg}", where=f"{path}:{error.lineno}") from None
    for node in _all_functions(tree):
        into = public if any("public" in ast.unparse(d) for d in node.decorator_list) else hidden
        in_checks = path.name == "checks.py"
        lines = not in_checks or node.name.startswith("test")
        into.add(node, source, f"{what} {node.name}", lines=lines, long=_LONG_IN_CHECKS if in_checks else _LONG)


def leaks_in_notebook(hidden: Hidden, notebook: Any, name: str) -> list[str]:
    """One line for each cell that holds a hidden piece."""
    found: list[str] = []
    for number, cell in enumerate(notebook["cells"], 1):
        source = "".join(cell.get("source", ""))
        found += leaks_in_text(hidden, source, f"{name}, cell {number}", code=cell.get("cell_type") == "code")
    return found


def leaks_in_text(hidden: Hidden, text: str, where: str, *, code: bool) -> list[str]:
    """One line for the first hidden piece in a cell or file, if there is one."""
    blocks = [text] if code else re.findall(r"```[^\n]*\n(.*?)```", text, flags=re.DOTALL)
    for block in blocks:
        origin = _origin(hidden, block)
        if origin is not None:
            return [f"{where}: holds code of {origin}"]
    squeezed = _squeeze(text)
    for line, origin in hidden.lines.items():
        if line in squeezed:
            return [f"{where}: holds a line of {origin}"]
    return []


def _origin(hidden: Hidden, code: str) -> str | None:
    tree = _parse(code)
    if tree is None:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt | ast.expr):
            origin = hidden.trees.get(_dump(node))
            if origin is not None:
                return origin
        for block in ("body", "orelse", "finalbody"):
            statements = getattr(node, block, None)
            if isinstance(statements, list):
                origin = _body_origin(hidden.bodies, [_dump(s) for s in statements])
                if origin is not None:
                    return origin
    return None


def _body_origin(bodies: dict[tuple[str, ...], str], block: Sequence[str]) -> str | None:
    present = set(block)
    for body, origin in bodies.items():
        if body[0] in present and any(
            tuple(block[i : i + len(body)]) == body for i in range(len(block) - len(body) + 1)
        ):
            return origin
    return None


def _parse(code: str) -> ast.Module | None:
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError):
        pass
    from IPython.core.inputtransformer2 import TransformerManager

    manager: Any = TransformerManager
    try:
        return ast.parse(str(manager().transform_cell(code)))
    except (SyntaxError, ValueError, RecursionError):
        return None


def leaks_in_file(hidden: Hidden, path: Path, where: str) -> list[str]:
    """The same for a file of the public folder; files that are no text hold no code."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return []
    if path.suffix == ".ipynb":
        try:
            return leaks_in_notebook(hidden, json.loads(text), where)
        except (ValueError, KeyError, TypeError, AttributeError):
            return leaks_in_text(hidden, text, where, code=False)
    return leaks_in_text(hidden, text, where, code=path.suffix == ".py")


def leaks_in_folder(hidden: Hidden, folder: Path, skip: Collection[Path] = ()) -> list[str]:
    """The same for every file below a public folder, in order of their names."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path not in skip)
    return [leak for path in files for leak in leaks_in_file(hidden, path, str(path.relative_to(folder)))]
