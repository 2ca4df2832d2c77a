"""How long a room's worth of exams takes: 20 versions with papers, solutions, keys, boxes and practice pages.

    python benchmarks/exams.py [--versions 20] [--seed 7] [--runs 5] [--bank FOLDER] [--blueprint FILE]

Runs the command from nothing, so that each run pays for starting Python and for every import. Prints for each run the
wall clock, the processor seconds of all its processes, and what other programs used meanwhile, as JSON. The goal is
10 s on two cores. A run counts as quiet when others used less than a tenth of a core. Exit status: 0 the median of the
quiet runs meets the goal, 1 it doesn't, 2 no run was quiet, so that nothing can be said.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

GOAL = 10.0
TICKS = os.sysconf("SC_CLK_TCK")


def busy() -> float:
    """Processor seconds that all programs of this machine have used since it started."""
    user, nice, system, _idle, _wait, *interrupts = map(int, Path("/proc/stat").read_text().split("\n")[0].split()[1:9])
    return (user + nice + system + sum(interrupts)) / TICKS


def measured(command: list[str]) -> dict[str, float]:
    """Run it once."""
    wall, before, others = time.perf_counter(), os.times(), busy()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    seconds, after = time.perf_counter() - wall, os.times()
    own = after.children_user + after.children_system - before.children_user - before.children_system
    found = {"wall": seconds, "cpu": own, "others": max(0.0, busy() - others - own)}
    return {name: round(value, 2) for name, value in found.items()}


def main() -> int:
    """Measure and report."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--versions", type=int, default=20)
    options.add_argument("--seed", type=int, default=7)
    options.add_argument("--runs", type=int, default=5)
    options.add_argument("--bank", type=Path)
    options.add_argument("--blueprint", type=Path)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "exam"
        command = [sys.executable, "-m", "exam_bank.cli", "build", "--out", str(out)]
        for name in ("versions", "seed", "bank", "blueprint"):
            if getattr(given, name) is not None:
                command += [f"--{name}", str(getattr(given, name))]
        runs = [measured(command) for _ in range(given.runs)]
        size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    quiet = [run["wall"] for run in runs if run["others"] < 0.1 * run["wall"]]
    median = statistics.median(quiet) if quiet else None
    facts = {"versions": given.versions, "bytes": size, "cores": os.cpu_count(), "runs": runs, "goal": GOAL}
    sys.stdout.write(json.dumps({**facts, "quiet_median": median}, indent=1) + "\n")
    return 2 if median is None else int(median > GOAL)


if __name__ == "__main__":
    raise SystemExit(main())
