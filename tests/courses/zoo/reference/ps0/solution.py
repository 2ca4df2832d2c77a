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
# # Practice set 0
# Two short questions.

# %% softmark={"role": "given"}
import math

import torch

# %% [markdown]
# ## Question 1
# A stable softmax over the last dimension, by hand.


# %% softmark={"role": "answer", "question": "1"}
def softmax(x):
    shifted = x - x.amax(-1, keepdim=True)
    weights = torch.exp(shifted)
    return weights / weights.sum(-1, keepdim=True)


# %% softmark={"role": "public-check", "question": "1"}
row = softmax(torch.tensor([1.0, 2.0, 3.0]))
assert abs(float(row.sum()) - 1) < 1e-5

# %% [markdown]
# ## Question 2
# Scaled dot-product attention, no mask.


# %% softmark={"role": "answer", "question": "2"}
def attention(q, k, v, *, softmax=softmax):
    scores = torch.einsum("...nd,...md->...nm", q, k) / math.sqrt(q.shape[-1])
    return torch.einsum("...nm,...mv->...nv", softmax(scores), v)


# %% softmark={"role": "public-check", "question": "2"}
out = attention(torch.ones(1, 2, 4), torch.ones(1, 3, 4), torch.ones(1, 3, 5))
assert out.shape == (1, 2, 5)
