# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Attention by hand
#
# In this notebook you write the central operation of a Transformer yourself, from the softmax up to several heads
# with a causal mask. You need only PyTorch. On one CPU core everything together takes a few seconds.
#
# **How to work.** Replace each `raise NotImplementedError` by your code. Keep the names and the order of the
# parameters. You may add helper functions and cells. After each question comes a *public check*: it shows quickly
# whether you are on the right track. The grader tries other inputs, sizes and special cases.
#
# **Conventions.** Rows are tokens: a text of $T$ tokens is a matrix with $T$ rows. A mask is boolean, and `True` means
# *may attend*. All sizes are at least 1. The tensors of one call have one dtype, float64 or float32, and the result has
# the same. Your functions must not change their inputs. You may use all of PyTorch, also `torch.softmax` and
# `scaled_dot_product_attention`, but you learn more without these two.
#
# | question | function | points | checks (points) |
# |---|---|---|---|
# | Q1 | `softmax` | 8 | example 0.5 · type, shape, dtype 1 · values 4 · −∞ and large scores 1.5 · sums 1 |
# | Q2 | `attention_one_query` | 10 | example 1 · type, shape, dtype 1 · values 5 · special cases 2 · order of keys 1 |
# | Q3 | `attention` | 14 | example 1 · type, shape, dtype 1.5 · values 7.5 · rows without keys 2.5 · batches 1.5 |
# | Q4 | `causal_mask` | 4 | example 0.5 · type, shape, dtype 0.5 · values 2 · smallest 1 |
# | Q4 | `causal_attention` | 6 | example 0.5 · type, shape, dtype 0.5 · values 3 · special cases 1 · no look ahead 1 |
# | Q5 | `swap_effect` | 8 | example 0.5 · type, shape, dtype 1 · values 4 · special cases 1.5 · when order matters 1 |
# | Q6 | `multi_head` | 18 | example 1 · type, shape, dtype 2 · values 10 · extreme h 3.5 · no look ahead 1.5 |
# | Q7 | `score_stats` | 8 | example 0.5 · type 1 · values 4 · huge scores 1.5 · laws 1 |
# | Q8 | `sliding_window` | 12 | example 0.5 · type, shape 1 · values 5 · extreme w 1.5 · locality 1 · long text 3 |
# | H1–H3 | `hand` | 12 | 4 each |
# | E | an explanation | (5) | read by a person, not part of the 100 |

# %% tags=["active-ipynb"] softmark={"role": "demo"}
# STUDENT_ID = ""  # type your student id between the quotes: your hand calculations follow from it

# %% softmark={"role": "given"}
import hashlib
import math
import time

import torch
from torch import Tensor

started = time.perf_counter()


def tensor(rows: object) -> Tensor:
    """A float64 tensor from nested lists."""
    return torch.tensor(rows, dtype=torch.float64)


def check(got: object, expected: Tensor, what: str) -> None:
    """For the public checks: stop with a message unless `got` is the expected tensor."""
    assert isinstance(got, Tensor), f"{what}: expected a tensor, not {type(got).__name__}"
    assert got.dtype == expected.dtype, f"{what}: expected dtype {expected.dtype}, not {got.dtype}"
    shapes = f"expected shape {tuple(expected.shape)}, not {tuple(got.shape)}"
    assert got.shape == expected.shape, f"{what}: {shapes}"
    wanted, given = (x.double().round(decimals=4).tolist() for x in (expected, got))
    assert torch.allclose(got, expected, atol=1e-4), f"{what}: expected {wanted}, not {given}"


# %% softmark={"role": "hidden"}
from collections.abc import Callable

# %% [markdown]
# ## Q1 Softmax (8 points)
#
# Attention needs weights that are not negative and sum to 1. The softmax makes them from scores:
#
# $$\operatorname{softmax}(s)_i = \frac{e^{s_i}}{\sum_j e^{s_j}}$$
#
# Three things need care.
#
# * **Which axis.** `dim` names the axis along which the weights sum to 1. For scores of shape (2, 3) and `dim=1`, each
#   of the 2 rows sums to 1. As in PyTorch, negative numbers count from the last axis: here `dim=-1` is the same.
# * **Large scores.** $e^{800}$ is too large for a float. Subtract the maximum $m$ from all scores of a slice first:
#   the factor $e^{-m}$ cancels. A *slice* is the set of scores that share one sum.
# * **Score −∞** means "not allowed" and gives weight 0; all other scores are finite. If *all* scores of a slice are −∞,
#   nothing is allowed: return zeros for that slice, not `nan`.
#
# *Example.* For $s = (0, \ln 2, \ln 5)$ the exponentials are $1, 2, 5$, so the weights are $\frac18, \frac28, \frac58$.


# %% softmark={"role": "answer", "question": "1"}
def softmax(s: Tensor, dim: int) -> Tensor:
    """Weights along `dim` that are not negative and sum to 1.

    s: scores (...), any shape, −inf allowed → weights (...), the same shape and dtype.
    A slice that holds only −inf gives zeros.
    Source: Goodfellow, Bengio, Courville, Deep Learning, section 4.1.
    """
    along = {"dim": dim, "keepdim": True}
    largest = s.amax(**along).clamp(min=torch.finfo(s.dtype).min)  # finite, since −inf − (−inf) is nan
    exponentials = torch.exp(s - largest)
    total = exponentials.sum(**along)
    weights = exponentials / total.masked_fill(total == 0, 1.0)
    return weights  # noqa: RET504


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "1"}
# scores = [[0.0, math.log(2), math.log(5)], [1000.0, 1001.0, -math.inf]]
# s = tensor(scores)
# expected = tensor([[0.125, 0.25, 0.625], [0.26894, 0.73106, 0.0]])
# check(softmax(s, 1), expected, "row 0 is the example, row 1 has large scores and −∞")
# assert s.tolist() == scores, f"softmax must not change its input: it is {s.tolist()} now"
# s = tensor([[0.0, -math.inf], [math.log(3), -math.inf]]).float()
# expected = tensor([[0.25, 0.0], [0.75, 0.0]]).float()
# check(softmax(s, 0), expected, "dim = 0: column 0 has weights ¼ and ¾, column 1 only −∞")
# print("Q1: the public check passes")

# %% [markdown]
# ## Q2 One query (10 points)
#
# A token asks a question, its **query** $q$. Each of $n$ tokens offers a **key** $k_j$ and a **value** $v_j$. The
# better a key fits the query, the larger the share of its value in the answer $x'$:
#
# $$s_j = \frac{q \cdot k_j}{\sqrt{d}}, \qquad a = \operatorname{softmax}(s), \qquad x' = \sum_j a_j v_j$$
#
# The rows of $K$ are the keys, the rows of $V$ the values; $d$ is the number of entries of $q$. Loops are fine here.
#
# *Example.* $d = 4$, $q = (2\ln 3, 0, 0, 0)$, keys $(1,0,0,0)$ and $(0,1,0,0)$. The scores are $\ln 3$ and $0$, so the
# weights are $\frac34$ and $\frac14$. With values $(4, 0)$ and $(0, 8)$ the answer is $(3, 2)$.


# %% softmark={"role": "answer", "question": "2"}
def attention_one_query(q: Tensor, K: Tensor, V: Tensor, *, softmax: Callable[..., Tensor] = softmax) -> Tensor:
    """The mix of the values for one query.

    q: (d), K: (n, d), V: (n, dv) → (dv).
    Source: Vaswani et al. 2017, section 3.2.1, for one row of Q.
    """
    d = q.shape[0]
    scores = K @ q / math.sqrt(d)  # (n)
    weights = softmax(scores, dim=0)
    return weights @ V


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "2"}
# q = tensor([0, 0, 0, 0])
# K = tensor([[1, 0, 0, 0], [0, 1, 0, 0], [5, 6, 7, 8]])
# V = tensor([[1, 0], [2, 3], [6, 3]])
# check(attention_one_query(q, K, V), tensor([3, 2]), "q = 0: equal weights, the mean of the values")
# q = tensor([2 * math.log(3), 0, 0, 0])
# K = tensor([[1, 0, 0, 0], [0, 1, 0, 0]])
# V = tensor([[4, 0], [0, 8]])
# check(attention_one_query(q, K, V), tensor([3, 2]), "scores ln 3 and 0, weights ¾ and ¼")
# print("Q2: the public check passes")

# %% [markdown]
# ## Q3 Attention for all queries (14 points)
#
# Put the queries in the rows of $Q$ and the same formula is two matrix products:
#
# $$\operatorname{attention}(Q, K, V) = \operatorname{softmax}\!\left(\frac{QK^\top}{\sqrt{d}}\right) V$$
#
# Row $i$, column $j$ of the scores belongs to query $i$ and key $j$, so each **row** of weights sums to 1. Here $d$ is
# the width of a key.
#
# | tensor | shape |
# |---|---|
# | `Q` | (..., Tq, d) |
# | `K` | (..., Tk, d) |
# | `V` | (..., Tk, dv) |
# | `mask` | (..., Tq, Tk) bool, or `None` |
# | result | (..., Tq, dv) |
#
# The dots stand for any number of leading axes (none, a batch, a batch and heads), the same for `Q`, `K` and `V`. The
# mask has the same ones, or none, and then it holds for all members of the batch. `mask[..., i, j]` is `True` where
# query $i$ may look at key $j$. The score of a forbidden key is −∞ **before** the softmax, so the allowed weights still
# sum to 1. A query whose row of the mask is all `False` gives a row of zeros.
#
# *Example.* One query $(0)$, keys $(1), (2), (3)$, values $(1), (2), (6)$, $d = 1$. All scores are 0, so the result is
# the mean $3$. With the mask `[[True, True, False]]` it is $1.5$.


# %% softmark={"role": "answer", "question": "3"}
def attention(
    Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None, *, softmax: Callable[..., Tensor] = softmax
) -> Tensor:
    """Scaled dot-product attention.

    Q: (..., Tq, d), K: (..., Tk, d), V: (..., Tk, dv),
    mask: (..., Tq, Tk) or (Tq, Tk) bool, True = may attend → (..., Tq, dv).
    A query without keys gives zeros. Source: Vaswani et al. 2017, section 3.2.1.
    """
    d = K.shape[-1]
    keys = -1  # the axis of the keys: one row of weights a query
    scores = Q @ K.transpose(-2, -1) / math.sqrt(d)  # (..., Tq, Tk)
    visible = scores if mask is None else scores.masked_fill(~mask, -math.inf)
    weights = softmax(visible, dim=keys)
    return weights @ V


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "3"}
# Q, K, V = tensor([[0]]), tensor([[1], [2], [3]]), tensor([[1], [2], [6]])
# check(attention(Q, K, V), tensor([[3]]), "no mask: the mean of the values")
# mask = torch.tensor([[True, True, False]])
# check(attention(Q, K, V, mask), tensor([[1.5]]), "the third key is forbidden")
# Q = tensor([[2 * math.log(3), 0, 0, 0], [0, 2 * math.log(2), 0, 0]])
# K = tensor([[1, 0, 0, 0], [0, 1, 0, 0]])
# V = tensor([[4, 0, 1], [0, 8, 1]])
# check(attention(Q, K, V), tensor([[3, 2, 1], [4 / 3, 16 / 3, 1]]), "weights ¾, ¼ and ⅓, ⅔")
# mask = torch.tensor([[False, False], [True, False]])
# check(attention(Q, K, V, mask), tensor([[0, 0, 0], [4, 0, 1]]), "query 0 sees no key, query 1 one")
# Q, K, V = (torch.stack([x, x.flip(0)]) for x in (Q, K, V))
# expected = tensor([[[3, 2, 1], [4, 0, 1]], [[4 / 3, 16 / 3, 1], [0, 8, 1]]])
# mask = torch.tensor([[True, True], [True, False]])
# check(attention(Q, K, V, mask), expected, "a batch of two, one mask for both")
# print("Q3: the public check passes")

# %% [markdown]
# ## Q4 No look into the future (4 + 6 points)
#
# A language model predicts the next token. If position $t$ could see the tokens after it, that would be cheating. The
# **causal mask** is `True` in row $t$, column $j$ exactly when $j \le t$: each position sees itself and all before it.
#
# | row \ column | 0 | 1 | 2 |
# |---|---|---|---|
# | 0 | ✓ | | |
# | 1 | ✓ | ✓ | |
# | 2 | ✓ | ✓ | ✓ |
#
# `causal_attention` is attention under this mask. Q, K and V have the same number of rows, T.
#
# *Example.* If all queries are 0, all allowed weights are equal: row $t$ of the result is the mean of the first $t+1$
# values. For the values 2, 4, 9 it is 2, 3, 5.


# %% softmark={"role": "answer", "question": "4"}
def causal_mask(T: int) -> Tensor:
    """Who may look at whom: row t, column j is True exactly when j ≤ t.

    T → (T, T) bool. Source: Vaswani et al. 2017, section 3.2.3.
    """
    position = torch.arange(T)
    return position <= position[:, None]


def causal_attention(
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    *,
    causal_mask: Callable[..., Tensor] = causal_mask,
    attention: Callable[..., Tensor] = attention,
) -> Tensor:
    """Attention in which position t sees the positions 0 … t only.

    Q, K: (..., T, d), V: (..., T, dv) → (..., T, dv).
    """
    T = Q.shape[-2]
    return attention(Q, K, V, causal_mask(T))


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "4"}
# mask = causal_mask(3)
# assert isinstance(mask, Tensor) and mask.dtype == torch.bool, f"expected a bool tensor, not {mask}"
# lower = [[True, False, False], [True, True, False], [True, True, True]]
# assert mask.tolist() == lower, f"expected the table in the text, not {mask.tolist()}"
# Q, K = tensor([[0, 0]] * 3), tensor([[1, 1]] * 3)
# V = tensor([[2], [4], [9]])
# running = tensor([[2], [3], [5]])
# check(causal_attention(Q, K, V), running, "equal scores: means of the values so far")
# Q, K, V = (torch.stack([x, x]) for x in (Q, K, V))
# check(causal_attention(Q, K, V), torch.stack([running, running]), "a batch of two")
# Q = tensor([[2 * math.log(3), 2 * math.log(2), 0, 0]] * 2)
# K = tensor([[1, 0, 0, 0], [0, 1, 0, 0]])
# V = tensor([[5], [10]])
# check(causal_attention(Q, K, V), tensor([[5], [7]]), "the last weights are ⅗ and ⅖")
# print("Q4: the public check passes")

# %% [markdown]
# ### Look at the weights
#
# Attention with the identity as values returns the weights themselves. Rows are queries, columns are keys. Under the
# causal mask everything to the right of the diagonal is 0, and each row sums to 1.
#
# Each word has a random vector, which here is its query and its key at once. So a word fits best to itself and to its
# earlier copies: the diagonal is dark, and each "the" spreads its weight over all "the" so far.

# %% tags=["active-ipynb"] softmark={"role": "demo", "question": "4"}
# words = "the cat sat on the mat and the dog".split()
# vectors = {}
# for n, word in enumerate(sorted(set(words))):
#     vectors[word] = torch.randn(8, generator=torch.Generator().manual_seed(n))
# X = torch.stack([vectors[w] for w in words])
# weights = causal_attention(X, X, torch.eye(len(words)))
# try:
#     import matplotlib.pyplot as plt
# except ImportError:  # the same picture as a table of percentages
#     print(" " * 6 + "".join(f"{w:>6}" for w in words))
#     for word, row in zip(words, weights.tolist()):
#         print(f"{word:>6}" + "".join(f"{100 * a:5.0f}%" if a else "     ·" for a in row))
# else:
#     figure, axes = plt.subplots(figsize=(5, 4.2))
#     shown = weights.masked_fill(weights == 0, math.nan)  # exactly 0: a colour of its own
#     colours = plt.get_cmap("Blues").with_extremes(bad="silver")
#     axes.imshow(shown.numpy(), cmap=colours, vmin=0, vmax=1)
#     axes.set_xticks(range(len(words)), words, rotation=45)
#     axes.set_yticks(range(len(words)), words)
#     axes.set(xlabel="key", ylabel="query")
#     axes.set_title("Weights: white near 0, dark blue 1, grey exactly 0")
#     plt.show()

# %% [markdown]
# ## Q5 Does the order matter? (8 points)
#
# Attention looks at a *set* of keys and values. What happens to the **last** row of the output when two rows of the
# input change places? `X` holds the tokens as rows; $W_q$, $W_k$, $W_v$ are learned matrices that make queries, keys
# and values of them. Stack `layers` layers, each with the same weights and with the input added back (the residual
# connection):
#
# $$X \leftarrow X + \operatorname{attention}(XW_q,\; XW_k,\; XW_v)$$
#
# With `causal=True` every layer uses the causal mask, otherwise none. Return a pair (a tuple of two): the last row of
# the output for $X$, and the last row of the output for $X$ with rows $i$ and $j$ exchanged. Rows are counted from 0;
# $i$ and $j$ may be any rows, also equal, also the last one. Don't change `X` itself.
#
# Try it: for two different earlier rows, with one layer the two results are equal up to rounding; with two causal
# layers they differ in general. You explain this at the end.
#
# *Example.* With `layers=0` nothing is computed: both results are the last row of the input, and exchanging row 0 with
# the last row shows up directly.


# %% softmark={"role": "answer", "question": "5"}
def swap_effect(
    X: Tensor,
    Wq: Tensor,
    Wk: Tensor,
    Wv: Tensor,
    i: int,
    j: int,
    causal: bool,
    layers: int,
    *,
    causal_mask: Callable[..., Tensor] = causal_mask,
    attention: Callable[..., Tensor] = attention,
) -> tuple[Tensor, Tensor]:
    """The last row of the output before and after rows i and j of the input change places.

    X: (n, d), each W: (d, d) → (d), (d). A layer is x ← x + attention(x Wq, x Wk, x Wv).
    """
    n = X.shape[0]
    mask = causal_mask(n) if causal else None

    def run(x: Tensor) -> Tensor:
        for _ in range(layers):
            x = x + attention(x @ Wq, x @ Wk, x @ Wv, mask)
        return x

    order = torch.arange(n)
    order[i], order[j] = j, i
    before, after = run(X), run(X[order])
    return before[-1], after[-1]


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "5"}
# X = tensor([[1, 0], [0, 1], [2, 1]])
# zero, one = tensor([[0, 0], [0, 0]]), tensor([[1, 0], [0, 1]])
# pair = swap_effect(X, zero, zero, one, 0, 1, True, 1)
# assert isinstance(pair, tuple | list) and len(pair) == 2, f"expected a pair of rows, not {pair}"
# check(pair[0], tensor([3, 5 / 3]), "weights ⅓: the mean (1, ⅔) is added to the last row")
# check(pair[1], pair[0], "one layer: the order of earlier rows does not matter")
# before, after = swap_effect(X, zero, zero, one, 0, 1, True, 2)
# assert not torch.allclose(after, before), f"two causal layers: it does, but you gave {after} twice"
# before, after = swap_effect(X, one, one, one, 0, 1, False, 2)
# check(after, before, "two layers without the mask: it does not")
# Wq, Wk, Wv = tensor([[1, 2], [0, 1]]), tensor([[1, 0], [1, -1]]), tensor([[1, 0], [2, 1]])
# before, after = swap_effect(X, Wq, Wk, Wv, 0, 2, True, 2)
# check(before, tensor([8.9593, 2.1958]), "three different weights, before the exchange")
# check(after, tensor([12.8680, 2.4013]), "after it: the first token stands last now")
# print("Q5: the public check passes")

# %% [markdown]
# ## Q6 Several heads (18 points)
#
# One set of weights per token is not much. With $h$ **heads** each token looks at the text in $h$ ways at once. Here
# `x` is a batch of $B$ texts with $T$ tokens each, (B, T, D). The projections $Q = xW_q$, $K = xW_k$, $V = xW_v$ are
# $D$ wide, and $h$ divides $D$. Head 0 takes columns $0 … D/h - 1$ of all three, head 1 the next $D/h$ columns, and so
# on; $Q_m$ are the columns of $Q$ that head $m$ takes. Each head runs causal attention on its own columns, the results
# are put side by side in the same order, and $W_o$ mixes them.
#
# $$\text{head}_m = \text{causal attention}(Q_m, K_m, V_m), \qquad
#   \text{result} = [\text{head}_0, …, \text{head}_{h-1}]\, W_o$$
#
# Watch the shapes. `view(B, T, h, D // h)` cuts the columns into heads; then the head axis must move in front of the
# time axis (that of the $T$ tokens), (B, h, T, D/h), so that `attention` works on matrices of shape (T, D/h).
# `view(B, h, T, D // h)` has the right shape and the wrong content: it mixes time and heads. The scale is that of *one
# head*, $\sqrt{D/h}$.
#
# *Example.* $D = 2$, $h = 2$: two heads of width 1. With $W_q = 0$ all allowed weights are equal. With $W_v = W_o = I$
# the result then holds the running means of each column of $x$, whatever $h$ is.


# %% softmark={"role": "answer", "question": "6"}
def multi_head(
    x: Tensor,
    Wq: Tensor,
    Wk: Tensor,
    Wv: Tensor,
    Wo: Tensor,
    h: int,
    *,
    causal_mask: Callable[..., Tensor] = causal_mask,
    attention: Callable[..., Tensor] = attention,
) -> Tensor:
    """Causal self-attention with h heads, each a block of D/h consecutive columns.

    x: (B, T, D), each W: (D, D), used as x @ W → (B, T, D).
    Source: Vaswani et al. 2017, section 3.2.2.
    """
    B, T, D = x.shape

    def linear(y: Tensor, W: Tensor) -> Tensor:
        return y @ W

    def split(y: Tensor) -> Tensor:  # (B, T, D) → (B, h, T, D/h)
        return y.reshape(B, T, h, D // h).transpose(1, 2)

    Q, K, V = [split(linear(x, W)) for W in (Wq, Wk, Wv)]
    mask = causal_mask(T)
    heads = attention(Q, K, V, mask)  # (B, h, T, D/h)
    merged = heads.transpose(1, 2).reshape(B, T, D)
    return linear(merged, Wo)


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "6"}
# x = tensor([[[2, 1], [4, 3], [9, 8]]])
# zero, one, exchange = tensor([[0, 0], [0, 0]]), tensor([[1, 0], [0, 1]]), tensor([[0, 1], [1, 0]])
# means = tensor([[[2, 1], [3, 2], [5, 4]]])
# check(multi_head(x, zero, one, one, one, 2), means, "running means of each column")
# check(multi_head(x, zero, one, one, exchange, 2), means.flip(-1), "Wo exchanges the columns")
# x = tensor([[[1, 0, 2, 1], [0, 1, 1, 0], [1, 1, 0, 2]]])
# one = torch.eye(4).double()
# rows = [[1, 0, 2, 1], [0.3302, 0.6698, 1.6698, 0.6698], [0.7517, 0.7517, 0.4188, 1.7225]]
# check(multi_head(x, one, one, one, one, 2), tensor([rows]), "two heads of width 2, all weights I")
# shift = one.roll(1, 1)  # x @ shift moves each column one place to the right
# weights = one + shift, one - shift, shift, one + shift
# rows = [[3, 2, 1, 2], [2.1398, 0.3911, 0.2514, 2], [0.3419, 0.1890, 0.9768, 1.1297]]
# check(multi_head(x, *weights, 2), tensor([rows]), "different weights, not symmetric")
# print("Q6: the public check passes")

# %% [markdown]
# ## Q7 Why divide by √d? (8 points)
#
# If the entries of $q$ and $k$ are independent with mean 0 and variance 1, then $q \cdot k$ has variance $d$. Large
# scores make the softmax sharp: one weight near 1, the others near 0, and the gradient is nearly gone. Measure it. For
# all scores $QK^\top$ return a tuple of four Python floats (not tensors):
#
# 1. the variance of all raw scores,
# 2. the variance of all scaled scores (divided by $\sqrt d$),
# 3. the mean entropy of the rows of softmax(raw),
# 4. the mean entropy of the rows of softmax(scaled).
#
# The variance is that of the population, $\frac1{Nn}\sum (s - \bar s)^2$: over all $N \cdot n$ scores of $N$ queries
# and $n$ keys, with one mean $\bar s$ for the whole table. Each query is a row of scores. The entropy of a row is
# $-\sum_j p_j \ln p_j$, in nats, with $0 \ln 0 = 0$.
#
# *Example.* $Q = [[2, 0, 0, 0]]$ and $K = [[\ln 3, 0, 0, 0], [0, 1, 0, 0]]$. The raw scores are $2\ln 3$ and $0$, their
# variance is $(\ln 3)^2$, the weights are $\frac9{10}, \frac1{10}$. The scaled scores are $\ln 3$ and $0$, the weights
# $\frac34, \frac14$: more even, so the entropy is larger.


# %% softmark={"role": "answer", "question": "7"}
def score_stats(Q: Tensor, K: Tensor) -> tuple[float, float, float, float]:
    """Variances of raw and scaled scores, mean row entropies (nats) of the softmax of both.

    Q: (N, d), K: (n, d) → four floats.
    Source: Vaswani et al. 2017, section 3.2.1, footnote on the variance d.
    """
    raw = Q @ K.T  # (N, n)
    scaled = raw / math.sqrt(Q.shape[1])

    def variance(s: Tensor) -> float:
        return s.var(correction=0).item()

    def entropy(s: Tensor) -> float:
        p = torch.softmax(s, dim=1)
        surprise = -torch.xlogy(p, p)
        return surprise.sum(dim=1).mean().item()

    return variance(raw), variance(scaled), entropy(raw), entropy(scaled)


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "7"}
# Q = tensor([[2, 0, 0, 0]])
# K = tensor([[math.log(3), 0, 0, 0], [0, 1, 0, 0]])
# one_query = 1.20694896, 0.30173724, 0.32508297, 0.56233514
# two_queries = 2.31852149, 0.57963037, 0.54072049, 0.89798292
# for queries, keys, expected in [
#     (Q, K, one_query),
#     (tensor([[2, 0, 0, 0], [2, 4, 0, 0]]), torch.cat([K, tensor([[0, 0, 0, 0]])]), two_queries),
# ]:
#     stats = score_stats(queries, keys)
#     four = isinstance(stats, tuple | list) and len(stats) == 4
#     assert four, f"expected four numbers, not {stats}"
#     assert all(isinstance(x, float) for x in stats), f"expected Python floats, not {stats}"
#     near = all(math.isclose(a, b, abs_tol=1e-7) for a, b in zip(stats, expected))
#     assert near, f"{len(queries)} queries: expected {expected}, not {stats}"
# print("Q7: the public check passes")

# %% [markdown]
# ## Q8 A sliding window (12 points)
#
# Full attention needs $T \times T$ scores: 400 million for 20 000 tokens, 1.6 GB in float32. With a **sliding window**
# query $t$ sees the $w$ keys $t-w+1 … t$ only (its own included), and near the start those that exist. That needs
# $T \times w$ scores. $w$ is at least 1; for $w \ge T$ this is plain causal attention.
#
# Write it so that time and memory grow with $T \cdot w$. 3 points are for a text of 20 000 tokens in float32, with
# $w = 16$ and vectors of at most 8 numbers, within 10 seconds and 0.75 GB in all, of which PyTorch itself takes
# about 0.25 GB. A loop over $t$ is good enough. The public check below has short texts only.
#
# *Example.* Zero queries and $w = 2$: row $t$ is the mean of the values $t-1$ and $t$. For the values 2, 4, 9 that is
# 2, 3, 6.5.


# %% softmark={"role": "answer", "question": "8"}
def sliding_window(Q: Tensor, K: Tensor, V: Tensor, w: int, *, softmax: Callable[..., Tensor] = softmax) -> Tensor:
    """Attention in which query t sees the w keys t−w+1 … t only, in O(T·w) time and memory.

    Q, K: (T, d), V: (T, dv) → (T, dv).
    Source: Beltagy, Peters, Cohan 2020, Longformer, section 3.1, one-sided.
    """
    T, d = Q.shape
    key = torch.arange(T)[:, None] + torch.arange(1 - w, 1)  # (T, w): query t sees t−w+1 … t
    exists = key >= 0

    def window(x: Tensor) -> Tensor:  # (T, m) → (T, m, w), a view: no copy for each query
        return torch.nn.functional.pad(x, (0, 0, w - 1, 0)).unfold(0, w, 1)

    scores = torch.einsum("td,tdw->tw", Q, window(K)) / math.sqrt(d)
    weights = softmax(scores.masked_fill(~exists, -math.inf), dim=1)
    return torch.einsum("tw,tmw->tm", weights, window(V))


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "8"}
# Q, K = tensor([[0, 0]] * 3), tensor([[1, 1]] * 3)
# V = tensor([[2], [4], [9]])
# check(sliding_window(Q, K, V, 2), tensor([[2], [3], [6.5]]), "w = 2: means of the last two values")
# check(sliding_window(Q, K, V, 1), V, "w = 1: each token sees itself only")
# check(sliding_window(Q, K, V, 9), tensor([[2], [3], [5]]), "w > T: means of all values so far")
# Q = tensor([[2 * math.log(3), 2 * math.log(2), 0, 0]] * 3)
# K = tensor([[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0]])
# V = tensor([[5], [10], [20]])
# check(sliding_window(Q, K, V, 2), tensor([[5], [7], [16]]), "weights ⅗, ⅖ and ⅖, ⅗")
# print("Q8: the public check passes")

# %% [markdown]
# ## Hand calculations (12 points)
#
# On paper, with your own numbers. They follow from your student id, so type it into the first code cell, run that cell,
# and then run the next two cells. Write the results into the cell that begins with `hand =` below, as plain Python
# numbers. Round only at the end; three decimals are enough (an error of 0.0006 is accepted), and fractions such as
# `2 / 3` are fine. Write numbers, not calls of your functions: this is practice without the computer. Tokens and rows
# are counted from 1 here.
#
# **H1 (4)** The last of four tokens attends to all four. You get the vectors $x_1 … x_4$ and the scores of $x_4$ with
# each of them, already scaled. $W_v = I$, so the values $v_j$ are the vectors themselves. Compute
# $x'_4 = \sum_j a_j v_j$, without the residual. Then the tokens $x_2$ and $x_3$ change places, and each token takes its
# score with it. Compute $x'_4$ again. Answer: `[[…, …], […, …]]`, before and after.
#
# **H2 (4)** You get a 3 × 3 table of scores, already scaled; rows are queries. Apply the causal mask and then the
# softmax. Answer: the 3 × 3 table of weights as a list of three rows; forbidden weights are 0.
#
# **H3 (4)** A layer of multi-head attention has $h$ heads and width $D$ (of all heads together), and reads $T$ tokens.
# How many scores does it compute, before any mask? How many parameters do its projections $W_q, W_k, W_v, W_o$ have,
# without biases? Answer: `[scores, parameters]`.


# %% softmark={"role": "given", "question": "9"}
def my_numbers(student_id: str, part: str) -> dict[str, object]:
    """Personal numbers of one hand calculation, the same on every machine.

    student_id: as your course knows it; spaces around it and upper or lower case don't matter.
    part: "H1", "H2", "H3".
    """

    def digits(attempt: int) -> bytes:
        text = f"attention/{part}/{student_id.strip().lower()}/{attempt}"
        return hashlib.blake2b(text.encode()).digest()

    if part == "H1":
        for attempt in range(1000):
            number = digits(attempt)
            vectors = [[1 + number[2 * row] % 9, 1 + number[2 * row + 1] % 9] for row in range(4)]
            left = [1, 2, 3, 4]
            shares = [left.pop(number[10 + row] % len(left)) for row in range(4)]
            # Again, unless each step of the calculation makes a difference.
            pairs = list(zip(shares, vectors, strict=True))
            tilt = [sum((4 * s - 10) * v[axis] for s, v in pairs) for axis in (0, 1)]
            if vectors[1] != vectors[2] and any(tilt):
                return {"x": vectors, "scores": ["0" if s == 1 else f"ln {s}" for s in shares]}
    if part == "H2":
        for attempt in range(1000):
            number = digits(attempt)
            texts = [("0", "ln 2", "ln 4")[n % 3] for n in number[:9]]
            # Again, if the weights of row 2 were all equal, and those of row 3 too.
            if texts[3] != texts[4] or len(set(texts[6:])) > 1:
                return {"scores": [texts[:3], texts[3:6], texts[6:]]}
    if part == "H3":
        number = digits(0)
        h, width = 2 + number[0] % 7, 8 * (1 + number[1] % 8)
        return {"T": 20 + number[2] % 80, "D": h * width, "h": h}
    raise ValueError(f"there is no part {part!r}: use H1, H2 or H3")


# %% tags=["active-ipynb"] softmark={"role": "demo", "question": "9"}
# if STUDENT_ID:
#     numbers = my_numbers(STUDENT_ID, "H1")
#     for n, (vector, score) in enumerate(zip(numbers["x"], numbers["scores"]), start=1):
#         print(f"H1  x_{n} = {vector}, score of x_4 with x_{n}: {score}")
#     for n, row in enumerate(my_numbers(STUDENT_ID, "H2")["scores"], start=1):
#         print(f"H2  row {n} of the scores: {', '.join(row)}")
#     for name, number in my_numbers(STUDENT_ID, "H3").items():
#         print(f"H3  {name} = {number}")
# else:
#     print("Type your student id into the first code cell, run it, and run this cell again.")


# %% softmark={"role": "hidden", "question": "9"}
STUDENT_ID = "ada"


def from_logs(scores: list[str]) -> Tensor:
    """Scores as `my_numbers` writes them ("0", "ln 3") → (n)."""
    return tensor([math.log(int(score.removeprefix("ln ")) or 1) for score in scores])


def hand_h1(numbers: dict[str, object]) -> list[list[float]]:
    """x′₄ before and after x₂ and x₃ change places: the scores move with the tokens."""
    x, scores = tensor(numbers["x"]), from_logs(numbers["scores"])
    orders = [[0, 1, 2, 3], [0, 2, 1, 3]]
    return [(softmax(scores[order], 0) @ x[order]).tolist() for order in orders]


def hand_h2(numbers: dict[str, object]) -> list[list[float]]:
    """The causal weights of a 3 × 3 table of scores."""
    scores = torch.stack([from_logs(row) for row in numbers["scores"]])
    return softmax(scores.masked_fill(~causal_mask(3), -math.inf), 1).tolist()


def hand_h3(numbers: dict[str, object]) -> list[int]:
    """Scores of all heads, h·T², and parameters of the four projections, 4·D²."""
    return [numbers["h"] * numbers["T"] ** 2, 4 * numbers["D"] ** 2]


# %% softmark={"role": "answer", "question": "9"}
hand = {
    "H1": hand_h1(my_numbers(STUDENT_ID, "H1")),
    "H2": hand_h2(my_numbers(STUDENT_ID, "H2")),
    "H3": hand_h3(my_numbers(STUDENT_ID, "H3")),
}

# %% tags=["active-ipynb"] softmark={"role": "demo", "question": "9"}
# # Can the form of your answers be read? (Whether they are right, only the grader says.)
# for part, size in {"H1": (2, 2), "H2": (3, 3), "H3": (2,)}.items():
#     answer = hand.get(part)
#     try:
#         fits = isinstance(answer, list | tuple) and tensor(answer).shape == size
#     except (TypeError, ValueError):
#         fits = False
#     if answer is None:
#         print(f"{part}  no answer yet")
#     else:
#         print(f"{part}  {'can be read' if fits else 'cannot be read: compare with the text above'}")

# %% [markdown] softmark={"role": "written", "question": "E"}
# ## Explain (5 written points)
#
# Take four tokens $x_1 … x_4$ and the layers of Q5. Let $y_4$ be the last row of the output of all layers. When $x_2$
# and $x_3$ change places, $y_4$ stays the same after one causal layer, and also after two layers without a mask. After
# two causal layers it changes. Explain why, in at most eight sentences: what does the mask change in the first layer,
# and how does that reach $y_4$ in the second? A person reads your answer.
#
# *Your answer:*


# %% tags=["active-ipynb"] softmark={"role": "demo"}
# print(f"This notebook ran for {time.perf_counter() - started:.1f} s.")
