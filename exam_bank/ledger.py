"""What past exams used: one JSON line an exam, version and question, so that next term's exam is another one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exam_bank.errors import BankError
from exam_bank.model import Exam, Question

__all__ = ["Ledger", "append", "read_ledger"]


@dataclass(frozen=True)
class Ledger:
    """Uses of other builds than this one."""

    used: Counter[str] = field(default_factory=Counter)
    params: frozenset[tuple[str, str]] = frozenset()
    known: bool = False

    def forbidden(self, repeat: str, questions: Sequence[Question]) -> set[str]:
        """The ids that can't be used again: all used ones, or those without parameters."""
        if repeat == "free":
            return set()
        return {q.id for q in questions if self.used[q.id] and (repeat == "id" or q.generator_path is None)}


def read_ledger(path: Path | None, build: str) -> Ledger:
    """The ledger without the lines of this same build; a second run of one build is no new use."""
    if path is None or not path.exists():
        return Ledger()
    used: Counter[str] = Counter()
    params: set[tuple[str, str]] = set()
    known = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            entry: dict[str, Any] = json.loads(line)
            name = (str(entry["id"]), str(entry["params_sha256"]))
            same = entry["build"] == build
        except (ValueError, KeyError, TypeError):
            raise BankError(
                "is no line of a ledger.", where=path, line=number, way_out="Mend or delete that line."
            ) from None
        if same:
            known = True
        else:
            used[name[0]] += 1
            params.add(name)
    return Ledger(used, frozenset(params), known)


def append(path: Path, exams: Sequence[Exam], build: str, date: str) -> None:
    """Add one line an exam, version and question."""
    lines = [
        json.dumps(
            {
                "build": build,
                "date": date,
                "exam": exam.title,
                "exam_version": exam.version,
                "id": item.variant.id,
                "params_sha256": item.variant.params_hash,
                "version": item.variant.question.head.version,
            },
            sort_keys=True,
            ensure_ascii=False,
        )
        for exam in exams
        for item in exam.items
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(f"{line}\n" for line in lines))
