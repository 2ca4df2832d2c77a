"""What a class costs: rate with one and two workers, cost a submission and the driver's memory over class sizes.

    python -m benchmarks.classes [--count 200] [--sizes 10,100,1000]

Rates are wall time and mean something on a quiet machine only; processor seconds a submission, the ratio to the floor
(`import torch` and the notebook's cells as a script) and the driver's memory move little. Exits with 1 when the
driver's memory or the cost a submission grows with the class.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console

from autograder.batch.executors import open_pool
from autograder.batch.gradebook import gradebook
from autograder.batch.insight import class_view
from autograder.batch.run import Job, grade_class, take_in
from autograder.batch.source import open_source
from autograder.batch.store import Store
from autograder.report.class_report import class_html
from tests.batch.made_class import COURSE, make, write_folder

#: How much more memory the largest class may take in the driver.
MEMORY_SLACK = 24 * 2**20


def resident() -> int:
    """Bytes of this process in memory now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def processor() -> float:
    """Seconds of this process and of everything it waited for."""
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def one_class(count: int, jobs: int, folder: Path) -> dict[str, float]:
    """Grade a class; `start` is what the grader processes cost before the first submission."""
    source = write_folder(folder / "class", make(count))
    spent, memory = processor(), [0]
    with Store(folder / "out", make=True) as store:
        with open_source(source) as opened:
            take_in(opened, store)
        marks: list[tuple[int, float]] = []

        def watch(progress: object) -> None:
            marks.append((progress.done, time.monotonic()))  # type: ignore[attr-defined]
            memory[0] = max(memory[0], resident())

        with open_pool("local", jobs) as pool:
            grade_class(Job(COURSE, "mini", secret="test-only:benchmark"), store, pool, watch)
        started = time.monotonic()
        page = class_html(class_view(store, gradebook(store)))
        reported = time.monotonic() - started
    first = next(mark for mark in marks if mark[0] >= min(2 * jobs, count - 1))
    last = marks[-1]
    return {
        "submissions": count,
        "jobs": jobs,
        "per minute, once warm": 60 * (last[0] - first[0]) / max(1e-9, last[1] - first[1]),
        "processor s a submission": (processor() - spent) / count,
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
    rows = []
    console = Console(highlight=False, soft_wrap=True)
    for count, jobs in ((options.count, 1), (options.count, 2), *((size, 2) for size in sizes)):
        if count:
            with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
                Path(name).chmod(0o755)
                rows.append(one_class(count, jobs, Path(name)))
                console.print_json(json.dumps({key: round(value, 2) for key, value in rows[-1].items()}), indent=None)
    failed = False
    if options.count:
        ratio = rows[1]["per minute, once warm"] / rows[0]["per minute, once warm"]
        console.print(f"two workers: {ratio:.2f} × the rate of one")
        rows = rows[2:]
    if len(rows) > 1:
        grown = rows[-1]["driver MiB"] - rows[0]["driver MiB"]
        failed = grown * 2**20 > MEMORY_SLACK
        console.print(f"driver memory from {sizes[0]} to {sizes[-1]} submissions: {grown:+.1f} MiB")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
