"""What all tests of the assignments share."""

from __future__ import annotations

import sys

import pytest
import torch


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """As in grading, and so that two runs of a training end alike."""
    torch.set_num_threads(1)


@pytest.fixture
def no_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine with torch alone."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
