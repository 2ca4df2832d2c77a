"""The security page: each promise names its tests, and the tests are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs/security.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", TEXT)))


def rows() -> list[list[str]]:
    """The cells of the table of promises."""
    table = TEXT.partition("| promise |")[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


@pytest.mark.parametrize(("file", "name"), NAMED, ids=[name for _, name in NAMED])
def test_each_named_test_exists(file: str, name: str) -> None:
    """A test that is renamed or removed takes its promise with it."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_each_promise_names_how_it_is_tested() -> None:
    """By the zoo, by tests of its own, or both."""
    assert len(rows()) >= 10
    for promise, words, tested in rows():
        assert words, promise
        assert "the zoo" in tested or "::test_" in tested, promise


def test_files_and_folders_of_the_page_exist() -> None:
    """What stands there as a path is one."""
    for path in re.findall(r"`((?:tests|autograder|docs)/[\w./-]*)`", TEXT):
        assert (ROOT / path).exists(), path
