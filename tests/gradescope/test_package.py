"""What is packed: everything that a run needs, nothing that it does not, the same bytes each time."""

from __future__ import annotations

import io
import json
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from autograder.emulator import InFolder, advice, emulate
from autograder.errors import CourseError
from autograder.package import Interpreter, package_files, probe_files, wheel, write_context, write_source, write_zip
from autograder.pipeline import Course
from autograder.report.gradescope import validate_bytes

INTERPRETER = Interpreter("https://example.org/python.tar.gz", "0" * 64, "https://example.org/cpu")


def test_the_zip_has_its_scripts_at_the_root(tmp_path: Path, mini: Course) -> None:
    """setup.sh and run_autograder at the root, mode 0755, LF only; what an image gets as arguments is in setup.env."""
    write_zip(package_files(mini), tmp_path / "a.zip", INTERPRETER)
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        for name in ("setup.sh", "run_autograder"):
            entry = archive.getinfo(name)
            assert stat.S_IMODE(entry.external_attr >> 16) == 0o755
            assert archive.read(name).startswith(b"#!/usr/bin/env bash\n")
            assert b"\r" not in archive.read(name)
        assert b"PYTHON_SHA256=" + b"0" * 64 in archive.read("setup.env")
        names = archive.namelist()
    assert "requirements-3.11.lock" in names
    assert "course/reference/.secret" in names
    assert "course/assignments/mini/mini.ipynb" in names
    assert not any("__pycache__" in name for name in names)
    assert stat.S_IMODE((tmp_path / "a.zip").stat().st_mode) == 0o600


def test_two_packages_are_equal_byte_for_byte(tmp_path: Path, mini: Course) -> None:
    """No time, no order of folders, no name of a machine gets in."""
    for name in ("a.zip", "b.zip"):
        write_zip(package_files(mini), tmp_path / name, INTERPRETER)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


@pytest.mark.parametrize(
    "interpreter",
    [
        Interpreter("https://x/$(rm -rf ~)", "0" * 64, "https://y"),
        Interpreter("https://x", "123", "https://y"),
        Interpreter("https://x", "0" * 64, "https://y; true"),
    ],
)
def test_setup_env_takes_no_shell(interpreter: Interpreter) -> None:
    """An address that a shell would read otherwise is refused."""
    with pytest.raises(CourseError):
        interpreter.env()


def test_the_fallback_is_valid_and_blames_nobody(mini: Course) -> None:
    """Every check undecided, all points open, the declared total."""
    data = package_files(mini)["results.fallback.json"]
    assert validate_bytes(data, 20) == []
    read = json.loads(data)
    assert read["score"] == 0
    assert read["extra_data"]["complete"] is False
    assert {test["extra_data"]["verdict"] for test in read["tests"]} == {"GRADER_FAULT"}


def test_the_context_can_be_written_again_but_eats_no_other_folder(tmp_path: Path, mini: Course) -> None:
    """Dockerfile, setup.sh, locks and source/; a folder that is something else is refused."""
    files = package_files(mini)
    write_context(files, tmp_path / "context")
    write_context(files, tmp_path / "context")
    names = {path.name for path in (tmp_path / "context").iterdir()}
    assert names >= {"Dockerfile", "setup.sh", "requirements-3.11.lock", "source"}
    assert "run_autograder" not in names
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("…")
    with pytest.raises(CourseError, match="not empty"):
        write_context(files, tmp_path / "thesis")


def test_the_wheel_installs_and_imports(tmp_path: Path) -> None:
    """pip takes it without a build tool, and its command line works."""
    name, content = wheel()
    (tmp_path / name).write_bytes(content)
    target = tmp_path / "site"
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", str(target)]
    subprocess.run([*command, str(tmp_path / name)], check=True, capture_output=True)
    assert (target / "autograder" / "report" / "report.css").is_file()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        entry_points = next(n for n in archive.namelist() if n.endswith("entry_points.txt"))
        assert b"softmark = autograder.cli:main" in archive.read(entry_points)


def test_a_link_in_the_course_is_refused(tmp_path: Path, mini: Course) -> None:
    """It could bring in anything."""
    link = mini.assignment.reference / "link"
    link.symlink_to("/etc/hostname")
    try:
        with pytest.raises(CourseError, match="link"):
            package_files(mini)
    finally:
        link.unlink()


def test_the_probe_runs_and_writes_names_only(tmp_path: Path) -> None:
    """Under the emulator: valid, no warning, the variables' names and none of their values."""
    write_source(probe_files(), tmp_path / "source")
    script = tmp_path / "run_autograder"
    script.write_bytes((tmp_path / "source" / "run_autograder").read_bytes())
    script.chmod(0o755)
    hand_in = tmp_path / "any.txt"
    hand_in.write_text("any")
    payload = emulate(tmp_path, hand_in, {"id": 1, "created_at": "x"}, InFolder(), seconds=30)
    assert payload.error_code is None
    assert advice(payload.results) == []
    assert validate_bytes((payload.raw_results or "").encode(), 0) == []
    probe = payload.results["extra_data"]["probe"]
    assert "SUBMISSION_URL" in probe["environment"]
    assert probe["metadata_keys"] == ["created_at", "id"]
    assert "canary" not in (payload.raw_results or "") + payload.stdout
    assert any(line.startswith("Seccomp") for line in probe["status"])
