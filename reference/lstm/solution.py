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
# # Forgetting and gates
#
# A recurrent network reads a sequence step by step and keeps a *state*. In this notebook you see why a plain recurrent
# network forgets, why its gradients vanish, and how the gates of an LSTM change that. You set the weights of two small
# networks by hand, and write an LSTM that reads batches of sequences of different lengths. You need only PyTorch. On
# one CPU core everything together takes a few seconds.
#
# **How to work.** Replace each `raise NotImplementedError` by your code. Keep the names and the order of the
# parameters. You may add helper functions and cells. After each of Q1–Q7 comes a *public check*: it shows quickly
# whether you are on the right track. The grader tries other inputs, sizes and special cases.
#
# **Conventions.** Tensors are float64 unless said otherwise, and your results have the dtype of your inputs; the
# grader tries float32 too. (`torch.zeros(3)` is float32, and PyTorch refuses to multiply the two: write
# `torch.zeros(3, dtype=x.dtype)`.) Capital letters are sizes, all at least 1: B sequences in a batch, T steps, I
# numbers read in a step, H numbers in the state. A shape such as (H) is that of a vector. States are numbered from 0:
# $h_0$ is there before the first input, and $h_t$ is the state after input $t$. Your functions must not change their
# inputs.
#
# | question | function | points | checks (points) |
# |---|---|---|---|
# | Q1 | `rnn_both_seen` | 8 | example 0.5 · keys, types, shapes 1 · all sequences of 5 steps 5 · 60 steps 1.5 |
# | Q2 | `elman` | 10 | example 1 · type, shape, dtype 1 · values 5 · special cases 2 · no look ahead 1 |
# | Q3 | `jacobian_norms` | 12 | example 1 · type, shape, dtype 1 · values 7 · special cases 2 · laws 1 |
# | Q4 | `lstm_cell` | 20 | example 1 · type, shape, dtype 2 · values 11 · special cases 4 · laws 2 |
# | Q5 | `lstm_forward` | 14 | example 1 · type, shape, dtype 1.5 · values 7.5 · special lengths 2.5 · padding 1.5 |
# | Q6 | `latch` | 14 | example 1 · keys, types, shapes 1 · 85 sequences of 100 steps 8 · 300 steps 4 |
# | Q7 | `forget_bias` | 5 | example 0.5 · type 0.5 · values 3 · special cases and laws 1 |
# | Q7 | `lstm_param_count` | 5 | example 0.5 · type 0.5 · values 3 · special cases 1 |
# | H1–H3 | `hand` | 12 | 4 each |
# | E | an explanation | (5) | read by a person, not part of the 100 |
#
# *Special cases* are sizes of 1, equal sizes, gates that are fully open or closed, and so on. *Laws* hold for all
# inputs: for example, each sequence of a batch is computed on its own. *No look ahead*: later inputs change no earlier
# state.

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


def slide(z: Tensor) -> Tensor:
    """The activation of Q1 and Q2: z where 0 ≤ z ≤ 1, 0 below, 1 above."""
    return z.clamp(0.0, 1.0)


def compare(
    what: str,
    got: object,
    expected: Tensor,
    atol: float = 1e-6,
    dtype: torch.dtype = torch.float64,
) -> None:
    """For the public checks: stops, and says why, unless `got` is as expected, up to atol."""
    assert isinstance(got, Tensor), f"{what}: a tensor is expected, not {type(got).__name__}"
    assert got.dtype == dtype, f"{what}: the dtype is {got.dtype}, but {dtype} is expected"
    shape, right = tuple(got.shape), tuple(expected.shape)
    assert shape == right, f"{what}: the shape is {shape}, but {right} is expected"
    near = torch.allclose(got.double(), expected, rtol=0, atol=atol)
    assert near, f"{what}: your result is\n{got}\nbut this is expected:\n{expected}"


def look_at(weights: object, **shapes: tuple[int, ...]) -> None:
    """For the public checks of Q1 and Q6: stops unless types and shapes are right."""
    assert isinstance(weights, dict), f"a dict is expected, not {type(weights).__name__}"
    for name, right in shapes.items():
        value = weights.get(name)
        kind = type(value).__name__
        assert isinstance(value, Tensor), f"{name}: a tensor is expected, not {kind}"
        assert value.is_floating_point(), f"{name}: a floating dtype is expected, not {value.dtype}"
        shape = tuple(value.shape)
        assert shape == right, f"{name}: the shape is {shape}, but {right} is expected"


# %% [markdown]
# ## Q1 A memory with hand-set weights (8 points)
#
# Before you train a network, build one by hand. This one reads two inputs at each step, each 0 or 1, and should
# remember **whether it has seen a 1 in both of them**, at the same step or at different ones:
#
# $$h_t = \operatorname{slide}(h_{t-1} + W_{hx}\, x_t + b_h), \qquad y_t = \operatorname{slide}(W_{yh}\, h_t + b_y)$$
#
# $\operatorname{slide}(z)$ is $z$ cut to the interval from 0 to 1 (0 below, 1 above). The state $h$ has two numbers and
# starts at $(0, 0)$. It is carried over with weight 1, and you can't change that. Choose the other weights so that
# $y_t = 1$ from the first step on at which both inputs have been 1 at some time up to $t$, and $y_t = 0$ before.
#
# | step | $x_t$ | seen so far | $y_t$ |
# |---|---|---|---|
# | 1 | (0, 1) | second | 0 |
# | 2 | (0, 1) | second | 0 |
# | 3 | (1, 0) | both | 1 |
# | 4 | (0, 0) | both | 1 |
#
# Return a dict with the keys `Whx` of shape (2, 2), `bh` (2), `Wyh` (1, 2) and `by` (1), all of them finite floating
# tensors (the given function `tensor` makes them from lists). Each $y_t$ has to be right within $10^{-6}$. Many choices
# are right. The next cell holds the network, so that you can try yours.


# %% softmark={"role": "given", "question": "1"}
def run_rnn(weights: dict[str, Tensor], xs: Tensor) -> Tensor:
    """The network of Q1.

    weights: as `rnn_both_seen` gives them · xs: inputs (T, 2) → outputs y (T).
    """
    w = {name: value.double() for name, value in weights.items()}
    h, ys = torch.zeros(2).double(), []
    for x in xs:
        h = slide(h + w["Whx"] @ x + w["bh"])
        ys.append(slide(w["Wyh"] @ h + w["by"]))
    return torch.cat(ys)


# %% softmark={"role": "answer", "question": "1"}
def rnn_both_seen() -> dict[str, Tensor]:
    """Weights with which the output is 1 exactly when both inputs have been 1 at some time.

    → Whx: (2, 2), bh: (2), Wyh: (1, 2), by: (1).
    """
    return {
        "Whx": tensor([[1.0, 0.0], [0.0, 1.0]]),  # each input has a memory of its own
        "bh": tensor([0.0, 0.0]),
        "Wyh": tensor([[1.0, 1.0]]),
        "by": tensor([-1.0]),  # one memory alone does not reach above 0
    }


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "1"}
# weights = rnn_both_seen()
# look_at(weights, Whx=(2, 2), bh=(2,), Wyh=(1, 2), by=(1,))
# for xs, expected in [
#     ([[0, 1], [0, 1], [1, 0], [0, 0]], [0, 0, 1, 1]),
#     ([[0, 0], [1, 1], [0, 0], [0, 1]], [0, 1, 1, 1]),
#     ([[1, 0], [1, 0], [0, 0], [1, 0]], [0, 0, 0, 0]),
# ]:
#     compare(f"y for the inputs {xs}", run_rnn(weights, tensor(xs)), tensor(expected))
# print("Q1: the public check passes")

# %% [markdown]
# ## Q2 An RNN that forgets (10 points)
#
# In the network above the old state counts fully. In general it goes through a matrix. This is Elman's network
# ($W_{xh}$ is what Q1 calls $W_{hx}$: texts write the two letters in either order):
#
# $$h_t = \operatorname{act}(W_{xh}\, x_t + W_{hh}\, h_{t-1} + b), \qquad h_0 = 0$$
#
# The rows of `x` are the inputs $x_1 … x_T$, so `x[0]` is $x_1$. `act` is the string `"slide"` or `"tanh"`; nothing
# else occurs. Return the states $h_1 … h_T$ as the rows of one tensor.
#
# | tensor | shape |
# |---|---|
# | `x` | (T, I) |
# | `Wxh` | (H, I) |
# | `Whh` | (H, H) |
# | `b` | (H) |
# | result | (T, H) |
#
# *Example.* One input, one state, $W_{xh} = 1$, $W_{hh} = \frac12$, $b = 0$, and the inputs 1, 0, 0, 0. With `"slide"`
# the states are $1, \frac12, \frac14, \frac18$: each step forgets half of what was left. After 100 steps
# $2^{-99} \approx 10^{-30}$ is left. With `"tanh"` it is even less: 0.7616, 0.3634, 0.1797, …


# %% softmark={"role": "answer", "question": "2"}
def elman(x: Tensor, Wxh: Tensor, Whh: Tensor, b: Tensor, act: str) -> Tensor:
    """The states h_1 … h_T of an Elman network that starts at h_0 = 0.

    x: (T, I), Wxh: (H, I), Whh: (H, H), b: (H), act: "slide" or "tanh" → (T, H).
    Source: Elman 1990, Finding structure in time.
    """
    squash = torch.tanh if act == "tanh" else slide
    h = torch.zeros_like(b)
    states = []
    for x_t in x:
        before = Wxh @ x_t + Whh @ h + b  # (H)
        h = squash(before)
        states.append(h)
    return torch.stack(states)


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "2"}
# x, one, half, zero = tensor([[1], [0], [0], [0]]), tensor([[1]]), tensor([[0.5]]), tensor([0])
# expected = tensor([[1], [0.5], [0.25], [0.125]])
# compare("slide, one unit", elman(x, one, half, zero, "slide"), expected)
# expected = tensor([[0.7616], [0.3634], [0.1797], [0.0896]])
# compare("tanh, one unit", elman(x, one, half, zero, "tanh"), expected, 1e-4)
# # Two inputs and two units. Row i of Wxh and of Whh holds the weights with which unit i reads.
# x, Wxh = tensor([[1, 0], [0, 1], [1, 0]]), tensor([[1, -0.5], [0.5, -1]])
# Whh, b = tensor([[0.5, 0.25], [0.5, 0.5]]), tensor([0.25, 0])
# expected = tensor([[1, 0.5], [0.375, 0], [1, 0.6875]])  # 0.375 = −0.5 + 0.5 · 1 + 0.25 · 0.5 + 0.25
# compare("slide, two units", elman(x, Wxh, Whh, b, "slide"), expected)
# states = elman(x.float(), Wxh.float(), Whh.float(), b.float(), "slide")
# compare("slide, two units, inputs in float32", states, expected, 1e-5, torch.float32)
# print("Q2: the public check passes")

# %% tags=["active-ipynb"] softmark={"role": "demo", "question": "2"}
# impulse = torch.zeros(10, 1).double()
# impulse[0] = 1
# print("What is left of a 1 after each step, with slide and weight w:")
# print("step   " + "".join(f"{t:6}" for t in range(1, 11)))
# for w in (0.5, 0.9, 1.0):
#     left = elman(impulse, tensor([[1]]), tensor([[w]]), tensor([0]), "slide")[:, 0]
#     print(f"w = {w}" + "".join(f"{value:6.3f}" for value in left.tolist()))

# %% [markdown]
# ## Q3 Gradients through time (12 points)
#
# A network learns from the past only if a change in the past changes the present. How strongly does $h_T$ depend on
# $h_t$? For a tanh network the chain rule gives one factor for each step between them. The derivative of $\tanh(z)$ is
# $1 - \tanh^2(z)$, and $\tanh(z)$ is the state itself, so
#
# $$\frac{\partial h_s}{\partial h_{s-1}} = J_s = \operatorname{diag}(1 - h_s^2)\; W_{hh}, \qquad
#   \frac{\partial h_T}{\partial h_t} = J_T\, J_{T-1} \cdots J_{t+1}$$
#
# The size of such a matrix is its **spectral norm** $\lVert \cdot \rVert_2$: its largest singular value, which is the
# most by which it can stretch a vector. Return $\lVert \partial h_T / \partial h_t \rVert_2$ for $t = 1 … T$, in this
# order, so that the last entry (an empty product, the identity) is 1. The rows of `hs` are the states $h_1 … h_T$. All
# products stay finite.
#
# *Example.* One unit, all states 0 (so that the slope is 1), $W_{hh} = 0.9$, $T = 3$: the norms are 0.81, 0.9, 1. Over
# 100 steps $0.9^{99} \approx 0.00003$ is left, while $1.1^{99} \approx 12\,528$: gradients vanish or explode.


# %% softmark={"role": "answer", "question": "3"}
def jacobian_norms(Whh: Tensor, hs: Tensor) -> Tensor:
    """Spectral norms of ∂h_T/∂h_t for t = 1 … T, of a tanh Elman network.

    Whh: (H, H), hs: states h_1 … h_T (T, H) → (T).
    Source: Pascanu, Mikolov, Bengio 2013, On the difficulty of training recurrent neural networks,
    section 2.
    """
    T, H = hs.shape
    product = torch.eye(H, dtype=hs.dtype)
    norms = []
    for s in range(T - 1, -1, -1):  # row s of hs is h_{s+1}
        norms.append(torch.linalg.matrix_norm(product, ord=2))
        slope = 1 - hs[s] ** 2  # (H)
        factor = slope[:, None] * Whh
        product = product @ factor
    return torch.stack(norms[::-1])


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "3"}
# norms = jacobian_norms(tensor([[0.9]]), tensor([[0], [0], [0]]))
# compare("one unit, all states 0", norms, tensor([0.81, 0.9, 1]))
# Whh, hs = tensor([[1, 2], [-1, 1]]), tensor([[0.5, -0.5], [0.6, -0.8], [-0.8, 0.5]])
# # J₂ = [[0.64, 1.28], [−0.36, 0.36]] and J₃ = [[0.36, 0.72], [−0.75, 0.75]], so that
# # J₃ J₂ = [[−0.0288, 0.72], [−0.75, −0.69]].
# expected = tensor([1.149105, 1.116581, 1])
# compare("two units", jacobian_norms(Whh, hs), expected)
# norms = jacobian_norms(Whh.float(), hs.float())
# compare("two units, inputs in float32", norms, expected, 1e-5, torch.float32)
# print("Q3: the public check passes")

# %% [markdown]
# ## Q4 One step of an LSTM (20 points)
#
# An LSTM keeps two states. The **cell** $c$ is the memory; $h$ is what the rest of the network sees of it. Three
# **gates**, numbers between 0 and 1, decide at each step what is written, what is kept and what is shown:
#
# $$\begin{aligned}
#   i &= \sigma(W_{ii}\, x + b_{ii} + W_{hi}\, h + b_{hi}) && \text{input gate: what is written} \\
#   f &= \sigma(W_{if}\, x + b_{if} + W_{hf}\, h + b_{hf}) && \text{forget gate: what is kept} \\
#   g &= \tanh(W_{ig}\, x + b_{ig} + W_{hg}\, h + b_{hg}) && \text{candidate: the new content} \\
#   o &= \sigma(W_{io}\, x + b_{io} + W_{ho}\, h + b_{ho}) && \text{output gate: what is shown} \\
#   c' &= f \cdot c + i \cdot g, \qquad h' = o \cdot \tanh(c')
# \end{aligned}$$
#
# $\sigma(z) = 1 / (1 + e^{-z})$ is the sigmoid, and the dots multiply element by element. The first index of a weight
# says what is read ($i$ the input, $h$ the state), the second which gate reads it. All four sets of weights are
# **stacked** in the order i, f, g, o, as PyTorch does it: rows $0 … H-1$ of `W_ih`, `W_hh`, `b_ih` and `b_hh` belong
# to the input gate, rows $H … 2H-1$ to the forget gate, then the candidate, then the output gate.
#
# | tensor | shape |
# |---|---|
# | `x` | (B, I) |
# | `h`, `c` | (B, H) |
# | `W_ih` | (4H, I) |
# | `W_hh` | (4H, H) |
# | `b_ih`, `b_hh` | (4H) |
# | result: $h'$, $c'$ | (B, H), (B, H) |
#
# Here the rows of `x` and `h` are the members of the batch, so a layer is `x @ W.T`. There are two bias vectors; both
# are added. Gates may be fully open or closed; the result must not be nan. Write the formulas yourself, with
# `torch.sigmoid` and `torch.tanh`; `torch.nn.LSTM` and `LSTMCell`, which you would call in your own work, are not meant
# here.
#
# *Example.* One unit, $c = 2$, and numbers such that $i = \frac12$, $f = \frac34$, $g = \frac35$, $o = \frac14$. Then
# $c' = \frac34 \cdot 2 + \frac12 \cdot \frac35 = 1.8$ and $h' = \frac14 \tanh 1.8 = 0.2367$.


# %% softmark={"role": "answer", "question": "4"}
def lstm_cell(
    x: Tensor,
    h: Tensor,
    c: Tensor,
    W_ih: Tensor,
    W_hh: Tensor,
    b_ih: Tensor,
    b_hh: Tensor,
) -> tuple[Tensor, Tensor]:
    """One step of an LSTM: the new h and the new c.

    x: (B, I), h, c: (B, H), W_ih: (4H, I), W_hh: (4H, H), b_ih, b_hh: (4H), stacked as i, f, g, o
    → (B, H), (B, H).
    Sources: Hochreiter, Schmidhuber 1997; Gers, Schmidhuber, Cummins 2000 (the forget gate).
    """
    stacked = x @ W_ih.T + h @ W_hh.T + b_ih + b_hh  # (B, 4H)
    i, f, g, o = stacked.chunk(4, dim=1)
    write, keep, show = torch.sigmoid(i), torch.sigmoid(f), torch.sigmoid(o)
    candidate = torch.tanh(g)
    new_c = keep * c + write * candidate
    shown = new_c
    new_h = show * torch.tanh(shown)
    return new_h, new_c


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "4"}
# ln = math.log
# x, h, c = tensor([[1]]), tensor([[1]]), tensor([[2]])
# W_ih, W_hh = tensor([[0], [ln(3)], [0], [0]]), tensor([[0], [0], [0], [-ln(3)]])
# b_ih, b_hh = tensor([0, 0, ln(4), 0]), tensor([0, 0, -ln(2), 0])
# new_h, new_c = lstm_cell(x, h, c, W_ih, W_hh, b_ih, b_hh)
# compare("one unit, new c = ¾ · 2 + ½ · ⅗", new_c, tensor([[1.8]]))
# compare("one unit, new h = ¼ · tanh(new c)", new_h, tensor([[math.tanh(1.8) / 4]]))
# # Two units: the first one writes what it reads in x (i = 1, f = 0), the second one keeps c.
# x, h, c = tensor([[1, 0, 1], [0, 1, 1]]), tensor([[1, 0], [0, 1]]), tensor([[9, 1], [9, 2]])
# W_ih, W_hh = torch.zeros(8, 3).double(), torch.zeros(8, 2).double()
# W_ih[4], W_hh[6] = tensor([0, -ln(4), ln(2)]), tensor([ln(3), -ln(3)])  # unit 1: g and o
# given = [x, h, c, W_ih, W_hh, tensor([40, -40, -40, 40, 0, 0, 0, 0]), tensor([0] * 8)]
# for dtype in (torch.float64, torch.float32):
#     new_h, new_c = lstm_cell(*[a.to(dtype) for a in given])
#     compare(f"two units, new c, {dtype}", new_c, tensor([[0.6, 1], [-0.6, 2]]), 1e-4, dtype)
#     expected = tensor([[0.4028, 0.3808], [-0.1343, 0.4820]])  # ¾ tanh 0.6, ½ tanh 1, …
#     compare(f"two units, new h, {dtype}", new_h, expected, 1e-4, dtype)
# print("Q4: the public check passes")

# %% [markdown]
# ## Q5 A batch of sequences of different lengths (14 points)
#
# Sequences of one batch stand in one tensor, so short ones are filled up at the end with numbers that mean nothing
# (*padding*). `lengths[k]` says how many steps of sequence $k$ are real, from 1 to T; the lengths come in any order.
# Run your `lstm_cell` over the steps, from the first to the last, and return three tensors:
#
# 1. the outputs: `outputs[k, t]` is $h$ of sequence $k$ after it has read `x[k, t]`, **zero** where that is padding;
# 2. for each sequence its $h$ **after its last real step**;
# 3. the same for $c$.
#
# Each sequence starts at its own row of `h0` and `c0`. The padding holds any finite numbers, which must make no
# difference.
#
# | tensor | shape |
# |---|---|
# | `x` | (B, T, I) |
# | `lengths` | (B), int64 |
# | `h0`, `c0` | (B, H) |
# | weights | as in Q4 |
# | result: outputs, last $h$, last $c$ | (B, T, H), (B, H), (B, H) |
#
# *Example.* One unit with $i = 1$ and $f = o = \frac12$ halves its cell at each step and adds $g = \tanh x$. With
# $x = \ln 2$ at each step, $g = \frac35$, and the cell is 0.6, 0.9, 1.05. A sequence of length 1 ends with $c = 0.6$
# and has the outputs $\frac12 \tanh 0.6, 0, 0$.


# %% softmark={"role": "hidden", "question": "5"}
from collections.abc import Callable


# %% softmark={"role": "answer", "question": "5"}
def lstm_forward(
    x: Tensor,
    lengths: Tensor,
    h0: Tensor,
    c0: Tensor,
    W_ih: Tensor,
    W_hh: Tensor,
    b_ih: Tensor,
    b_hh: Tensor,
    *,
    lstm_cell: Callable[..., tuple[Tensor, Tensor]] = lstm_cell,
) -> tuple[Tensor, Tensor, Tensor]:
    """An LSTM over a batch of padded sequences: all outputs, and the last real states.

    x: (B, T, I), lengths: (B) int64 from 1 to T, h0, c0: (B, H), weights as in `lstm_cell`
    → outputs (B, T, H), zero in the padding, and the last h and c, (B, H) each.
    """
    h, c = h0, c0
    outputs = []
    for t in range(x.shape[1]):
        real = (t < lengths)[:, None]  # (B, 1)
        next_h, next_c = lstm_cell(x[:, t], h, c, W_ih, W_hh, b_ih, b_hh)
        h = torch.where(real, next_h, h)
        c = torch.where(real, next_c, c)
        outputs.append(torch.where(real, next_h, 0.0))
    return torch.stack(outputs, dim=1), h, c


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "5"}
# x, zero = math.log(2) * torch.ones(2, 3, 1).double(), tensor([[0], [0]])
# W_ih, W_hh, b = tensor([[0], [0], [1], [0]]), tensor([[0]] * 4), tensor([40, 0, 0, 0])
# outputs, h, c = lstm_forward(x, torch.tensor([3, 1]), zero, zero, W_ih, W_hh, b, 0 * b)
# compare("last c after three steps and after one", c, tensor([[1.05], [0.6]]))
# compare("last h of the same steps", h, torch.tanh(tensor([[1.05], [0.6]])) / 2)
# cells = tensor([[[0.6], [0.9], [1.05]], [[0.6], [0], [0]]])
# compare("outputs, with zeros in the padding", outputs, torch.tanh(cells) / 2)
# # All weights, first states that are not 0, the shorter sequence first.
# x = tensor([[[1], [-1], [2]], [[2], [1], [0]]])
# h0, c0 = tensor([[0.5], [-0.5]]), tensor([[1], [-1]])
# W_ih, W_hh = tensor([[1], [0], [1], [-1]]), tensor([[0], [1], [-1], [1]])
# b_ih, b_hh = tensor([0, 1, 0, 0]), tensor([0.5, 0, 0, 0.5])
# for dtype in (torch.float64, torch.float32):
#     given = [a.to(dtype) for a in (h0, c0, W_ih, W_hh, b_ih, b_hh)]
#     outputs, h, c = lstm_forward(x.to(dtype), torch.tensor([2, 3]), *given)
#     expected = tensor([[[0.4161], [0.4843], [0]], [[0.0336], [0.2611], [0.3060]]])
#     compare(f"outputs with all weights, {dtype}", outputs, expected, 1e-4, dtype)
#     last = tensor([[0.4843, 0.6264], [0.3060, 0.4833]])
#     compare(f"last h and last c, side by side, {dtype}", torch.cat([h, c], 1), last, 1e-4, dtype)
# print("Q5: the public check passes")

# %% [markdown]
# ## Q6 A latch (14 points)
#
# Now show what gates can do. Set the weights of an LSTM with **one** unit and **one** input by hand so that it works as
# a latch: it switches on, stays on, and switches off when told to.
#
# | input $x_t$ | what happens |
# |---|---|
# | 1 | on: from this step on $h = \tanh 1 \approx 0.7616$ (so the cell holds 1); if it is on already, nothing changes |
# | −1 | off: from this step on $h = 0$; if it is off already, nothing changes |
# | 0 | nothing changes, for up to 300 steps |
#
# Other inputs don't occur. It starts with $h = c = 0$. Each $h_t$ has to be right within 0.001. Return a dict with
# `W_ih` (4, 1), `W_hh` (4, 1) and `b` (4), finite floating tensors in the order i, f, g, o; `b` stands for the sum of
# the two bias vectors.
#
# Some help. $\sigma(20) \approx 1 - 2 \cdot 10^{-9}$: large weights make gates that are open or closed, and
# $\tanh(20) \approx 1$. "Nearly open" is not enough: $\sigma(1)^{100} \approx 2.5 \cdot 10^{-14}$. Think about each
# gate in turn: for which of the inputs −1, 0, 1 has it to be open? Then look at a second 1: the gates see $x$, and
# they see $h$ too.


# %% softmark={"role": "given", "question": "6"}
def run_latch(weights: dict[str, Tensor], xs: Tensor) -> tuple[Tensor, Tensor]:
    """The one-unit LSTM of Q6.

    weights: as `latch` gives them · xs: inputs (T) → h (T) and c (T).
    """
    cell = torch.nn.LSTMCell(1, 1).double()
    names = {"weight_ih": weights["W_ih"], "weight_hh": weights["W_hh"], "bias_ih": weights["b"]}
    cell.load_state_dict({**names, "bias_hh": torch.zeros(4)})
    state, rows = (torch.zeros(1, 1).double(), torch.zeros(1, 1).double()), []
    with torch.no_grad():
        for x in xs:
            state = cell(x.reshape(1, 1), state)
            rows.append(torch.cat(state).flatten())
    h, c = torch.stack(rows, dim=1)
    return h, c


# %% softmark={"role": "answer", "question": "6"}
def latch() -> dict[str, Tensor]:
    """Weights of a one-unit LSTM that 1 switches on, −1 switches off, and 0 leaves as it is.

    → W_ih: (4, 1), W_hh: (4, 1), b: (4), stacked as i, f, g, o; b is the sum of both biases.
    """
    K = 20.0
    writes = [2 * K, -4 * K, -K]  # x, h, bias: open for x = 1, unless the latch is on
    keeps = [2 * K, 0.0, K]  # closed for x = −1
    candidate = [0.0, 0.0, K]  # always 1
    shows = [0.0, 0.0, K]  # always open
    table = tensor([writes, keeps, candidate, shows])
    return {"W_ih": table[:, :1], "W_hh": table[:, 1:2], "b": table[:, 2]}


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "6"}
# weights, on = latch(), math.tanh(1)
# look_at(weights, W_ih=(4, 1), W_hh=(4, 1), b=(4,))
# for xs, expected in [
#     ([0, 1, 0, 0, -1, 0, 1, 0], [0, on, on, on, 0, 0, on, on]),
#     ([-1, 0, 1, 1, 1, 0, -1, -1], [0, 0, on, on, on, on, 0, 0]),
# ]:
#     compare(f"h for the inputs {xs}", run_latch(weights, tensor(xs))[0], tensor(expected), 1e-3)
# h, _ = run_latch(weights, tensor([1] + [0] * 300))
# compare("the last h of a 1 and then 300 zeros", h[-1], tensor(on), 1e-3)
# print("Q6: the public check passes")

# %% [markdown]
# ### Look at the gates
#
# Each column is a step, each row a number between −1 and 1: the input, the gates with the candidate, the cell and what
# the LSTM shows. Follow a column: which gates are open when a 1 comes in, and what is different for a second 1? What
# happens at a −1? The picture comes from *your* weights; other latches are right too, and look different.

# %% tags=["active-ipynb"] softmark={"role": "demo", "question": "6"}
# xs = torch.zeros(40).double()
# xs[[4, 10, 24, 25, 33]], xs[[16, 30]] = 1.0, -1.0
# weights = latch()
# h, c = run_latch(weights, xs)
# seen = torch.cat([torch.zeros(1).double(), h[:-1]])  # the gates see the h of the step before
# columns = torch.stack([xs, seen, torch.ones(40).double()])
# table = torch.cat([weights["W_ih"], weights["W_hh"], weights["b"][:, None]], dim=1)
# gates = table.double() @ columns
# rows = [xs, gates[0].sigmoid(), gates[1].sigmoid(), gates[2].tanh(), gates[3].sigmoid(), c, h]
# names = ["input x", "input gate i", "forget gate f", "candidate g", "output gate o"]
# names += ["cell c", "shown h"]
# try:
#     import matplotlib.pyplot as plt
# except ImportError:  # the same picture in characters: − for −1, blank for 0, █ for 1
#     print("         step  1        10        20        30        40")
#     for name, row in zip(names, rows):
#         blocks = [min(4, round(4 * value)) for value in row.tolist()]
#         signs = ["−" if block < 0 else " ░▒▓█"[block] for block in blocks]
#         print(f"{name:>13} |" + "".join(signs) + "|")
# else:
#     figure, axes = plt.subplots(figsize=(9, 2.8), layout="constrained")
#     edges = (0.5, 40.5, 6.5, -0.5)  # steps are counted from 1
#     colours = {"cmap": "RdBu_r", "vmin": -1, "vmax": 1}
#     image = axes.imshow(torch.stack(rows).tolist(), aspect="auto", extent=edges, **colours)
#     axes.set_yticks(range(7), names)
#     axes.set(xlabel="step", title="A latch at work: gates over time")
#     figure.colorbar(image, ax=axes, label="value")
#     plt.show()

# %% [markdown]
# ## Q7 How long does it remember, and what does it cost? (5 + 5 points)
#
# **`forget_bias`** Say the forget gate sees nothing but its bias $b$, so that $f = \sigma(b)$ at each step, and
# nothing is written. After $T$ steps the share $f^T$ of the cell is left. Which bias $b$ leaves exactly the share
# $r$? `r` lies between 0.001 and 0.999, and `T` is an integer from 1 to 100: there Python's floats are exact enough
# without any trick. Return a Python float.
#
# *Example.* To keep 99 % over 100 steps, $f \approx 0.9998995$ and $b \approx 9.20527$. The usual start value $b = 1$
# leaves $2.5 \cdot 10^{-14}$.
#
# **`lstm_param_count`** How many parameters does `torch.nn.LSTM(I, H, num_layers=L, bidirectional=bidirectional)`
# have? Count them by formula; return a Python int. `I`, `H` and `L` are integers from 1 on, `bidirectional` is a
# bool. Each layer and each direction is an LSTM of its own, with the weights and the two biases of Q4. The first
# layer reads I numbers a step. Each further layer reads the outputs of the layer below: H numbers, or the 2H numbers
# of both directions side by side.
#
# *Example.* $I = 5$, $H = 7$, $L = 2$, one direction: 840.


# %% softmark={"role": "answer", "question": "7"}
def forget_bias(r: float, T: int) -> float:
    """The bias b of the forget gate for which σ(b)^T = r.

    r: share that is left, 0 < r < 1 · T: steps, ≥ 1 → b.
    Source of the idea: Gers, Schmidhuber, Cummins 2000.
    """
    f = r ** (1 / T)
    return math.log(f / (1 - f))


def lstm_param_count(I: int, H: int, L: int, bidirectional: bool) -> int:
    """Parameters of L LSTM layers of width H over I inputs, two biases, one or two directions."""
    directions = 2 if bidirectional else 1
    total = 0
    for layer in range(L):
        reads = I if layer == 0 else directions * H
        biases = 2
        total += directions * 4 * H * (reads + H + biases)
    return total


# %% tags=["active-ipynb"] softmark={"role": "public-check", "question": "7"}
# for r, T, expected in [(0.99, 100, 9.20527), (0.5, 1, 0.0)]:
#     b = forget_bias(r, T)
#     assert isinstance(b, float), f"forget_bias returns a Python float, not {type(b).__name__}"
#     assert abs(b - expected) < 1e-5, f"forget_bias({r}, {T}): expected {expected}, not {b}"
# for I, H, L, both, expected in [(5, 7, 2, False, 840), (2, 3, 2, True, 168 + 264)]:
#     n = lstm_param_count(I, H, L, both)
#     assert isinstance(n, int), f"lstm_param_count returns a Python int, not {type(n).__name__}"
#     assert n == expected, f"lstm_param_count({I}, {H}, {L}, {both}): expected {expected}, not {n}"
# print("Q7: the public check passes")

# %% [markdown]
# ## Hand calculations (12 points)
#
# On paper, with your own numbers; a pocket calculator is fine. The numbers follow from your student id, so type it
# into the first code cell, run that cell, and then run the next two cells. Write the results as plain Python numbers
# into the cell that begins with `hand =` below. Round only at the end: each number may be off by up to 0.0006, so
# three decimals are enough, and fractions such as `2 / 3` are fine. Write numbers, not calls of your functions: this
# is practice without the computer.
#
# **H1 (4)** One step of an LSTM with one unit. You get what the gates and the candidate are *before* their sigmoid or
# tanh: `i`, `f` and `o`, before the sigmoid, are −∞, 0 or +∞, and `g`, before the tanh, is ln n or −ln n (natural
# logarithm) for a whole number n. You also get the old cell `c`. Compute the new cell and the new output. (It helps to
# know that $\tanh(\ln n) = \frac{n^2 - 1}{n^2 + 1}$.) Answer: `[c′, h′]`.
#
# **H2 (4)** A network as in the example of Q2: one unit, no bias, slide, the inputs 1, 0, 0, 0, … and
# $W_{hh} = w$. Which is the first step $t$ with $h_t < 0.001$? What is $h_T$ for your $T$? Answer: `[t, h_T]`. Steps
# are counted from 1, and $h_1 = 1$.
#
# **H3 (4)** How many parameters does an LSTM with L layers, one direction, I inputs and state size H have, with two
# biases? Answer: one whole number.


# %% softmark={"role": "given", "question": "8"}
def my_numbers(student_id: str, part: str) -> dict[str, object]:
    """Personal numbers of one hand calculation, the same on every machine.

    student_id: as your course knows it; spaces around it and upper or lower case don't matter ·
    part: "H1", "H2" or "H3".
    """
    number = hashlib.blake2b(f"lstm/{part}/{student_id.strip().lower()}".encode()).digest()
    if part == "H1":
        # Only such gates with which each step of the calculation makes a difference.
        i, f, o = [
            ("0", "−∞", "0"), ("0", "−∞", "+∞"), ("0", "+∞", "0"), ("0", "+∞", "+∞"),
            ("+∞", "−∞", "0"), ("+∞", "0", "0"), ("+∞", "0", "+∞"),
        ][number[0] % 7]  # fmt: skip
        sign, c = ("", 1) if number[1] % 2 else ("−", -1), 1.25 + 0.25 * (number[2] % 6)
        return {"i": i, "f": f, "o": o, "g": f"{sign[0]}ln {2 + number[3] % 4}", "c": sign[1] * c}
    if part == "H2":
        return {"w": (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)[number[0] % 6], "T": 3 + number[1] % 3}
    if part == "H3":
        H = (15, 16, 18, 21, 22)[number[1] % 5]
        return {"I": 3 + number[0] % 5, "H": H, "L": 2 + number[2] % 2}
    raise ValueError(f"there is no part {part!r}: use H1, H2 or H3")


# %% tags=["active-ipynb"] softmark={"role": "demo", "question": "8"}
# if STUDENT_ID:
#     for part in ("H1", "H2", "H3"):
#         print(part)
#         for name, value in my_numbers(STUDENT_ID, part).items():
#             print(f"   {name} = {value}")
# else:
#     print("Type your student id into the first code cell, run it, and run this cell again.")

# %% softmark={"role": "hidden", "question": "8"}
# ruff: noqa: E741  (I is what the library's documentation calls it)
STUDENT_ID = "ada"
GATE = {"−∞": 0.0, "0": 0.5, "+∞": 1.0}


def from_log(text: str) -> float:
    """A number as `my_numbers` writes it: "ln 3", "−ln 3"."""
    value = math.log(int(text.removeprefix("−").removeprefix("ln ")))
    return -value if text.startswith("−") else value


def hand_h1(numbers: dict[str, object]) -> list[float]:
    """The new cell and the new output of one LSTM step."""
    i, f, o = (GATE[numbers[name]] for name in "ifo")
    c = f * numbers["c"] + i * math.tanh(from_log(numbers["g"]))
    return [c, o * math.tanh(c)]


def hand_h2(numbers: dict[str, object]) -> list[float]:
    """The first step t with w^(t−1) < 0.001, and w^(T−1)."""
    w, t = numbers["w"], 1
    while w ** (t - 1) >= 1e-3:
        t += 1
    return [t, w ** (numbers["T"] - 1)]


def hand_h3(numbers: dict[str, object]) -> int:
    """Parameters of an LSTM in one direction."""
    return lstm_param_count(numbers["I"], numbers["H"], numbers["L"], False)


# %% softmark={"role": "answer", "question": "8"}
hand = {
    "H1": hand_h1(my_numbers(STUDENT_ID, "H1")),
    "H2": hand_h2(my_numbers(STUDENT_ID, "H2")),
    "H3": hand_h3(my_numbers(STUDENT_ID, "H3")),
}

# %% tags=["active-ipynb"] softmark={"role": "demo", "question": "8"}
# # Can your answers be read? (Not: are they right?)
# for part, count in {"H1": 2, "H2": 2, "H3": 1}.items():
#     answer, form = hand.get(part), "one number" if count == 1 else f"a list of {count} numbers"
#     values = [answer] if count == 1 else answer
#     readable = isinstance(values, list | tuple) and len(values) == count
#     readable = readable and all(isinstance(value, int | float) for value in values)
#     state = "can be read" if readable else f"can't be read, {form} is expected"
#     print(f"{part}: " + ("no answer yet" if answer is None else state))

# %% [markdown] softmark={"role": "written", "question": "E"}
# ## Explain (5 written points)
#
# Gradients of the tanh network in Q3 typically vanish over long distances. In an LSTM with a forget gate near 1 they
# don't. Explain why, in at most eight sentences: which factor does one step contribute to $\partial h_T / \partial h_t$
# in the first case, and which to $\partial c_T / \partial c_t$ along the direct path in the second? ("Direct path":
# the gates and the candidate are held fixed.) A person reads your answer.
#
# *Your answer:*

# %% tags=["active-ipynb"] softmark={"role": "demo"}
# print(f"This notebook ran for {time.perf_counter() - started:.1f} s.")
