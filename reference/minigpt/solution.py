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
# # A small GPT with RoPE and grouped-query attention
#
# In this notebook you build a language model as it is built today, only smaller: rotary positions (RoPE), attention in
# which several query heads share one key and value head (grouped-query attention, GQA), a stack of blocks, and a cache
# that makes generation cheap. At the end you train it on a small text. You need only PyTorch. Everything together
# takes about ten seconds of a CPU core, and longer by the clock if other programs run at the same time.
#
# **How to work.** Replace each `raise NotImplementedError` by your code. Keep the names and the order of the
# parameters. You may add helper functions, methods and cells. After each question comes a *public check*: it shows
# quickly whether you are on the right track. The grader tries other inputs, sizes and special cases.
#
# **Conventions.** Rows are tokens, and positions count from 0. $T$ is the number of tokens, $B$ the number of
# sequences in a batch, $d$ the width of *one* head. Functions work in the dtype of the tensors that they are given
# (Q1 is given none: its table is float64) and must not change their inputs (but `train` trains its model). Counts are
# Python ints. All sizes are at least 1, $d$ is even, and the divisions leave no remainder: you need not check that.
#
# | question | function or class | points | checks (points) |
# |---|---|---|---|
# | Q1 | `rope_angles` | 8 | example 0.5 · type, shape, dtype 1 · values 4 · special sizes 1.5 · laws 1 |
# | Q2 | `apply_rope` | 16 | example 1 · type, shape, dtype 1.5 · values 8.5 · special cases 3 · laws 2 |
# | Q3 | `to_half_split` | 8 | example 0.5 · type, shape, dtype 1 · values 4 · special sizes 1.5 · equal scores 1 |
# | Q4 | `GroupedQueryAttention` | 20 | example 1 · contract 2 · values 10 · edges 3 · dropout 2 · no look ahead 2 |
# | Q5 | `gqa_param_count` | 4 | example 0.5 · values 2.5 · extreme groups 1 |
# | Q5 | `kv_cache_bytes` | 4 | example 0.5 · values 3.5 |
# | Q6 | `GPT` | 12 | example 0.5 · names, shapes, start values 1.5 · logits 8 · no look ahead 2 |
# | Q7 | `step` | 8 | example 0.5 · shapes 0.5 · logits 4 · size of the cache 2 · nothing hidden 1 |
# | Q8 | `train` | 8 | example 0.5 · losses 0.5 · one window 2 · first steps 1.5 · 200 steps 3.5 |
# | H1–H3 | `hand` | 12 | 4 each |
# | E | an explanation | (5) | read by a person, not part of the 100 |

# %% tags=["active-ipynb"] softmark={"role": "demo"}
# STUDENT_ID = ""  # type your student id between the quotes: your hand calculations follow from it

# %% softmark={"role": "hidden"}
from collections.abc import Callable

# isort: split

# %% softmark={"role": "given"}
import hashlib
import math
import random
import time
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

torch.set_num_threads(1)  # small tensors: more threads would only wait for each other
started = time.perf_counter()

#: What a model looks like: a plain dict with these keys.
Config = dict[str, Any]


def tensor(rows: object) -> Tensor:
    """A float64 tensor from nested lists."""
    return torch.tensor(rows, dtype=torch.float64)


def expect(value: object, expected: Tensor, what: str) -> None:
    """For the public checks: stop unless `value` is like `expected`, with errors up to 1e-4."""
    assert isinstance(value, Tensor), f"{what}: a tensor, not {type(value).__name__}"
    assert value.dtype == expected.dtype, f"{what}: {expected.dtype}, not {value.dtype}"
    sizes = tuple(expected.shape), tuple(value.shape)
    assert sizes[0] == sizes[1], f"{what}: shape {sizes[0]}, not {sizes[1]}"
    right = torch.allclose(value, expected, rtol=0, atol=1e-4)
    assert right, f"{what}: expected\n{expected}\nnot\n{value.detach()}"


# %% [markdown]
# ## Q1 Angles (8 points)
#
# Attention by itself does not know where a token stands. **Rotary position embedding** (RoPE) turns queries and keys
# by an angle that grows with their position. A vector of width $d$ is read as $d/2$ pairs of numbers, and each pair is
# a point in a plane. Pair $i$ turns with its own speed, the first pair fastest:
#
# $$\theta_i = \text{base}^{-2i/d}, \qquad i = 0, 1, …, d/2 - 1$$
#
# At position $p$ the angle of pair $i$ is $p\,\theta_i$, in radians. Return the table of angles for the `T` positions
# that begin at `offset`: row $t$ belongs to position `offset + t`. (The offset is for later: with a cache, new tokens
# don't begin at position 0.) The table is float64, of shape (T, d/2).
#
# *Example.* $d = 4$, base 100: the speeds are $100^0 = 1$ and $100^{-1/2} = 0.1$. Position 3 has the angles 3 and 0.3.


# %% softmark={"role": "answer", "question": "1"}
def rope_angles(T: int, d: int, base: float, offset: int = 0) -> Tensor:
    """The angle of each pair at each of T positions from `offset` on, in radians.

    → (T, d/2) float64: row t, column i holds (offset + t)·base^(−2i/d).
    Source: Su et al. 2021, RoFormer, section 3.2.
    """
    i = torch.arange(d // 2, dtype=torch.float64)
    speeds = base ** (-2 * i / d)
    positions = offset + torch.arange(T, dtype=torch.float64)
    return torch.outer(positions, speeds)


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "1"}
# table = tensor([[0, 0], [1, 0.1], [2, 0.2], [3, 0.3]])
# expect(rope_angles(4, 4, 100.0), table, "positions 0 to 3, see the example")
# expect(rope_angles(2, 4, 100.0, 3), tensor([[3, 0.3], [4, 0.4]]), "positions 3 and 4 (offset 3)")
# speeds = [1, 0.1, 0.01]
# expect(rope_angles(1, 6, 1000.0, 2), 2 * tensor([speeds]), "position 2, d = 6, base 1000")
# print("Q1: the public check passes")

# %% [markdown]
# ## Q2 Rotation (16 points)
#
# To turn a point $(a, b)$ by the angle $\varphi$:
#
# $$(a, b) \;\mapsto\; (a\cos\varphi - b\sin\varphi,\;\; b\cos\varphi + a\sin\varphi)$$
#
# **Which numbers form a pair?** There are two conventions. Here: number $i$ of the first half and number $i$ of the
# second half, $(x_i, x_{i+d/2})$. This is called *half-split*. (The other one, *interleaved*, takes
# $(x_{2i}, x_{2i+1})$; Q3 is about it.) The turned numbers stay in their places.
#
# `x` has shape (..., T, d) with any leading axes (none, a batch, a batch and heads). `positions` holds the T positions
# of its rows, as int64. They may come in any order, repeat and be large, but are never negative. Row $t$ is turned by
# the angles of position `positions[t]`; the angles of position $p$ are row $p$ of the table of Q1. The result has the
# shape and the dtype of `x`. Where `x` is float32, the angles and their cosines and sines may be float64 or float32.
#
# *Example.* $d = 4$ and base 100, one row $x = (1, 2, 3, 4)$ at position 3. The pairs are $(1, 3)$ and $(2, 4)$, the
# angles 3 and 0.3. Pair $(1, 3)$ becomes $(\cos 3 - 3\sin 3,\; 3\cos 3 + \sin 3) = (-1.413, -2.829)$, and the whole
# row becomes $(-1.413, 0.729, -2.829, 4.412)$.


# %% softmark={"role": "answer", "question": "2"}
def apply_rope(
    x: Tensor, positions: Tensor, base: float, *, rope_angles: Callable[..., Tensor] = rope_angles
) -> Tensor:
    """Turn each pair (x_i, x_{i+d/2}) of row t by positions[t]·base^(−2i/d).

    x: (..., T, d), positions: (T) int64 → (..., T, d), dtype of x.
    Source: Su et al. 2021, RoFormer, section 3.2.2.
    """
    d = x.shape[-1]
    rows = int(positions.max()) + 1
    table = rope_angles(rows, d, base)
    angles = table[positions]  # (T, d/2)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x[..., : d // 2], x[..., d // 2 :]
    left = a * cos - b * sin
    right = b * cos + a * sin
    return torch.cat([left, right], dim=-1)


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "2"}
# x = tensor([[1, 2, 3, 4], [1, 2, 3, 4]])
# expected = tensor([[-1.4134, 0.7286, -2.8289, 4.4124], [1, 2, 3, 4]])
# expect(apply_rope(x, torch.tensor([3, 0]), 100.0), expected, "the example, and position 0")
# x = torch.arange(24.0).reshape(2, 3, 4)  # float32: two texts of three tokens
# turned = apply_rope(x, torch.tensor([2, 0, 1]), 100.0)
# expect(turned[:, 1], x[:, 1], "position 0 of two texts: nothing turns")
# expect(turned[1, 2], torch.tensor([-7.7063, 18.5989, 28.7161, 24.9816]), "row 2, position 1")
# print("Q2: the public check passes")

# %% [markdown]
# ### Look at the rotation
#
# Two pairs of the same vector at positions 0 to 7. The fast pair runs round the circle, the slow pair moves a little.
# The length of each arrow stays: RoPE turns and never stretches.

# %% tags=["active-ipynb"] softmark={"role": "demo", "question": "2"}
# path = apply_rope(torch.tensor([1.0, 1.0, 0.0, 0.0]).expand(8, 4), torch.arange(8), 100.0)
# try:
#     import matplotlib.pyplot as plt
# except ImportError:  # the same picture as a table of directions
#     for p, (a, c, b, d) in enumerate(path.tolist()):
#         fast, slow = (math.degrees(math.atan2(y, x)) % 360 for x, y in ((a, b), (c, d)))
#         print(f"position {p}: fast pair at {fast:4.0f}°, slow pair at {slow:4.0f}°")
# else:
#     figure, panels = plt.subplots(1, 2, figsize=(8, 4.4), layout="constrained")
#     for i, panel in enumerate(panels):
#         for p, row in enumerate(path.tolist()):
#             colour, (a, b) = plt.cm.viridis(p / 9), (row[i], row[i + 2])
#             panel.annotate("", (a, b), (0, 0), arrowprops={"arrowstyle": "->", "color": colour})
#             panel.text(1.12 * a, 1.12 * b, str(p), color=colour, ha="center", va="center")
#         panel.add_patch(plt.Circle((0, 0), 1, fill=False, color="lightgrey"))
#         panel.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), aspect="equal")
#         panel.set(xlabel=f"$x_{i}$", ylabel=f"$x_{i + 2}$")
#         panel.set_title(f"pair {i}: {[1, 0.1][i]:g} rad per position")
#     figure.suptitle("One vector at positions 0 … 7")
#     plt.show()

# %% [markdown]
# ## Q3 From one convention to the other (8 points)
#
# You download a model whose attention was trained with *interleaved* pairs $(x_{2i}, x_{2i+1})$. Your `apply_rope`
# pairs $(x_i, x_{i+d/2})$. The weights can be converted once: reorder the **rows** of the query and the key projection,
# so that what stood side by side now stands half a head apart.
#
# `W` is the weight of an `nn.Linear` with n inputs, of shape (`n_heads`·d, n): row $r$ makes output $r$, and head $h$
# owns the $d$ rows from $h \cdot d$ to $h \cdot d + d - 1$. (For a key projection `n_heads` is the number of *its*
# heads. Biases are left out here.) Make a new tensor: inside **each head** put its even rows 0, 2, 4, … first and then
# its odd rows 1, 3, 5, …. After that, half-split RoPE gives the same attention scores as interleaved RoPE gave before.
#
# *Example.* One head with $d = 6$: the rows 0, 1, 2, 3, 4, 5 come in the order 0, 2, 4, 1, 3, 5.


# %% softmark={"role": "answer", "question": "3"}
def to_half_split(W: Tensor, n_heads: int) -> Tensor:
    """Reorder a projection for interleaved RoPE so that half-split RoPE gives the same scores.

    W: (n_heads·d, n), rows are outputs, heads are blocks of d rows → (n_heads·d, n): in each head
    the even rows, then the odd ones.
    """
    d = W.shape[0] // n_heads
    order = torch.cat([torch.arange(0, d, 2), torch.arange(1, d, 2)])
    heads = W.reshape(n_heads, d, -1)
    return heads[:, order].reshape(W.shape)


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "3"}
# W = tensor([[r, 10 * r] for r in range(12)])
# rows = [0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11]
# expect(to_half_split(W, 1), tensor([[r, 10 * r] for r in rows]), "one head of width 12")
# rows = [0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11]
# expect(to_half_split(W, 2), tensor([[r, 10 * r] for r in rows]), "two heads, each on its own")
# assert W[:, 0].tolist() == list(range(12)), "W itself stays as it was"
# print("Q3: the public check passes")

# %% [markdown]
# ## Q4 Grouped-query attention (20 points)
#
# In multi-head attention each head has its own queries, keys and values. While a model writes text, it keeps all keys
# and values, and that memory becomes the limit. **Grouped-query attention** has `query_heads` heads of queries but only
# `kv_heads` heads of keys and values. With $g = \text{query\_heads} / \text{kv\_heads}$, query head $h$ uses key and
# value head $\lfloor h / g \rfloor$: the first $g$ query heads share the first one, and so on.
#
# Write a module `GroupedQueryAttention(config)` with causal attention and RoPE. `config` is a dict:
#
# | key | meaning |
# |---|---|
# | `width` | how many numbers describe one token |
# | `query_heads`, `kv_heads` | numbers of heads; each head has $d$ = width / query_heads numbers |
# | `base` | base of RoPE |
# | `block` | the largest T that occurs |
# | `attn_dropout`, `resid_dropout` | two probabilities |
#
# *Parts.* Call `super().__init__()` first. Four `nn.Linear` layers with bias, under these names: `q_proj`
# (width → width), `k_proj` and `v_proj` (width → kv_heads·d), `out_proj` (width → width). Nothing else has parameters.
# Two `nn.Dropout` layers, under any names. If you want to keep a tensor that is no parameter, such as a mask, make it a
# buffer that is not saved: `self.register_buffer(name, tensor, persistent=False)`.
#
# *Forward*, for `x` of shape (B, T, width):
#
# 1. Project. Cut the outputs into heads, blocks of $d$ consecutive numbers: (B, T, heads·d) → (B, heads, T, d).
# 2. Turn queries and keys with `apply_rope`, positions 0 … T−1. Values stay as they are.
# 3. Let the query heads share the key and value heads.
# 4. Scores $qk^\top/\sqrt{d}$; position $t$ sees the positions 0 … t only (score −∞ elsewhere); softmax over the keys.
# 5. `attn_dropout` on the weights, weights times values.
# 6. Put the heads side by side again: (B, heads, T, d) → (B, T, width). Then `out_proj`, then `resid_dropout`.
#
# Dropout works in training only; `nn.Dropout` knows that by itself. For steps 4 and 5 you may use PyTorch's
# `scaled_dot_product_attention`; its `dropout_p` does not know the mode and must be 0 in evaluation.


# %% softmark={"role": "answer", "question": "4"}
class GroupedQueryAttention(nn.Module):
    """Causal self-attention with RoPE; groups of query heads share one head of keys and values.

    x: (B, T, width) → (B, T, width).
    Source: Ainslie et al. 2023, GQA, section 2.2; Su et al. 2021 for the positions.
    """

    def __init__(self, config: Config, *, apply_rope: Callable[..., Tensor] = apply_rope) -> None:
        super().__init__()
        width, block = config["width"], config["block"]
        self.query_heads, self.kv_heads, self.base = config["query_heads"], config["kv_heads"], config["base"]
        self.apply_rope = apply_rope
        kv_width = self.kv_heads * (width // self.query_heads)
        self.q_proj = nn.Linear(width, width)
        self.k_proj = nn.Linear(width, kv_width)
        self.v_proj = nn.Linear(width, kv_width)
        self.out_proj = nn.Linear(width, width)
        self.attn_dropout = nn.Dropout(config["attn_dropout"])
        self.resid_dropout = nn.Dropout(config["resid_dropout"])
        past = torch.ones(block, block, dtype=torch.bool).tril()
        self.register_buffer("past", past, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """x: (B, T, width) → (B, T, width)."""
        B, T, width = x.shape
        d = width // self.query_heads
        positions = torch.arange(T)
        past = self.past[:T, :T]

        def split(z: Tensor) -> Tensor:  # (B, T, heads·d) → (B, heads, T, d)
            return z.reshape(B, T, -1, d).transpose(1, 2)

        def rotate(z: Tensor) -> Tensor:
            return self.apply_rope(z, positions, self.base)

        def expand(z: Tensor) -> Tensor:  # (B, kv_heads, T, d) → (B, query_heads, T, d)
            return z.repeat_interleave(self.query_heads // self.kv_heads, dim=1)

        q, k, v = split(self.q_proj(x)), split(self.k_proj(x)), split(self.v_proj(x))
        q, k = rotate(q), rotate(k)
        k, v = expand(k), expand(v)
        scores = q @ k.transpose(-2, -1) / math.sqrt(d)  # (B, query_heads, T, T)
        weights = torch.softmax(scores.masked_fill(~past, -math.inf), dim=-1)
        heads = self.attn_dropout(weights) @ v
        merged = heads.transpose(1, 2).reshape(B, T, width)
        return self.resid_dropout(self.out_proj(merged))


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "4"}
# config = {"width": 16, "query_heads": 4, "kv_heads": 2, "base": 100.0, "block": 8}
# config |= {"attn_dropout": 0.0, "resid_dropout": 0.0}
# # q = x, k = the first half of x, v = the second half; out_proj puts the last head first.
# one, state = torch.eye(16).double(), {}
# parts = {"q_proj": one, "k_proj": one[:8], "v_proj": one[8:], "out_proj": one.roll(4, 0)}
# for name, W in parts.items():
#     state |= {f"{name}.weight": W, f"{name}.bias": torch.zeros(len(W)).double()}
# layer = GroupedQueryAttention(config).double()
# layer.load_state_dict(state)
# x = torch.arange(96.0).double().sin().reshape(2, 3, 16)
# y, v0, v1 = layer(x), x[:, 0, 8:12], x[:, 0, 12:]
# assert y.shape == (2, 3, 16), f"the shape of x, not {tuple(y.shape)}"
# first = torch.cat([v1, v0, v0, v1], dim=-1)
# expect(y[:, 0], first, "a first token sees only itself: values of heads 1, 0, 0, 1")
# expected = tensor([-0.1537, 0.6131, 0.8162, 0.2689, 0.1002, -0.2990, -0.4233, -0.1584])
# expect(y[1, 2, 4:12], expected, "heads 0 and 1, token 2 (q and k turned, v not? divided by √d?)")
# print("Q4: the public check passes")

# %% [markdown]
# ## Q5 What does it save? (4 + 4 points)
#
# `gqa_param_count` counts the parameters of the four projections of Q4; with `bias=True` each output has one more.
#
# `kv_cache_bytes` counts the memory for the keys and the values of all `layers`, for `batch` texts of `T` tokens each,
# when each number takes `bytes_per_value` bytes.
#
# *Example.* Width 12, 6 query heads, 2 key and value heads: $d = 2$, so the projections have 12, 4, 4 and 12 outputs
# with 12 inputs each: $32 \cdot 12 = 384$ parameters, and 32 more with biases. With these heads, 10 tokens have
# $10 \cdot 2 \cdot 2 = 40$ numbers as keys and 40 as values in each layer. For 5 layers and 3 texts that makes
# $5 \cdot 3 \cdot 80 = 1200$ numbers; at 4 bytes each, 4800 bytes.


# %% softmark={"role": "answer", "question": "5"}
def gqa_param_count(width: int, query_heads: int, kv_heads: int, bias: bool) -> int:
    """The number of parameters of q_proj, k_proj, v_proj and out_proj together."""
    d = width // query_heads
    outputs = [width, kv_heads * d, kv_heads * d, width]
    return sum(outputs) * (width + int(bias))


def kv_cache_bytes(
    layers: int,
    batch: int,
    T: int,
    kv_heads: int,
    d: int,
    bytes_per_value: int,
) -> int:
    """Bytes of the keys and values of all layers for `batch` texts of T tokens.

    d: width of one head.
    """
    values = 2 * layers * batch * T * kv_heads * d
    return values * bytes_per_value


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "5"}
# without, biased = gqa_param_count(12, 6, 2, False), gqa_param_count(12, 6, 2, True)
# cached = kv_cache_bytes(5, 3, 10, 2, 2, 4)
# kinds = [type(count).__name__ for count in (without, biased, cached)]
# assert kinds == ["int", "int", "int"], f"Python ints, not {kinds}"
# assert without == 384, f"the example has 384 parameters, not {without}"
# assert biased == 416, f"with biases one more for each output: 416, not {biased}"
# assert cached == 4800, f"the example has 4800 bytes, not {cached}"
# print("Q5: the public check passes")

# %% [markdown]
# ## Q6 The model (12 points)
#
# A GPT reads token ids and gives, at each position, a score (*logit*) for each possible next token.
#
# 1. $x = \text{tok}[\text{ids}]$
# 2. for each block: $\; x \leftarrow x + \text{attn}(\text{norm1}(x))$, then
#    $\; x \leftarrow x + \text{mlp}(\text{norm2}(x))$
# 3. $\text{logits} = \text{head}(\text{norm}(x))$
#
# Norms come *before* the sub-layers, and what is added back is $x$ itself, not the normalised $x$. There is no table of
# positions: RoPE inside the attention does that. Parts and names:
#
# | name | what |
# |---|---|
# | `tok` | `nn.Embedding`, vocab × width |
# | `blocks` | `nn.ModuleList` of `layers` blocks, each with parts of its own: `norm1`, `attn`, `norm2`, `mlp` |
# | `blocks[i].attn` | your `GroupedQueryAttention(config)` |
# | `blocks[i].mlp` | `fc` (width → 4·width), GELU in its tanh form (`approximate="tanh"`), `proj` (4·width → width) |
# | `norm` | the last norm |
# | `head` | `nn.Linear` width → vocab, without bias, with weights of its own |
# | `config` | the dict that the model was built from; Q7 and Q8 read it |
#
# All norms are `nn.LayerNorm(width)` as it comes. `config` has the keys of Q4 and also `vocab` and `layers`. (Its
# `"block"` is still a length and has nothing to do with the class `Block`.) The parts of `MLP` and `Block` are given:
# write their `forward` methods and the whole class `GPT`. A block is built around its attention:
# `Block(config, GroupedQueryAttention(config))`. Create the parts in any order. At the end of `GPT.__init__` call
# `set_start_values(self)`, which is given too and reads `self.config`: weights from N(0, 0.02²), smaller where a
# residual path ends, biases 0.
#
# *Example.* With the start values all logits are near 0, so the loss is near $\ln(\text{vocab})$.


# %% softmark={"role": "given", "question": "6"}
def set_start_values(model: nn.Module) -> None:
    """Start values of a GPT: N(0, 0.02²), biases 0; 0.02/√(2·layers) where a residual path ends.

    Source: Radford et al. 2019, GPT-2, section 2.3.
    """
    small = 0.02 / math.sqrt(2 * model.config["layers"])
    ends = ("out_proj.weight", "mlp.proj.weight")
    for name, values in model.named_parameters():
        if "norm" in name:
            continue  # gains 1, biases 0: as they come
        if name.endswith("bias"):
            nn.init.zeros_(values)
        else:
            nn.init.normal_(values, std=small if name.endswith(ends) else 0.02)


# %% softmark={"role": "answer", "question": "6", "keep": ["MLP.__init__", "Block.__init__"]}
class MLP(nn.Module):
    """The part of a block that works on each token alone: (..., width) → (..., width)."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.fc = nn.Linear(config["width"], 4 * config["width"])
        self.proj = nn.Linear(4 * config["width"], config["width"])

    def forward(self, x: Tensor) -> Tensor:
        """x: (..., width) → (..., width)."""
        return self.proj(nn.functional.gelu(self.fc(x), approximate="tanh"))


class Block(nn.Module):
    """One layer of the model: (B, T, width) → (B, T, width)."""

    def __init__(self, config: Config, attn: nn.Module) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(config["width"])
        self.attn = attn
        self.norm2 = nn.LayerNorm(config["width"])
        self.mlp = MLP(config)

    def forward(self, x: Tensor) -> Tensor:
        """x: (B, T, width) → (B, T, width). Source: Xiong et al. 2020, pre-norm."""
        x = x + self.attn(self.norm1(x))
        x = x + self.mlp(self.norm2(x))
        return x  # noqa: RET504


class GPT(nn.Module):
    """A language model: ids (B, T) int64 → logits (B, T, vocab).

    Source: Radford et al. 2019, GPT-2; with RoPE instead of a table of positions, and GQA.
    """

    def __init__(
        self, config: Config, *, GroupedQueryAttention: Callable[..., nn.Module] = GroupedQueryAttention
    ) -> None:
        super().__init__()
        self.config = config
        width, vocab, layers = config["width"], config["vocab"], config["layers"]
        self.tok = nn.Embedding(vocab, width)
        self.blocks = nn.ModuleList([Block(config, GroupedQueryAttention(config)) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocab, bias=False)
        set_start_values(self)

    def forward(self, ids: Tensor) -> Tensor:
        """ids: (B, T) int64, T ≤ block → (B, T, vocab)."""
        x = self.tok(ids)
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        return self.head(x)


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "6"}
# config = {"vocab": 3, "block": 8, "layers": 2, "width": 8, "query_heads": 4, "kv_heads": 2}
# config |= {"base": 100.0, "attn_dropout": 0.0, "resid_dropout": 0.0}
# small, ids = GPT(config).double(), torch.tensor([[0, 1, 2], [2, 0, 0]])
# parts = sorted(name for name, _ in small.named_children())
# assert parts == ["blocks", "head", "norm", "tok"], f"tok, blocks, norm and head, not {parts}"
# assert small.head.bias is None, "the head has no bias"
# for name, value in small.named_parameters():
#     assert value.std() < 0.05, f"{name} starts too large: call set_start_values(self) last"
# waves = {}
# for n, (name, value) in enumerate(sorted(small.state_dict().items())):
#     numbers = torch.arange(1.0, 1 + value.numel()).double() + n
#     waves[name] = torch.sin(numbers).reshape(value.shape)
# small.load_state_dict(waves)
# expected = tensor([[1.8661, 2.4128, -2.5682], [1.9971, 2.4338, -2.7054]])
# expect(small(ids)[:, 2], expected, "made-up weights (what is added back? GELU's tanh form?)")
# print("Q6: the public check passes")

# %% [markdown]
# ## Q7 One step with a cache (8 points)
#
# While a model writes, each new token needs the keys and values of all earlier tokens. To compute them again for each
# new token is wasteful: keep them. `step` gets only the **new** tokens and the cache of the earlier ones.
#
# * `ids_new` has shape (B, n). `cache` is `None` at the beginning; later it is what the last call returned.
# * The cache is a list with one pair `(k, v)` for each block, each of shape (B, kv_heads, t, d), where t tokens were
#   seen so far. Keep the `kv_heads` heads, not `query_heads`: that is the point of GQA.
# * New token $i$ stands at position $t + i$. It sees all $t$ earlier tokens and the new ones up to itself.
# * Return the logits of the new tokens, (B, n, vocab), and the new cache, for t + n tokens.
#
# Cutting a text into pieces and calling `step` on one piece after the other must give the logits of `model(ids)`;
# t + n is never larger than `block`. `model` is one of your `GPT`s. Use its parts by their names of Q4 and Q6:
# `model.tok`, `model.blocks[i].attn.q_proj`, …, `model.config`. Leave dropout out and the model's mode as it is.
# `torch.no_grad()` is up to the caller. The cache passed in must stay as it was, and all that a later call needs stands
# in the cache. You may keep the keys before or after their rotation; after it, each key is turned only once.
#
# *Example.* Text of 6 tokens in pieces of 3, 1 and 2: the caches have t = 3, 4 and 6.


# %% softmark={"role": "answer", "question": "7"}
def step(
    model: nn.Module, ids_new: Tensor, cache: list[tuple[Tensor, Tensor]] | None
) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
    """Logits of the new tokens, given the earlier keys and values; and the longer cache.

    ids_new: (B, n) int64, cache: per block (k, v), each (B, kv_heads, t, d)
    → (B, n, vocab), cache with t + n tokens. Source: Shazeer 2019, section 2.4.
    """
    config, (B, n) = model.config, ids_new.shape
    d, share = config["width"] // config["query_heads"], config["query_heads"] // config["kv_heads"]
    t = 0 if cache is None else cache[0][0].shape[2]
    positions = t + torch.arange(n)
    visible = torch.arange(t + n) <= t + torch.arange(n)[:, None]  # (n, t + n)

    def split(z: Tensor) -> Tensor:  # (B, n, heads·d) → (B, heads, n, d)
        return z.reshape(B, n, -1, d).transpose(1, 2)

    x, grown = model.tok(ids_new), []
    for number, block in enumerate(model.blocks):
        attn, z = block.attn, block.norm1(x)
        q, k, v = split(attn.q_proj(z)), split(attn.k_proj(z)), split(attn.v_proj(z))
        q, k = apply_rope(q, positions, config["base"]), apply_rope(k, positions, config["base"])
        if cache is not None:
            old_k, old_v = cache[number]
            k, v = torch.cat([old_k, k], dim=2), torch.cat([old_v, v], dim=2)
        grown.append((k, v))
        k, v = k.repeat_interleave(share, dim=1), v.repeat_interleave(share, dim=1)
        scores = q @ k.transpose(-2, -1) / math.sqrt(d)  # (B, query_heads, n, t + n)
        weights = torch.softmax(scores.masked_fill(~visible, -math.inf), dim=-1)
        x = x + attn.out_proj((weights @ v).transpose(1, 2).reshape(B, n, -1))
        x = x + block.mlp(block.norm2(x))
    return model.head(model.norm(x)), grown


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "7"}
# ids = torch.tensor([[0, 1, 2, 0, 2, 1], [2, 1, 0, 0, 1, 2]])  # `small`: the model of the last check
# whole, caches = small(ids).detach(), [None]
# for start, n in ((0, 3), (3, 1), (4, 2)):
#     with torch.no_grad():
#         logits, cache = step(small, ids[:, start : start + n], caches[-1])
#     expect(logits, whole[:, start : start + n], f"{n} new tokens: the logits of the whole text")
#     caches.append(cache)
# for t, cache in zip((3, 4, 6), caches[1:]):
#     assert len(cache) == 2, f"one pair (k, v) for each of 2 blocks, not {len(cache)}"
#     sizes = {tuple(part.shape) for pair in cache for part in pair}
#     why = f"k and v of {t} tokens: shape (2, 2, {t}, 2), after later steps too, not {sizes}"
#     assert sizes == {(2, 2, t, 2)}, why
# print("Q7: the public check passes")

# %% [markdown]
# ## Q8 Training (8 points)
#
# The text comes from a small generator: sentences of three forms, with words drawn at random. Because we know how it
# was made, we know how well it can be predicted at best: its **entropy rate**, computed below, is about 0.256 nats a
# character. No honest model gets below it on average: a loss below it, on a long text that the model has not seen,
# means that the model sees its target.
#
# Training repeats the same step. Draw `batch` windows of `block` + 1 ids from the data. The first `block` ids of a
# window go into the model, and the target at each position is the **next** id, so the targets are the last `block` ids.
# The loss is the mean cross-entropy in nats over all positions and windows. Then one step of `torch.optim.AdamW` with
# learning rate `lr`, everything else as it comes.
#
# * `block` is `model.config["block"]`: how many ids go into the model.
# * `data` holds N ids. A window can begin at 0, 1, …, N − block − 1, each with equal chance; draw the starts with
#   `torch.randint(…, generator=gen)`, all of a step in one call. If N = block + 1, there is one window only.
# * Call `model.train()` and make one optimiser before the first step.
# * Return the losses of all steps, as Python floats, each from **before** its update.
#
# The grader trains your `GPT` as the cell after the public check does, on another text of the generator. The first loss
# must be near $\ln(\text{vocab})$, 40 steps must bring it down by a quarter, and the mean of the last 20 of 200 losses
# must lie between 0.26 and 0.80 nats (about 0.60 is usual). If your `GPT` is wrong and has lost points in its own
# question, `train` can still earn its points: it is then judged with the bigram model below. The loss on a text that
# your `GPT` has not seen goes to the leaderboard as *validation loss*: lower is better, and it gives no points.


# %% softmark={"role": "given", "question": "8"}
ADJECTIVES = ["old", "quiet", "crooked", "bright", "heavy", "narrow", "patient", "green"]
NOUNS = [
    "river",
    "lantern",
    "kettle",
    "sparrow",
    "ladder",
    "window",
    "cellar",
    "meadow",
    "harbour",
    "engine",
    "blanket",
    "garden",
]
VERBS = ["follows", "carries", "watches", "repairs", "forgets", "borrows", "measures", "paints"]
ADVERBS = ["slowly", "again", "today", "quietly", "twice", "gladly"]
FORMS = (
    "the {a} {n} {v} the {m}. ",
    "a {n} {v} the {a} {m} {d}. ",
    "the {n} and the {m} are {a}. ",
)


def make_text(seed: int, sentences: int = 2500) -> str:
    """A text of so many sentences; the same seed gives the same text on every machine."""
    draw, text = random.Random(seed), []
    for _ in range(sentences):
        a, n, v, m = (draw.choice(words) for words in (ADJECTIVES, NOUNS, VERBS, NOUNS))
        form = FORMS[draw.randrange(len(FORMS))]
        text.append(form.format(a=a, n=n, v=v, m=m, d=draw.choice(ADVERBS)))
    return "".join(text)


def entropy_rate() -> float:
    """Nats a character if the generator is known: entropy of a sentence over its mean length."""
    lists = {"a": ADJECTIVES, "n": NOUNS, "v": VERBS, "m": NOUNS, "d": ADVERBS}
    nats, characters = math.log(len(FORMS)), 0.0
    for form in FORMS:
        used = [words for key, words in lists.items() if "{" + key + "}" in form]
        letters = sum(sum(map(len, words)) / len(words) for words in used)
        nats += sum(math.log(len(words)) for words in used) / len(FORMS)
        characters += (len(form) - 3 * len(used) + letters) / len(FORMS)
    return nats / characters


ALPHABET = sorted(set("".join([*ADJECTIVES, *NOUNS, *VERBS, *ADVERBS, *FORMS])) - set("{}"))


def encode(text: str) -> Tensor:
    """Characters → ids, int64."""
    return torch.tensor([ALPHABET.index(character) for character in text])


def decode(ids: Tensor) -> str:
    """Ids → characters."""
    return "".join(ALPHABET[i] for i in ids.tolist())


class BigramModel(nn.Module):
    """A baseline that sees one character only: a table of logits of the next id, for each id.

    config: needs `vocab` and `block`. ids: (B, T) → (B, T, vocab).
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.table = nn.Parameter(torch.zeros(config["vocab"], config["vocab"]))

    def forward(self, ids: Tensor) -> Tensor:
        return self.table[ids]


# %% softmark={"role": "answer", "question": "8"}
def train(
    model: nn.Module,
    data: Tensor,
    steps: int,
    batch: int,
    lr: float,
    gen: torch.Generator,
) -> list[float]:
    """Train a language model on windows of `data` with AdamW; each step's loss, before its update.

    data: (N) int64 with N > model.config["block"] → `steps` floats.
    Source: Loshchilov and Hutter 2019, AdamW.
    """
    T = model.config["block"]
    optimiser = torch.optim.AdamW(model.parameters(), lr=lr)
    model.train()
    losses = []
    for _ in range(steps):
        starts = torch.randint(len(data) - T, (batch, 1), generator=gen)
        windows = data[starts + torch.arange(T + 1)]  # (batch, T + 1)
        ids, targets = windows[:, :-1], windows[:, 1:]
        logits = model(ids)
        loss = cross_entropy(logits.flatten(0, 1), targets.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return losses


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "8"}
# data = torch.tensor([0, 1, 2, 0, 0])  # one window only: nothing is random
# gen, modes = torch.Generator().manual_seed(0), []
# toy = BigramModel({"vocab": 3, "block": 4}).double().eval()
# toy.register_forward_hook(lambda module, *rest: modes.append(module.training))
# losses = train(toy, data, 3, 2, 0.5, gen)
# kinds = [type(loss).__name__ for loss in losses or []]
# assert kinds == ["float"] * 3, f"three steps: three Python floats, not {kinds}"
# why = ["ln 3 at first", "targets are the next ids", "gradients from zero? one AdamW for all?"]
# for i, right in enumerate([1.0986, 0.7067, 0.5062]):
#     assert abs(losses[i] - right) < 1e-4, f"loss {i}: {right}, not {losses[i]:.4f} ({why[i]})"
# assert all(modes), "call model.train() first"
# unused = torch.Generator().manual_seed(0).get_state()
# assert not torch.equal(gen.get_state(), unused), "draw the starts with generator=gen"
# print("Q8: the public check passes")

# %% [markdown]
# ### Look at the training
#
# 200 steps of a model with 95 000 parameters, and the baseline that sees one character only. The dashed lines are the
# loss of a model that knows nothing, ln 25, and the entropy rate. Three numbers are printed: the mean loss of the last
# 20 steps, the loss on a text that the model has not seen, and the entropy rate.

# %% tags=["active-ipynb"] softmark={"role": "demo", "question": "8"}
# config = {"vocab": len(ALPHABET), "block": 32, "layers": 2}
# config |= {"width": 64, "query_heads": 4, "kv_heads": 2, "base": 1e4}
# config |= {"attn_dropout": 0.0, "resid_dropout": 0.0}
# torch.manual_seed(0)
# model, baseline = GPT(config), BigramModel(config)
# text = encode(make_text(0))
# curves = {
#     "GPT": train(model, text, 200, 16, 3e-3, torch.Generator().manual_seed(1)),
#     "one character": train(baseline, text, 200, 16, 0.1, torch.Generator().manual_seed(1)),
# }
# with torch.no_grad():
#     unseen = encode(make_text(1, 60))[: 64 * 33].view(64, 33)
#     logits = model.eval()(unseen[:, :-1])
#     validation = cross_entropy(logits.flatten(0, 1), unseen[:, 1:].flatten()).item()
# last = sum(curves["GPT"][-20:]) / 20
# print(f"last 20 steps {last:.3f}, unseen text {validation:.3f}, at best {entropy_rate():.3f}")
# try:
#     import matplotlib.pyplot as plt
# except ImportError:  # the same picture as a table
#     for first in range(0, 200, 20):
#         means = {name: sum(curve[first : first + 20]) / 20 for name, curve in curves.items()}
#         told = (f"{name}: {mean:.2f}" for name, mean in means.items())
#         print(f"steps {first:3} to {first + 19:3}", *told)
# else:
#     figure, axes = plt.subplots(figsize=(6, 3.8), layout="constrained")
#     for name, curve in curves.items():
#         axes.plot(curve, label=name)
#     for level, name in ((math.log(25), "knows nothing"), (entropy_rate(), "entropy rate")):
#         axes.axhline(level, color="grey", linestyle="--", linewidth=1)
#         axes.text(200, level + 0.05, name, ha="right", color="grey")
#     axes.set(xlabel="step", ylabel="loss in nats a character", ylim=(0, 3.6), title="Training")
#     axes.legend(loc="upper right", bbox_to_anchor=(1, 0.86))
#     plt.show()

# %% [markdown]
# What has it learned? Let it write five texts, one character at a time, with your `step`. They are as long as the
# windows it was trained on, 32 characters: at positions that it has never seen it would soon write nonsense.

# %% tags=["active-ipynb"] softmark={"role": "demo", "question": "8"}
# gen, cache = torch.Generator().manual_seed(2), None
# written = new = encode("the ").expand(5, -1)
# with torch.no_grad():
#     while written.shape[1] < 32:
#         logits, cache = step(model, new, cache)
#         new = torch.multinomial(torch.softmax(logits[:, -1], dim=-1), 1, generator=gen)
#         written = torch.cat([written, new], dim=1)
# print("\n".join(map(decode, written)))

# %% [markdown]
# ## Hand calculations (12 points)
#
# On paper, with your own numbers. They follow from your student id, so type it into the first code cell, run that cell,
# and then run the next two cells. Write the results into the cell that begins with `hand =` below, as plain Python
# numbers. Round only at the end: three decimals are enough. Arithmetic such as `2 / 3` or `math.sqrt(3) / 2` is fine.
# Don't call your functions: this is practice without the computer.
#
# **H1 (4)** One pair of RoPE. You get a query pair `q`, a key pair `k`, the speed `theta`, positions `m` (of the query)
# and `n` (of the key), and a shift `c`. Compute $q'$, the query turned at position $m$. Then the score
# $q' \cdot k'$, where $k'$ is the key turned at position $n$ (not divided by $\sqrt d$ here), and the score when query
# and key stand at $m + c$ and $n + c$. Answer: `[q'_1, q'_2, score, score after the shift]`.
#
# **H2 (4)** You get the sizes of a model, how many texts it writes at once (`batch`), how many tokens each has (`T`),
# and how many bytes one number takes (`bytes_per_value`); $d$ = width / query_heads. How many bytes does its cache of
# keys and values take? How many would it take with multi-head attention, that is with `kv_heads = query_heads`?
# Answer: `[bytes, bytes]`.
#
# **H3 (4)** You get `width`, `query_heads` and `kv_heads`. Which key and value head does each query head use, counted
# from 0? How many weights do the four projections of one layer save against multi-head attention, without biases?
# Answer: `[[head, head, …], weights]`.


# %% softmark={"role": "given", "question": "9"}
def my_numbers(student_id: str, part: str) -> dict[str, Any]:
    """Personal numbers of one hand calculation, the same on every machine.

    student_id: as your course knows it; spaces around it and upper or lower case don't matter
    part: "H1", "H2" or "H3"
    """

    def digits(attempt: int) -> bytes:
        text = f"minigpt/{part}/{student_id.strip().lower()}/{attempt}"
        return hashlib.blake2b(text.encode()).digest()

    number = digits(0)
    if part == "H1":
        for attempt in range(1000):
            number = digits(attempt)
            q, k = [1 + number[0] % 9, 1 + number[1] % 9], [1 + number[2] % 9, 1 + number[3] % 9]
            parts, c = (3, 4, 6)[number[4] % 3], 1 + number[7] % 9
            m, n = 1 + number[5] % 5, 1 + number[6] % 5
            # Again, unless turning, direction and shift all make a difference.
            if (n - m) % parts and m % parts and c % (2 * parts) and q[0] * k[1] != q[1] * k[0]:
                return {"q": q, "k": k, "theta": f"π/{parts}", "m": m, "n": n, "c": c}
    if part == "H2":
        kv_heads, share = (2, 3, 5)[number[0] % 3], (2, 3, 5)[number[1] % 3]
        query_heads, d = kv_heads * share, 16 * (1 + number[2] % 4)
        return {
            "layers": 3 + number[3] % 10,
            "batch": (3, 5, 6, 7, 9)[number[4] % 5],
            "T": 100 * (1 + number[5] % 9),
            "query_heads": query_heads,
            "kv_heads": kv_heads,
            "width": query_heads * d,
            "bytes_per_value": 4,
        }
    if part == "H3":
        kv_heads, share, d = 2 + number[0] % 2, 2 + number[1] % 3, 8 * (1 + number[2] % 8)
        query_heads = kv_heads * share
        return {"width": query_heads * d, "query_heads": query_heads, "kv_heads": kv_heads}
    raise ValueError(f"there is no part {part!r}: use H1, H2 or H3")


# %% tags=["active-ipynb"] softmark={"role": "demo", "question": "9"}
# if STUDENT_ID:
#     for part in ("H1", "H2", "H3"):
#         print(part)
#         for name, value in my_numbers(STUDENT_ID, part).items():
#             print(f"    {name} = {value}")
# else:
#     print("Type your student id into the first code cell, run it, and run this cell again.")

# %% softmark={"role": "hidden", "question": "9"}
STUDENT_ID = "ada"


def hand_h1(numbers: dict[str, Any]) -> list[float]:
    """The turned query, and the score before and after the shift, which are equal."""
    theta = math.pi / int(numbers["theta"].removeprefix("π/"))

    def turned(pair: list[int], position: int) -> tuple[float, float]:
        cos, sin = math.cos(position * theta), math.sin(position * theta)
        return pair[0] * cos - pair[1] * sin, pair[1] * cos + pair[0] * sin

    def score(shift: int) -> float:
        (a, b), (c, d) = turned(numbers["q"], numbers["m"] + shift), turned(numbers["k"], numbers["n"] + shift)
        return a * c + b * d

    return [*turned(numbers["q"], numbers["m"]), score(0), score(numbers["c"])]


def hand_h2(numbers: dict[str, Any]) -> list[int]:
    """Bytes of the cache with kv_heads and with query_heads heads of keys and values."""
    sizes = {key: numbers[key] for key in ("layers", "batch", "T", "bytes_per_value")}
    d = numbers["width"] // numbers["query_heads"]
    return [kv_cache_bytes(**sizes, kv_heads=numbers[key], d=d) for key in ("kv_heads", "query_heads")]


def hand_h3(numbers: dict[str, Any]) -> list[Any]:
    """h // g for each query head, and the weights that k_proj and v_proj save."""
    heads, share = numbers["query_heads"], numbers["query_heads"] // numbers["kv_heads"]
    full, shared = (gqa_param_count(numbers["width"], heads, n, False) for n in (heads, numbers["kv_heads"]))
    return [[h // share for h in range(heads)], full - shared]


# %% softmark={"role": "answer", "question": "9"}
hand = {
    "H1": hand_h1(my_numbers(STUDENT_ID, "H1")),
    "H2": hand_h2(my_numbers(STUDENT_ID, "H2")),
    "H3": hand_h3(my_numbers(STUDENT_ID, "H3")),
}

# %% tags=["active-ipynb"] softmark={"role": "demo", "question": "9"}
# def form(value):  # its nesting, with 0 for each number
#     if isinstance(value, (list, tuple)):
#         return [form(item) for item in value]
#     return 0 if isinstance(value, (int, float)) else type(value).__name__
#
#
# heads = my_numbers(STUDENT_ID, "H3")["query_heads"]
# for part, wanted in {"H1": [0] * 4, "H2": [0] * 2, "H3": [[0] * heads, 0]}.items():
#     given = form(hand.get(part))
#     if given == "NoneType":
#         print(f"{part}: no answer yet")
#     elif given == wanted:
#         print(f"{part}: can be read (right or wrong)")
#     else:
#         print(f"{part}: the form should be {wanted}, with numbers for the zeros, not {given}")

# %% [markdown] softmark={"role": "written", "question": "E"}
# ## Explain (5 written points)
#
# RoPE turns the query by its own position $m$ and the key by its own position $n$. Explain, in at most eight sentences,
# why the score nevertheless depends on $n - m$ only. Then say what would change if the values were turned too. A person
# reads your answer.
#
# *Your answer:*

# %% tags=["active-ipynb"] softmark={"role": "demo"}
# print(f"This notebook ran for {time.perf_counter() - started:.1f} s by the clock.")
