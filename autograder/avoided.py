"""Library calls that an answer was asked to do without: places for staff to look at, never a proof.

Theory of operation. An assignment may name functions that a question wants written by hand (`avoid = ["softmax"]`).
The source of an answer and of everything of the student's own that it refers to, by name, is searched for those
names as attributes, imports and strings, and for the ways round such a search: strings that are put together, `exec`,
`eval`, imports at run time, torch's inner modules. Student code can hide a call from any such search, and an honest
one may be found, so no points follow: the check decides these, and a person reads.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from autograder.pysource import definitions

__all__ = ["places"]

_ROUNDABOUT = {"exec", "eval", "compile", "__import__", "import_module", "attrgetter"}
_INNER = {"_C", "ops", "_refs", "_VF", "_decomp"}


def places(
    trees: Sequence[ast.Module], functions: Collection[str], avoid: Collection[str]
) -> Iterator[tuple[int, int, str]]:
    """(index of the tree, line, what stands there) for each place, in the order of the trees, each line once.

    functions: the answer's names · avoid: last parts of the names that it should do without.
    """
    seen: set[tuple[int, int]] = set()
    for index, statement in _referred(trees, functions):
        for node in ast.walk(statement):
            what = _met(node, set(avoid))
            line = getattr(node, "lineno", 0)
            if what is not None and (index, line) not in seen:
                seen.add((index, line))
                yield index, line, what


def _referred(trees: Sequence[ast.Module], functions: Collection[str]) -> list[tuple[int, ast.stmt]]:
    """The statements that define the answer and, in turn, what these refer to."""
    known: dict[str, list[tuple[int, ast.stmt]]] = {}
    for index, tree in enumerate(trees):
        for name, statement in (*definitions(tree).items(), *_imported(tree)):
            known.setdefault(name, []).append((index, statement))
    found: dict[int, tuple[int, ast.stmt]] = {}
    waiting = list(functions)
    while waiting:
        for index, statement in known.pop(waiting.pop(), []):
            found[id(statement)] = index, statement
            waiting += [node.id for node in ast.walk(statement) if isinstance(node, ast.Name)]
    return sorted(found.values(), key=lambda place: (place[0], place[1].lineno))


def _imported(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name.split(".")[0], node


def _met(node: ast.AST, avoid: set[str]) -> str | None:
    """What a reader should look at in one node."""
    if isinstance(node, ast.Attribute):
        if node.attr in avoid:
            return f".{node.attr}"
        return f".{node.attr}" if node.attr in _INNER | _ROUNDABOUT else None
    if isinstance(node, ast.ImportFrom):
        return next((f"import {alias.name}" for alias in node.names if alias.name in avoid | _ROUNDABOUT), None)
    if isinstance(node, ast.Name):
        return node.id if node.id in _ROUNDABOUT else None
    text = _text(node)
    return repr(text) if text is not None and text in avoid else None


def _text(node: ast.AST) -> str | None:
    """A string that stands there, or is put together from strings that stand there."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _text(node.left), _text(node.right)
        return left + right if left is not None and right is not None else None
    if isinstance(node, ast.JoinedStr):
        parts = [_text(value.value if isinstance(value, ast.FormattedValue) else value) for value in node.values]
        return "".join(part for part in parts if part is not None) if None not in parts else None
    return None
