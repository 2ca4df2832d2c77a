"""Shared values: the small bank of one question a type, an exam made of it, and a way to plant a faulty question."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from exam_helpers import BANK, SAMPLER, Plant, exam_of

from exam_bank.bank import Bank, load_bank
from exam_bank.model import Exam
from exam_bank.render.tree import Store

HEAD = """
id: planted
version: 1
title: A planted question
topic: lm/ngram
source: written for this test
status: reviewed
difficulty: 2
minutes: 3
points: 2
"""


@pytest.fixture(scope="session")
def bank() -> Bank:
    """The test bank."""
    return load_bank(BANK)


@pytest.fixture(scope="session")
def store() -> Store:
    """Parsed texts and formulas, shared: they depend on their source only."""
    return Store()


@pytest.fixture(scope="session")
def exam(bank: Bank) -> Exam:
    """Version 1 with seed 7."""
    return exam_of(bank)


@pytest.fixture
def blueprint(tmp_path: Path) -> Path:
    """A blueprint that takes every question of the test bank."""
    path = tmp_path / "sampler.toml"
    path.write_text(SAMPLER)
    return path


@pytest.fixture
def plant(tmp_path: Path) -> Plant:
    """Write a question from its parts, body, code and changed head lines; returns the folder."""

    def write(parts: str, body: str, code: str = "", name: str = "planted", **head: object) -> Path:
        fields = dict(line.split(": ", 1) for line in HEAD.strip().splitlines())
        fields["id"] = name
        if code:
            fields["generator"] = f"{name}.py"
            fields["max_versions"] = "1"
        fields |= {key: str(value) for key, value in head.items()}
        lines = [f"{key}: {value}" for key, value in fields.items() if value != "None"]
        folder = tmp_path / "planted"
        folder.mkdir(exist_ok=True)
        text = "---\n" + "\n".join(lines) + "\nparts:\n" + textwrap.indent(textwrap.dedent(parts).strip(), "  ")
        (folder / f"{name}.md").write_text(text + "\n---\n" + textwrap.dedent(body).strip() + "\n")
        if code:
            (folder / f"{name}.py").write_text(textwrap.dedent(code))
        return folder

    return write
