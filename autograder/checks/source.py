"""The reference's source as a set of definitions, from which variants are made.

A variant is a fresh namespace in which every top-level function and class of `solution.py` is executed again, some
of them with another text. So edited code is called by everything that calls it, by global name or as a default of a
keyword-only parameter, exactly as in a student's notebook. Imports and constants run once and are shared. Code
objects are compiled once; a variant costs one compilation and some hundred microseconds.

*On top of* the student's own functions, only the definition under test is executed again, with those names bound to
callables that go to the student's kernel; everything else stays the reference's.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import dis
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from autograder.errors import CourseError

__all__ = ["Change", "Source", "Span", "renamed"]

#: name of a top-level definition → its text in the variant.
Change = Mapping[str, str]


_LAZY = __future__.annotations.compiler_flag


@dataclass(frozen=True, slots=True)
class Span:
    """A place in the text of a top-level definition, and what stands there instead."""

    owner: str
    start: int
    end: int
    new: str

    def overlaps(self, other: Span) -> bool:
        return self.owner == other.owner and self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True)
class _Definition:
    name: str
    node: ast.FunctionDef | ast.ClassDef
    text: str  # decorators included
    code: CodeType


class Source:
    """`solution.py`, read, with its module loaded."""

    def __init__(self, path: Path, module: ModuleType) -> None:
        self.path, self.module = path, module
        self.text = path.read_text(encoding="utf-8")
        self._lines = self.text.splitlines(keepends=True)
        tree = ast.parse(self.text, str(path))
        self._flags = module.__dict__.get("annotations") is __future__.annotations and _LAZY
        self._definitions = [self._define(n) for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
        self._by_name = {d.name: d for d in self._definitions}
        self._codes: dict[tuple[str, str], CodeType] = {}

    def _define(self, node: ast.FunctionDef | ast.ClassDef) -> _Definition:
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        text = "".join(self._lines[first - 1 : node.end_lineno])
        code = compile(ast.Module([node], []), str(self.path), "exec", self._flags, True)
        return _Definition(node.name, node, text, code)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._by_name)

    def definition(self, name: str) -> str:
        """The text of a top-level definition, decorators included. KeyError if there is none."""
        return self._by_name[name].text

    def find(self, function: str, old: str, new: str, *, where: Path | str, key: str) -> Span:
        """The one place in `function` (or "Class.method") where `old` stands; CourseError unless exactly one."""
        owner, start, end = self._segment(function, where, key)
        text = self._by_name[owner].text
        count = text.count(old, start, end)
        if count != 1:
            raise CourseError(
                f"{old!r} is found {count} times in `{function}` of solution.py; it must be found exactly once",
                where=where,
                key=key,
            )
        place = text.index(old, start, end)
        return Span(owner, place, place + len(old), new)

    def _segment(self, function: str, where: Path | str, key: str) -> tuple[str, int, int]:
        """Owner and offsets of a definition without its decorators."""
        owner, _, method = function.partition(".")
        definition = self._by_name.get(owner)
        node: ast.AST | None = definition.node if definition else None
        if method and isinstance(node, ast.ClassDef):
            node = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == method), None)
        elif method:
            node = None
        if definition is None or not isinstance(node, ast.FunctionDef | ast.ClassDef) or node.end_lineno is None:
            raise CourseError(f"solution.py defines no `{function}`", where=where, key=key)
        top = min([definition.node.lineno, *(d.lineno for d in definition.node.decorator_list)])
        start = sum(map(len, self._lines[top - 1 : node.lineno - 1]))
        return owner, start, start + sum(map(len, self._lines[node.lineno - 1 : node.end_lineno]))

    def edited(self, spans: Sequence[Span]) -> dict[str, str]:
        """The texts of the definitions after these edits; the places must not overlap."""
        texts: dict[str, str] = {}
        for span in sorted(spans, key=lambda s: s.start, reverse=True):
            text = texts.get(span.owner, self._by_name[span.owner].text)
            texts[span.owner] = text[: span.start] + span.new + text[span.end :]
        return texts

    def notebook_text(self, change: Change) -> str:
        """All of solution.py with these definitions in place of the reference's."""
        text = self.text
        for name, new in change.items():
            text = text.replace(self._by_name[name].text, new.rstrip("\n") + "\n", 1)
        return text

    def namespace(self, change: Change | None = None) -> dict[str, Any]:
        """A fresh namespace with all definitions, those of `change` in place of the reference's."""
        change = change or {}
        space = dict(vars(self.module))
        for definition in self._definitions:
            new = change.get(definition.name)
            exec(definition.code if new is None else self._code(definition.name, new), space)
        return space

    def users(self, names: Iterable[str]) -> set[str]:
        """The definitions whose answers may change with these: themselves, and what mentions them."""
        found = set(names)
        while True:
            more = {d.name for d in self._definitions if d.name not in found and _mentioned(d.code) & found}
            if not more:
                return found
            found |= more

    def unknown_names(self, change: Change) -> set[str]:
        """Global names that these texts use and that a student's notebook would not have."""
        known = {*vars(self.module), *vars(builtins), *change}
        return {name for key, text in change.items() for name in _globals(self._code(key, text))} - known

    def on_top(self, space: Mapping[str, Any], target: str, own: Mapping[str, Any], change: Change) -> dict[str, Any]:
        """`space` with `target` defined again, seeing `own` in place of the reference's functions."""
        upper = {**space, **own}
        text = change.get(target)
        exec(self._by_name[target].code if text is None else self._code(target, text), upper)
        return upper

    def helpers(self, target: str) -> tuple[str, ...]:
        """The definitions that `target` builds on: defaults of its keyword-only parameters."""
        definition = self._by_name.get(target)
        node: ast.AST | None = definition.node if definition else None
        if isinstance(node, ast.ClassDef):
            node = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
        if not isinstance(node, ast.FunctionDef):
            return ()
        return tuple(default for default in _defaults(node) if default in self._by_name)

    def parameters(self, target: str) -> tuple[str, ...] | None:
        """The parameters that students see: without the keyword-only ones that follow-through needs."""
        definition = self._by_name.get(target)
        if definition is None or not isinstance(definition.node, ast.FunctionDef):
            return None
        arguments = definition.node.args
        names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
        hidden = set(self.helpers(target))
        keyword = [
            a.arg
            for a, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
            if not (isinstance(default, ast.Name) and default.id in hidden)
        ]
        return (*names, *keyword)

    def _code(self, name: str, text: str) -> CodeType:
        key = (name, text)
        if key not in self._codes:
            try:
                self._codes[key] = compile(text, f"<variant of {self.path.name}>", "exec", self._flags, True)
            except SyntaxError as error:
                raise CourseError(f"a variant of `{name}` is no Python: {error.msg}: {text[:200]!r}") from error
        return self._codes[key]


def _defaults(node: ast.FunctionDef) -> list[str]:
    return [default.id for default in node.args.kw_defaults if isinstance(default, ast.Name)]


def _globals(code: CodeType) -> set[str]:
    """The global names that a code object reads, those of its inner functions too."""
    found = {i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"}
    return found.union(*(_globals(const) for const in code.co_consts if isinstance(const, CodeType)))


def _mentioned(code: CodeType) -> set[str]:
    """All global names in a code object and those inside it; `optimiser.step()` does not mention a `step`."""
    found = {i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return found.union(*(_mentioned(const) for const in code.co_consts if isinstance(const, CodeType)))


def renamed(function: Callable[..., Any], name: str) -> str:
    """The source of a function under another name, without decorators and annotations.

    Annotations may name what only the author's file imports, and no check asks for them.
    """
    import inspect

    node = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    if not isinstance(node, ast.FunctionDef):
        raise CourseError(f"`{function.__name__}` is no plain function")
    node.name, node.decorator_list = name, []
    for inner in ast.walk(node):
        if isinstance(inner, ast.arg):
            inner.annotation = None
        elif isinstance(inner, ast.FunctionDef):
            inner.returns = None
    return ast.unparse(node) + "\n"
