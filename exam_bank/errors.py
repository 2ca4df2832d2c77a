"""What can be wrong with a bank, a blueprint or a results table.

CourseError             the instructor's files are inconsistent (from autograder.errors)
└── BankError           file, line or key, reason, way out
    ├── BlueprintError  the blueprint can't be met: which slot, what the bank has
    └── GeneratorError  a question's own code failed or doesn't keep its contract; `rule` names the lint rule
"""

from __future__ import annotations

from pathlib import Path

from autograder.errors import CourseError

__all__ = ["BankError", "BlueprintError", "GeneratorError"]


class BankError(CourseError):
    """A file of the bank is wrong: nothing is built from it.

    line: 1-based line in `where`, when one is known; way_out: one sentence on what to change.
    """

    def __init__(
        self,
        reason: str,
        *,
        where: Path | str | None = None,
        line: int | None = None,
        key: str | None = None,
        way_out: str = "",
        rule: str = "Q001",
    ) -> None:
        self.line, self.way_out, self.rule = line, way_out, rule
        place = f"{where}:{line}" if where is not None and line is not None else where
        super().__init__(f"{reason} {way_out}".strip(), where=place, key=key)


class BlueprintError(BankError):
    """No exam meets the blueprint, or the blueprint contradicts itself."""


class GeneratorError(BankError):
    """`generate` or `verify` of a question failed, or gave something that its contract forbids."""
