"""What can be said of the image's files without building it. None of this stands for an image."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "docker"
SCRIPTS = ["setup.sh", "run_autograder", "ci.sh", "lock.sh", "probe/setup.sh", "probe/run_autograder"]
LOCKS = sorted(DOCKER.glob("requirements-3.*.lock"))
DOCKERFILE = (DOCKER / "Dockerfile").read_text()


def instructions() -> list[tuple[str, str]]:
    """(INSTRUCTION, rest), continuation lines joined, comments gone."""
    joined = re.sub(r"\\\n", " ", DOCKERFILE)
    lines = [line for line in joined.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in lines]


def test_the_base_is_an_argument_and_comes_first() -> None:
    """Production takes Gradescope's base, tests pass a stand-in."""
    assert instructions()[:2] == [
        ("ARG", "BASE=gradescope/autograder-base:ubuntu-22.04"),
        ("FROM", "${BASE}"),
    ]


def test_the_base_keeps_its_command_its_user_and_its_python() -> None:
    """No ENTRYPOINT, CMD, USER; no ENV at all, so no PATH; only plain instructions, for every builder."""
    kinds = {kind for kind, _ in instructions()}
    assert kinds == {"ARG", "FROM", "RUN", "COPY"}
    assert "--mount" not in DOCKERFILE
    assert "<<" not in DOCKERFILE
    assert not DOCKERFILE.startswith("# syntax")


def test_what_changes_most_comes_last() -> None:
    """System, interpreter, torch, lock, users, source: a change of source makes one layer anew."""
    order = [
        "apt-get",
        "setup.sh python",
        "setup.sh torch",
        "setup.sh lock",
        "setup.sh users",
        "COPY source/",
        "selftest",
    ]
    places = [DOCKERFILE.index(text) for text in order]
    assert places == sorted(places)


def test_required_arguments_have_no_default() -> None:
    """PYTHON_URL, PYTHON_SHA256 and TORCH_INDEX_URL must be given."""
    arguments = [rest for kind, rest in instructions() if kind == "ARG"]
    assert {"PYTHON_URL", "PYTHON_SHA256", "TORCH_INDEX_URL"} <= set(arguments)


def test_what_is_copied_exists_in_a_context() -> None:
    """Each source of a COPY is a file of docker/, or source/."""
    for kind, rest in instructions():
        if kind == "COPY":
            pattern = rest.split()[0]
            assert pattern == "source/" or list(DOCKER.glob(pattern)), pattern


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_are_executable_parse_and_have_unix_lines(name: str) -> None:
    """A CR in the `#!` line keeps a script from starting."""
    path = DOCKER / name
    content = path.read_bytes()
    assert b"\r" not in content
    assert content.startswith(b"#!")
    assert path.stat().st_mode & 0o111
    if b"bash" in content.split(b"\n")[0]:
        subprocess.run(["bash", "-n", str(path)], check=True)
        assert b"\nset -euo pipefail\n" in content
    else:
        compile(content, name, "exec")


def test_setup_asks_no_questions() -> None:
    """apt must not wait for an answer in the zip route."""
    assert "export DEBIAN_FRONTEND=noninteractive" in (DOCKER / "setup.sh").read_text()


def test_run_autograder_ends_in_exec() -> None:
    """The platform kills one process, and a shell would read lines that are appended while it runs."""
    lines = (DOCKER / "run_autograder").read_text().strip().splitlines()
    assert lines[-1].startswith("exec ")
    assert " -I -m autograder.cli gradescope" in lines[-1]


def pins(lock: Path) -> dict[str, str]:
    lines = [line for line in lock.read_text().splitlines() if line and not line.startswith("#")]
    found = {}
    for line in lines:
        match = re.fullmatch(r"([a-z0-9-]+)==(\S+) --hash=sha256:[0-9a-f]{64}", line)
        assert match, line
        found[match[1]] = match[2]
    return found


def test_there_is_a_lock_for_each_python() -> None:
    """3.11, 3.12 and 3.13, for which torch has wheels."""
    assert [lock.name for lock in LOCKS] == [f"requirements-3.{minor}.lock" for minor in (11, 12, 13)]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_locks_are_pinned_hashed_and_in_step_with_the_project(lock: Path) -> None:
    """Every dependency of pyproject.toml but torch, which has an index of its own; the same pins in all."""
    pinned = pins(lock)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = {re.sub(r"[-_.]+", "-", re.split(r"[ \[<>=!~;]", name)[0]).lower() for name in project["dependencies"]}
    assert wanted - {"torch"} <= set(pinned), sorted(wanted - set(pinned))
    assert "torch" not in pinned
    assert pinned == pins(LOCKS[0])


def test_locks_agree_with_the_versions_that_the_tests_run_on() -> None:
    """What is graded with is what was tested with."""
    constraints = ROOT / "constraints.txt"
    if not constraints.is_file():
        pytest.skip("no constraints.txt")
    tested = dict(
        line.strip().lower().replace("_", "-").split("==")
        for line in constraints.read_text().splitlines()
        if "==" in line and not line.startswith("#")
    )
    pinned = pins(LOCKS[0])
    assert {name: version for name, version in pinned.items() if tested.get(name, version) != version} == {}


def test_the_version_of_torch_stands_once_and_is_the_one_that_was_tested() -> None:
    """In setup.sh, which both routes run; `ci.sh` reads it there."""
    (version,) = re.findall(r'^: "\$\{TORCH_VERSION:=([\d.]+)\}"$', (DOCKER / "setup.sh").read_text(), re.MULTILINE)
    places = [p.name for p in sorted(DOCKER.rglob("*")) if p.is_file() and re.search(r"torch==\d", p.read_text(), re.I)]
    assert f"torch=={version}" in (ROOT / "constraints.txt").read_text().splitlines()
    assert [p.name for p in sorted(DOCKER.rglob("*")) if p.is_file() and version in p.read_text()] == ["setup.sh"]
    assert not places


def test_nothing_of_one_machine_stands_in_the_files() -> None:
    """No mirror and no path of whoever wrote them."""
    for path in DOCKER.rglob("*"):
        if path.is_file():
            text = path.read_text()
            assert not re.search(r"/work/|/root/|/srv/|file:///|extra-index-url", text), path
