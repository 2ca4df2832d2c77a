"""A platform in a folder: any script as `run_autograder`, and the mini course packed for real."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from autograder.emulator import InFolder, Payload, Starter, emulate
from autograder.package import package_files, write_source
from autograder.pipeline import Course, open_course

ROOT = Path(__file__).parents[2]
SECRET = "test-only: gradescope"


@dataclass
class Site:
    """A work folder with `source/` and `run_autograder`."""

    work: Path

    def run(
        self,
        submission: Path,
        *,
        metadata: dict[str, Any] | None = None,
        seconds: float = 120.0,
        starter: Starter | None = None,
        **folder: Any,
    ) -> Payload:
        return emulate(self.work, submission, metadata, starter or InFolder(**folder), seconds=seconds)


@pytest.fixture
def scripted(tmp_path: Path) -> Callable[..., Payload]:
    """Run a shell script as `run_autograder`; `{file}` in it is results.json. Its first line is `#!/bin/sh`."""

    def run(
        body: str,
        *,
        seconds: float = 20.0,
        head: str = "#!/bin/sh\n",
        executable: bool = True,
        starter: Starter | None = None,
    ) -> Payload:
        work = tmp_path / "autograder"
        (work / "source").mkdir(parents=True, exist_ok=True)
        script = work / "run_autograder"
        script.write_bytes((head + body.replace("{file}", "results/results.json")).encode("utf-8", "surrogateescape"))
        script.chmod(0o755 if executable else 0o644)
        hand_in = tmp_path / "hand in.txt"
        hand_in.write_text("anything")
        return emulate(work, hand_in, {"id": 1}, starter or InFolder(), seconds=seconds)

    return run


def copy_course(name: str, to: Path) -> Path:
    """A private copy of a test's course, with a secret."""
    shutil.copytree(ROOT / "tests/courses" / name, to, ignore=shutil.ignore_patterns("__pycache__", ".secret"))
    (to / "reference" / ".secret").write_text(SECRET)
    return to


@pytest.fixture(scope="session")
def mini(tmp_path_factory: pytest.TempPathFactory) -> Course:
    return open_course(copy_course("mini", tmp_path_factory.mktemp("mini") / "course"), "mini")


@pytest.fixture
def site(tmp_path: Path, mini: Course) -> Site:
    """The packed mini course, ready to run."""
    return make_site(tmp_path / "autograder", mini)


def make_site(work: Path, course: Course) -> Site:
    write_source(package_files(course), work / "source")
    shutil.copy2(work / "source" / "run_autograder", work / "run_autograder")
    return Site(work)
