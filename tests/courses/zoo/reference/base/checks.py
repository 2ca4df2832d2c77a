"""Checks whose hidden inputs carry a marked word and a marked number, so that a leak can be searched for."""

from __future__ import annotations

from typing import Any

import torch

from autograder.checks import Question, number, public, weight
from autograder.plan import call
from autograder.seeds import Draw

#: Exchanged for random ones before a run.
MARKED_WORD, MARKED_NUMBER = "canaryword", 7654321.0


def values(draw: Draw) -> tuple[Any, ...]:
    return ([float(x) for x in draw.normal(draw.choice([3, 5, 8]))] + [MARKED_NUMBER],)


def cubes(draw: Draw) -> tuple[Any, ...]:
    s = draw.normal(3, 4, 5, scale=3.0).float()
    s[0, 0, 0] = MARKED_NUMBER
    return s, draw.choice([0, 1, 2])


def heads(draw: Draw) -> tuple[Any, ...]:
    n, m, d, v = draw.sample(range(3, 12), 4)
    return tuple(draw.normal(*size, scale=2.0).float() for size in ((n, d), (m, d), (m, v)))


def sentences(draw: Draw) -> tuple[Any, ...]:
    return (" ".join([MARKED_WORD, *(draw.choice(["a", "b", "c"]) for _ in range(12))]),)


class Numbers(Question):
    """Q1 Plain numbers"""

    question = "1"

    @number("1.1")
    @weight(1)
    @public
    def test_example(self) -> None:
        """The mean and spread of 1 and 3 are 2 and 2."""
        self.agree("mean_and_spread", [1.0, 3.0])

    @number("1.2")
    @weight(3)
    def test_agrees(self) -> None:
        """Mean and spread are right."""
        for args in self.draws(values, times=3):
            self.agree("mean_and_spread", *args)


class Softmax(Question):
    """Q2 Tensors"""

    question = "2"

    @number("2.1")
    @weight(1)
    def test_contract(self) -> None:
        """The result has the input's shape and dtype and is finite."""
        for args in self.draws(cubes, times=2):
            self.contract("softmax", *args)

    @number("2.2")
    @weight(5)
    def test_agrees(self) -> None:
        """Softmax normalises exp(s) along `dim`."""
        for args in self.draws(cubes, times=4):
            self.agree("softmax", *args)


class Attention(Question):
    """Q3 Builds on the second"""

    question = "3"

    @number("3.1")
    @weight(4)
    def test_agrees(self) -> None:
        """Attention is softmax(QKᵀ/√d)·V."""
        for args in self.draws(heads, times=3):
            self.agree("attention", *args)

    @number("3.2")
    @weight(2)
    def test_constant_values(self) -> None:
        """Equal values are mixed to the same value."""
        q, k, v = self.draws(heads, times=1)[0]
        out = self.tensor(self.call_plan(call("attention", q, k, torch.ones_like(v))), q.shape[0], v.shape[1])
        self.expect(torch.allclose(out, torch.ones_like(out)), "The weights of a query sum to 1.")


class Words(Question):
    """Q4 On its own"""

    question = "4"

    @number("4.1")
    @weight(4)
    def test_agrees(self) -> None:
        """Every word is counted."""
        for args in self.draws(sentences, times=3):
            self.agree("word_counts", *args)
