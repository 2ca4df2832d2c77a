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
# whether you are on the right way. The grader tries other inputs, sizes and special cases.
#
# **Conventions.** Rows are tokens: a text of $T$ tokens is a matrix with $T$ rows, and $Q = XW_q$. A mask is boolean,
# and `True` means *may attend*. Tensors are float64 unless said otherwise. Your functions must not change their inputs.
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
from collections.abc import Callable

import torch
from torch import Tensor

started = time.perf_counter()


def tensor(rows: object) -> Tensor:
    """A float64 tensor from nested lists."""
    return torch.tensor(rows, dtype=torch.float64)


# %% [markdown]
# ## Q1 Softmax (8 points)
#
# Attention needs weights that are positive and sum to 1. The softmax makes them from any scores:
#
# $$\operatorname{softmax}(s)_i = \frac{e^{s_i}}{\sum_j e^{s_j}}$$
#
# Three things need care.
#
# * **Which axis.** `dim` names the axis along which the weights sum to 1. For scores of shape (2, 3) and `dim=1`, each
#   of the 2 rows sums to 1.
# * **Large scores.** $e^{800}$ is too large for a float. Take the maximum $m$ away from all scores of a slice first:
#   the factor $e^{-m}$ cancels. A *slice* is the set of scores that share one sum.
# * **Score −∞** means "not allowed" and gives weight 0. If *all* scores of a slice are −∞, nothing is allowed: return
#   zeros for that slice, not `nan`.
#
# *Example.* For $s = (0, \ln 2, \ln 5)$ the exponentials are $1, 2, 5$, so the weights are $\frac18, \frac28, \frac58$.


# %% softmark={"role": "answer", "question": "1"}
def softmax(s: Tensor, dim: int) -> Tensor:
    """Weights along `dim` that are positive and sum to 1.

    s: scores (...), any shape, −inf allowed → weights (...), the same shape and dtype.
    A slice that holds only −inf gives zeros. Source: Goodfellow, Bengio, Courville, Deep Learning, section 4.1.
    """
    along = {"dim": dim, "keepdim": True}
    largest = s.amax(**along).clamp(min=torch.finfo(s.dtype).min)  # finite, since −inf − (−inf) is nan
    exponentials = torch.exp(s - largest)
    total = exponentials.sum(**along)
    weights = exponentials / total.masked_fill(total == 0, 1.0)
    return weights  # noqa: RET504


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "1"}
# example = tensor([[0.0, math.log(2), math.log(5)], [1000.0, 1001.0, -math.inf]])
# expected = tensor([[0.125, 0.25, 0.625], [0.26894142, 0.73105858, 0.0]])
# assert softmax(example, 1).shape == (2, 3), "the result has the shape of the scores"
# assert torch.allclose(softmax(example, 1), expected), "see the example in the text; then think of large scores"
# print("Q1: the public check passes")

# %% [markdown]
# ## Q2 One query (10 points)
#
# A token asks a question, its **query** $q$. Each of $n$ tokens offers a **key** $k_j$ and a **value** $v_j$. The
# better a key fits the query, the larger the share of its value in the answer:
#
# $$s_j = \frac{q \cdot k_j}{\sqrt{d}}, \qquad a = \operatorname{softmax}(s), \qquad x' = \sum_j a_j v_j$$
#
# The rows of $K$ are the keys, the rows of $V$ the values; $d$ is the length of the query. Loops are fine here.
#
# *Example.* $d = 4$, $q = (2\ln 3, 0, 0, 0)$, keys $(1,0,0,0)$ and $(0,1,0,0)$. The scores are $\ln 3$ and $0$, so the
# weights are $\frac34$ and $\frac14$. With values $(4, 0)$ and $(0, 8)$ the answer is $(3, 2)$.


# %% softmark={"role": "answer", "question": "2"}
def attention_one_query(q: Tensor, K: Tensor, V: Tensor, *, softmax: Callable[..., Tensor] = softmax) -> Tensor:
    """The mix of the values for one query.

    q: (d), K: (n, d), V: (n, dv) → (dv). Source: Vaswani et al. 2017, section 3.2.1, for one row of Q.
    """
    d = q.shape[0]
    scores = K @ q / math.sqrt(d)  # (n)
    weights = softmax(scores, dim=0)
    return weights @ V


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "2"}
# q = tensor([2 * math.log(3), 0.0, 0.0, 0.0])
# K = tensor([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]])
# V = tensor([[4.0, 0.0], [0.0, 8.0]])
# assert attention_one_query(q, K, V).shape == (2,), "one value vector comes back"
# assert torch.allclose(attention_one_query(q, K, V), tensor([3.0, 2.0])), "see the example in the text"
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
# The dots stand for any number of leading axes (none, a batch, a batch and heads). `mask[..., i, j]` is `True` where
# query $i$ may look at key $j$. The score of a forbidden key is −∞ **before** the softmax, so the allowed weights still
# sum to 1. A query that may look at nothing gets a row of zeros. A mask of shape (Tq, Tk), without leading axes, holds
# for all members of the batch.
#
# *Example.* One query $(0)$, keys $(1), (2), (3)$, values $(1), (2), (6)$, $d = 1$. All scores are 0, so the result is
# the mean $3$. With the mask `[True, True, False]` it is $1.5$.


# %% softmark={"role": "answer", "question": "3"}
def attention(
    Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None, *, softmax: Callable[..., Tensor] = softmax
) -> Tensor:
    """Scaled dot-product attention.

    Q: (..., Tq, d), K: (..., Tk, d), V: (..., Tk, dv), mask: (..., Tq, Tk) or (Tq, Tk) bool, True = may
    attend → (..., Tq, dv). A query without keys gives zeros. Source: Vaswani et al. 2017, section 3.2.1.
    """
    d = K.shape[-1]
    keys = -1  # the axis of the keys: one row of weights a query
    scores = Q @ K.transpose(-2, -1) / math.sqrt(d)  # (..., Tq, Tk)
    visible = scores if mask is None else scores.masked_fill(~mask, -math.inf)
    weights = softmax(visible, dim=keys)
    return weights @ V


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "3"}
# Q, K, V = tensor([[0.0]]), tensor([[1.0], [2.0], [3.0]]), tensor([[1.0], [2.0], [6.0]])
# mask = torch.tensor([[True, True, False]])
# assert torch.allclose(attention(Q, K, V), tensor([[3.0]])), "without a mask: the mean of the values"
# assert torch.allclose(attention(Q, K, V, mask), tensor([[1.5]])), "the third key is forbidden"
# Q = tensor([[2 * math.log(3), 0.0, 0.0, 0.0], [0.0, 2 * math.log(2), 0.0, 0.0]])
# K = tensor([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]])
# V = tensor([[4.0, 0.0, 1.0], [0.0, 8.0, 1.0]])
# mask = torch.tensor([[True, True], [True, False]])
# assert torch.allclose(attention(Q, K, V), tensor([[3, 2, 1], [4 / 3, 16 / 3, 1]])), "weights ¾, ¼ and ⅓, ⅔"
# assert torch.allclose(attention(Q, K, V, mask), tensor([[3, 2, 1], [4, 0, 1]])), "the second query sees one key"
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
# assert causal_mask(3).dtype == torch.bool, "a mask is boolean"
# assert causal_mask(3).tolist() == [[True, False, False], [True, True, False], [True, True, True]], "see the table"
# values = tensor([[2.0], [4.0], [9.0]])
# running_mean = tensor([[2.0], [3.0], [5.0]])
# Q, K = tensor([[0.0, 0.0]] * 3), tensor([[1.0, 1.0]] * 3)
# assert torch.allclose(causal_attention(Q, K, values), running_mean), "equal scores give running means"
# Q, K = tensor([[2 * math.log(3), 2 * math.log(2), 0, 0]] * 2), tensor([[1, 0, 0, 0], [0, 1, 0, 0]])
# assert torch.allclose(causal_attention(Q, K, tensor([[5], [10]])), tensor([[5], [7]])), "the last weights are ⅗ and ⅖"
# print("Q4: the public check passes")

# %% [markdown]
# ### Look at the weights
#
# Attention with the identity as values returns the weights themselves. Rows are queries, columns are keys. Under the
# causal mask everything to the right of the diagonal is 0, and each row sums to 1.

# %% tags=["active-ipynb"] softmark={"role": "demo", "question": "4"}
# words = "the cat sat on the mat and the dog".split()
# vectors = {w: torch.randn(8, generator=torch.Generator().manual_seed(n)) for n, w in enumerate(sorted(set(words)))}
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
#     axes.imshow(weights.numpy(), cmap="Blues", vmin=0, vmax=1)
#     axes.set_xticks(range(len(words)), words, rotation=45)
#     axes.set_yticks(range(len(words)), words)
#     axes.set(xlabel="key", ylabel="query", title="Attention weights: white 0, dark blue 1")
#     plt.show()

# %% [markdown]
# ## Q5 Does the order matter? (8 points)
#
# Attention looks at a *set* of keys and values. What happens to the **last** row of the output when two earlier rows of
# the input change places? Stack `layers` layers, each with the same weights and with the input added back (the
# residual connection):
#
# $$x \leftarrow x + \operatorname{attention}(xW_q,\; xW_k,\; xW_v)$$
#
# With `causal=True` every layer uses the causal mask, otherwise none. Return the last row of the output for $X$ and
# the last row of the output for $X$ with rows $i$ and $j$ exchanged (counted from 0). Don't change `X` itself.
#
# Try it: with one layer the two rows are equal. With two causal layers they are not. You explain this at the end.
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
# X = tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
# zero, one = tensor([[0.0, 0.0], [0.0, 0.0]]), tensor([[1.0, 0.0], [0.0, 1.0]])
# before, after = swap_effect(X, zero, zero, one, 0, 1, True, 1)  # weights ⅓ each: the mean (1, ⅔) is added
# assert torch.allclose(before, tensor([3.0, 5 / 3])), "last row of the output: input plus attention"
# assert torch.allclose(after, before), "one layer: the order of earlier rows does not matter"
# before, after = swap_effect(X, zero, zero, one, 0, 1, True, 2)
# assert not torch.allclose(after, before), "two causal layers: it does"
# before, after = swap_effect(X, one, one, one, 0, 1, False, 2)
# assert torch.allclose(after, before), "two layers without the mask: it does not"
# before, after = swap_effect(X, one, one, one, 0, 2, True, 2)  # the last row changes places itself
# assert torch.allclose(before, tensor([7.5948, 3.7954]), atol=1e-4), "two layers with all weights I"
# assert torch.allclose(after, tensor([6.3665, 2.6725]), atol=1e-4), "the first token stands last now"
# print("Q5: the public check passes")

# %% [markdown]
# ## Q6 Several heads (18 points)
#
# One set of weights a token is little. With $h$ **heads** each token looks at the text in $h$ ways at once. The
# projections $xW_q$, $xW_k$, $xW_v$ are $D$ wide. Head 0 takes columns $0 … D/h - 1$, head 1 the next $D/h$ columns,
# and so on. Each head runs causal attention on its own columns, the results are put side by side in the same order, and
# $W_o$ mixes them.
#
# $$\text{head}_m = \operatorname{attention}(Q_m, K_m, V_m), \qquad
#   \text{result} = [\text{head}_0, …, \text{head}_{h-1}]\, W_o$$
#
# Watch the shapes. `view(B, T, h, D // h)` cuts the columns into heads; then the head axis must move in front of the
# time axis, (B, h, T, D/h), so that `attention` works on matrices of shape (T, D/h). `view(B, h, T, D // h)` has the
# right shape and the wrong content: it mixes time and heads. The scale is that of *one head*, $\sqrt{D/h}$.
#
# *Example.* $D = 2$, $h = 2$: two heads of width 1. With $W_q = 0$ all allowed weights are equal, so each head returns
# running means of its own column, whatever $h$ is.


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

    x: (B, T, D), each W: (D, D), used as x @ W → (B, T, D). Source: Vaswani et al. 2017, section 3.2.2.
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
# x = tensor([[[2.0, 1.0], [4.0, 3.0], [9.0, 8.0]]])
# zero, one = tensor([[0.0, 0.0], [0.0, 0.0]]), tensor([[1.0, 0.0], [0.0, 1.0]])
# exchange = tensor([[0.0, 1.0], [1.0, 0.0]])
# means = tensor([[[2.0, 1.0], [3.0, 2.0], [5.0, 4.0]]])
# assert multi_head(x, zero, one, one, one, 2).shape == (1, 3, 2), "the shape of x"
# assert torch.allclose(multi_head(x, zero, one, one, one, 2), means), "running means of each column"
# assert torch.allclose(multi_head(x, zero, one, one, exchange, 2), means.flip(-1)), "Wo exchanges the columns"
# x = tensor([[[1, 0, 2, 1], [0, 1, 1, 0], [1, 1, 0, 2]]])
# expected = tensor([[[1, 0, 2, 1], [0.3302, 0.6698, 1.6698, 0.6698], [0.7517, 0.7517, 0.4188, 1.7225]]])
# assert torch.allclose(multi_head(x, *[torch.eye(4).double()] * 4, 2), expected, atol=1e-4), "two heads of width 2"
# print("Q6: the public check passes")

# %% [markdown]
# ## Q7 Why divide by √d? (8 points)
#
# If the entries of $q$ and $k$ are independent with variance 1, then $q \cdot k$ has variance $d$. Large scores make
# the softmax sharp: one weight near 1, the others near 0, and the gradient is nearly gone. Measure it. For all scores
# $QK^\top$ return four Python floats:
#
# 1. the variance of all raw scores,
# 2. the variance of all scaled scores (divided by $\sqrt d$),
# 3. the mean entropy of the rows of softmax(raw),
# 4. the mean entropy of the rows of softmax(scaled).
#
# The variance is that of the population: $\frac1N\sum (s - \bar s)^2$. The entropy of a row is $-\sum_j p_j \ln p_j$,
# in nats, with $0 \ln 0 = 0$.
#
# *Example.* $Q = [[2, 0, 0, 0]]$ and $K = [[\ln 3, 0, 0, 0], [0, 1, 0, 0]]$. The raw scores are $2\ln 3$ and $0$, their
# variance is $(\ln 3)^2$, the weights are $\frac9{10}, \frac1{10}$. The scaled scores are $\ln 3$ and $0$, the weights
# $\frac34, \frac14$: more even, so the entropy is larger.


# %% softmark={"role": "answer", "question": "7"}
def score_stats(Q: Tensor, K: Tensor) -> tuple[float, float, float, float]:
    """Variance of raw and scaled scores, mean row entropy (nats) of the softmax of raw and of scaled scores.

    Q: (N, d), K: (n, d) → four floats. Source: Vaswani et al. 2017, section 3.2.1, footnote on the variance d.
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
# stats = score_stats(
#     tensor([[2.0, 0.0, 0.0, 0.0]]), tensor([[math.log(3), 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]])
# )
# expected = (1.20694896, 0.30173724, 0.32508297, 0.56233514)
# assert len(stats) == 4, "four numbers"
# assert all(math.isclose(a, b, abs_tol=1e-7) for a, b in zip(stats, expected)), f"{stats}, expected {expected}"
# print("Q7: the public check passes")

# %% [markdown]
# ## Q8 A sliding window (12 points)
#
# Full attention needs $T \times T$ scores: 400 million for 20 000 tokens, 1.6 GB in float32. With a **sliding window**
# query $t$ sees the $w$ keys $t-w+1 … t$ only (its own included), and near the start those that exist. That needs
# $T \times w$ scores.
#
# Write it so that time and memory grow with $T \cdot w$. 3 points are for a text of 20 000 tokens with $w = 16$, within
# 10 CPU seconds and 0.75 GB in all. A loop over $t$ is good enough. `w` may be larger than $T$.
#
# *Example.* Zero queries and $w = 2$: row $t$ is the mean of the values $t-1$ and $t$. For the values 2, 4, 9 that is
# 2, 3, 6.5.


# %% softmark={"role": "answer", "question": "8"}
def sliding_window(Q: Tensor, K: Tensor, V: Tensor, w: int, *, softmax: Callable[..., Tensor] = softmax) -> Tensor:
    """Attention in which query t sees the w keys t−w+1 … t only, in O(T·w) time and memory.

    Q, K: (T, d), V: (T, dv) → (T, dv). Source: Beltagy, Peters, Cohan 2020, Longformer, section 3.1, one-sided.
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
# values = tensor([[2.0], [4.0], [9.0]])
# Q, K = tensor([[0.0, 0.0]] * 3), tensor([[1.0, 1.0]] * 3)
# assert torch.allclose(sliding_window(Q, K, values, 2), tensor([[2.0], [3.0], [6.5]])), "the last two values"
# assert torch.allclose(sliding_window(Q, K, values, 1), values), "w = 1: each token sees itself only"
# assert torch.allclose(sliding_window(Q, K, values, 9), tensor([[2.0], [3.0], [5.0]])), "w > T: running mean"
# Q, K = tensor([[2 * math.log(3), 2 * math.log(2), 0, 0]] * 3), tensor([[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0]])
# values = tensor([[5], [10], [20]])
# assert torch.allclose(sliding_window(Q, K, values, 2), tensor([[5], [7], [16]])), "weights ⅗, ⅖ and ⅖, ⅗"
# print("Q8: the public check passes")

# %% [markdown]
# ## Hand calculations (12 points)
#
# On paper, with your own numbers. They follow from your student id, so type it into the first code cell, run that cell,
# and then run the next two cells. Write the results into the last answer cell as plain Python numbers. Three decimals
# are enough, and fractions such as `2 / 3` are fine. Write numbers, not calls of your functions: this trains your head.
#
# **H1 (4)** The last of four tokens attends to all four. You get the vectors $x_1 … x_4$ (rows) and the scores of $x_4$
# with $x_1 … x_4$, already scaled. $W_v = I$, so the values are the vectors themselves. Compute $x'_4$. Then the tokens
# $x_2$ and $x_3$ change places. Compute $x'_4$ again. Answer: `[[…, …], [… , …]]`, before and after.
#
# **H2 (4)** You get a 3 × 3 table of scores, rows are queries. Apply the causal mask and then the softmax. Answer: the
# 3 × 3 table of weights, as a list of three rows.
#
# **H3 (4)** A layer of multi-head attention has $h$ heads and width $D$, and reads $T$ tokens. How many scores does it
# compute, before any mask? How many parameters do its projections $W_q, W_k, W_v, W_o$ have, without biases? Answer:
# `[scores, parameters]`.


# %% softmark={"role": "given", "question": "9"}
def my_numbers(student_id: str, part: str) -> dict[str, object]:
    """Personal numbers of one hand calculation, the same on every machine.

    student_id: as your course knows it; spaces around it and upper or lower case don't matter · part: "H1", "H2", "H3".
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
            tilt = [sum((4 * s - 10) * v[axis] for s, v in zip(shares, vectors, strict=True)) for axis in (0, 1)]
            if vectors[1] != vectors[2] and any(tilt):
                return {"x": vectors, "scores": ["0" if s == 1 else f"ln {s}" for s in shares]}
    if part == "H2":
        number = digits(0)
        return {"scores": [[("0", "ln 2", "ln 4")[number[3 * row + key] % 3] for key in range(3)] for row in range(3)]}
    if part == "H3":
        number = digits(0)
        h, width = 2 + number[0] % 7, 8 * (1 + number[1] % 8)
        return {"T": 20 + number[2] % 80, "D": h * width, "h": h}
    raise ValueError(f"there is no part {part!r}: use H1, H2 or H3")


# %% tags=["active-ipynb"] softmark={"role": "demo", "question": "9"}
# if STUDENT_ID:
#     for part in ("H1", "H2", "H3"):
#         print(part, my_numbers(STUDENT_ID, part))
# else:
#     print("Type your student id into the first code cell, run it, and run this cell again.")

# %% [markdown] softmark={"role": "written", "question": "E"}
# ## Explain (5 written points)
#
# In Q5 the order of $x_2$ and $x_3$ made no difference to $x'_4$ after one causal layer, and none after two layers
# without a mask. After two causal layers it did. Explain why, in at most eight sentences: what does the mask change in
# the first layer, and how does that reach $x'_4$ in the second? A person reads your answer.
#
# *Your answer:*


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

# %% tags=["active-ipynb"] softmark={"role": "demo"}
# print(f"This notebook ran for {time.perf_counter() - started:.1f} s.")
