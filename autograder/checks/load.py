"""An assignment's hidden files, loaded by path: checks, mistakes, alternatives, and the reference beside them.

Every file becomes a module under a name of its own, made from its path and content, so that two assignments (or two
states of one) never meet in `sys.modules`. What can't be right is refused here, with file and check, before anything
of a student's runs.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import math
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from autograder.checks.decorators import chain
from autograder.checks.mistakes import Alternative, Hypothesis, Same, Way, hypotheses
from autograder.checks.oracle import Oracle
from autograder.checks.question import Question
from autograder.checks.source import Source, Span, renamed
from autograder.errors import CourseError
from autograder.model import Assignment, CheckSpec, Visibility

if TYPE_CHECKING:
    from autograder.checks.desk import Record
    from autograder.checks.perform import Take

__all__ = ["Check", "Checks", "exact", "load_checks", "sibling", "sort_key"]

_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)*")
_ORDERS = ("asc", "desc")


@dataclass(frozen=True, eq=False)
class Check:
    """One check method. partial: it sets its score itself · column: of the leaderboard, (name, order)."""

    spec: CheckSpec
    cls: type[Question]
    method: str
    partial: bool = False
    column: tuple[str, str] | None = None

    @property
    def function(self) -> Any:
        return inspect.getattr_static(self.cls, self.method)


@dataclass(eq=False)
class Checks:
    """Everything that judging an assignment needs; one per grader process, with caches that all submissions share.

    hypotheses: singles first, then pairs · same: sets of names that are one function · equivalent: mutants of the
    reference that are the same function, name → reason · drawn, picked: inputs that
    were drawn already · rarest: check → pairs that its separating draws part less often than asked · recorded: what
    a check asks of everybody · rehearsed: the calls of checks that need values while they run, and for which student.
    """

    assignment: Assignment
    checks: tuple[Check, ...]
    source: Source
    hypotheses: tuple[Hypothesis, ...] = ()
    same: tuple[Same, ...] = ()
    equivalent: Mapping[str, str] = field(default_factory=dict)
    drawn: dict[Any, Any] = field(default_factory=dict)
    picked: dict[Any, list[Any]] = field(default_factory=dict)
    rarest: dict[str, dict[tuple[str, str], int]] = field(default_factory=dict)
    sound: set[bytes] = field(default_factory=set)
    recorded: dict[tuple[str, bytes], Take] = field(default_factory=dict)
    rehearsed: dict[tuple[str, bytes], tuple[str | None, list[Record]]] = field(default_factory=dict)
    changes: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)

    @property
    def specs(self) -> tuple[CheckSpec, ...]:
        """Declared checks, by number."""
        return tuple(check.spec for check in self.checks)

    @property
    def questions(self) -> dict[str, type[Question]]:
        return {check.spec.question: check.cls for check in self.checks}

    @cached_property
    def alternatives(self) -> tuple[Alternative, ...]:
        """Other right answers, which grading does without. Raises CourseError for one that doesn't fit."""
        path = self.assignment.reference / "alternatives.py"
        found = tuple(_listed(path, "ALTERNATIVES", "__alternatives__"))
        known = {question.id for question in self.assignment.questions}
        for alternative in found:
            if not isinstance(alternative, Alternative) or alternative.question not in known:
                raise CourseError("names no question of assignment.toml", where=path, key=f"{alternative!r:.80}")
            self.alternative_change(alternative)
            if alternative.on:
                _way(alternative, self.source, path)
        return found

    @cached_property
    def ways(self) -> tuple[Way, ...]:
        """Other functions to build on than the reference's, from the alternatives that say `on`."""
        path = self.assignment.reference / "alternatives.py"
        return tuple(_way(one, self.source, path) for one in self.alternatives if one.on)

    @cached_property
    def oracle(self) -> Oracle:
        return Oracle(self.source)

    def of_question(self, question: str) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.spec.question == question)

    def hypotheses_for(self, question: str, functions: frozenset[str]) -> list[Hypothesis]:
        """Those of a question that the functions' checks can show, fewest edits first."""
        return [h for h in self.hypotheses if h.question == question and h.functions & functions]

    def alternative_change(self, alternative: Alternative) -> dict[str, str]:
        """The definitions that an alternative puts in the reference's place."""
        key = (alternative.question, alternative.name)
        if key not in self.changes:
            path = self.assignment.reference / "alternatives.py"
            self.changes[key] = _alternative_change(alternative, self.source, path)
        return self.changes[key]


def load_checks(assignment: Assignment) -> Checks:
    """Load the hidden files of an assignment. Raises CourseError with file and check."""
    folder = assignment.reference
    path = folder / "checks.py"
    source = Source(folder / "solution.py", _module(folder / "solution.py"))
    module = _module(path)
    _no_float_numbers(path)
    checks = sorted(_checks(module, assignment, path), key=lambda check: sort_key(check.spec.number))
    _no_number_twice(checks, path)
    _points_add_up(checks, assignment, path)
    mistakes_path = folder / "mistakes.py"
    items = _listed(mistakes_path, "MISTAKES", "__mistakes__")
    loaded = Checks(
        assignment,
        tuple(checks),
        source,
        hypotheses(items, source, mistakes_path),
        tuple(item for item in items if isinstance(item, Same)),
        dict(getattr(_module(mistakes_path), "EQUIVALENT", {})) if mistakes_path.is_file() else {},
    )
    _questions_exist(loaded, mistakes_path)
    return loaded


def sibling(file: str, name: str) -> Any:
    """The module beside `file`: `solution = sibling(__file__, "solution")`."""
    return _module(Path(file).resolve().with_name(f"{name}.py"))


def sort_key(number: str) -> tuple[int, ...]:
    """1.2 comes before 1.10."""
    return tuple(int(part) for part in number.split("."))


def exact(value: Any) -> Fraction:
    """Any finite number as a fraction, decimals as they are written. ValueError, TypeError for anything else."""
    if isinstance(value, Fraction | Decimal):
        return Fraction(value)
    if hasattr(value, "item") and not isinstance(value, int | float):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is no number")
    if not math.isfinite(value):
        raise ValueError(f"{value!r} is not finite")
    return Fraction(str(value))


# ── modules ───────────────────────────────────────────────────────────────────────────────────────────────────
def _module(path: Path) -> ModuleType:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise CourseError(f"can't be read: {error.strerror}", where=path) from error
    tag = hashlib.blake2b(str(path.resolve()).encode() + b"\0" + content, digest_size=8).hexdigest()
    name = f"_course_{path.parent.name}_{path.stem}_{tag}".replace("-", "_")
    known = sys.modules.get(name)
    if known is not None:
        return known
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module  # dataclasses and typing look classes up here
    try:
        exec(compile(content, str(path), "exec", dont_inherit=True), module.__dict__)
    except CourseError:
        del sys.modules[name]
        raise
    except Exception as error:
        del sys.modules[name]
        raise CourseError(f"does not import: {type(error).__name__}: {error}", where=path) from error
    return module


def _listed(path: Path, variable: str, attribute: str) -> list[Any]:
    """The module's list, then what its decorated functions carry, in the order of the file."""
    if not path.is_file():
        return []
    module = _module(path)
    found = list(getattr(module, variable, []))
    for value in list(vars(module).values()):
        if inspect.isfunction(value) and value.__module__ == module.__name__:
            found += getattr(value, attribute, [])
    return found


# ── checks ────────────────────────────────────────────────────────────────────────────────────────────────────
def _checks(module: ModuleType, assignment: Assignment, path: Path) -> Iterator[Check]:
    seen: set[str] = set()
    for cls in list(vars(module).values()):
        if not (isinstance(cls, type) and issubclass(cls, Question)) or cls.__module__ != module.__name__:
            continue
        methods = [name for name in dir(cls) if name.startswith("test")]
        numbered = [name for name in methods if hasattr(getattr(cls, name), "__number__")]
        if not methods:
            continue  # a base class
        if cls.question not in {q.id for q in assignment.questions}:
            raise CourseError(
                f"question = {cls.question!r} is not in assignment.toml", where=path, key=cls.__qualname__
            )
        for name in methods:
            if name not in numbered:
                raise CourseError("a check needs @number", where=path, key=f"{cls.__qualname__}.{name}")
            check = _check(cls, name, assignment, path)
            if check.spec.number in seen:
                raise _twice(check.spec.number, path)
            seen.add(check.spec.number)
            yield check


def _check(cls: type[Question], name: str, assignment: Assignment, path: Path) -> Check:
    function = getattr(cls, name)
    number = function.__number__
    key = f"{cls.__qualname__}.{name}"
    if not _NUMBER.fullmatch(number):
        raise CourseError(f"number {number!r}: digits and dots were expected", where=path, key=key)
    key = f"check {number}"
    _runs_plainly(cls, function, path, key)
    claim = (inspect.getdoc(function) or "").strip().split("\n")[0]
    if not claim:
        raise CourseError("a docstring with the claim is missing", where=path, key=key)
    spec = CheckSpec(
        number,
        cls.question,
        claim,
        _points(function, path, key),
        bool(getattr(function, "__public__", False)),
        _visibility(function, assignment, path, key),
        tuple(getattr(function, "__tags__", ())),
    )
    return Check(spec, cls, name, bool(getattr(function, "__partial__", False)), _column(function, path, key))


def _runs_plainly(cls: type[Question], function: Any, path: Path, key: str) -> None:
    if any(inspect.iscoroutinefunction(link) for link in chain(function)):
        raise CourseError("`async def` can't be a check: nobody would await it", where=path, key=key)
    if getattr(function, "__unittest_skip__", False) or getattr(cls, "__unittest_skip__", False):
        raise CourseError("a check with points can't be skipped: its points would vanish", where=path, key=key)
    expecting = getattr(function, "__unittest_expecting_failure__", False)
    if expecting or getattr(cls, "__unittest_expecting_failure__", False):
        raise CourseError("expectedFailure turns right and wrong round: state the claim instead", where=path, key=key)


def _points(function: Any, path: Path, key: str) -> Fraction:
    value = getattr(function, "__weight__", None)
    if value is None:
        raise CourseError("a check needs @weight or @partial_credit", where=path, key=key)
    try:
        points = exact(value)
    except (TypeError, ValueError):
        points = Fraction(-1)
    if points < 0:
        raise CourseError(f"weight {value!r}: a finite number ≥ 0 was expected", where=path, key=key)
    return points


def _visibility(function: Any, assignment: Assignment, path: Path, key: str) -> Visibility:
    value = getattr(function, "__visibility__", None)
    if value is None:
        return assignment.visibility
    try:
        return Visibility(value)
    except ValueError:
        known = ", ".join(v.value for v in Visibility)
        raise CourseError(f"visibility {value!r}: one of {known} was expected", where=path, key=key) from None


def _column(function: Any, path: Path, key: str) -> tuple[str, str] | None:
    name = getattr(function, "__leaderboard_column__", None)
    if name is None:
        return None
    order = getattr(function, "__leaderboard_sort_order__", "desc")
    if order not in _ORDERS:
        raise CourseError(f"leaderboard order {order!r}: asc or desc was expected", where=path, key=key)
    return str(name), str(order)


def _no_float_numbers(path: Path) -> None:
    """`number(1.10)` is 1.1 at run time, so the text is looked at."""
    text = path.read_text(encoding="utf-8")
    if re.search(r"\bnumber\s*\(\s*(?![\s\"'])", text) is None:
        return  # every call begins with a string
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "number":
            bad = [a for a in node.args if not (isinstance(a, ast.Constant) and isinstance(a.value, str))]
            if bad:
                raise CourseError(
                    "number(…) takes a string literal, since 1.10 is 1.1", where=path, key=f"line {node.lineno}"
                )


def _twice(number: str, path: Path) -> CourseError:
    return CourseError("this number appears twice", where=path, key=f"check {number}")


def _no_number_twice(checks: Sequence[Check], path: Path) -> None:
    for key, count in Counter(sort_key(check.spec.number) for check in checks).items():
        if count > 1:
            raise _twice(".".join(map(str, key)), path)


def _points_add_up(checks: Sequence[Check], assignment: Assignment, path: Path) -> None:
    if not checks:
        raise CourseError("no checks are found: classes that derive from Question, with methods test_…", where=path)
    for question in assignment.questions:
        points = sum((c.spec.points for c in checks if c.spec.question == question.id), Fraction(0))
        if points != question.points:
            raise CourseError(
                f"the checks of question {question.id} have {points} points, assignment.toml says {question.points}",
                where=path,
                key=f"question {question.id}",
            )


def _questions_exist(loaded: Checks, mistakes: Path) -> None:
    known = {question.id for question in loaded.assignment.questions}
    for hypothesis in loaded.hypotheses:
        if hypothesis.question not in known:
            raise CourseError(
                f"no question {hypothesis.question!r}", where=mistakes, key=f"mistake {hypothesis.name!r}"
            )


def _alternative_change(alternative: Alternative, source: Source, path: Path) -> dict[str, str]:
    key = f"alternative {alternative.name!r}"
    if alternative.body is not None:
        if alternative.function not in source.names:
            raise CourseError(f"solution.py defines no `{alternative.function}`", where=path, key=key)
        change = {alternative.function: renamed(alternative.body, alternative.function)}
        unknown = source.unknown_names(change)
        if unknown:
            raise CourseError(f"its body uses {sorted(unknown)}, which solution.py does not have", where=path, key=key)
        return change
    if alternative.source:
        return _split(alternative.source, source, path, key)
    return source.edited(_spans(alternative, source, path))


def _spans(alternative: Alternative, source: Source, path: Path) -> tuple[Span, ...]:
    key = f"alternative {alternative.name!r}"
    edits = alternative.edits or [(alternative.replace, alternative.by)]
    return tuple(source.find(alternative.function, old, new, where=path, key=key) for old, new in edits)


def _way(alternative: Alternative, source: Source, path: Path) -> Way:
    key = f"alternative {alternative.name!r}"
    if alternative.body is not None or alternative.source:
        raise CourseError("`on` needs an edit of the reference, not a whole text", where=path, key=key)
    unknown = set(alternative.on) - set(source.names)
    if unknown:
        raise CourseError(f"`on` names {sorted(unknown)}, which solution.py does not define", where=path, key=key)
    spans = _spans(alternative, source, path)
    return Way(alternative.question, alternative.function, tuple(alternative.on), spans)


def _split(text: str, source: Source, path: Path, key: str) -> dict[str, str]:
    """A text of several statements, as one block in place of the first definition that it replaces."""
    try:
        body = ast.parse(text).body
    except SyntaxError as error:
        raise CourseError(f"no Python: {error.msg}", where=path, key=key) from error
    bound = {name for node in body for name in _bound(node)}
    replaced = [name for name in source.names if name in bound]
    if not replaced:
        raise CourseError("its source defines nothing that solution.py has", where=path, key=key)
    return {replaced[0]: text, **dict.fromkeys(replaced[1:], "")}


def _bound(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]
