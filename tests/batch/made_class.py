"""A class to order: right, wrong, odd and hostile hand-ins of the mini assignment, as platforms hand them over."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import nbformat

from autograder.assignment import load_assignment
from autograder.checks import load_checks
from tests.hand_ins import ROOT, answered, insert

__all__ = ["COURSE", "HOSTILE", "Made", "made", "make", "write_export", "write_folder", "zipped"]

COURSE = ROOT / "tests/courses/mini"

#: Cells that try to do harm; each is put into a right notebook.
HOSTILE = {
    "exits": "import os\nos._exit(1)",
    "crashes": "import ctypes\nctypes.string_at(0)",
    "floods": "print('x' * 3_000_000)",
    "forks": "import os\nfor _ in range(20):\n    if os.fork() == 0:\n        import time; time.sleep(60); os._exit(0)",
    "kills": "import os, signal\ntry:\n    os.kill(os.getppid(), signal.SIGKILL)\nexcept OSError as e:\n    print(e)",
    "patches": "import torch\ntorch.allclose = torch.equal = lambda *a, **k: True",
}
BROKEN = {
    "page": b"<!DOCTYPE html><html><body>Sign in</body></html>",
    "half": b'{"cells": [{"cell_type": "code"',
    "empty": b"",
}


@dataclass(frozen=True)
class Made:
    """One hand-in. kind: right, wrong, alternative, hostile or broken · name: what is special · data: the file."""

    kind: str
    name: str
    data: bytes


@cache
def made() -> tuple[Made, ...]:
    """Every different hand-in once."""
    checks = load_checks(load_assignment(COURSE, "mini"))
    rows = [Made("right", "right", _bytes(answered("mini", course=COURSE)))]
    for hypothesis in checks.hypotheses:
        if hypothesis.change and hypothesis.size == 1:
            rows.append(Made("wrong", hypothesis.name, _bytes(answered("mini", hypothesis.change, course=COURSE))))
    for alternative in checks.alternatives:
        change = checks.alternative_change(alternative)
        rows.append(Made("alternative", alternative.name, _bytes(answered("mini", change, course=COURSE))))
    for name, source in HOSTILE.items():
        rows.append(Made("hostile", name, _bytes(insert(answered("mini", course=COURSE), source, before="2"))))
    rows += [Made("broken", name, data) for name, data in BROKEN.items()]
    return tuple(rows)


def _bytes(notebook: Any) -> bytes:
    return nbformat.writes(notebook, version=4).encode()


def make(count: int) -> Iterator[Made]:
    """`count` hand-ins: all kinds, over and over."""
    kinds = made()
    for number in range(count):
        yield kinds[number % len(kinds)]


def write_export(folder: Path, hand_ins: Iterator[Made] | list[Made]) -> Path:
    """As Gradescope exports a class: `submission_metadata.yml` and a folder a submission."""
    export = folder / "assignment_77_export"
    export.mkdir(parents=True)
    with (export / "submission_metadata.yml").open("w") as file:
        for number, one in enumerate(hand_ins):
            name = f"submission_{5000 + number}"
            (export / name).mkdir()
            (export / name / "mini.ipynb").write_bytes(one.data)
            file.write(
                f"{name}:\n  :submitters:\n  - :name: Student {number}\n    :sid: '{number:08d}'\n"
                f"    :email: s{number}@example.edu\n  :created_at: 2026-03-05 02:58:07.412903000 Z\n"
                f"  :score: 20.0\n  :status: processed\n  :results:\n    score: 20.0\n    tests:\n"
                "    - name: The second call adds to the first.\n      score: 3.0\n      number: '3.1'\n"
                "      max_score: 3.0\n    output: ''\n  :history: []\n"
            )
    return export


def write_folder(folder: Path, hand_ins: Iterator[Made] | list[Made]) -> Path:
    """One notebook a student."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, one in enumerate(hand_ins):
        (folder / f"{number:04d}-{one.name}.ipynb").write_bytes(one.data)
    return folder


def zipped(folder: Path) -> Path:
    """The folder as a zip beside it, wrapped as exports are."""
    target = folder.parent / f"{folder.name}.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, f"{folder.name}/{path.relative_to(folder)}")
    return target
