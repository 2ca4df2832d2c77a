"""What a result depends on besides the hand-in: the assignment's files, the grader's version, the seed.

Results are recorded under this key, so a fixed check makes new results and never overwrites what the old one said.
The classes of `checks.py` are told apart, so that it can be seen which questions a change touches.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from autograder import __version__
from autograder.model import Assignment

__all__ = ["Fingerprint", "Key", "changed_questions", "fingerprint"]

_CHECKS = "reference/checks.py"
#: Files whose changes leave every verdict as it is.
_WITHOUT_EFFECT = {"reference/alternatives.py", "reference/rubric.md", "reference/demo.toml"}

Fingerprint = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Key:
    """Under what a result is recorded, besides the submission and its SHA-256. seed: "course", or staff's number."""

    assignment: str
    course: str
    grader: str
    seed: str

    @classmethod
    def of(cls, assignment: Assignment, found: Fingerprint, seed: int | None) -> Key:
        text = json.dumps({k: v for k, v in found.items() if k not in _WITHOUT_EFFECT}, sort_keys=True)
        course = hashlib.sha256(text.encode()).hexdigest()[:32]
        return cls(
            f"{assignment.name} {assignment.version}", course, __version__, "course" if seed is None else str(seed)
        )


def fingerprint(assignment: Assignment, secret: bytes) -> Fingerprint:
    """File (or class of `checks.py`, `reference/checks.py:Softmax=1`) → digest. The secret enters by its digest."""
    found = {"secret": _digest(b"fingerprint of the secret:" + secret)}
    for root, name in ((assignment.folder, "assignment"), (assignment.reference, "reference")):
        for path in sorted(root.rglob("*")):
            relative = path.relative_to(root)
            if path.is_file() and not any(part.startswith((".", "__pycache__")) for part in relative.parts):
                found[f"{name}/{relative.as_posix()}"] = _digest(path.read_bytes())
    checks = assignment.reference / "checks.py"
    if found.pop(_CHECKS, None):
        found |= _classes(checks.read_text(encoding="utf-8"))
    return found


def _classes(source: str) -> dict[str, str]:
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return {_CHECKS: _digest(source.encode())}
    named = [(node, question) for node in body if (question := _question(node)) is not None]
    own = {f"{_CHECKS}:{_name(node)}={question}": _digest(ast.dump(node).encode()) for node, question in named}
    rest = "\n".join(ast.dump(node) for node in body if _question(node) is None)
    return {_CHECKS: _digest(rest.encode()), **own}


def _name(node: ast.stmt) -> str:
    return node.name if isinstance(node, ast.ClassDef) else ""


def _question(node: ast.stmt) -> str | None:
    """`question = "1"` in the body of a class."""
    for inner in node.body if isinstance(node, ast.ClassDef) else ():
        if (
            isinstance(inner, ast.Assign)
            and isinstance(inner.value, ast.Constant)
            and any(isinstance(target, ast.Name) and target.id == "question" for target in inner.targets)
        ):
            return str(inner.value.value)
    return None


def changed_questions(old: Fingerprint, new: Fingerprint) -> set[str] | None:
    """Questions that can be judged otherwise now; None when it may be any."""
    changed = {name for name in {*old, *new} if old.get(name) != new.get(name)} - _WITHOUT_EFFECT
    if any(not name.startswith(f"{_CHECKS}:") for name in changed):
        return None
    return {name.rpartition("=")[2] for name in changed}


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]
