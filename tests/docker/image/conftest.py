"""The image that `docker/ci.sh` built, and graded hand-ins: all containers start together, three at a time."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest

from autograder.emulator import InContainer, Payload, emulate
from autograder.pipeline import Course, open_course
from autograder.report.gradescope import validate_results

from .hand_ins import HandIn, make, without_landlock

ENGINE = os.environ.get("SOFTMARK_ENGINE", "docker")
#: podman's own profile lets through what Docker's does not, so there Docker's is named.
PROFILE = ("--security-opt", f"seccomp={os.environ['SOFTMARK_SECCOMP']}") if ENGINE == "podman" else ()


@dataclass(frozen=True)
class Graded:
    """One run: what the platform gets, how long it took from outside, and the folder."""

    payload: Payload
    seconds: float
    work: Path

    @property
    def results(self) -> dict[str, Any]:
        return self.payload.results

    @property
    def extra(self) -> dict[str, Any]:
        return self.results["extra_data"]

    def test(self, number: str) -> dict[str, Any]:
        return next(test for test in self.results["tests"] if test["number"] == number)

    def question(self, question: str) -> float:
        return sum(t.get("score", 0.0) for t in self.results["tests"] if t["number"].split(".")[0] == question)

    def assert_sound(self) -> None:
        """Ours, valid, finished, the declared total."""
        assert self.payload.error_code is None, self.payload
        assert isinstance(self.results, dict), self.payload.stdout
        assert validate_results(self.results, 100) == []
        assert self.extra["complete"], self.payload.stdout


@pytest.fixture(scope="session")
def image() -> str:
    return os.environ["SOFTMARK_IMAGE"]


@pytest.fixture(scope="session")
def course() -> Course:
    return open_course(Path(os.environ["SOFTMARK_COURSE"]), "attention")


@pytest.fixture(scope="session")
def engine() -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        done = subprocess.run([ENGINE, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0 or not check, done.stderr
        return done

    return run


@pytest.fixture(scope="session")
def inside(engine: Callable[..., Any], image: str) -> Callable[..., str]:
    """Run a command in a fresh container of the image; its output."""

    def run(*command: str, options: Sequence[str] = ()) -> str:
        arguments = ("run", "--rm", "--pull", "never", "--network", "none", *PROFILE, *options, image, *command)
        return engine(*arguments).stdout

    return run


@pytest.fixture(scope="session")
def hand_ins(course: Course, tmp_path_factory: pytest.TempPathFactory) -> dict[str, HandIn]:
    folder = tmp_path_factory.mktemp("files")
    profile = without_landlock(Path(os.environ["SOFTMARK_SECCOMP"]), folder / "without-landlock.json")
    return make(course, profile, folder)


@pytest.fixture(scope="session")
def grade(
    tmp_path_factory: pytest.TempPathFactory, image: str, hand_ins: Mapping[str, HandIn]
) -> Callable[[str], Graded]:
    """Name of a hand-in → a run of it, now."""

    def once(name: str) -> Graded:
        hand_in = hand_ins[name]
        box = tmp_path_factory.mktemp(name)
        work = box / name
        work.mkdir()
        path = box / f"{name}.ipynb"
        path.write_text(nbformat.writes(hand_in.notebook), encoding="utf-8")
        began = time.monotonic()
        starter = InContainer(image, (ENGINE,), options=hand_in.options or PROFILE)
        payload = emulate(work, path, json.loads(hand_in.metadata), starter, seconds=hand_in.seconds)
        return Graded(payload, time.monotonic() - began, work)

    return once


@pytest.fixture(scope="session")
def runs(grade: Callable[[str], Graded], hand_ins: Mapping[str, HandIn]) -> Iterator[Callable[[str], Graded]]:
    """Name of a hand-in → its run, of all that were started together."""
    with ThreadPoolExecutor(3) as pool:
        futures: dict[str, Future[Graded]] = {name: pool.submit(grade, name) for name in hand_ins}
        yield lambda name: futures[name].result()
