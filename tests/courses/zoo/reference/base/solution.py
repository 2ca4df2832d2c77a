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
# # Four small questions

# %% softmark={"role": "given"}
import math

import torch
from torch import Tensor

# %% [markdown]
# ## Q1 Plain numbers (4 points)


# %% softmark={"role": "answer", "question": "1"}
def mean_and_spread(values: list[float]) -> tuple[float, float]:
    """Mean, and the largest minus the smallest."""
    return sum(values) / len(values), max(values) - min(values)


# %% softmark={"role": "public-check", "question": "1"}
assert mean_and_spread([1.0, 3.0]) == (2.0, 2.0)

# %% [markdown]
# ## Q2 Tensors (6 points)


# %% softmark={"role": "answer", "question": "2"}
def softmax(s: Tensor, dim: int) -> Tensor:
    """Normalised exponentials along `dim`: s (...) → (...)."""
    shifted = s - s.amax(dim, keepdim=True)
    weights = torch.exp(shifted)
    return weights / weights.sum(dim, keepdim=True)


# %% softmark={"role": "public-check", "question": "2"}
assert torch.allclose(softmax(torch.tensor([0.0, 0.0]), 0), torch.tensor([0.5, 0.5]))

# %% [markdown]
# ## Q3 Builds on the second (6 points)


# %% softmark={"role": "answer", "question": "3"}
def attention(Q: Tensor, K: Tensor, V: Tensor, *, softmax=softmax) -> Tensor:
    """Scaled dot-product attention: Q (n, d), K (m, d), V (m, v) → (n, v)."""
    scores = Q @ K.T / math.sqrt(Q.shape[1])
    return softmax(scores, 1) @ V


# %% [markdown]
# ## Q4 On its own (4 points)


# %% softmark={"role": "answer", "question": "4"}
def word_counts(text: str) -> dict[str, int]:
    """How often each word occurs."""
    counts: dict[str, int] = {}
    for word in text.split():
        counts[word] = counts.get(word, 0) + 1
    return counts


# %% tags=["active-ipynb"] softmark={"role": "demo"}
# print(word_counts("a b a"))
