"""Grade hand-ins of the zoo as whoever runs this, and print what came of each, one line of JSON a hand-in.

python -m tests.as_anybody FOLDER < ids of visits, one a line
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from autograder.model import Report
from tests.zoo import Case, Keeper, Observed, Visit, visits


def _points(report: Report | None) -> dict[str, str]:
    return {o.spec.number: str(o.earned) for o in report.outcomes} if report is not None else {}


def _line(observed: Observed, keeper: Keeper, plain: dict[str, str]) -> dict[str, Any]:
    report = observed.report
    leaks = [name for name, text in observed.files.items() if any(canary in text for canary in keeper.canaries)]
    isolation = report.isolation if report is not None else None
    return {
        "error": observed.error,
        "points": _points(report),
        "plain": plain,
        "faults": [outcome.staff for outcome in report.faults] if report is not None else [],
        "complete": report is not None and report.complete,
        "leaks": leaks,
        "left": list(observed.left),
        "neighbour": observed.neighbour == keeper.honest,
        "level": isolation and isolation.level,
        "layers": isolation and isolation.layers,
        "practice": report is not None and report.practice_only,
        "seconds": round(observed.seconds, 1),
    }


def main(folder: Path) -> None:
    wanted = sys.stdin.read().split()
    known = {visit.id: visit for visit in visits()}
    keeper = Keeper(folder)
    try:
        plain = {
            base: _points(keeper.grade(Visit(Path("plain") / base, Case(claim="nothing added"), base)).report)
            for base in sorted({known[name].base for name in wanted})
        }
        for name in wanted:
            line = {"id": name, **_line(keeper.grade(known[name]), keeper, plain[known[name].base])}
            sys.stdout.write(json.dumps(line) + "\n")
            sys.stdout.flush()
    finally:
        keeper.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
