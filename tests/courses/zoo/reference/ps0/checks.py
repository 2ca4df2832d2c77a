"""The checks of practice set 0: contract, values and gradients, each with points of its own."""

from __future__ import annotations

import torch

from autograder.checks import Question, number, weight
from autograder.plan import Call, Gradients, Leaf, Plan
from autograder.seeds import Draw


def rows(draw: Draw) -> tuple[torch.Tensor, ...]:
    """All sizes different."""
    return (draw.normal(*draw.sample(range(2, 9), 3), scale=3.0).float(),)


def heads(draw: Draw) -> tuple[torch.Tensor, ...]:
    """q, k, v with batch, lengths and head sizes all different."""
    b, n, m, d, v = draw.sample(range(2, 12), 5)
    return tuple(draw.normal(*size, scale=2.0).float() for size in ((b, n, d), (b, m, d), (b, m, v)))


def gradients(function: str, *args: torch.Tensor, weights: torch.Tensor) -> Plan:
    leaves = tuple(Leaf(value, f"x{i}") for i, value in enumerate(args))
    return Plan(
        (Call("y", function, leaves), Gradients("g", "y", tuple(leaf.name for leaf in leaves), weights)), "g", function
    )


class Softmax(Question):
    """Q1 Softmax"""

    question = "1"

    @number("1.1")
    @weight(2)
    def test_contract(self) -> None:
        """The result has the input's shape and dtype, is positive, and each row sums to 1."""
        for (x,) in self.draws(rows, times=2):
            self.contract("softmax", x)
            weights = self.tensor(self.call("softmax", x), *x.shape)
            self.expect(bool((weights >= 0).all()), "No weight is negative.")
            self.expect(torch.allclose(weights.sum(-1), torch.ones_like(weights.sum(-1))), "Each row sums to 1.")

    @number("1.2")
    @weight(6)
    def test_agrees(self) -> None:
        """Softmax normalises exp(x) over the last dimension."""
        for (x,) in self.draws(rows, times=3):
            self.agree("softmax", x)
            self.agree("softmax", x + 500.0)

    @number("1.3")
    @weight(2)
    def test_gradient(self) -> None:
        """The gradient flows through."""
        for args in self.draws(rows, times=2):
            self.agree_plan(gradients("softmax", *args, weights=torch.linspace(0, 1, args[0].numel()).view_as(args[0])))


class Attention(Question):
    """Q2 Attention"""

    question = "2"

    @number("2.1")
    @weight(2)
    def test_contract(self) -> None:
        """The result has one row a query and the width of the values."""
        for args in self.draws(heads, times=2):
            self.contract("attention", *args)

    @number("2.2")
    @weight(6)
    def test_agrees(self) -> None:
        """Attention is softmax(QKᵀ/√d)·V."""
        for args in self.draws(heads, times=3):
            self.agree("attention", *args)

    @number("2.3")
    @weight(2)
    def test_gradient(self) -> None:
        """The gradient flows to queries, keys and values."""
        for q, k, v in self.draws(heads, times=2):
            out = torch.linspace(-1, 1, q.shape[0] * q.shape[1] * v.shape[2]).view(q.shape[0], q.shape[1], v.shape[2])
            self.agree_plan(gradients("attention", q, k, v, weights=out))
