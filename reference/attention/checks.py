"""What is asked of the answers, question by question.

Inputs have pairwise different sizes, so that a wrong axis shows in the shape or in the values; special sizes are extra
draws. Points of a question: about 10 % contract (type, shape, dtype, finite), 60 % drawn values with the public example
among them, 20 % special cases, 10 % laws that hold for any input.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from autograder.checks import Question, number, public, sibling, tags, weight
from autograder.plan import call
from autograder.seeds import Draw

solution = sibling(__file__, "solution")

Arguments = tuple[Any, ...]


def table(*rows: list[float]) -> Tensor:
    """A float64 matrix from its rows."""
    return torch.tensor(rows, dtype=torch.float64)


# ── Q1 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def cubes(draw: Draw) -> list[Arguments]:
    """A cube of scores, along each of its axes: all axes have one size, so that only the values tell them apart."""
    n = draw.choice([3, 4, 5])
    s = draw.normal(n, n, n, scale=2.0)
    return [(s, 0), (s, 1), (s, 2)]


def boxes(draw: Draw) -> list[Arguments]:
    """Scores of other shapes and dtypes, axes counted from the back too."""
    return [
        (draw.normal(7), 0),
        (draw.normal(4, 6, scale=3.0), draw.choice([0, -2])),
        (draw.normal(2, 5, 3, dtype=torch.float32), draw.choice([1, -2])),
        (draw.normal(2, 3, 5, 4), draw.choice([2, -2])),
    ]


def forbidden_scores(draw: Draw) -> list[Arguments]:
    """Cubes in which about a third of the scores is −∞, and with them all of one slice along `dim`."""
    cases = []
    for dim in (0, 1, 2):
        n = draw.choice([4, 5])
        s = draw.normal(n, n, n, scale=2.0)
        s = s.masked_fill(draw.normal(n, n, n) < -0.4, -math.inf)
        place: list[Any] = [draw.randrange(n) for _ in range(3)]
        place[dim] = slice(None)
        s[tuple(place)] = -math.inf
        cases.append((s, dim))
    return cases


def large_scores(draw: Draw) -> list[Arguments]:
    """Slices near +800 and −800 in one tensor, and scores around 1000."""
    cases = []
    for dim in (0, 1):
        far = torch.where(torch.arange(5) % 2 == 0, 800.0, -800.0).unsqueeze(dim)
        cases.append((draw.normal(5, 5) + far, dim))
    return [*cases, (draw.normal(4, 4, 4) + 1000.0, draw.choice([0, 1, 2]))]


class Softmax(Question):
    """Q1 Softmax"""

    question = "1"

    @number("1.1")
    @weight(0.5)
    @public
    def test_example(self) -> None:
        """The examples of the notebook come out."""
        s = table([0.0, math.log(2), math.log(5)], [1000.0, 1001.0, -math.inf])
        self.agree("softmax", s, 1)
        self.agree("softmax", table([0.0, -math.inf], [math.log(3), -math.inf]).float(), 0)

    @number("1.2")
    @weight(1)
    def test_contract(self) -> None:
        """The result has the shape and the dtype of the scores, is finite, and the scores stay as they were."""
        for cases in self.draws(boxes, times=2):
            for s, dim in cases:
                self.contract("softmax", s, dim)
            self.unchanged("softmax", *cases[1])

    @number("1.3")
    @weight(4)
    def test_values(self) -> None:
        """Softmax is exp(s) divided by its sum along `dim`."""
        for cases in self.draws(cubes, times=3) + self.draws(boxes, times=1):
            for s, dim in cases:
                self.agree("softmax", s, dim)

    @number("1.4")
    @weight(1.5)
    @tags("edge")
    def test_special_scores(self) -> None:
        """Scores of −∞ get weight 0, slices of −∞ only get zeros, and large scores don't overflow."""
        for cases in self.draws(forbidden_scores, times=2) + self.draws(large_scores, times=1):
            for s, dim in cases:
                self.agree("softmax", s, dim)

    @number("1.5")
    @weight(1)
    @tags("property")
    def test_sums(self) -> None:
        """Weights sum to 1 along `dim`, and adding 3 to all scores changes nothing."""
        for cases in self.draws(cubes, times=1):
            for s, dim in cases:
                weights = self.tensor(self.call("softmax", s, dim), *s.shape)
                self.expect(close(weights.sum(dim), torch.ones(s.shape[1:])), "The weights along `dim` sum to 1.")
                shifted = self.tensor(self.call("softmax", s + 3.0, dim), *s.shape)
                self.expect(close(weights, shifted), "Adding the same number to all scores changes nothing.")


def close(a: Tensor, b: Tensor, atol: float = 1e-9) -> bool:
    """Whether two tensors are equal up to rounding, whatever their dtypes."""
    coarse = torch.float32 in (a.dtype, b.dtype)
    return torch.allclose(a.double(), b.double(), rtol=1e-4 if coarse else 1e-7, atol=1e-5 if coarse else atol)


# ── Q2 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def one_query(draw: Draw) -> Arguments:
    d, n, dv = draw.choice([(8, 6, 5), (10, 7, 4), (12, 9, 7), (9, 11, 6)])
    return draw.normal(d), draw.normal(n, d), draw.normal(n, dv)


def one_query_single(draw: Draw) -> Arguments:
    d, n, dv = draw.choice([(8, 6, 5), (10, 7, 4), (12, 9, 7)])
    kind = torch.float32
    return draw.normal(d, dtype=kind), draw.normal(n, d, dtype=kind), draw.normal(n, dv, dtype=kind)


def one_key(draw: Draw) -> Arguments:
    return draw.normal(8), draw.normal(1, 8), draw.normal(1, 5)


def sharp_query(draw: Draw) -> Arguments:
    """Scores so large that exp overflows; all weight goes to few keys."""
    return draw.normal(9, scale=3000.0), draw.normal(6, 9), draw.normal(6, 4)


def narrow_query(draw: Draw) -> Arguments:
    """Vectors of length 1: √d = d = 1."""
    return draw.normal(1), draw.normal(7, 1), draw.normal(7, 3)


class OneQuery(Question):
    """Q2 Attention of one query"""

    question = "2"

    @number("2.1")
    @weight(1)
    @public
    def test_example(self) -> None:
        """The examples of the notebook come out."""
        K = table([1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [5.0, 6.0, 7.0, 8.0])
        V = table([1.0, 0.0], [2.0, 3.0], [6.0, 3.0])
        self.agree("attention_one_query", torch.zeros(4).double(), K, V)
        q = torch.tensor([2 * math.log(3), 0.0, 0.0, 0.0], dtype=torch.float64)
        self.agree("attention_one_query", q, K[:2], table([4.0, 0.0], [0.0, 8.0]))

    @number("2.2")
    @weight(1)
    def test_contract(self) -> None:
        """One value vector comes back, with the dtype of the values."""
        for q, K, V in self.draws(one_query, times=2) + self.draws(one_query_single, times=1):
            self.contract("attention_one_query", q, K, V)

    @number("2.3")
    @weight(5)
    def test_values(self) -> None:
        """The result is Σ aⱼ·vⱼ with a = softmax(q·kⱼ / √d)."""
        for q, K, V in self.draws(one_query, times=6) + self.draws(one_query_single, times=1):
            self.agree("attention_one_query", q, K, V)

    @number("2.4")
    @weight(2)
    @tags("edge")
    def test_special_cases(self) -> None:
        """One key, vectors of length 1, and very large scores."""
        for draws in (
            self.draws(one_key, times=1),
            self.draws(narrow_query, times=1),
            self.draws(sharp_query, times=2),
        ):
            for q, K, V in draws:
                self.agree("attention_one_query", q, K, V)

    @number("2.5")
    @weight(1)
    @tags("property")
    def test_order_of_the_keys(self) -> None:
        """Keys and values are a set: their common order does not matter."""
        for q, K, V in self.draws(one_query, times=2):
            first = self.tensor(self.call("attention_one_query", q, K, V), V.shape[1])
            second = self.tensor(self.call("attention_one_query", q, K.flip(0), V.flip(0)), V.shape[1])
            self.expect(close(first, second), "Another common order of keys and values gives the same result.")


# ── Q3 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
#: (leading axes, Tq, Tk, d, dv), all sizes of a row different
SHAPES = [((), 6, 9, 8, 5), ((3,), 7, 6, 9, 4), ((2, 4), 7, 9, 11, 5), ((2,), 9, 7, 10, 6)]


def queries_keys_values(draw: Draw, shape: tuple[Any, ...], dtype: torch.dtype = torch.float64) -> Arguments:
    lead, Tq, Tk, d, dv = shape
    return (
        draw.normal(*lead, Tq, d, dtype=dtype),
        draw.normal(*lead, Tk, d, dtype=dtype),
        draw.normal(*lead, Tk, dv, dtype=dtype),
    )


def mixed_mask(draw: Draw, *shape: int) -> Tensor:
    """A random mask in which every row and every column holds both values: no row is free, none is empty."""
    while True:
        mask = draw.uniform_tensor(0.0, 1.0, *shape) < 0.6
        rows = torch.arange(shape[-2])
        mask[..., rows, rows % shape[-1]] = True
        mask[..., rows, (rows + 2) % shape[-1]] = False
        if bool(mask.any(-2).all()) and not bool(mask.all(-2).any()):
            return mask


def batches(draw: Draw) -> list[Arguments]:
    """For each kind of leading axes one call with and one without a mask; at last one mask for a whole batch."""
    calls = []
    for shape in SHAPES:
        Q, K, V = queries_keys_values(draw, shape)
        calls += [(Q, K, V), (Q, K, V, mixed_mask(draw, *Q.shape[:-1], K.shape[-2]))]
    return [*calls, (Q, K, V, mixed_mask(draw, Q.shape[-2], K.shape[-2]))]


def single_precision(draw: Draw) -> Arguments:
    return queries_keys_values(draw, draw.choice(SHAPES), torch.float32)


def empty_rows(draw: Draw) -> list[Arguments]:
    """Masks in which some queries may look at nothing."""
    calls = []
    for shape in SHAPES[:3]:
        Q, K, V = queries_keys_values(draw, shape)
        mask = mixed_mask(draw, *Q.shape[:-1], K.shape[-2])
        mask[..., draw.randrange(3), :] = False
        mask[..., 3 + draw.randrange(3), :] = False
        calls.append((Q, K, V, mask))
    return calls


class Attention(Question):
    """Q3 Attention for all queries"""

    question = "3"

    @number("3.1")
    @weight(1)
    @public
    def test_example(self) -> None:
        """The examples of the notebook come out."""
        Q, K, V = table([0.0]), table([1.0], [2.0], [3.0]), table([1.0], [2.0], [6.0])
        self.agree("attention", Q, K, V)
        self.agree("attention", Q, K, V, torch.tensor([[True, True, False]]))
        Q = table([2 * math.log(3), 0.0, 0.0, 0.0], [0.0, 2 * math.log(2), 0.0, 0.0])
        K, V = table([1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]), table([4.0, 0.0, 1.0], [0.0, 8.0, 1.0])
        self.agree("attention", Q, K, V)
        self.agree("attention", Q, K, V, torch.tensor([[False, False], [True, False]]))
        Q, K, V = (torch.stack([x, x.flip(0)]) for x in (Q, K, V))
        self.agree("attention", Q, K, V, torch.tensor([[True, True], [True, False]]))

    @number("3.2")
    @weight(1.5)
    def test_contract(self) -> None:
        """The result has shape (..., Tq, dv) and the dtype of the values, is finite, and the inputs stay."""
        for calls in self.draws(batches, times=1):
            for arguments in calls:
                self.contract("attention", *arguments)
            self.unchanged("attention", *calls[1])
        for arguments in self.draws(single_precision, times=1):
            self.contract("attention", *arguments)

    @number("3.3")
    @weight(7.5)
    def test_values(self) -> None:
        """Attention is softmax(QKᵀ/√d)·V, with forbidden scores at −∞."""
        for calls in self.draws(batches, times=2):
            for arguments in calls:
                self.agree("attention", *arguments)

    @number("3.4")
    @weight(2.5)
    @tags("edge")
    def test_rows_without_keys(self) -> None:
        """A query that may look at no key gets zeros; the other rows stay as they are."""
        for calls in self.draws(empty_rows, times=2):
            for arguments in calls:
                self.agree("attention", *arguments)

    @number("3.5")
    @weight(1.5)
    @tags("property")
    def test_batches(self) -> None:
        """A batch gives what its members give one by one, and weights that sum to 1."""
        for calls in self.draws(batches, times=1):
            Q, K, V, mask = calls[5]
            ones = torch.ones_like(V)
            together = self.tensor(self.call("attention", Q, K, V, mask), *Q.shape[:-1], V.shape[-1])
            alone = self.tensor(self.call("attention", Q[1, 2], K[1, 2], V[1, 2], mask[1, 2]), *together.shape[2:])
            self.expect(close(together[1, 2], alone), "Each member of a batch is computed on its own.")
            sums = self.tensor(self.call("attention", Q, K, ones, mask), *together.shape)
            self.expect(close(sums, torch.ones_like(sums)), "If all values are 1, so is the result: weights sum to 1.")


# ── Q4 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def length(draw: Draw) -> int:
    return draw.randrange(6, 14)


def sequences(draw: Draw) -> list[Arguments]:
    """Queries, keys and values of one length: no leading axis, one, two."""
    return [
        queries_keys_values(draw, shape)
        for shape in [((), 7, 7, 9, 5), ((3,), 6, 6, 8, 4), ((2, 4), 9, 9, 11, 5)]
    ]  # fmt: skip


def short_sequences(draw: Draw) -> list[Arguments]:
    """One and two tokens, and vectors of one width."""
    return [queries_keys_values(draw, shape) for shape in [((), 1, 1, 8, 3), ((2,), 2, 2, 9, 4), ((), 6, 6, 8, 8)]]


class CausalMask(Question):
    """Q4 No look into the future"""

    question = "4"

    @number("4.1")
    @weight(0.5)
    @public
    def test_mask_example(self) -> None:
        """causal_mask(3) is the table of the notebook."""
        self.agree("causal_mask", 3)

    @number("4.2")
    @weight(0.5)
    def test_mask_contract(self) -> None:
        """The mask has shape (T, T) and dtype bool."""
        for T in self.draws(length, times=2):
            self.contract("causal_mask", T)

    @number("4.3")
    @weight(2)
    def test_mask_values(self) -> None:
        """Row t, column j is True exactly when j ≤ t."""
        for T in self.draws(length, times=3):
            self.agree("causal_mask", T)

    @number("4.4")
    @weight(1)
    @tags("edge")
    def test_smallest_masks(self) -> None:
        """One token sees itself; of two tokens the first does not see the second."""
        self.agree("causal_mask", 1)
        self.agree("causal_mask", 2)

    @number("4.5")
    @weight(0.5)
    @public
    def test_attention_example(self) -> None:
        """The examples of the notebook come out."""
        ones, V = torch.ones(3, 2, dtype=torch.float64), table([2.0], [4.0], [9.0])
        self.agree("causal_attention", 0 * ones, ones, V)
        self.agree("causal_attention", *(torch.stack([x, x]) for x in (0 * ones, ones, V)))
        query = [2 * math.log(3), 2 * math.log(2), 0.0, 0.0]
        K = table([1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0])
        self.agree("causal_attention", table(query, query), K, table([5.0], [10.0]))

    @number("4.6")
    @weight(0.5)
    def test_attention_contract(self) -> None:
        """The result has shape (..., T, dv), and is finite."""
        for calls in self.draws(sequences, times=1):
            for Q, K, V in calls:
                self.contract("causal_attention", Q, K, V)

    @number("4.7")
    @weight(3)
    def test_attention_values(self) -> None:
        """Causal attention is attention under the causal mask."""
        for calls in self.draws(sequences, times=2):
            for Q, K, V in calls:
                self.agree("causal_attention", Q, K, V)

    @number("4.8")
    @weight(1)
    @tags("edge")
    def test_short_sequences(self) -> None:
        """One token, two tokens, and values as wide as keys."""
        for calls in self.draws(short_sequences, times=1):
            for Q, K, V in calls:
                self.agree("causal_attention", Q, K, V)

    @number("4.9")
    @weight(1)
    @tags("property")
    def test_no_look_ahead(self) -> None:
        """Changing the tokens after t changes no output up to t."""
        for calls in self.draws(sequences, times=1):
            Q, K, V = calls[1]
            later = torch.arange(6)[:, None] > 3
            changed = [x + later * (1.0 + x.abs()) for x in (Q, K, V)]
            before = self.tensor(self.call("causal_attention", Q, K, V), 3, 6, 4)
            after = self.tensor(self.call("causal_attention", *changed), 3, 6, 4)
            self.expect(close(before[:, :4], after[:, :4], 1e-12), "Outputs up to t don't depend on later tokens.")
            self.expect(not close(before[:, 4:], after[:, 4:]), "Outputs after t depend on their tokens.")


# ── Q5 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def layer(draw: Draw) -> Arguments:
    """Input and weights of a layer, and two early rows, for which the order matters in two causal layers."""
    while True:
        n, d = draw.choice([(6, 8), (7, 9), (9, 10)])
        X, *W = (draw.normal(n, d), *(draw.normal(d, d, scale=1.5 / math.sqrt(d)) for _ in range(3)))
        i, j = draw.sample(range(n - 1), 2)
        before, after = solution.swap_effect(X, *W, i, j, True, 2)
        if float((before - after).abs().max()) > 1e-2:
            return X, *W, i, j


def swaps(draw: Draw) -> list[Arguments]:
    """Early rows exchanged, and then the last one among them, which shows in one layer already."""
    calls = [(*layer(draw), causal, layers) for causal in (True, False) for layers in (1, 2, 3)]
    X, *W, i, _ = layer(draw)
    return [*calls, (X, *W, i, len(X) - 1, True, 1), (X, *W, len(X) - 1, i, False, 2)]


def special_swaps(draw: Draw) -> list[Arguments]:
    """No layer, a row exchanged with itself, and the last row among the exchanged."""
    X, Wq, Wk, Wv, i, j = layer(draw)
    last = len(X) - 1
    return [
        (X, Wq, Wk, Wv, i, last, True, 0),
        (X, Wq, Wk, Wv, i, i, True, 2),
        (X, Wq, Wk, Wv, last, j, True, 2),
        (X, Wq, Wk, Wv, i, last, False, 2),
    ]


class SwapEffect(Question):
    """Q5 Does the order matter?"""

    question = "5"

    @number("5.1")
    @weight(0.5)
    @public
    def test_example(self) -> None:
        """The examples of the notebook come out."""
        X, zero, one = table([1.0, 0.0], [0.0, 1.0], [2.0, 1.0]), torch.zeros(2, 2).double(), torch.eye(2).double()
        self.agree("swap_effect", X, zero, zero, one, 0, 1, True, 1)
        self.agree("swap_effect", X, zero, zero, one, 0, 1, True, 2)
        self.agree("swap_effect", X, one, one, one, 0, 1, False, 2)
        Wq, Wk, Wv = table([1.0, 2.0], [0.0, 1.0]), table([1.0, 0.0], [1.0, -1.0]), table([1.0, 0.0], [2.0, 1.0])
        self.agree("swap_effect", X, Wq, Wk, Wv, 0, 2, True, 2)

    @number("5.2")
    @weight(1)
    def test_contract(self) -> None:
        """Two vectors of length d come back, and X stays as it was."""
        for calls in self.draws(swaps, times=1):
            for arguments in calls[1:6:3]:  # two layers, with the mask and without
                self.contract("swap_effect", *arguments)
            self.unchanged("swap_effect", *calls[1])

    @number("5.3")
    @weight(4)
    def test_values(self) -> None:
        """The last rows before and after the exchange, for one to three layers, with and without the mask."""
        for calls in self.draws(swaps, times=1):
            for arguments in calls:
                self.agree("swap_effect", *arguments)

    @number("5.4")
    @weight(1.5)
    @tags("edge")
    def test_special_swaps(self) -> None:
        """No layer at all, i = j, and the last row among the exchanged rows."""
        for calls in self.draws(special_swaps, times=2):
            for arguments in calls:
                self.agree("swap_effect", *arguments)

    @number("5.5")
    @weight(1)
    @tags("property")
    def test_when_order_matters(self) -> None:
        """The order of earlier rows matters after two causal layers, and neither after one nor without the mask."""
        for X, Wq, Wk, Wv, i, j in self.draws(layer, times=2):
            kinds = [(j, True, 1), (j, False, 2), (j, True, 2), (len(X) - 1, True, 1)]
            plans = [call("swap_effect", X, Wq, Wk, Wv, i, other, *kind) for other, *kind in kinds]
            one, full, two, last = (self.effect(value) for value in self.call_all(plans))
            self.expect(one < 1e-9, "After one causal layer the two vectors are equal.")
            self.expect(full < 1e-9, "Without the mask the two vectors are equal.")
            self.expect(two > 1e-3, "After two causal layers the two vectors differ.")
            self.expect(last > 1e-3, "If the last row is exchanged, the two vectors differ.")

    def effect(self, value: Any) -> float:
        """The largest difference between the two vectors of the answer, if it has that form."""
        self.expect(isinstance(value, list | tuple) and len(value) == 2, "Two vectors come back.")
        first, second = self.tensor(value[0], -1), self.tensor(value[1], -1)
        self.expect(first.shape == second.shape, "The two vectors have one length.")
        return float((first.double() - second.double()).abs().max())


# ── Q6 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def heads(draw: Draw, B: int, T: int, D: int, h: int) -> Arguments:
    """A batch and weights that keep the scores of a head near N(0, 2²)."""
    weights = [draw.normal(D, D, scale=1.4 / math.sqrt(D)) for _ in range(4)]
    return draw.normal(B, T, D), *weights, h


def usual_heads(draw: Draw) -> list[Arguments]:
    """Sizes for which all 1536 combinations of the eight choices give different results; B, T, D, h, D/h differ."""
    return [heads(draw, *sizes) for sizes in [(2, 7, 12, 3), (3, 6, 20, 4), (2, 9, 40, 5)]]


def extreme_heads(draw: Draw) -> list[Arguments]:
    """One head, heads of width 1, one token, as many heads as sequences."""
    return [heads(draw, *sizes) for sizes in [(2, 7, 9, 1), (2, 6, 5, 5), (3, 1, 8, 2), (2, 6, 8, 2)]]


class MultiHead(Question):
    """Q6 Several heads"""

    question = "6"

    @number("6.1")
    @weight(1)
    @public
    def test_example(self) -> None:
        """The examples of the notebook come out."""
        x = table([2.0, 1.0], [4.0, 3.0], [9.0, 8.0])[None]
        zero, one, exchange = torch.zeros(2, 2).double(), torch.eye(2).double(), table([0.0, 1.0], [1.0, 0.0])
        self.agree("multi_head", x, zero, one, one, one, 2)
        self.agree("multi_head", x, zero, one, one, exchange, 2)
        x = table([1.0, 0.0, 2.0, 1.0], [0.0, 1.0, 1.0, 0.0], [1.0, 1.0, 0.0, 2.0])[None]
        one = torch.eye(4).double()
        self.agree("multi_head", x, one, one, one, one, 2)
        shift = one.roll(1, 1)
        self.agree("multi_head", x, one + shift, one - shift, shift, one + shift, 2)

    @number("6.2")
    @weight(2)
    def test_contract(self) -> None:
        """The result has the shape and the dtype of x, and is finite."""
        for calls in self.draws(usual_heads, times=1):
            for arguments in calls:
                self.contract("multi_head", *arguments)
            self.contract("multi_head", *(a.float() if isinstance(a, Tensor) else a for a in calls[0]))

    @number("6.3")
    @weight(10)
    def test_values(self) -> None:
        """Heads are blocks of columns, each with causal attention scaled by its own width, mixed by Wo."""
        for calls in self.draws(usual_heads, times=2):
            for arguments in calls:
                self.agree("multi_head", *arguments)

    @number("6.4")
    @weight(3.5)
    @tags("edge")
    def test_extreme_heads(self) -> None:
        """One head, heads of one column, one token."""
        for calls in self.draws(extreme_heads, times=1):
            for arguments in calls:
                self.agree("multi_head", *arguments)

    @number("6.5")
    @weight(1.5)
    @tags("property")
    def test_no_look_ahead(self) -> None:
        """Changing the tokens after t changes no output up to t, and each sequence is computed on its own."""
        for calls in self.draws(usual_heads, times=1):
            x, *weights, h = calls[0]
            changed = x + (torch.arange(7)[:, None] > 3) * (1.0 + x.abs())
            before = self.tensor(self.call("multi_head", x, *weights, h), *x.shape)
            after = self.tensor(self.call("multi_head", changed, *weights, h), *x.shape)
            alone = self.tensor(self.call("multi_head", x[1:], *weights, h), 1, *x.shape[1:])
            self.expect(close(before[:, :4], after[:, :4], 1e-12), "Outputs up to t don't depend on later tokens.")
            self.expect(not close(before[:, 4:], after[:, 4:]), "Outputs after t depend on their tokens.")
            self.expect(close(before[1:], alone), "Each sequence of a batch is computed on its own.")


# ── Q7 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def scores(draw: Draw) -> Arguments:
    N, n, d = draw.choice([(6, 9, 8), (7, 5, 10), (11, 6, 9), (5, 8, 16)])
    return draw.normal(N, d) + 0.3, draw.normal(n, d) + 0.3


def huge_scores(draw: Draw) -> Arguments:
    """Raw scores of ±1000 and some noise: weights that are exactly 0."""
    N, n, d = draw.choice([(5, 7, 8), (6, 4, 9)])
    signs = torch.where(draw.uniform_tensor(0.0, 1.0, n) < 0.5, -1.0, 1.0).double()
    signs[:2] = torch.tensor([1.0, -1.0])
    Q, K = draw.normal(N, d, scale=0.5), draw.normal(n, d, scale=0.5)
    Q[:, 0], K[:, 0] = 10.0, 100.0 * signs
    return Q, K


class ScoreStats(Question):
    """Q7 Why divide by the root of d?"""

    question = "7"

    @number("7.1")
    @weight(0.5)
    @public
    def test_example(self) -> None:
        """The examples of the notebook come out."""
        K = table([math.log(3), 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0])
        self.agree("score_stats", table([2.0, 0.0, 0.0, 0.0]), K[:2])
        self.agree("score_stats", table([2.0, 0.0, 0.0, 0.0], [2.0, 4.0, 0.0, 0.0]), K)

    @number("7.2")
    @weight(1)
    def test_contract(self) -> None:
        """Four finite Python floats come back."""
        for Q, K in self.draws(scores, times=2):
            self.contract("score_stats", Q, K)

    @number("7.3")
    @weight(4)
    def test_values(self) -> None:
        """Variance and mean row entropy, of raw and of scaled scores."""
        for Q, K in self.draws(scores, times=6):
            self.agree("score_stats", Q, K)

    @number("7.4")
    @weight(1.5)
    @tags("edge")
    def test_huge_scores(self) -> None:
        """Weights that are exactly 0 add nothing to the entropy."""
        for Q, K in self.draws(huge_scores, times=3):
            self.agree("score_stats", Q, K)

    @number("7.5")
    @weight(1)
    @tags("property")
    def test_laws(self) -> None:
        """Scaling divides the variance by d, and entropies lie between 0 and ln n."""
        for Q, K in self.draws(scores, times=2):
            value = self.call("score_stats", Q, K)
            self.expect(isinstance(value, list | tuple) and len(value) == 4, "Four numbers come back.")
            raw, scaled, sharp, even = (self.number_of(item) for item in value)
            self.expect(math.isclose(raw, scaled * Q.shape[1], rel_tol=1e-6), "Scaling divides the variance by d.")
            limit = math.log(len(K)) + 1e-9
            self.expect(-1e-9 <= sharp <= limit, "The entropy of n weights lies between 0 and ln n.")
            self.expect(-1e-9 <= even <= limit, "The entropy of n weights lies between 0 and ln n.")

    def number_of(self, value: Any) -> float:
        """A Python number, also out of a tensor with one element."""
        if isinstance(value, Tensor) and value.numel() == 1:
            value = value.item()
        self.expect(isinstance(value, int | float) and not isinstance(value, bool), "The four results are numbers.")
        return float(value)


# ── Q8 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def text(draw: Draw, T: int, d: int, dv: int, w: int) -> Arguments:
    return draw.normal(T, d), draw.normal(T, d), draw.normal(T, dv), w


def windows(draw: Draw) -> list[Arguments]:
    return [text(draw, *sizes) for sizes in [(11, 8, 5, 3), (13, 9, 6, 4), (17, 10, 7, 6), (12, 8, 3, 5)]]


def special_windows(draw: Draw) -> list[Arguments]:
    """Each token alone, windows wider than the text, one token."""
    return [text(draw, *sizes) for sizes in [(7, 8, 5, 1), (6, 9, 4, 7), (7, 8, 5, 20), (7, 9, 5, 7), (1, 8, 3, 2)]]


def long_text(draw: Draw) -> Arguments:
    """20 000 tokens in float32; the last value column is all ones.

    All scores together are 1.6 GB, whatever the other sizes are: small ones keep the check cheap for who is right.
    """
    Q, K, V = (draw.normal(20_000, width, dtype=torch.float32) for width in (8, 8, 6))
    V[:, -1] = 1.0
    return Q, K, V, 16


class SlidingWindow(Question):
    """Q8 A sliding window"""

    question = "8"

    @number("8.1")
    @weight(0.5)
    @public
    def test_example(self) -> None:
        """The examples of the notebook come out."""
        ones, V = torch.ones(3, 2).double(), table([2.0], [4.0], [9.0])
        for w in (2, 1, 9):
            self.agree("sliding_window", 0 * ones, ones, V, w)
        query = [2 * math.log(3), 2 * math.log(2), 0.0, 0.0]
        K = table([1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0])
        self.agree("sliding_window", table(query, query, query), K, table([5.0], [10.0], [20.0]), 2)

    @number("8.2")
    @weight(1)
    def test_contract(self) -> None:
        """The result has shape (T, dv) and the dtype of the values, and is finite."""
        for calls in self.draws(windows, times=1):
            for Q, K, V, w in calls:
                self.contract("sliding_window", Q, K, V, w)
            Q, K, V, w = calls[0]
            self.contract("sliding_window", Q.float(), K.float(), V.float(), w)

    @number("8.3")
    @weight(5)
    def test_values(self) -> None:
        """Query t attends to the w keys t − w + 1 … t that exist, scaled by √d."""
        for calls in self.draws(windows, times=2):
            for Q, K, V, w in calls:
                self.agree("sliding_window", Q, K, V, w)

    @number("8.4")
    @weight(1.5)
    @tags("edge")
    def test_special_windows(self) -> None:
        """w = 1, w > T, and a text of one token."""
        for calls in self.draws(special_windows, times=2):
            for Q, K, V, w in calls:
                self.agree("sliding_window", Q, K, V, w)

    @number("8.5")
    @weight(1)
    @tags("property")
    def test_locality(self) -> None:
        """What lies outside the window of query t does not change row t."""
        for calls in self.draws(windows, times=1):
            Q, K, V, w = calls[1]
            t = 8
            outside = ((torch.arange(13) <= t - w) | (torch.arange(13) > t))[:, None]
            before = self.tensor(self.call("sliding_window", Q, K, V, w), 13, 6)
            after = self.tensor(self.call("sliding_window", Q, K + outside * 2.0, V - outside * 3.0, w), 13, 6)
            self.expect(close(before[t], after[t]), "Row t depends on its window only.")
            moved = self.tensor(self.call("sliding_window", Q, K, V + ~outside * 3.0, w), 13, 6)
            self.expect(
                close(before[t] + 3.0, moved[t]), "Row t depends on its whole window, with weights that sum to 1."
            )

    @number("8.6")
    @weight(3)
    @tags("effort")
    def test_long_text(self) -> None:
        """A text of 20 000 tokens fits into memory and time, and its rows are right."""
        for Q, K, V, w in self.draws(long_text, times=1):
            self.agree("sliding_window", Q, K, V, w)


# ── hand calculations ───────────────────────────────────────────────────────────────────────────────────────────────
class Hand(Question):
    """H Hand calculations"""

    question = "9"

    @number("9.1")
    @weight(4)
    def test_h1(self) -> None:
        """H1: x′₄ before and after x₂ and x₃ change places."""
        self.hand("H1", solution.hand_h1)

    @number("9.2")
    @weight(4)
    def test_h2(self) -> None:
        """H2: the causal row softmax of a 3 × 3 table."""
        self.hand("H2", solution.hand_h2)

    @number("9.3")
    @weight(4)
    def test_h3(self) -> None:
        """H3: the number of scores and of parameters."""
        self.hand("H3", solution.hand_h3)
