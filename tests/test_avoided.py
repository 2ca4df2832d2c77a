"""Where an answer may use what it was asked to do without."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.avoided import places


def met(*cells: str) -> list[tuple[int, int, str]]:
    return list(places([ast.parse(cell) for cell in cells], ["softmax"], ["softmax", "log_softmax"]))


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        (["def softmax(s):\n    return torch.softmax(s, 0)"], [(0, 2, ".softmax")]),
        (["def softmax(s):\n    return s.log_softmax(0).exp()"], [(0, 2, ".log_softmax")]),
        (["softmax = torch.nn.functional.softmax"], [(0, 1, ".softmax")]),
        (["from torch.nn.functional import softmax"], [(0, 1, "import softmax")]),
        (["from torch.nn.functional import softmax as sm", "def softmax(s):\n    return sm(s, 0)"],
         [(0, 1, "import softmax")]),
        (["def softmax(s):\n    return getattr(torch, 'soft' + 'max')(s, 0)"], [(0, 2, "'softmax'")]),
        (["def softmax(s):\n    return getattr(torch, f'soft{\"max\"}')(s, 0)"], [(0, 2, "'softmax'")]),
        (["def softmax(s):\n    return torch._C._nn.x(s)"], [(0, 2, "._C")]),
        (["def softmax(s):\n    return eval('1')"], [(0, 2, "eval")]),
        (["def helper(s):\n    return s.softmax(0)", "def softmax(s):\n    return helper(s)"], [(0, 2, ".softmax")]),
        (["class Net:\n    def run(self, s):\n        return s.softmax(0)", "def softmax(s):\n    return Net().run(s)"],
         [(0, 3, ".softmax")]),
    ],
)  # fmt: skip
def test_ways_to_use_it_are_found(cells: list[str], found: list[tuple[int, int, str]]) -> None:
    """In the answer, in a helper that it calls, by attribute, import, string and inner module, each with its line."""
    assert met(*cells) == found


@pytest.mark.parametrize(
    "cells",
    [
        ["def softmax(s):\n    e = s.exp()\n    return e / e.sum()"],
        ["def softmax(s):\n    return s.exp()", "assert torch.softmax(x, 0) == softmax(x)"],
        ["def softmax(s):\n    '''As torch.softmax does.'''\n    return s.exp()"],
        ["def other(s):\n    return s.softmax(0)", "def softmax(s):\n    return s.exp()"],
        ["def softmax(s):\n    return softmax(s)"],
    ],
)
def test_honest_answers_are_not_flagged(cells: list[str]) -> None:
    """Comparing with the library, naming it in a text, or calling one's own function is no use of it."""
    assert met(*cells) == []


@given(source=st.text(alphabet="softmax().'+ \n:def_lambd", max_size=80))
def test_any_tree_can_be_searched(source: str) -> None:
    """Whatever parses is searched without an error."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    assert all(line >= 0 for _, line, _ in places([tree], ["softmax", "d"], ["softmax"]))
