"""What a student's cell defines, uses and means, read from its source as IPython would run it. Nothing is executed.

IPython's own transformation comes first (magics, shell lines, a leading indent), because a cell that runs in Jupyter
must not be called broken here. Everything is bounded: a cell that is too odd to analyse is only run.
"""

from __future__ import annotations

import ast
import builtins
import re
import unicodedata
import warnings
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

__all__ = [
    "MAX_TOKENS",
    "Definitions",
    "count_tokens",
    "definitions",
    "is_stub",
    "look_alike",
    "parse_cell",
    "unbound_names",
]

#: Top-level name → the statement that defines it last.
Definitions = Mapping[str, ast.stmt]

#: Of all cells that are analysed together: a tree takes up to 1.1 kB a token, and long notebooks have 15,000.
MAX_TOKENS = 30_000
_TOKEN = re.compile(r"\w+|[^\w\s]")
_MAX = 200_000
_MAX_MAGICS = 300
_PYTHON_MAGICS = ("%%time", "%%timeit", "%%capture", "%%prun")
_ALWAYS_THERE = {
    *dir(builtins),
    *("get_ipython", "display", "In", "Out", "_", "__", "___", "exit", "quit"),
    *("__name__", "__file__", "__doc__", "__builtins__", "__class__"),
}


def parse_cell(source: str) -> ast.Module | SyntaxError | None:
    """The tree of a code cell after IPython's transformation.

    Returns the SyntaxError of a cell that does not compile, and None for a cell that is no Python or too odd to tell.
    """
    first = source.lstrip().split("\n", 1)[0]
    if first.startswith("%%"):
        if not first.startswith(_PYTHON_MAGICS):
            return None
        source = "\n" + source.lstrip().partition("\n")[2]
    if len(source) > _MAX or len(re.findall(r"^\s*[%!]", source, re.MULTILINE)) > _MAX_MAGICS:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _plain_python(source) or ast.parse(_transformed(source))
    except SyntaxError as error:
        return error
    except (ValueError, RecursionError, MemoryError):
        return None


def count_tokens(source: str, most: int) -> int:
    """Words and signs in a source, roughly; `most` + 1 where there are more than `most`."""
    return sum(1 for _ in islice(_TOKEN.finditer(source), most + 1))


def _plain_python(source: str) -> ast.Module | None:
    """The tree of a cell that IPython would not transform. `In [1]: x` is Python, too, but a pasted prompt there."""
    if "In [" in source:
        return None
    try:
        return ast.parse(source)
    except SyntaxError:
        return None


def _transformed(source: str) -> str:
    from IPython.core.inputtransformer2 import TransformerManager

    manager: Any = TransformerManager
    return str(manager().transform_cell(source))


def definitions(tree: ast.Module) -> Definitions:
    """Functions, classes and plainly assigned names at top level."""
    found: dict[str, ast.stmt] = {}
    for node in tree.body:
        for name in _defined(node):
            found[name] = node
    return found


def _defined(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign):
        yield from (target.id for target in node.targets if isinstance(target, ast.Name))
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
        yield node.target.id


def is_stub(node: ast.stmt) -> bool:
    """Whether a function, or every method of a class, only raises NotImplementedError, passes or is empty."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        body = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
        return all(_does_nothing(statement) for statement in body)
    if isinstance(node, ast.ClassDef):
        methods = [s for s in node.body if isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
        return bool(methods) and all(is_stub(method) for method in methods)
    return False


def _does_nothing(node: ast.stmt) -> bool:
    if isinstance(node, ast.Raise):
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"
    return isinstance(node, ast.Pass)


def look_alike(source: str, line: int | None) -> tuple[str, int, int] | None:
    """The first character outside strings and comments that only looks like Python: its name, line and column.

    line: where the syntax error is; that line is searched first, then the one above. Lines and columns count from 1.
    """
    found = [
        (unicodedata.name(char, "UNNAMED CHARACTER"), row, column)
        for row, column, char in _code_characters(source)
        if ord(char) > 127 and not char.isidentifier()
    ]
    here = [place for place in found if place[1] == line]
    above = [place for place in found if line is not None and place[1] == line - 1]
    return next(iter(here or above or found), None)


def _code_characters(source: str) -> Iterator[tuple[int, int, str]]:
    """(line, column, character) of everything outside strings and comments; a rough scan that never fails."""
    pattern = re.compile(
        r"(\"\"\"|''')(?:\\.|(?!\1).)*(?:\1|\Z)|(['\"])(?:\\.|(?!\2)[^\n\\])*(?:\2|(?=\n)|\Z)|#[^\n]*", re.DOTALL
    )
    spaces = pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), source)
    for row, text in enumerate(spaces.split("\n"), 1):
        for column, char in enumerate(text, 1):
            yield row, column, char


def unbound_names(trees: Iterable[ast.Module]) -> list[str]:
    """Names that some cell uses at top level and no cell binds anywhere, in order. Empty when it can't be told."""
    used: dict[str, None] = {}
    bound: set[str] = set()
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
                return []
            bound.update(_bound(node))
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                used.setdefault(node.id)
    return [name for name in used if name not in bound and name not in _ALWAYS_THERE]


def _bound(node: ast.AST) -> Iterator[str]:
    """Names that one node binds in whatever scope: generous, so that a name is never called unknown wrongly."""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.alias):
        yield (node.asname or node.name).split(".")[0]
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
        yield node.name
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest
    elif isinstance(node, ast.Global | ast.Nonlocal):
        yield from node.names
