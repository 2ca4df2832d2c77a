"""Time whole process trees: wall clock, and CPU of the command and all descendants that it waited for."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import nbformat

__all__ = ["Sample", "as_script", "command", "ratios", "rounds", "self_cpu", "tree_cpu"]


@dataclass(frozen=True, slots=True)
class Sample:
    """Seconds of one run, for each thing that it did (`per`)."""

    wall: float
    cpu: float
    peak_mib: float = 0.0

    def each(self, count: int) -> Sample:
        return Sample(self.wall / count, self.cpu / count, self.peak_mib)


def command(arguments: Sequence[str], **options: object) -> Sample:
    """Run to the end, output thrown away; a failing command has no time, so it raises."""
    started = time.monotonic()
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **options)  # type: ignore[call-overload]
    assert process.stderr is not None
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.stderr.close()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        said = errors.decode(errors="replace")[-2000:]
        raise RuntimeError(f"{' '.join(arguments)}: exit {process.returncode}\n{said}")
    return Sample(time.monotonic() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def rounds(rows: Mapping[str, Callable[[], Sample]], count: int, warm_up: int = 1) -> dict[str, list[Sample]]:
    """Every row once a round, in order; the first rounds don't count."""
    samples: dict[str, list[Sample]] = {name: [] for name in rows}
    for number in range(warm_up + count):
        for name, run in rows.items():
            sample = run()
            if number >= warm_up:
                samples[name].append(sample)
    return samples


def ratios(samples: Mapping[str, Sequence[Sample]], floor: str) -> list[tuple[str, float, float, float, float, float]]:
    """name, median wall, median CPU, median of the wall ratios and of the CPU ratios inside rounds, peak MiB."""
    table = []
    for name, row in samples.items():
        pairs = list(zip(row, samples[floor], strict=True))
        table.append(
            (
                name,
                statistics.median(s.wall for s in row),
                statistics.median(s.cpu for s in row),
                statistics.median(a.wall / b.wall for a, b in pairs),
                statistics.median(a.cpu / b.cpu for a, b in pairs),
                max(s.peak_mib for s in row),
            )
        )
    return table


def self_cpu() -> float:
    """CPU of this process and of all children that it waited for."""
    return sum(
        u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def tree_cpu(pid: int) -> float:
    """CPU seconds of a process, its living descendants, and all that they waited for."""
    ticks = os.sysconf("SC_CLK_TCK")
    total, waiting = 0.0, [pid]
    while waiting:
        here = Path(f"/proc/{waiting.pop()}")
        try:
            fields = (here / "stat").read_text().rsplit(")", 1)[1].split()
            for thread in (here / "task").iterdir():  # a child belongs to the thread that forked it
                waiting += map(int, (thread / "children").read_text().split())
        except OSError:
            continue
        total += sum(map(int, fields[11:15])) / ticks
    return total


def as_script(notebook: Path, target: Path) -> None:
    """The notebook's cells as one plain script, errors passed over: the floor of what grading it can cost."""
    cells = nbformat.read(notebook, as_version=4).cells
    guarded = [
        "try:\n"
        + "\n".join(f"    {line}" for line in cell.source.splitlines())
        + "\n    pass\nexcept Exception as e: print(e)"
        for cell in cells
        if cell.cell_type == "code" and cell.source.strip()
    ]
    target.write_text("\n".join(guarded) + "\n", encoding="utf-8")
