"""What a class costs: rate with one and two workers, cost a submission and the driver's memory over class sizes.

    python -m benchmarks.classes [--count 200] [--sizes 10,100,1000]

Rates are wall time and mean something on a quiet machine only. Processor seconds of a further submission (workers,
graders and kernels, once the workers are warm), their ratio to the floor (the right notebook's cells as one script,
`import torch` included) and the driver's memory move little. Exits with 1 when memory or cost grows with the class.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from rich.console import Console

from autograder.batch.executors import open_pool
from autograder.batch.gradebook import gradebook
from autograder.batch.insight import class_view
from autograder.batch.run import Job, grade_class, take_in
from autograder.batch.source import open_source
from autograder.batch.store import Store
from autograder.report.class_report import class_html
from benchmarks.timing import as_script, command, tree_cpu
from tests.batch.made_class import COURSE, make, write_folder
from tests.hand_ins import answered

#: How much more memory the largest class may take in the driver.
MEMORY_SLACK = 24 * 2**20
#: How far the cost of a submission in the largest class may lie from that in the one before.
COST_SLACK = 0.10


def resident() -> int:
    """Bytes of this process in memory now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def floor(folder: Path) -> float:
    """Processor seconds of the right notebook as a plain script; the median of three runs."""
    nbformat.write(answered("mini", course=COURSE), folder / "right.ipynb")
    as_script(folder / "right.ipynb", folder / "floor.py")
    return statistics.median(command([sys.executable, str(folder / "floor.py")]).cpu for _ in range(3))


def one_class(count: int, jobs: int, folder: Path) -> dict[str, float]:
    """Grade a class."""
    source = write_folder(folder / "class", make(count))
    marks: list[tuple[int, float, float]] = []  # done, wall clock, processor seconds
    memory = [0]
    with Store(folder / "out", make=True) as store:
        with open_source(source) as opened:
            take_in(opened, store)

        def watch(progress: object) -> None:
            marks.append((progress.done, time.monotonic(), tree_cpu(os.getpid())))  # type: ignore[attr-defined]
            memory[0] = max(memory[0], resident())

        with open_pool("local", jobs) as pool:
            grade_class(Job(COURSE, "mini", secret="test-only:benchmark"), store, pool, watch)
        started = time.monotonic()
        page = class_html(class_view(store, gradebook(store)))
        reported = time.monotonic() - started
    first = next(mark for mark in marks if mark[0] >= min(2 * jobs, count - 1))
    last = marks[-1]
    done = max(1, last[0] - first[0])
    return {
        "submissions": count,
        "jobs": jobs,
        "a minute, once warm": 60 * done / max(1e-9, last[1] - first[1]),
        "processor s a further submission": (last[2] - first[2]) / done,
        "driver MiB": memory[0] / 2**20,
        "report s": reported,
        "page MB": len(page) / 1e6,
    }


def main() -> int:
    """Measure and print one JSON object a row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="submissions for the comparison of one and two workers")
    parser.add_argument("--sizes", default="10,100", help="class sizes for memory and cost; 1000 takes a while")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",") if size]
    os.environ["OMP_NUM_THREADS"] = "1"
    console = Console(highlight=False, soft_wrap=True)

    def measured(count: int, jobs: int) -> dict[str, float]:
        with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
            Path(name).chmod(0o755)
            row = one_class(count, jobs, Path(name))
            row["× floor"] = row["processor s a further submission"] / floor(Path(name))
        console.print_json(json.dumps({key: round(value, 2) for key, value in row.items()}), indent=None)
        return row

    if options.count:
        one, two = (measured(options.count, jobs) for jobs in (1, 2))
        ratio = two["a minute, once warm"] / one["a minute, once warm"]
        console.print(f"two workers: {ratio:.2f} × the rate of one")
    rows = [measured(size, 2) for size in sizes]
    return int(_grows(rows, console)) if len(rows) > 1 else 0


def _grows(rows: list[dict[str, float]], console: Console) -> bool:
    """Whether memory or the cost of a submission depends on the class's size."""
    grown = rows[-1]["driver MiB"] - rows[0]["driver MiB"]
    cost = rows[-1]["processor s a further submission"] / rows[-2]["processor s a further submission"]
    console.print(f"driver memory from {rows[0]['submissions']} to {rows[-1]['submissions']}: {grown:+.1f} MiB")
    console.print(f"cost a submission from {rows[-2]['submissions']} to {rows[-1]['submissions']}: {cost - 1:+.0%}")
    return grown * 2**20 > MEMORY_SLACK or abs(cost - 1) > COST_SLACK


if __name__ == "__main__":
    sys.exit(main())
