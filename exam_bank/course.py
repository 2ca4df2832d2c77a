"""The course's reference solutions, by path: so that keys are computed by the code that grades homework too."""

from __future__ import annotations

import functools
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from exam_bank.errors import BankError

__all__ = ["reference"]


def reference(name: str, course: Path | None = None) -> ModuleType:
    """The module `reference/<name>/solution.py` of the course.

    The course is the nearest parent of this package, then of the working folder, that holds `reference/<name>`.
    Raises BankError when there is none.
    """
    starts = [course] if course else [Path(__file__).resolve().parent, Path.cwd()]
    for start in starts:
        for folder in (start, *start.parents):
            path = folder / "reference" / name / "solution.py"
            if path.is_file():
                return _load(path)
    raise BankError(
        f"there is no reference/{name}/solution.py in a parent of {starts[-1]}.",
        where=f"reference/{name}",
        way_out="Run inside the course, or compute the key without it.",
    )


@functools.lru_cache(maxsize=64)
def _load(path: Path) -> ModuleType:
    name = f"_exam_bank_reference_{path.parent.name.replace('-', '_')}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
