"""How long a room's worth of exams takes: 20 versions with papers, solutions, keys, boxes and practice pages.

    python benchmarks/exams.py [--versions 20] [--seed 7] [--bank FOLDER] [--blueprint FILE]

Prints wall and processor seconds of each stage as JSON, and exits with 1 when the whole takes more than 10 s on two
cores. Processor seconds are printed too, because a busy machine stretches the wall clock and not them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from exam_bank.assemble import build
from exam_bank.bank import QUESTIONS, load_bank
from exam_bank.blueprint import load_blueprint

GOAL = 10.0


def processor_seconds() -> float:
    """User and system time of this process and its finished children."""
    return sum(os.times()[:4])


@contextmanager
def measured(name: str, into: dict[str, dict[str, float]]) -> Iterator[None]:
    """Record wall and processor seconds of a block."""
    wall, spent = time.perf_counter(), processor_seconds()
    yield
    into[name] = {"wall": round(time.perf_counter() - wall, 2), "cpu": round(processor_seconds() - spent, 2)}


def main() -> int:
    """Measure once and report."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--versions", type=int, default=20)
    options.add_argument("--seed", type=int, default=7)
    options.add_argument("--bank", type=Path, default=QUESTIONS)
    options.add_argument("--blueprint", type=Path, default=None)
    given = options.parse_args()
    found: dict[str, dict[str, float]] = {}
    with measured("read the bank", found):
        bank, blueprint = load_bank(given.bank), load_blueprint(given.blueprint)
    with tempfile.TemporaryDirectory() as folder:
        with measured("build without practice pages", found):
            build(blueprint, bank, given.seed, given.versions, Path(folder) / "bare", practice=False)
        with measured("build", found):
            done = build(blueprint, bank, given.seed, given.versions, Path(folder) / "full")
        size = sum(path.stat().st_size for path in done.folder.rglob("*") if path.is_file())
    load = os.getloadavg()[0]
    facts = {
        "versions": given.versions,
        "points": done.exams[0].points,
        "bytes": size,
        "cores": os.cpu_count(),
        "load": load,
    }
    sys.stdout.write(json.dumps({**facts, "stages": found, "goal": GOAL}, indent=1) + "\n")
    return 0 if found["build"]["wall"] <= GOAL else 1


if __name__ == "__main__":
    raise SystemExit(main())
