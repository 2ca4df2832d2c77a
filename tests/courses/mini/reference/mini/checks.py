"""The checks of the mini assignment."""

from __future__ import annotations

from typing import Any

import torch

from autograder.checks import Question, number, public, sibling, tags, weight
from autograder.plan import Build, Call, Gradients, Plan
from autograder.seeds import Draw

solution = sibling(__file__, "solution")


def cubes(draw: Draw) -> tuple[Any, ...]:
    return draw.normal(3, 4, 5, scale=3.0), draw.choice([0, 1, 2])


def heads(draw: Draw) -> tuple[Any, ...]:
    n, m, d, v = draw.sample(range(3, 12), 4)
    return draw.normal(n, d, scale=2.0), draw.normal(m, d, scale=2.0), draw.normal(m, v)


class Softmax(Question):
    """Q1 Softmax"""

    question = "1"

    @number("1.1")
    @weight(1)
    @public
    def test_example(self) -> None:
        """softmax([0, 0]) is [½, ½]."""
        self.agree("softmax", torch.tensor([0.0, 0.0]), 0)

    @number("1.2")
    @weight(1)
    def test_contract(self) -> None:
        """The result has the input's shape and dtype and is finite."""
        for s, dim in self.draws(cubes, times=3):
            self.contract("softmax", s, dim)

    @number("1.3")
    @weight(3)
    def test_agrees(self) -> None:
        """Softmax normalises exp(s) along `dim`."""
        for s, dim in self.draws(cubes, times=4):
            self.agree("softmax", s, dim)

    @number("1.4")
    @weight(1)
    @tags("edge")
    def test_large_scores(self) -> None:
        """Scores around 1000 do not overflow."""
        for s, dim in self.draws(cubes, times=2):
            self.agree("softmax", s + 1000, dim)


class Attention(Question):
    """Q2 Attention"""

    question = "2"

    @number("2.1")
    @weight(6)
    def test_agrees(self) -> None:
        """Attention is softmax(QKᵀ/√d)·V."""
        for q, k, v in self.draws(heads, times=4):
            self.agree("attention", q, k, v)

    @number("2.2")
    @weight(2)
    def test_constant_values(self) -> None:
        """Equal values are mixed to the same value."""
        q, k, v = self.draws(heads, times=1)[0]
        out = self.tensor(self.call("attention", q, k, torch.ones_like(v)), q.shape[0], v.shape[1])
        self.expect(torch.allclose(out, torch.ones_like(out)), "The weights of a query sum to 1.")


class Count(Question):
    """Q3 A counter that keeps its state"""

    question = "3"

    @number("3.1")
    @weight(3)
    def test_keeps_state(self) -> None:
        """The second call adds to the first."""
        for x, y in self.draws(lambda draw: (draw.normal(4), draw.normal(3)), times=2):
            self.agree_plan(
                Plan(
                    (
                        Build("c", "Counter", (2.5,)),
                        Call("a", "__call__", (x,), on="c"),
                        Call("b", "__call__", (y,), on="c"),
                    ),
                    returns=("a", "b"),
                    function="Counter",
                )
            )

    @number("3.2")
    @weight(1)
    def test_gradient(self) -> None:
        """The scale is a parameter and gets a gradient."""
        for (x,) in self.draws(lambda draw: (draw.normal(5),), times=2):
            self.agree_plan(
                Plan(
                    (
                        Build("c", "Counter", (1.5,)),
                        Call("y", "__call__", (x,), on="c"),
                        Gradients("g", "y", ("c",)),
                    ),
                    returns="g",
                    function="Counter",
                )
            )


class Hand(Question):
    """Q4 By hand"""

    question = "4"

    @number("4.1")
    @weight(2)
    def test_product(self) -> None:
        """H1: a·b from your own numbers."""
        self.hand("H1", solution.product)
