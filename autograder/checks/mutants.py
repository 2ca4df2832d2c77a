"""Small changes to the reference that a check should notice: the grader is graded with bugs that nobody listed.

Operators: constants, comparisons, arithmetic, boolean operators, conditions, signs, dropped statements. Docstrings,
annotations and defaults of keyword-only parameters stay.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

__all__ = ["Mutant", "mutants"]

_SWAPS: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_COMPARISONS: dict[type, type] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_DROPPED = (ast.Expr, ast.AugAssign, ast.Continue, ast.Break)


@dataclass(frozen=True)
class Mutant:
    """name: "function:line: before → after", line within the function, from 1 · text: the changed definition."""

    function: str
    name: str
    text: str


def mutants(function: str, text: str) -> list[Mutant]:
    """All single changes of a definition, in the order of its text."""
    tree = ast.parse(text)
    found: dict[str, Mutant] = {}
    for place, node in enumerate(_places(tree)):
        for change in _changes(node):
            other = copy.deepcopy(tree)
            target = list(_places(other))[place]
            before, line = ast.unparse(target), getattr(target, "lineno", 1)
            after = change(target)
            code = ast.unparse(ast.fix_missing_locations(other)) + "\n"
            name = f"{function}:{line}: {_line(before)} → {_line(after)}"
            if code not in {m.text for m in found.values()}:
                found[name] = Mutant(function, name, code)
    return list(found.values())


def _line(text: str) -> str:
    return " ".join(text.split())[:70]


def _places(tree: ast.AST) -> Iterator[ast.AST]:
    """Nodes that may change, without docstrings, annotations, decorators and signatures."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.arguments):
            continue
        if isinstance(node, ast.expr) and _is_aside(tree, node):
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        yield node
        yield from _places(node)


def _is_aside(parent: ast.AST, node: ast.expr) -> bool:
    beside = [
        *getattr(parent, "decorator_list", []),
        getattr(parent, "returns", None),
        getattr(parent, "annotation", None),
    ]
    message = parent.exc if isinstance(parent, ast.Raise) else parent.msg if isinstance(parent, ast.Assert) else None
    return any(node is one for one in (*beside, message)) or isinstance(parent, ast.ClassDef)


Change = Callable[[ast.AST], str]


def _changes(node: ast.AST) -> list[Change]:
    if isinstance(node, ast.Constant):
        return _constants(node)
    if isinstance(node, ast.BinOp | ast.AugAssign):
        return [_set_operator] if type(node.op) in _SWAPS else [_exchange] if isinstance(node.op, ast.MatMult) else []
    if isinstance(node, ast.Compare):
        return [_set_comparison]
    if isinstance(node, ast.BoolOp):
        return [_set_boolean]
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        return [_negate] if not isinstance(node, ast.While) else []
    if isinstance(node, ast.UnaryOp):
        return [_drop_sign] if isinstance(node.op, ast.USub | ast.Not | ast.Invert) else []
    return [_drop] if isinstance(node, _DROPPED) else []


def _constants(node: ast.Constant) -> list[Change]:
    value = node.value
    if isinstance(value, bool):
        return [_constant(not value)]
    if isinstance(value, int):
        return [_constant(value + 1), *([_constant(value - 1)] if value > 0 else [])]
    if isinstance(value, float):
        return [_constant(value * 2 if value else 1.0)]
    return []


def _constant(value: object) -> Change:
    def change(node: ast.AST) -> str:
        assert isinstance(node, ast.Constant)
        node.value = value  # type: ignore[assignment]
        return repr(value)

    return change


def _set_operator(node: ast.AST) -> str:
    assert isinstance(node, ast.BinOp | ast.AugAssign)
    node.op = _SWAPS[type(node.op)]()
    return ast.unparse(node)


def _exchange(node: ast.AST) -> str:
    if isinstance(node, ast.BinOp):
        node.left, node.right = node.right, node.left
    return ast.unparse(node)


def _set_comparison(node: ast.AST) -> str:
    assert isinstance(node, ast.Compare)
    node.ops[0] = _COMPARISONS[type(node.ops[0])]()
    return ast.unparse(node)


def _set_boolean(node: ast.AST) -> str:
    assert isinstance(node, ast.BoolOp)
    node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    return ast.unparse(node)


def _negate(node: ast.AST) -> str:
    assert isinstance(node, ast.If | ast.IfExp)
    node.test = ast.UnaryOp(ast.Not(), node.test)
    return ast.unparse(node.test)


def _drop_sign(node: ast.AST) -> str:
    """Becomes + of the operand: the node stays, its sign goes."""
    assert isinstance(node, ast.UnaryOp)
    if isinstance(node.op, ast.USub):
        node.op = ast.UAdd()
    else:
        node.op, node.operand = ast.Not(), ast.UnaryOp(ast.Not(), node.operand)
    return ast.unparse(node)


def _drop(node: ast.AST) -> str:
    """The statement becomes `0`, an expression without effect."""
    node.__class__ = ast.Expr
    node.__dict__.update(value=ast.Constant(0))
    return "(dropped)"
