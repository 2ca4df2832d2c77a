"""A right answer that was refused becomes an alternative, so that no later check refuses it again.

The answer's definitions are taken from the notebook and filed in `alternatives.py`; `validate` then says whether the
checks of today give it full marks. If they don't, the check is what has to change, and the filed alternative stays to
tell when it is right. When all is well, only submissions that the change can touch are graded again: those that did
not pass every check of the question. That holds as long as nothing but this question's checks changed; otherwise the
whole class is graded anew.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.batch.fingerprint import Key, changed_questions
from autograder.batch.store import Store
from autograder.errors import CourseError
from autograder.model import Assignment, Verdict
from autograder.pysource import parse_cell
from autograder.report.gradescope import write_atomic

__all__ = ["Filed", "answer_of", "file_alternative", "touched"]


@dataclass(frozen=True, slots=True)
class Filed:
    """The alternative. new: whether it was added now · path: the file."""

    name: str
    path: Path
    new: bool


def answer_of(cells: Sequence[str], functions: Sequence[str], helpers: frozenset[str]) -> str:
    """The source of the answer: the last definition of each function, and what they call that is the student's own.

    cells: source of the notebook's code cells ·
    helpers: names that the course defines itself, which are not taken along. Raises CourseError when there is none.
    """
    defined = _definitions(cells)
    missing = [name for name in functions if name not in defined]
    if missing:
        raise CourseError(f"the notebook does not define {', '.join(missing)}")
    wanted, waiting = dict.fromkeys(functions), list(functions)
    while waiting:
        for node in ast.walk(defined[waiting.pop()]):
            name = node.id if isinstance(node, ast.Name) else None
            if name in defined and name not in wanted and name not in helpers:
                wanted[name] = None
                waiting.append(name)
    nodes = {id(node): node for name, node in defined.items() if name in wanted}
    return "\n\n\n".join(ast.unparse(node) for node in nodes.values()) + "\n"


def _definitions(cells: Sequence[str]) -> dict[str, ast.stmt]:
    """Name → the last top-level statement that defines it, in the order of the notebook."""
    found: dict[str, ast.stmt] = {}
    for source in cells:
        tree = parse_cell(source)
        for node in tree.body if isinstance(tree, ast.Module) else ():
            for name in _names(node):
                found.pop(name, None)
                found[name] = node
    return found


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def file_alternative(assignment: Assignment, question: str, source: str, reason: str) -> Filed:
    """Append the answer to `alternatives.py`; the same answer is filed once. Raises CourseError."""
    path = assignment.reference / "alternatives.py"
    name = f"accepted-{hashlib.sha256(f'{question}:{source}'.encode()).hexdigest()[:8]}"
    text = path.read_text(encoding="utf-8") if path.exists() else '"""Other right ways to write the answers."""\n'
    if f'"{name}"' in text:
        return Filed(name, path, new=False)
    quoted = source.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    entry = f'\n# {reason}\nALTERNATIVES.append(Alternative("{question}", "{name}", source="""\\\n{quoted}"""))\n'
    text = _with_list(text, path)
    write_atomic(path, (text.rstrip("\n") + "\n" + entry).encode(), mode=0o644)
    return Filed(name, path, new=True)


def _with_list(text: str, path: Path) -> str:
    """The file with `ALTERNATIVES` defined and `Alternative` imported."""
    try:
        body = ast.parse(text).body
    except SyntaxError as error:
        raise CourseError(f"no Python: {error.msg} in line {error.lineno}", where=path) from None
    names = {name for node in body for name in _names(node)}
    names |= {node.target.id for node in body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}
    imported = {alias.asname or alias.name for node in body if isinstance(node, ast.ImportFrom) for alias in node.names}
    added = "" if "Alternative" in imported else "\nfrom autograder.checks import Alternative  # noqa: E402\n"
    added += "" if "ALTERNATIVES" in names else "\nALTERNATIVES = []\n"
    return text.rstrip("\n") + "\n" + added


def touched(store: Store, old: Key, new: Key, question: str) -> tuple[str, ...] | None:
    """Ids that must be graded again after a change of this question's checks; None when it is the whole class.

    Results of all others are carried over to the new key.
    """
    before, after = store.fingerprint(old.course), store.fingerprint(new.course)
    changed = changed_questions(before, after) if before is not None and after is not None else None
    if changed is None or not changed <= {question} or (old.grader, old.seed) != (new.grader, new.seed):
        return None
    again: list[str] = []
    others: list[str] = []
    for recorded in store.results():
        outcomes = [o for o in recorded.report.outcomes if o.spec.question == question]
        right = all(o.verdict is Verdict.PASSED for o in outcomes)
        (others if right or recorded.report.refused is not None else again).append(recorded.submission)
    if old != new:
        store.carry(others, old, new)
    return tuple(again)
