"""The zoo of hand-ins under tests/submissions/: what a case says, how its hand-in is built, and what is looked at.

A case is a folder `<group>/<name>/` with `expected.toml`. Its hand-in is one of

* the notebook of a base (`right`, `wrong` or `empty`) of the course `base`, with cells put in (`[[cells]]`), answers
  exchanged (`[answers]`) and loose files beside it (`[files]`), all written out in `expected.toml`;
* a `make.py` with `make(folder, notebook)`, which writes whatever bytes it takes;
* the files in the folder `hand-in/`, as they are.

A case of the base `wrong` must not earn more than that notebook earns without the attack; a case of the base `right`
must not lose what its `[earned]` does not name.
"""

from __future__ import annotations

import copy
import gzip
import importlib.util
import io
import json
import os
import random
import re
import secrets
import shutil
import signal
import threading
import time
import tomllib
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, Literal

import nbformat
from pydantic import BaseModel, ConfigDict, Field

from autograder.assignment import load_assignment
from autograder.model import Report
from autograder.release import blank, with_answers
from autograder.sandbox import processes
from autograder.service import Grader, Request

__all__ = ["Case", "Keeper", "Observed", "Visit", "all_cases", "visits"]

HERE = Path(__file__).parent
SUBMISSIONS = HERE / "submissions"
COURSE = HERE / "courses/zoo"
SECRET = "test-only:zoo"
#: For machines that are busy with something else: all limits of the zoo are so many times longer.
SLOWER = float(os.environ.get("SOFTMARK_SLOWER", "1"))
Share = Literal["full", "partial", "zero", "any"]

WRONG = {
    "mean_and_spread": "def mean_and_spread(values):\n    return 0.0, 0.0",
    "softmax": "def softmax(s, dim):\n    return s * 2",
    "attention": "def attention(Q, K, V):\n    return V[:1].repeat(len(Q), 1)",
    "word_counts": "def word_counts(text):\n    return {'a': 1}",
}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Cell(_Strict):
    """A cell that is put in: before the answer to a question, right behind it, at the top, or at the end."""

    source: str
    before: str | None = None
    after: str | None = None
    top: bool = False
    kind: Literal["code", "markdown", "raw"] = "code"
    metadata: dict[str, Any] = Field(default_factory=dict)


class Judgement(_Strict):
    verdict: Literal["PASSED", "FAILED", "BLOCKED"]
    reason: str | None = None


class Case(_Strict):
    """`expected.toml`.

    claim: what holds · bases: which notebooks the case is added to · status: `graded` (nothing to tell), `graded+note`,
    `refused`, `needs-human`; None: any but refused · earned: question → share, where it is not what the base says ·
    verdicts: check → verdict and reason, on the right base · says: what the student must be told · staff: what staff
    must be told, and nobody else · hides: what may stand nowhere · seconds: longest time on a quiet machine ·
    races: with what the hand-in races, so that it may get another result each time · patient: limits of time are five
    times longer, since another limit is what it breaks, however slowly the machine gives memory · named: the hand-in's
    file name · packed: how it arrives.
    """

    claim: str
    course: Literal["base", "ps0"] = "base"
    bases: tuple[Literal["right", "wrong", "empty"], ...] = ("right",)
    status: Literal["graded", "graded+note", "refused", "needs-human"] | None = None
    seconds: float = 20.0
    earned: dict[str, Share | tuple[Share, ...]] = Field(default_factory=dict)
    verdicts: dict[str, Judgement] = Field(default_factory=dict)
    says: tuple[str, ...] = ()
    staff: tuple[str, ...] = ()
    hides: tuple[str, ...] = ()
    races: str = ""
    patient: bool = False
    cells: tuple[Cell, ...] = ()
    answers: dict[str, str] = Field(default_factory=dict)
    files: dict[str, str] = Field(default_factory=dict)
    named: str | None = None
    packed: Literal["file", "folder", "zip"] = "file"
    metadata: dict[str, Any] = Field(default_factory=dict)


@dataclass(frozen=True)
class Visit:
    """One case on one base."""

    folder: Path
    case: Case
    base: str

    @property
    def id(self) -> str:
        return f"{self.folder.parent.name}/{self.folder.name}-{self.base}"

    @property
    def hostile(self) -> bool:
        return self.folder.parent.name.startswith("hostile")

    @property
    def forging(self) -> bool:
        return self.base == "wrong"


@cache
def all_cases() -> Mapping[Path, Case]:
    """Folder → case, read strictly."""
    found = sorted(SUBMISSIONS.glob("*/*/expected.toml"))
    return {path.parent: Case.model_validate(tomllib.loads(path.read_text("utf-8"))) for path in found}


def visits() -> list[Visit]:
    return [Visit(folder, case, base) for folder, case in all_cases().items() for base in case.bases]


# ── building a hand-in ────────────────────────────────────────────────────────────────────────────────────────
@cache
def _base_notebook(base: str) -> Any:
    assignment = load_assignment(COURSE, "base")
    return blank(assignment) if base == "empty" else with_answers(assignment, WRONG if base == "wrong" else {})


def notebook_of(case: Case, base: str) -> Any:
    """The base's notebook with the case's answers and cells in it."""
    notebook = copy.deepcopy(_base_notebook(base))
    for question, source in case.answers.items():
        cell = next(c for c in notebook.cells if _answers(c, question))
        cell.source = source
    for number, cell in enumerate(case.cells):
        make = {"code": nbformat.v4.new_code_cell, "markdown": nbformat.v4.new_markdown_cell}
        new = make.get(cell.kind, nbformat.v4.new_raw_cell)(cell.source, id=f"mine-{number}", metadata=cell.metadata)
        notebook.cells.insert(_place(notebook, cell), new)
    return notebook


def _answers(cell: Any, question: str) -> bool:
    tag = cell.metadata.get("softmark", {})
    return tag.get("role") == "answer" and tag.get("question") == question


def _place(notebook: Any, cell: Cell) -> int:
    if cell.top:
        return 0
    for index, other in enumerate(notebook.cells):
        if cell.before is not None and _answers(other, cell.before):
            return index
        if cell.after is not None and _answers(other, cell.after):
            return index + 1
    return len(notebook.cells)


def build(visit: Visit, folder: Path) -> Path:
    """Write the hand-in below `folder` and return what is handed in: a file, or a folder."""
    folder.mkdir(parents=True)
    case = visit.case
    if (visit.folder / "make.py").exists():
        spec = importlib.util.spec_from_file_location("make", visit.folder / "make.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.make(folder, notebook_of(case, visit.base))
    elif (visit.folder / "hand-in").exists():
        for path in sorted((visit.folder / "hand-in").iterdir()):
            content = path.read_bytes()
            (folder / path.name).write_bytes(_with_our_key(content) if case.course == "ps0" else content)
    else:
        text = nbformat.writes(notebook_of(case, visit.base), version=4) + "\n"
        (folder / (case.named or "base.ipynb")).write_text(text, encoding="utf-8")
    for name, text in case.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return _packed(folder, case.packed)


def _packed(folder: Path, how: str) -> Path:
    inside = sorted(folder.iterdir())
    if how == "zip":
        archive = folder.with_suffix(".zip")
        with zipfile.ZipFile(archive, "w") as file:
            for path in sorted(folder.rglob("*")):
                if path.is_file():
                    file.write(path, path.relative_to(folder).as_posix())
        return archive
    return inside[0] if how == "file" and len(inside) == 1 and inside[0].is_file() else folder


def _with_our_key(content: bytes) -> bytes:
    """The cases of practice set 0 keep their tags under another key; the bytes are renamed, also inside archives."""
    if content.startswith(b"PK\x03\x04"):
        packed = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(packed, "w") as new:
            for entry in old.infolist():
                new.writestr(entry, _with_our_key(old.read(entry)))
        return packed.getvalue()
    if content.startswith(b"\x1f\x8b"):
        return gzip.compress(_with_our_key(gzip.decompress(content)), mtime=0)
    for encoding in ("utf-8", "utf-16-le", "utf-16-be"):
        content = content.replace('"autograder"'.encode(encoding), '"softmark"'.encode(encoding))
    return content


# ── grading it, and looking around afterwards ─────────────────────────────────────────────────────────────────
@dataclass(frozen=True)
class Observed:
    """What grading one hand-in left.

    files: name → text of all that was written · grown: bytes of the grader's memory above its base, at most ·
    left: what of the student's was still there · neighbour: digest of an honest hand-in that was graded next.
    """

    report: Report | None
    error: str
    files: Mapping[str, str]
    results: Any
    seconds: float
    grown: int
    left: Sequence[str]
    neighbour: str

    @property
    def told(self) -> str:
        """All that the student reads."""
        if self.results is None:
            return ""
        tests = [f"{test.get('name')}\n{test.get('output')}" for test in self.results["tests"]]
        return "\n".join([self.results.get("output") or "", *tests])


def digest(report: Report) -> str:
    """What must be the same whenever the same hand-in is graded, a line each."""
    rows = [(o.spec.number, str(o.verdict), str(o.earned), str(o.reason), o.explanation) for o in report.outcomes]
    notes = [("note", note.text) for note in report.notes]
    cells = [("cell", cell.index, str(cell.status), cell.ename) for cell in report.cells]
    return "\n".join(map(repr, [*rows, *notes, *cells, ("refused", report.refused)]))


@dataclass
class Keeper:
    """One grader process that sees many hand-ins, and a course with canaries in every hidden file.

    token: keepers of one token have the same canaries, and so the same draws.
    """

    folder: Path
    token: str = field(default_factory=lambda: secrets.token_hex(8))
    canaries: tuple[str, ...] = ()
    base_memory: int = 0
    honest: str = ""
    course: Path = field(init=False)
    patient: Path = field(init=False)
    _grader: Grader | None = None
    _count: int = 0

    def __post_init__(self) -> None:
        self.course, self.patient = self.folder / "course", self.folder / "patient"
        self.canaries = plant(self.course, self.token, SLOWER)
        plant(self.patient, self.token, 5 * SLOWER)

    @property
    def grader(self) -> Grader:
        if self._grader is None:
            self._grader = Grader()
            for name in ("ps0", "base"):
                self._request(self._honest_path(name), name, None)
            report = self._request(self._honest_path("base"), "base", self.folder / "first")
            assert report.earned == report.total, "the honest hand-in must earn everything"
            self.honest = digest(report)
            self.base_memory = _memory(self._grader.pid, "VmRSS")
        return self._grader

    def close(self) -> None:
        if self._grader is not None:
            self._grader.close()
            self._grader = None

    def _honest_path(self, name: str) -> Path:
        path = self.folder / f"honest-{name}.ipynb"
        if not path.exists():
            path.write_text(nbformat.writes(with_answers(load_assignment(COURSE, name), {}), version=4))
        return path

    def _request(self, path: Path, course: str, out: Path | None, case: Case | None = None) -> Report:
        assert self._grader is not None
        metadata = case.metadata if case is not None else {}
        root = self.patient if case is not None and case.patient else self.course
        order = Request(str(path), str(root), course, out=str(out) if out else None, pages=True, metadata=metadata)
        return self._grader.grade(order)

    def grade(self, visit: Visit) -> Observed:
        """Build, grade, look around, and grade the honest neighbour."""
        self._count += 1
        folder = self.folder / f"v{self._count}"
        path, out = build(visit, folder / "in"), folder / "out"
        grader = self.grader
        _forget_peak(grader.pid)
        report, error, seconds = self._timed(visit, path, out)
        grown = (_memory(grader.pid, "VmHWM") if report else 0) - self.base_memory
        left = left_behind(grader.pid) if report else []
        neighbour = digest(self._request(self._honest_path("base"), "base", None)) if report else ""
        files = {p.name: p.read_text("utf-8", "replace") for p in sorted(out.iterdir())} if out.exists() else {}
        results = json.loads(files["results.json"]) if "results.json" in files else None
        shutil.rmtree(folder)
        return Observed(report, error, files, results, seconds, grown, left, neighbour)

    def _timed(self, visit: Visit, path: Path, out: Path) -> tuple[Report | None, str, float]:
        """A grader that does not come back is killed: that is a failure, and the next case gets a new one."""
        assert self._grader is not None
        killer = threading.Timer(200, os.kill, (self._grader.pid, signal.SIGKILL))
        killer.start()
        started = time.monotonic()
        try:
            return self._request(path, visit.case.course, out, visit.case), "", time.monotonic() - started
        except Exception as error:
            self.close()
            return None, f"{type(error).__name__}: {error}", time.monotonic() - started
        finally:
            killer.cancel()


def plant(course: Path, token: str, slower: float) -> tuple[str, ...]:
    """Copy the zoo's course with a canary in every hidden file; returns all texts that nobody may see.

    slower: how many times longer the limits of time are.
    """
    shutil.copytree(COURSE, course)
    chance = random.Random(token)
    canary, word = f"canary{token}", f"w{chance.randbytes(6).hex()}"
    number = str(6_000_000 + chance.randrange(999_999))
    for path in (course / "reference").rglob("*.py"):
        text = path.read_text().replace("canaryword", word).replace("7654321", number)
        path.write_text(f"{text}\nCANARY = {canary!r}\n")
    (course / "reference/.secret").write_text(f"test-only:{canary}\n")
    for settings in course.glob("assignments/*/assignment.toml"):
        text = settings.read_text()
        settings.write_text(re.sub(r"(?<=_seconds = )[\d.]+", lambda found: str(float(found[0]) * slower), text))
    (course / "reference").chmod(0o700)
    return canary, word, number


def _memory(pid: int, name: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    return 0


def _forget_peak(pid: int) -> None:
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def _children() -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
            found.setdefault(parent, []).append(int(entry.name))
    return found


def _descendants(pid: int) -> Iterator[int]:
    children, waiting = _children(), [pid]
    while waiting:
        for child in children.get(waiting.pop(), []):
            yield child
            waiting.append(child)


def left_behind(pid: int) -> list[str]:
    """Processes below a grader beside its zygote (orphans fall to it, as it is a subreaper), and shared memory of uids
    that no process has."""
    children = [f"process {child}" for child in _descendants(pid)]
    return [*children[1:], *_orphaned_files()]


def _orphaned_files() -> list[str]:
    """Files of uids that have no process, now and a little later: another grader may be about to wipe one."""
    found = set(_without_owner())
    for _ in range(20):
        if not found:
            break
        time.sleep(0.1)
        found &= set(_without_owner())
    return sorted(found)


def _without_owner() -> list[str]:
    alive = {uid for process in processes.everyone() for uid in process.uids}
    found = []
    for folder in (Path("/dev/shm"), Path("/tmp"), Path("/var/tmp")):
        for entry in folder.iterdir():
            try:
                uid = entry.lstat().st_uid
            except OSError:
                continue
            if 20_000 <= uid < 40_000 and uid not in alive:
                found.append(str(entry))
    return found


def share(report: Report, question: str) -> Share:
    """How much of a question was earned, in words."""
    outcomes = [o for o in report.outcomes if o.spec.question == question]
    earned, possible = sum((o.earned for o in outcomes), Fraction(0)), sum(o.spec.points for o in outcomes)
    return "full" if earned == possible else "zero" if earned == 0 else "partial"
