"""`softmark new`: a small assignment that is complete, so that an author starts from something that works.

It has two questions of which the second builds on the first, public and hidden checks, named mistakes, an axis,
alternatives and a written prompt: one of each thing that an author needs, on one page a file.
"""

from __future__ import annotations

import re
from pathlib import Path

from autograder.errors import CourseError

__all__ = ["new"]


def new(course: Path, name: str) -> tuple[Path, ...]:
    """Write a new assignment; returns the files. Raises CourseError for a bad name or where something is in the way."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise CourseError(
            f"{name!r} can't be the name of an assignment: small letters, digits and _, a letter first", where=course
        )
    folders = (course / "assignments" / name, course / "reference" / name)
    for folder in folders:
        if folder.exists() or folder.is_symlink():
            raise CourseError("this is there already, and nothing is overwritten; choose another name", where=folder)
    files = {course / where.format(name=name): text.replace("$name", name) for where, text in _FILES.items()}
    (course / "reference").mkdir(mode=0o700, parents=True, exist_ok=True)
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tuple(files)


_TOML = """\
title = "RMS norm"
version = "1"
total = 10
written_points = 2
visibility = "visible"
require_isolation = "B"

[limits]
cell_seconds = 10.0
call_seconds = 5.0

[[questions]]
id = "1"
title = "Mean square"
points = 4
functions = ["mean_square"]

[[questions]]
id = "2"
title = "RMS norm"
points = 6
functions = ["rms_norm"]
needs = ["1"]
"""

_SOLUTION = '''\
# %% [markdown]
# # RMS norm
#
# Replace each `raise NotImplementedError` by your code. Keep the names and the order of the parameters.

# %% softmark={"role": "given"}
import torch
from torch import Tensor

# %% [markdown]
# ## Q1 Mean square (4 points)
#
# For each vector along the last axis: the mean of the squares of its entries. Example: (3, 4) gives 12.5.


# %% softmark={"role": "answer", "question": "1"}
def mean_square(x: Tensor) -> Tensor:
    """The mean of the squares along the last axis.

    x: (..., d) → (...).
    """
    squares = x * x
    return squares.mean(dim=-1)


# %% softmark={"role": "public-check", "question": "1"}
assert torch.allclose(mean_square(torch.tensor([[3.0, 4.0]])), torch.tensor([12.5]))
print("Q1: the public check passes")

# %% [markdown]
# ## Q2 RMS norm (6 points)
#
# Divide each vector by the root of its mean square. `eps` is added under the root.


# %% softmark={"role": "answer", "question": "2"}
def rms_norm(x: Tensor, eps: float, *, mean_square=mean_square) -> Tensor:
    """Each vector along the last axis, scaled to a mean square of 1.

    x: (..., d) → (..., d). Source: Zhang and Sennrich 2019, section 3.
    """
    root = torch.sqrt(mean_square(x) + eps)
    return x / root[..., None]


# %% softmark={"role": "public-check", "question": "2"}
assert torch.allclose(rms_norm(torch.tensor([[6.0, 8.0]]), 0.0), torch.tensor([[0.8485, 1.1314]]), atol=1e-3)
print("Q2: the public check passes")

# %% tags=["active-ipynb"] softmark={"role": "demo"}
# for scale in (0.01, 1.0, 100.0):
#     print(scale, rms_norm(scale * torch.arange(4.0), 1e-6))

# %% [markdown] softmark={"role": "written", "question": "E"}
# ## Explain (2 written points)
#
# Why is `eps` needed, and for which vectors does it matter? Two sentences.
#
# *Your answer:*
'''

_CHECKS = '''\
"""The checks of the assignment $name. Each claims one thing, in its docstring."""

from __future__ import annotations

from typing import Any

import torch

from autograder.checks import Question, number, public, weight
from autograder.seeds import Draw


def vectors(draw: Draw) -> tuple[Any, ...]:
    """Sizes that all differ, so that a wrong axis shows."""
    a, b, d = draw.sample(range(2, 12), 3)
    return (draw.normal(a, b, d, scale=2.0),)


def with_eps(draw: Draw) -> tuple[Any, ...]:
    """An eps about as large as the mean square, so that its place shows."""
    (x,) = vectors(draw)
    return x, draw.uniform(0.5, 2.0)


class MeanSquare(Question):
    """Q1 Mean square"""

    question = "1"

    @number("1.1")
    @weight(1)
    @public
    def test_example(self) -> None:
        """The mean square of (3, 4) is 12.5."""
        self.agree("mean_square", torch.tensor([[3.0, 4.0]]))

    @number("1.2")
    @weight(1)
    def test_contract(self) -> None:
        """The last axis goes, the dtype stays."""
        for arguments in self.draws(vectors, times=2):
            self.contract("mean_square", *arguments)

    @number("1.3")
    @weight(2)
    def test_agrees(self) -> None:
        """The mean square is taken along the last axis."""
        for arguments in self.draws(vectors, times=4):
            self.agree("mean_square", *arguments)


class RmsNorm(Question):
    """Q2 RMS norm"""

    question = "2"

    @number("2.1")
    @weight(1)
    @public
    def test_example(self) -> None:
        """(6, 8) is divided by the root of 50."""
        self.agree("rms_norm", torch.tensor([[6.0, 8.0]]), 0.0)

    @number("2.2")
    @weight(5)
    def test_agrees(self) -> None:
        """Each vector is divided by the root of its mean square plus eps."""
        for arguments in self.draws(with_eps, times=4):
            self.agree("rms_norm", *arguments)
'''

_MISTAKES = '''\
"""What students get wrong in the assignment $name: edits of the reference, each with a hint and what it leaves."""

from __future__ import annotations

from autograder.checks import Axis, Mistake

MISTAKES = [
    Mistake(
        "not-squared",
        question="1",
        function="mean_square",
        replace="x * x",
        by="x",
        keeps=0.3,
        hint="Square the entries first.",
    ),
    Mistake(
        "sum-of-squares",
        question="1",
        function="mean_square",
        replace=".mean(",
        by=".sum(",
        keeps=0.6,
        hint="Take the mean, not the sum.",
    ),
    Axis(
        "eps",
        question="2",
        function="rms_norm",
        mistakes=[
            Mistake(
                "eps-outside",
                replace="torch.sqrt(mean_square(x) + eps)",
                by="torch.sqrt(mean_square(x)) + eps",
                keeps=0.7,
                hint="Add eps under the root.",
            ),
            Mistake("no-eps", replace=" + eps", by="", keeps=0.6, hint="eps is not used."),
        ],
    ),
    Mistake(
        "multiplied",
        question="2",
        function="rms_norm",
        replace="x / root",
        by="x * root",
        keeps=0.4,
        hint="Divide by the root.",
    ),
]
'''

_ALTERNATIVES = '''\
"""Other right answers for the assignment $name. Each must get all points."""

from __future__ import annotations

from typing import Any

from autograder.checks import alternative


@alternative(question="1", of="mean_square")
def power(x: Any) -> Any:
    return x.pow(2).sum(-1) / x.shape[-1]


@alternative(question="2", of="rms_norm")
def by_library(x: Any, eps: float) -> Any:
    import torch

    return torch.nn.functional.rms_norm(x, (x.shape[-1],), eps=eps)


@alternative(question="2", of="rms_norm")
def inline(x: Any, eps: float) -> Any:
    return x * ((x**2).mean(dim=-1, keepdim=True) + eps) ** -0.5
'''

_FILES = {
    "assignments/{name}/assignment.toml": _TOML,
    "reference/{name}/solution.py": _SOLUTION,
    "reference/{name}/checks.py": _CHECKS,
    "reference/{name}/mistakes.py": _MISTAKES,
    "reference/{name}/alternatives.py": _ALTERNATIVES,
}
