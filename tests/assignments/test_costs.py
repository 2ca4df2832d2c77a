"""What a notebook and its grading cost: processor seconds and memory, measured from outside on one thread."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import pytest

from autograder.assignment import load_assignment
from autograder.release import filled, notebook_text
from tests.assignments.grading import COURSE

MIB = 1024
GIB = 1024 * MIB
#: Name → most memory of all processes together, in KiB.
ASSIGNMENTS = {
    "noisy_channel": 0.75 * GIB,
    "lstm": 0.75 * GIB,
    "attention": 0.75 * GIB,
    "minigpt": 1.5 * GIB,
    "tokenizers": 0.75 * GIB,
    "decoding": 0.75 * GIB,
}
RUN = """
import json, os, sys
cells = json.load(open(sys.argv[1]))["cells"]
sys.modules["matplotlib"] = sys.modules["matplotlib.pyplot"] = None
space = {}
for cell in cells:
    if cell["cell_type"] == "code":
        exec("".join(cell["source"]), space)
"""


def family(root: int) -> list[int]:
    """A process and all below it."""
    children = defaultdict(list)
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:  # it has just ended
            continue
        children[int(fields[1])].append(int(stat.parent.name))
    found = [root]
    for pid in found:
        found += children[pid]
    return found


def memory(pid: int) -> int:
    """KiB of a process, pages that are shared counted in parts."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def cost(command: list[str], folder: Path) -> tuple[float, int]:
    """Processor seconds of a command and all its children, and the largest memory at one time, in KiB."""

    def seconds() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    before, peak = seconds(), 0
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            peak = max(peak, sum(map(memory, family(process.pid))))
            time.sleep(0.2)
    assert process.returncode == 0, command
    return seconds() - before, peak


@pytest.mark.slow
@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_a_filled_notebook_runs_in_twenty_processor_seconds(name: str, tmp_path: Path) -> None:
    """All cells with right answers, torch's import included, beside its data."""
    assignment = load_assignment(COURSE, name)
    path = tmp_path / assignment.notebook
    path.write_text(notebook_text(filled(assignment)), encoding="utf-8")
    seconds, _ = cost([sys.executable, "-c", RUN, str(path)], assignment.folder)
    assert seconds < 20


@pytest.mark.slow
@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_a_cold_grading_fits_half_a_processor_and_its_memory(name: str, tmp_path: Path) -> None:
    """From the command's start to the report: at most 30 processor seconds, which are 60 at half a processor."""
    assignment = load_assignment(COURSE, name)
    path = tmp_path / assignment.notebook
    path.write_text(notebook_text(filled(assignment)), encoding="utf-8")
    arguments = ["grade", str(path), "--assignment", name, "--course", str(COURSE), "--out", str(tmp_path / "out")]
    seconds, peak = cost([sys.executable, "-m", "autograder.cli", *arguments], tmp_path)
    assert seconds < 30
    assert peak < ASSIGNMENTS[name]
