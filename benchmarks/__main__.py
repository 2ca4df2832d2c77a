"""How much a submission costs, against the *floor*: the notebook's cells as one plain script, `import torch` included.

    python -m benchmarks [--rounds N] [--warm N] [--assignment NAME]

Every row runs once a round, in order, after a warm-up round; ratios are taken inside a round and their median is
shown. Wall times mean something on a quiet machine only; CPU ratios move little. Peers are rows when they are
installed, and are reported as missing otherwise.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from rich.console import Console
from rich.table import Table

from autograder.assignment import load_assignment
from autograder.release import filled
from autograder.service import Grader, Request
from benchmarks.timing import Sample, as_script, command, ratios, rounds, tree_cpu

ROOT = Path(__file__).resolve().parent.parent
#: What a notebook is run, written and shown with, and a command line is made of: nothing that grades can do without.
PACKAGES = "ipykernel.kernelapp, ipykernel.zmqshell, jupyter_client, nbconvert, nbformat, papermill, rich.table, typer"


def _warm(grader: Grader, request: Request, count: int) -> Sample:
    """The mean cost of `count` further submissions in a grader process that already runs."""
    cpu, started = tree_cpu(grader.pid), time.monotonic()
    for _ in range(count):
        report = grader.grade(request)
        assert report.earned == report.total, "a right notebook must get all points"
    return Sample(time.monotonic() - started, tree_cpu(grader.pid) - cpu).each(count)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--warm", type=int, default=10, help="submissions a round for the warm row")
    parser.add_argument("--assignment", default="attention")
    options = parser.parse_args()
    console = Console()
    softmark = str(Path(sys.executable).parent / "softmark")
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder, Grader() as grader:
        Path(folder).chmod(0o755)
        notebook, script = Path(folder) / "right.ipynb", Path(folder) / "floor.py"
        nbformat.write(filled(load_assignment(ROOT, options.assignment)), notebook)
        as_script(notebook, script)
        more = Path(folder) / "more.py"
        more.write_text(f"import {PACKAGES}\n{script.read_text(encoding='utf-8')}", encoding="utf-8")
        request = Request(str(notebook), str(ROOT), options.assignment, out=folder)
        cold = [softmark, "grade", str(notebook), "-a", options.assignment, "--course", str(ROOT), "--out", folder]
        rows = {
            "floor": lambda: command([sys.executable, str(script)]),
            "import torch": lambda: command([sys.executable, "-c", "import torch"]),
            "floor, Jupyter's packages imported": lambda: command([sys.executable, str(more)]),
            "softmark grade, cold": lambda: command(cold),
            "softmark, each further submission": lambda: _warm(grader, request, options.warm),
        }
        if importlib.util.find_spec("papermill"):
            papermill = [str(Path(sys.executable).parent / "papermill"), "--no-progress-bar", "-k", "python3"]
            rows["papermill (no checks at all)"] = lambda: command([*papermill, str(notebook), "/dev/null"])
        samples = rounds(rows, options.rounds)
    table = Table(title=f"{options.assignment}: {options.rounds} rounds, medians")
    for name in ("", "wall s", "CPU s", "wall ÷ floor", "CPU ÷ floor", "peak MiB"):
        table.add_column(name, justify="left" if not name else "right")
    for name, *figures in ratios(samples, "floor"):
        table.add_row(name, *(f"{value:.2f}" for value in figures[:-1]), f"{figures[-1]:.0f}" if figures[-1] else "")
    console.print(table)
    for peer in ("otter", "nbgrader"):
        if importlib.util.find_spec(peer) is None:
            console.print(f"not measured: {peer} is not installed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
