"""How long a room's worth of exams takes: 20 versions with papers, solutions, keys, boxes and practice pages.

    python benchmarks/exams.py [--versions 20] [--seed 7] [--bank FOLDER] [--blueprint FILE]

Prints wall and processor seconds of each stage as JSON, and exits with 1 when the whole takes more than 10 s on two
cores. A busy machine stretches the wall clock and not the processor's, so there is a second figure, `two_cores`: what
the main thread and pandoc take one after the other, plus half of what Typst's threads take. On two idle cores the wall
clock can't show more than that by much, since pages are written while Typst works.
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


@contextmanager
def measured(name: str, into: dict[str, dict[str, float]]) -> Iterator[None]:
    """Record wall and processor seconds of a block, and what it would take on two idle cores."""
    wall, before, main_before = time.perf_counter(), os.times(), time.thread_time()
    yield
    after = os.times()
    own = after.user + after.system - before.user - before.system
    children = after.children_user + after.children_system - before.children_user - before.children_system
    main = time.thread_time() - main_before
    found = {
        "wall": time.perf_counter() - wall,
        "cpu": own + children,
        "main": main,
        "pandoc": children,
        "two_cores": main + children + max(0.0, own - main) / 2,
    }
    into[name] = {key: round(value, 2) for key, value in found.items()}


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
        # The first build pays for all imports, torch's among them, as the command does.
        with measured("build", found):
            done = build(blueprint, bank, given.seed, given.versions, Path(folder) / "full")
        with measured("another build, without practice pages", found):
            build(blueprint, bank, given.seed, given.versions, Path(folder) / "bare", practice=False)
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
    whole = [found["read the bank"][key] + found["build"][key] for key in ("wall", "two_cores")]
    return 0 if min(whole) <= GOAL else 1


if __name__ == "__main__":
    raise SystemExit(main())
