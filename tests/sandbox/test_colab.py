"""The stand-in for Colab's module: there for those who use it, not there for those who ask."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.sandbox import colab

_CODE = """
from autograder.sandbox import colab
colab.install()
{code}
"""


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A script in a process of its own, since the finder stays."""
    script = folder / "script.py"
    script.write_text(_CODE.format(code=code))
    return subprocess.run([sys.executable, "-I", str(script)], cwd=folder, capture_output=True, text=True, check=False)


def test_a_cell_that_mounts_a_drive_goes_on(tmp_path: Path) -> None:
    """`from google.colab import drive` and `drive.mount` run, and say that there is no drive."""
    done = run("from google.colab import drive\ndrive.mount('/content/drive')\nprint('after')", tmp_path)
    assert done.stdout == "after\n"
    assert "no drive" in done.stderr


def test_an_upload_finds_what_was_handed_in(tmp_path: Path) -> None:
    """`files.upload()` gives the files beside the notebook."""
    (tmp_path / "a.txt").write_text("hello")
    done = run("import google.colab.files as files\nprint(files.upload()['a.txt'])", tmp_path)
    assert done.stdout == "b'hello'\n", done.stderr


@pytest.mark.parametrize("code", ["import google.colab", "import google.colab as c", "__import__('google.colab')"])
def test_who_asks_whether_this_is_colab_is_told_no(tmp_path: Path, code: str) -> None:
    """A bare import fails as on any other machine."""
    assert "ModuleNotFoundError" in run(code, tmp_path).stderr


def test_other_names_below_google_stay_what_they_are(tmp_path: Path) -> None:
    """The stand-in answers for Colab alone."""
    assert "ModuleNotFoundError" in run("import google.cloud", tmp_path).stderr
    assert "no secrets" in run("from google.colab import userdata\nuserdata.get('K')", tmp_path).stderr


def test_nothing_is_there_before_it_is_asked_for() -> None:
    """Having the finder imports nothing."""
    assert "google.colab" not in sys.modules
    assert importlib.import_module("autograder.sandbox.colab") is colab
