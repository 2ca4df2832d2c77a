"""The teaching assistant's page: every command on it exists, every picture is there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "ta.md"
TEXT = PAGE.read_text(encoding="utf-8")


def commands() -> list[str]:
    """Each `softmark VERB` of the page, `class` with its own."""
    return sorted(set(re.findall(r"\bsoftmark ((?:class )?[a-z]+)\b", TEXT)) - {"class"})


@pytest.mark.parametrize("command", commands())
def test_each_command_of_the_page_exists_with_its_options(command: str) -> None:
    """Its help names every option that the page uses with it."""
    done = subprocess.run(
        [sys.executable, "-I", "-m", "autograder.cli", *command.split(), "--help"],
        capture_output=True, text=True, check=False, env={"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    used = {
        option
        for rest in re.findall(rf"softmark {command}\b([^\n`]*)", TEXT)
        for option in re.findall(r"(--[a-z0-9-]+)", rest)
    }
    assert {option for option in used if option not in done.stdout} <= {"--help"}


def test_each_picture_of_the_page_is_there() -> None:
    """And each has a description."""
    pictures = re.findall(r"!\[([^\]]+)\]\(([^)]+)\)", TEXT)
    assert len(pictures) >= 2
    for description, name in pictures:
        assert len(description) > 20
        assert (PAGE.parent / name).read_bytes().startswith(b"\x89PNG")
