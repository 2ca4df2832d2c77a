"""The course's reference solutions, by path: keys are computed by the code that grades the homework too.

A generator that needs one calls `reference("attention").softmax(…)` in `generate`; then its `verify` takes another
route. The course is never part of an installed package, and keys are not copied out of it: where there is no course,
such a question ends in an error that names the folder that is missing.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from exam_bank.errors import BankError
from exam_bank.model import Question

__all__ = ["asked", "digits", "import_file", "reference", "sources"]

_CALL = re.compile(r"""\breference\(["']([a-z0-9_-]+)["']\)""")


def reference(name: str, course: Path | None = None) -> ModuleType:
    """The module `reference/<name>/solution.py` of the course.

    The course is the nearest parent of the working folder, then of this package, that holds `reference/<name>`; so
    a course of one's own comes before the one that the bank was written with.
    Raises BankError when there is none, or when it can't be imported.
    """
    return _load(_find(name, course))


def asked(question: Question) -> frozenset[str]:
    """The names of the reference solutions that a question's generator asks."""
    path = question.generator_path
    return frozenset(_CALL.findall(path.read_text(encoding="utf-8"))) if path is not None else frozenset()


def sources(questions: Iterable[Question]) -> dict[str, str]:
    """SHA-256 of each reference solution that generators of these questions ask, by name: for the manifest."""
    names = frozenset[str]().union(*map(asked, questions))
    return {name: hashlib.sha256(_find(name).read_bytes()).hexdigest() for name in sorted(names)}


def _find(name: str, course: Path | None = None) -> Path:
    starts = [course] if course else [Path.cwd(), Path(__file__).resolve().parent]
    for start in starts:
        for folder in (start, *start.parents):
            path = folder / "reference" / name / "solution.py"
            if path.is_file():
                return path
    raise BankError(
        f"there is no reference/{name}/solution.py in {starts[0]} or a folder above it.",
        where=f"reference/{name}",
        way_out="Keys are computed by the course's reference: run inside the course's folder.",
    )


def import_file(path: Path, name: str) -> ModuleType:
    """Run a Python file as a module of this name. Raises what the file raises."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@functools.lru_cache(maxsize=64)
def _load(path: Path) -> ModuleType:
    try:
        return import_file(path, f"_exam_bank_reference_{path.parent.name.replace('-', '_')}")
    except Exception as fault:
        raise BankError(
            f"can't be imported: {type(fault).__name__}: {fault}.",
            where=path,
            way_out="Make `softmark validate` pass first.",
        ) from fault


def digits(value: Any, decimals: int) -> Any:
    """A number of the reference as it is printed, never "-0.0"; a tensor or list gives a list of such texts."""
    listed = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(listed, (list, tuple)):
        return [digits(item, decimals) for item in listed]
    return f"{round(float(listed), decimals) + 0.0:.{decimals}f}"
