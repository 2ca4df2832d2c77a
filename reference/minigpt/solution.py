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
# that makes generation cheap. At the end you train it on a small text. You need only PyTorch. On one CPU core
# everything together takes about ten seconds.
#
# **How to work.** Replace each `raise NotImplementedError` by your code. Keep the names and the order of the
# parameters. You may add helper functions, methods and cells. After each question comes a *public check*: it shows
# quickly whether you are on the right way. The grader tries other inputs, sizes and special cases.
#
# **Conventions.** Rows are tokens, and positions count from 0. $T$ is the number of tokens, $B$ the number of
# sequences in a batch, $d$ the width of *one* head. Functions work in the dtype of the tensors that they are given.
# Your functions must not change their inputs.
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

# %% softmark={"role": "given"}
import hashlib
import math
import random
import time
from collections.abc import Callable
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

    → (T, d/2) float64: row t, column i holds (offset + t)·base^(−2i/d). Source: Su et al. 2021, RoFormer, section 3.2.
    """
    i = torch.arange(d // 2, dtype=torch.float64)
    speeds = base ** (-2 * i / d)
    positions = offset + torch.arange(T, dtype=torch.float64)
    return torch.outer(positions, speeds)


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "1"}
# assert rope_angles(4, 4, 100.0).shape == (4, 2), "one row a position, one column a pair"
# assert torch.allclose(rope_angles(4, 4, 100.0), tensor([[0, 0], [1, 0.1], [2, 0.2], [3, 0.3]])), "see the example"
# assert torch.allclose(rope_angles(2, 4, 100.0, 3), tensor([[3, 0.3], [4, 0.4]])), "the first row is position 3"
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
# of its rows, as int64. They may come in any order. Row $t$ is turned by the angles of position `positions[t]`. The
# result has the shape and the dtype of `x`.
#
# *Example.* $d = 4$ and base 100, one row $x = (1, 2, 3, 4)$ at position 3. The pairs are $(1, 3)$ and $(2, 4)$, the
# angles 3 and 0.3. Pair $(1, 3)$ becomes $(\cos 3 - 3\sin 3,\; 3\cos 3 + \sin 3) = (-1.413, -2.829)$.


# %% softmark={"role": "answer", "question": "2"}
def apply_rope(
    x: Tensor, positions: Tensor, base: float, *, rope_angles: Callable[..., Tensor] = rope_angles
) -> Tensor:
    """Turn each pair (x_i, x_{i+d/2}) of row t by positions[t]·base^(−2i/d).

    x: (..., T, d), positions: (T) int64 → (..., T, d), dtype of x. Source: Su et al. 2021, RoFormer, section 3.2.2.
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
# turned = apply_rope(x, torch.tensor([3, 0]), 100.0)
# assert turned.shape == (2, 4), "the shape of x"
# assert torch.allclose(turned[1], x[1]), "position 0: nothing turns"
# assert torch.allclose(turned[0], tensor([-1.4134, 0.7286, -2.8289, 4.4124]), atol=1e-4), "position 3: see the example"
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
#             colour = plt.cm.viridis(p / 7)
#             panel.annotate("", (row[i], row[i + 2]), (0, 0), arrowprops={"arrowstyle": "->", "color": colour})
#             panel.text(1.12 * row[i], 1.12 * row[i + 2], str(p), color=colour, ha="center", va="center")
#         panel.add_patch(plt.Circle((0, 0), 1, fill=False, color="lightgrey"))
#         panel.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), aspect="equal", xlabel=f"$x_{i}$", ylabel=f"$x_{i + 2}$")
#         panel.set_title(f"pair {i}: {[1, 0.1][i]:g} radians a position")
#     figure.suptitle("One vector at positions 0 … 7")
#     plt.show()

# %% [markdown]
# ## Q3 From one convention to the other (8 points)
#
# You download a model whose attention was trained with *interleaved* pairs $(x_{2i}, x_{2i+1})$. Your `apply_rope`
# pairs $(x_i, x_{i+d/2})$. The weights can be converted once: reorder the **rows** of the query and the key projection,
# so that what stood side by side now stands half a head apart.
#
# `W` has shape (H·d, n), as in `nn.Linear`: row $r$ makes output $r$, and head $h$ owns the rows $hd … hd + d - 1$.
# Inside **each head** put its even rows 0, 2, 4, … first and then its odd rows 1, 3, 5, …. After that, half-split RoPE
# gives the same attention scores as interleaved RoPE gave before.
#
# *Example.* One head with $d = 6$: the rows 0, 1, 2, 3, 4, 5 come in the order 0, 2, 4, 1, 3, 5.


# %% softmark={"role": "answer", "question": "3"}
def to_half_split(W: Tensor, n_heads: int) -> Tensor:
    """Reorder a projection for interleaved RoPE so that half-split RoPE gives the same scores.

    W: (H·d, n), rows are outputs, heads are blocks of d rows → (H·d, n): in each head the even rows, then the odd ones.
    """
    d = W.shape[0] // n_heads
    order = torch.cat([torch.arange(0, d, 2), torch.arange(1, d, 2)])
    heads = W.reshape(n_heads, d, -1)
    return heads[:, order].reshape(W.shape)


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "3"}
# W = torch.arange(12.0).double().reshape(12, 1) * tensor([[1, 10]])  # row r is (r, 10 r): two heads of width 6
# assert to_half_split(W, 2).shape == (12, 2), "the shape of W"
# assert to_half_split(W, 1)[:, 0].tolist() == [0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11], "one head of width 12"
# assert to_half_split(W, 2)[:, 0].tolist() == [0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11], "each head on its own"
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
# | `width` | numbers a token |
# | `query_heads`, `kv_heads` | numbers of heads; each head has $d$ = width / query_heads numbers |
# | `base` | base of RoPE |
# | `block` | longest text (at least T) |
# | `attn_dropout`, `resid_dropout` | two probabilities |
#
# *Parts.* Four `nn.Linear` layers with bias, under these names: `q_proj` (width → width), `k_proj` and `v_proj`
# (width → kv_heads·d), `out_proj` (width → width). Nothing else has parameters. Two `nn.Dropout` layers. What else you
# want to keep and is no parameter, such as a mask, belongs into a buffer with `persistent=False`.
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
# The dropout layers work in training only; `nn.Dropout` knows that by itself.


# %% softmark={"role": "answer", "question": "4"}
class GroupedQueryAttention(nn.Module):
    """Causal self-attention with RoPE in which groups of query heads share one head of keys and values.

    x: (B, T, width) → (B, T, width). Source: Ainslie et al. 2023, GQA, section 2.2; Su et al. 2021 for the positions.
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
# config = {"width": 4, "query_heads": 2, "kv_heads": 1, "base": 100.0, "block": 8}
# config |= {"attn_dropout": 0.0, "resid_dropout": 0.0}
# layer = GroupedQueryAttention(config).double()
# one, half = torch.eye(4).double(), torch.eye(4).double()[:2]
# weights = {"q_proj.weight": one, "k_proj.weight": half, "v_proj.weight": half, "out_proj.weight": one}
# biases = {name.replace("weight", "bias"): torch.zeros(len(W)).double() for name, W in weights.items()}
# layer.load_state_dict(weights | biases)
# y = layer(tensor([[[1, 0, 2, 1], [0, 1, 1, 0], [1, 1, 0, 2]]]))
# assert y.shape == (1, 3, 4), "the shape of x"
# assert torch.allclose(y[0, 0], tensor([1, 0, 1, 0])), "the first token sees itself only: its value, for both heads"
# expected = tensor([[0.2138, 0.7862, 0.5944, 0.4056], [0.6290, 0.9453, 0.6715, 0.9577]])
# assert torch.allclose(y[0, 1:], expected, atol=1e-4), "weights from turned queries and keys"
# print("Q4: the public check passes")

# %% [markdown]
# ## Q5 What does it save? (4 + 4 points)
#
# `gqa_param_count` counts the parameters of the four projections of Q4; with `bias=True` each output has one more.
#
# `kv_cache_bytes` counts the memory for the keys and the values of all `layers`, for `batch` texts of `T` tokens each,
# when each number takes `bytes_per_value` bytes.
#
# *Example.* Width 8, 4 query heads, 2 key and value heads: $d = 2$, so the projections have 8, 4, 4 and 8 outputs
# with 8 inputs each: $24 \cdot 8 = 192$ parameters, and 24 more with biases. One layer, one text of 10 tokens, 4 bytes
# a value: keys and values are $2 \cdot 10 \cdot 2 \cdot 2 = 80$ numbers, 320 bytes.


# %% softmark={"role": "answer", "question": "5"}
def gqa_param_count(width: int, query_heads: int, kv_heads: int, bias: bool) -> int:
    """The number of parameters of q_proj, k_proj, v_proj and out_proj together."""
    d = width // query_heads
    outputs = [width, kv_heads * d, kv_heads * d, width]
    return sum(outputs) * (width + int(bias))


def kv_cache_bytes(layers: int, batch: int, T: int, kv_heads: int, d: int, bytes_per_value: int) -> int:
    """Bytes of the keys and values of all layers for `batch` texts of T tokens; d: width of one head."""
    values = 2 * layers * batch * T * kv_heads * d
    return values * bytes_per_value


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "5"}
# assert gqa_param_count(8, 4, 2, False) == 192, "see the example"
# assert gqa_param_count(8, 4, 2, True) == 216, "one more for each output"
# assert kv_cache_bytes(1, 1, 10, 2, 2, 4) == 320, "see the example"
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
# | `blocks[i].mlp` | `fc` (width → 4·width), GELU in its tanh form, `proj` (4·width → width) |
# | `norm` | the last norm |
# | `head` | `nn.Linear` width → vocab, without bias, with weights of its own |
# | `config` | the dict that the model was built from; Q7 and Q8 read it |
#
# All norms are `nn.LayerNorm(width)` as it comes. `config` has the keys of Q4 and also `vocab` and `layers`. The parts
# of `MLP` and `Block` are given; write their `forward`, and `GPT`. A block is built around its attention:
# `Block(config, GroupedQueryAttention(config))`. At the end of `GPT.__init__` call `set_start_values(self)`, which is
# given too: weights from N(0, 0.02²), smaller where a residual path ends, biases 0.
#
# *Example.* With the start values all logits are near 0, so the loss is near $\ln(\text{vocab})$.


# %% softmark={"role": "given", "question": "6"}
def set_start_values(model: nn.Module) -> None:
    """Start values of a GPT: N(0, 0.02²), the last layer of each residual path 0.02/√(2·layers), biases 0.

    Source: Radford et al. 2019, GPT-2, section 2.3.
    """
    ends = 0.02 / math.sqrt(2 * model.config["layers"])
    for name, values in model.named_parameters():
        if "norm" in name:
            continue  # gains 1, biases 0: as they come
        if name.endswith("bias"):
            nn.init.zeros_(values)
        else:
            nn.init.normal_(values, std=ends if name.endswith(("out_proj.weight", "mlp.proj.weight")) else 0.02)


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

    Source: Radford et al. 2019, GPT-2, with RoPE in place of a table of positions and GQA in place of full heads.
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
# config = {"vocab": 3, "block": 8, "layers": 2, "width": 4, "query_heads": 2, "kv_heads": 1, "base": 100.0}
# config |= {"attn_dropout": 0.0, "resid_dropout": 0.0}
# model = GPT(config).double()
# assert model(torch.tensor([[0, 1, 2]])).shape == (1, 3, 3), "one row of logits a position"
# waves = {}
# for n, (name, value) in enumerate(sorted(model.state_dict().items())):
#     waves[name] = torch.sin(torch.arange(1.0, 1 + value.numel()).double() + n).reshape(value.shape)
# model.load_state_dict(waves)
# expected = tensor([[1.0999, -2.3812, 2.0130], [0.9706, -2.3494, 2.1008], [0.9909, -2.3133, 2.0333]])
# assert torch.allclose(model(torch.tensor([[0, 1, 2]]))[0], expected, atol=1e-4), "logits for made-up weights"
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
# Cutting a text into pieces and calling `step` on one piece after the other must give the logits of `model(ids)`. Use
# the parts of the model by their names: `model.tok`, `model.blocks[i].attn.q_proj`, …, `model.config`. The cache passed
# in must stay as it was, and all that a later call needs stands in the cache. Dropout is not needed here.
#
# *Example.* Text of 6 tokens in pieces of 3, 1 and 2: the caches have t = 3, 4 and 6.


# %% softmark={"role": "answer", "question": "7"}
def step(
    model: nn.Module, ids_new: Tensor, cache: list[tuple[Tensor, Tensor]] | None
) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
    """Logits of the new tokens, given the keys and values of the earlier ones; and the longer cache.

    ids_new: (B, n) int64, cache: per block (k, v), each (B, kv_heads, t, d) → (B, n, vocab), cache with t + n tokens.
    Keys are cached after rotation. Source: Shazeer 2019, section 2.4, incremental inference.
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
# ids = torch.tensor([[0, 1, 2, 0, 2, 1]])  # the model of the last check
# with torch.no_grad():
#     logits, cache = step(model, ids[:, :3], None)
#     assert logits.shape == (1, 3, 3), "logits of the three new tokens"
#     assert len(cache) == 2, "one pair a block"
#     assert cache[0][0].shape == (1, 1, 3, 2), "one key head, three tokens, d = 2"
#     pieces = [logits]
#     for new in (ids[:, 3:4], ids[:, 4:]):
#         logits, cache = step(model, new, cache)
#         pieces.append(logits)
#     assert cache[1][1].shape == (1, 1, 6, 2), "six tokens now"
#     assert torch.allclose(torch.cat(pieces, dim=1), model(ids)), "the same as all at once"
# print("Q7: the public check passes")

# %% [markdown]
# ## Q8 Training (8 points)
#
# The text comes from a small generator: sentences of three forms, with words drawn at random. Because we know how it
# was made, we know how well it can be predicted at best: its **entropy rate**, computed below, is about 0.256 nats a
# character. No honest model gets below it on average. A loss below it means that the model sees its target.
#
# Training repeats the same step. Draw `batch` windows of `block` + 1 ids from the data. The first `block` ids of a
# window go into the model, and the target at each position is the **next** id, so the targets are the last `block` ids.
# The loss is the mean cross-entropy in nats over all positions and windows. Then one step of `torch.optim.AdamW` with
# learning rate `lr`, everything else as it comes.
#
# * `data` holds N ids. A window can begin at 0, 1, …, N − block − 1, each with equal chance; draw the starts with
#   `torch.randint(…, generator=gen)`. If N = block + 1, there is one window only.
# * `model.config["block"]` is the window's length. Call `model.train()` first.
# * Return the losses of all steps, as Python floats, each from **before** its update.
#
# `train` is what is judged here. If your `GPT` or a part of it has lost points already, and does not learn for that
# reason, you don't lose them twice, provided that `train` brings the bigram model (a class below) to its usual loss.


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
FORMS = ("the {a} {n} {v} the {m}. ", "a {n} {v} the {a} {m} {d}. ", "the {n} and the {m} are {a}. ")


def make_text(seed: int, sentences: int = 2500) -> str:
    """A text of so many sentences; the same seed gives the same text on every machine."""
    draw, text = random.Random(seed), []
    for _ in range(sentences):
        a, n, v, m = (draw.choice(words) for words in (ADJECTIVES, NOUNS, VERBS, NOUNS))
        form = FORMS[draw.randrange(len(FORMS))]
        text.append(form.format(a=a, n=n, v=v, m=m, d=draw.choice(ADVERBS)))
    return "".join(text)


def entropy_rate() -> float:
    """Nats a character that remain when the generator is known: entropy of a sentence over its mean length."""
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
def train(model: nn.Module, data: Tensor, steps: int, batch: int, lr: float, gen: torch.Generator) -> list[float]:
    """Train a language model on windows of `data` with AdamW; the loss of each step before its update, in nats.

    data: (N) int64 with N > model.config["block"] → `steps` floats. Source: Loshchilov and Hutter 2019, AdamW.
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
# config = {"vocab": 3, "block": 4}
# data, gen = torch.tensor([0, 1, 2, 0, 1]), torch.Generator().manual_seed(0)
# losses = train(BigramModel(config).double(), data, 3, 2, 0.5, gen)
# assert len(losses) == 3, "one loss a step"
# assert math.isclose(losses[0], math.log(3), abs_tol=1e-6), "all logits are 0 at first: the loss is ln 3"
# assert math.isclose(losses[1], 0.5514, abs_tol=1e-4), "one step of AdamW with lr 0.5"
# print("Q8: the public check passes")

# %% [markdown]
# ### Look at the training
#
# 200 steps of a model with 95 000 parameters, and the baseline that sees one character only. The dashed lines are the
# loss of a model that knows nothing, ln 25, and the entropy rate, below which nobody gets. The last number is the loss
# on a text that the model has not seen.

# %% tags=["active-ipynb"] softmark={"role": "demo", "question": "8"}
# config = {"vocab": len(ALPHABET), "block": 32, "layers": 2, "width": 64, "query_heads": 4, "kv_heads": 2, "base": 1e4}
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
#     validation = cross_entropy(model.eval()(unseen[:, :-1]).flatten(0, 1), unseen[:, 1:].flatten()).item()
# last = sum(curves["GPT"][-20:]) / 20
# print(f"last 20 steps {last:.3f}, unseen text {validation:.3f}, at best {entropy_rate():.3f}")
# try:
#     import matplotlib.pyplot as plt
# except ImportError:  # the same picture as a table
#     for first in range(0, 200, 20):
#         means = (f"{name}: {sum(curve[first : first + 20]) / 20:.2f}" for name, curve in curves.items())
#         print(f"steps {first:3} to {first + 19:3}", *means)
# else:
#     figure, axes = plt.subplots(figsize=(6, 3.8), layout="constrained")
#     for name, curve in curves.items():
#         axes.plot(curve, label=name)
#     for level, name in ((math.log(25), "knows nothing"), (entropy_rate(), "entropy rate")):
#         axes.axhline(level, color="grey", linestyle="--", linewidth=1)
#         axes.text(200, level + 0.05, name, ha="right", color="grey")
#     axes.set(xlabel="step", ylabel="loss in nats a character", ylim=(0, 3.6), title="Training")
#     axes.legend()
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
# and then run the next two cells. Write the results into the last answer cell as plain Python numbers. Three decimals
# are enough, and fractions such as `2 / 3` are fine. Write numbers, not calls of your functions: this trains your head.
#
# **H1 (4)** One pair of RoPE. You get a query pair `q`, a key pair `k`, the speed `theta`, positions `m` (of the query)
# and `n` (of the key), and a shift `c`. Compute the turned query $q'$ at position $m$. Then the score
# $q' \cdot k'$ with the key at position $n$, and the score when query and key stand at $m + c$ and $n + c$.
# Answer: `[q'_1, q'_2, score, score after the shift]`.
#
# **H2 (4)** You get the sizes of a model, how many texts it writes at once (`batch`), how many tokens each has (`T`),
# and how many bytes one number takes. How many bytes does its cache of keys and values take? How many would it take
# with multi-head attention, that is with `kv_heads = query_heads`? Answer: `[bytes, bytes]`.
#
# **H3 (4)** You get `width`, `query_heads` and `kv_heads`. Which key and value head does each query head use, counted
# from 0? How many weights do the four projections of one layer save against multi-head attention, without biases?
# Answer: `[[head, head, …], weights]`.


# %% softmark={"role": "given", "question": "9"}
def my_numbers(student_id: str, part: str) -> dict[str, Any]:
    """Personal numbers of one hand calculation, the same on every machine.

    student_id: as your course knows it; spaces around it and upper or lower case don't matter · part: "H1", "H2", "H3".
    """

    def digits(attempt: int) -> bytes:
        text = f"minigpt/{part}/{student_id.strip().lower()}/{attempt}"
        return hashlib.blake2b(text.encode()).digest()

    number = digits(0)
    if part == "H1":
        for attempt in range(1000):
            number = digits(attempt)
            q, k = [1 + number[0] % 9, 1 + number[1] % 9], [1 + number[2] % 9, 1 + number[3] % 9]
            parts, m, n, c = (3, 4, 6)[number[4] % 3], 1 + number[5] % 5, 1 + number[6] % 5, 1 + number[7] % 9
            # Again, unless turning, direction and shift all make a difference.
            if (n - m) % parts and m % parts and c % (2 * parts) and q[0] * k[1] != q[1] * k[0]:
                return {"q": q, "k": k, "theta": f"π/{parts}", "m": m, "n": n, "c": c}
    if part == "H2":
        kv_heads, share, d = (2, 3, 5)[number[0] % 3], (2, 3, 5)[number[1] % 3], 16 * (1 + number[2] % 4)
        sizes = {"layers": 3 + number[3] % 10, "batch": (3, 5, 6, 7, 9)[number[4] % 5], "T": 100 * (1 + number[5] % 9)}
        heads = {"query_heads": kv_heads * share, "kv_heads": kv_heads, "width": kv_heads * share * d}
        return sizes | heads | {"bytes_per_value": 4}
    if part == "H3":
        kv_heads, share, d = 2 + number[0] % 2, 2 + number[1] % 3, 8 * (1 + number[2] % 8)
        return {"width": kv_heads * share * d, "query_heads": kv_heads * share, "kv_heads": kv_heads}
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
# RoPE turns the query by its own position $m$ and the key by its own position $n$. Explain, in at most eight sentences,
# why the score nevertheless depends on $n - m$ only. Then say what would change if the values were turned too. A person
# reads your answer.
#
# *Your answer:*


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

# %% tags=["active-ipynb"] softmark={"role": "demo"}
# print(f"This notebook ran for {time.perf_counter() - started:.1f} s.")
