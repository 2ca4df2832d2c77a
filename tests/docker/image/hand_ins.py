"""Hand-ins for the image: right, wrong, hostile, endless, hungry; made from the assignment, so never out of step."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

from autograder.demo import submissions
from autograder.emulator import plain_metadata
from autograder.emulator.starters import CANARY
from autograder.pipeline import Course


@dataclass(frozen=True)
class HandIn:
    """A notebook and how to run it. options: for the engine's `run`."""

    notebook: Any
    metadata: str
    seconds: float = 300.0
    options: Sequence[str] = ()


#: One cell each; it stops with an exception, and so shows in the report, exactly when the attempt succeeds.
_ATTEMPTS = {
    "list the source": "os.listdir('/autograder/source')",
    "read the package": "open('/autograder/source/package.json').read()",
    "list the results": "os.listdir('/autograder/results')",
    "overwrite the result": "open('/autograder/results/results.json', 'w').write('{\"score\": 100}')",
    "read the metadata": "open('/autograder/submission_metadata.json').read()",
    "read the shadow file": "open('/etc/shadow').read()",
    "open an IPv4 socket": "socket.socket(socket.AF_INET)",
    "open an IPv6 socket": "socket.socket(socket.AF_INET6)",
    "kill the parent": "os.kill(os.getppid(), 9)",
    "read the parent's environment": "open(f'/proc/{os.getppid()}/environ').read()",
    "read the first process's environment": "open('/proc/1/environ').read()",
    "become root": "os.setuid(0)",
    "write in /opt": "open('/opt/x', 'w')",
    "write in /autograder": "open('/autograder/x', 'w')",
    "change run_autograder": "open('/autograder/run_autograder', 'a')",
}
_ONLY_WITH_LANDLOCK = {"write in /tmp": "open('/tmp/x', 'w')"}
_ATTEMPT = """import os, socket
try:
    {attempt}
except (OSError, PermissionError):
    pass
else:
    raise RuntimeError({name!r} + " worked")
"""
_CANARY = f"import os\nassert {CANARY!r} not in str(os.environ) and 'SUBMISSION_URL' not in os.environ\n"


def make(course: Course, profile_without_landlock: str, folder: Path) -> dict[str, HandIn]:
    """Name → hand-in. profile_without_landlock: for the engine's --security-opt seccomp= · folder: for more files."""
    known = {one.name: one.notebook for one in submissions(course.assignment, course.checks)}
    metadata = json.dumps(plain_metadata(course.assignment))
    attempts = [_ATTEMPT.format(attempt=code, name=name) for name, code in _ATTEMPTS.items()] + [_CANARY]
    more = [_ATTEMPT.format(attempt=code, name=name) for name, code in _ONLY_WITH_LANDLOCK.items()]
    hostile = [*attempts, *more]
    options = ("--security-opt", f"seccomp={profile_without_landlock}")
    demanding = folder / "assignment.toml"
    text = (course.assignment.folder / "assignment.toml").read_text()
    demanding.write_text(f'require_isolation = "A"\n{text}')
    inside = "/autograder/source/course/assignments/attention/assignment.toml"
    return {
        "too-little": HandIn(known["right"], metadata, options=(*options, "--volume", f"{demanding}:{inside}:ro")),
        "hungry": HandIn(_before(known["right"], "3", ["rows = [bytearray(2**20) for _ in range(2048)]"]), metadata),
        "endless": HandIn(_before(known["right"], "3", ["while True:\n    pass"] * 4), metadata, seconds=60),
        "right": HandIn(known["right"], metadata),
        "hostile": HandIn(_before(known["right"], "2", hostile), metadata),
        "without-landlock": HandIn(_before(known["right"], "2", attempts), metadata, options=options),
        "wrong": HandIn(_before(known["two-mistakes"], "2", ["raise RuntimeError('mine')"]), metadata),
    }


def _before(notebook: Any, question: str, sources: Sequence[str]) -> Any:
    """A copy of the notebook with cells in front of a question's answer."""
    changed = nbformat.from_dict(json.loads(json.dumps(notebook)))
    place = next(
        index
        for index, cell in enumerate(changed.cells)
        if cell.metadata.get("softmark", {}) == {"role": "answer", "question": question}
    )
    cells = [nbformat.v4.new_code_cell(source, id=f"more-{n}") for n, source in enumerate(sources)]
    changed.cells[place:place] = cells
    return changed


def without_landlock(profile: Path, to: Path) -> str:
    """A copy of an engine's seccomp profile that lets no call of Landlock through."""
    read = json.loads(profile.read_text())
    for rule in read["syscalls"]:
        rule["names"] = [name for name in rule["names"] if not name.startswith("landlock_")]
    to.write_text(json.dumps(read))
    return str(to)
