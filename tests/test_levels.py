"""What is left without root: with Landlock and the filter nothing is forged; without them, there are no grades."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import nbformat
import pytest

from autograder.assignment import load_assignment
from autograder.release import with_answers
from tests.hand_ins import ROOT
from tests.lacking import NOBODY, command
from tests.zoo import COURSE, WRONG, visits

# The machine has to have all layers, so that they can be taken away.
pytestmark = pytest.mark.level_a

_HOSTILE = [visit for visit in visits() if visit.hostile and visit.case.course == "base"]
#: One of each kind: reads what is hidden, writes over the results, lies as the agent, kills, leaves a process.
_FEW = (
    "hostile-steal/a01-open-the-course-wrong",
    "hostile-steal/a04-memory-of-ancestors-wrong",
    "hostile-forge/b01-write-the-results-wrong",
    "hostile-forge/b02-late-writer-wrong",
    "hostile-forge/b07-the-agent-lies-wrong",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder that nobody may write, outside of folders that only we may enter."""
    made = Path("/var/tmp") / f"softmark-levels-{os.getpid()}"
    made.mkdir(mode=0o755)
    if os.geteuid() == 0:
        os.chown(made, NOBODY, NOBODY)
    yield made
    shutil.rmtree(made)


def _run(lacking: tuple[str, ...], *arguments: str, given: str = "", seconds: float = 300) -> Any:
    return subprocess.run(
        command(lacking, sys.executable, *arguments), input=given, capture_output=True, text=True, timeout=seconds,
        check=False, cwd=ROOT,
    )  # fmt: skip


def _graded(folder: Path, ids: Sequence[str], seconds: float) -> dict[str, Any]:
    done = _run((), "-m", "tests.as_anybody", str(folder), given="\n".join(ids), seconds=seconds)
    assert done.returncode == 0, done.stderr[-3000:]
    return {line["id"]: line for line in map(json.loads, done.stdout.splitlines())}


def _assert_nothing_gained(found: dict[str, Any]) -> None:
    """No point more than without the attack, nothing leaked, nothing left, no fault, no bleed; and no stamp."""
    for name, line in found.items():
        assert not line["error"], (name, line["error"])
        assert line["complete"], name
        assert not line["faults"], (name, line["faults"])
        for check, points in line["points"].items():
            assert Fraction(points) <= Fraction(line["plain"][check]), (name, check, points, line["plain"][check])
        assert not line["leaks"], (name, line["leaks"])
        assert not line["left"], (name, line["left"])
        assert line["neighbour"], name
        assert line["level"] in (None, "C"), name  # a hand-in that is refused runs nowhere
        assert line["level"] is None or {"landlock", "seccomp"} <= set(line["layers"]), name
        assert not line["practice"], name


def test_without_root_a_few_attacks_gain_nothing(folder: Path) -> None:
    """As nobody, with Landlock and the filter: a handful of attacks neither forge, read nor stay."""
    found = _graded(folder / "few", _FEW, 300)
    assert set(found) == set(_FEW)
    _assert_nothing_gained(found)


@pytest.mark.slow
def test_without_root_no_attack_gains_anything(folder: Path) -> None:
    """The same with every hostile hand-in of the zoo, on every base."""
    ids = [visit.id for visit in _HOSTILE]
    found = _graded(folder / "all", ids, 3600)
    assert set(found) == set(ids)
    _assert_nothing_gained(found)


# ── where not even that holds ─────────────────────────────────────────────────────────────────────────────────
@pytest.fixture(scope="module")
def hand_in(folder: Path) -> Path:
    path = folder / "class" / "ada" / "base.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(nbformat.writes(with_answers(load_assignment(COURSE, "base"), WRONG), version=4), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def course(folder: Path) -> Path:
    """The zoo's course, readable by nobody as its owner."""
    made = Path(shutil.copytree(COURSE, folder / "course"))
    (made / "reference/.secret").write_text("test-only:levels\n")
    for path in [made, *made.rglob("*")]:
        if os.geteuid() == 0:
            os.chown(path, NOBODY, NOBODY)
    return made


def _softmark(lacking: tuple[str, ...], *arguments: object) -> Any:
    return _run(lacking, "-I", "-m", "autograder.cli", *map(str, arguments))


@pytest.mark.parametrize("lacking", ["landlock", "seccomp"])
def test_a_machine_that_can_not_keep_the_border_stamps_its_results(
    folder: Path, course: Path, hand_in: Path, lacking: str
) -> None:
    """Without root and without one of the two layers, terminal, page and file say that these are no grades."""
    out = folder / f"out-{lacking}"
    out.mkdir()
    os.chown(out, NOBODY if os.geteuid() == 0 else -1, -1)
    done = _softmark((lacking,), "grade", hand_in, "--assignment", "base", "--course", course, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "Practice only, not for grades" in done.stdout
    extra = json.loads((out / "results.json").read_text())["extra_data"]
    assert extra["practice_only"] is True
    assert "practice only, not for grades" in (out / "report.html").read_text().lower()


def test_a_class_is_not_graded_there_unless_one_insists(folder: Path, course: Path, hand_in: Path) -> None:
    """`class grade` refuses, names the layer and records nothing; with --practice it grades, and stamps."""
    out = folder / "results"
    common = ("class", "grade", hand_in.parent.parent, "--assignment", "base", "--course", course, "--jobs", 1)
    refused = _softmark(("landlock",), *common, "--out", out)
    assert refused.returncode != 0
    said = " ".join((refused.stdout + refused.stderr).split())
    assert "can't keep the reference apart" in said
    assert "landlock" in said
    done = _softmark(("landlock",), *common, "--out", folder / "results-practice", "--practice")
    assert done.returncode == 0, done.stderr
    pages = [path.read_text() for path in (folder / "results-practice").rglob("results.json")]
    assert pages
    assert all(json.loads(page)["extra_data"]["practice_only"] is True for page in pages)
