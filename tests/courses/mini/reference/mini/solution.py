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
# # A mini assignment
#
# Four small questions. Run the cells in order.

# %% tags=["active-ipynb"] softmark={"role": "demo"}
# STUDENT_ID = ""  # type your student id between the quotes

# %% softmark={"role": "given"}
import hashlib
import math

import torch
from torch import Tensor, nn


def my_numbers(student_id: str, which: str) -> list[int]:
    """Your personal numbers for one hand calculation."""
    digest = hashlib.blake2b(f"mini:{which}:{student_id}".encode(), digest_size=4).digest()
    return [2 + digest[0] % 7, 11 + digest[1] % 9]


# %% [markdown]
# ## Q1 Softmax (6 points)


# %% softmark={"role": "answer", "question": "1"}
def softmax(s: Tensor, dim: int) -> Tensor:
    """Normalised exponentials along `dim`: s (...) → (...)."""
    shifted = s - s.amax(dim, keepdim=True)
    e = torch.exp(shifted)
    return e / e.sum(dim, keepdim=True)


# %% softmark={"role": "public-check", "question": "1"}
assert torch.allclose(softmax(torch.tensor([0.0, 0.0]), 0), torch.tensor([0.5, 0.5]))


# %% [markdown]
# ## Q2 Attention (8 points)


# %% softmark={"role": "answer", "question": "2"}
def attention(Q: Tensor, K: Tensor, V: Tensor, *, softmax=softmax) -> Tensor:
    """Scaled dot-product attention: Q (n, d), K (m, d), V (m, v) → (n, v)."""
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])
    weights = softmax(scores, -1)
    return weights @ V


# %% [markdown]
# ## Q3 A counter that keeps its state (4 points)


# %% softmark={"role": "answer", "question": "3"}
class Counter(nn.Module):
    """Adds up what it is given, scaled by a parameter."""

    def __init__(self, scale: float) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(scale, dtype=torch.float64))
        self.total = torch.tensor(0.0, dtype=torch.float64)

    def forward(self, x: Tensor) -> Tensor:
        self.total = self.total + self.scale * x.sum()
        return self.total


# %% tags=["active-ipynb"] softmark={"role": "demo"}
# print(softmax(torch.arange(3.0), 0))

# %% [markdown]
# ## Q4 By hand (2 points)
#
# `my_numbers(STUDENT_ID, "H1")` gives you a and b. Work out a·b.

# %% softmark={"role": "hidden", "question": "4"}
STUDENT_ID = "ada"


def product(numbers: list[int]) -> int:
    """a·b."""
    return numbers[0] * numbers[1]


# %% softmark={"role": "answer", "question": "4"}
hand = {"H1": product(my_numbers(STUDENT_ID, "H1"))}

# %% [markdown] softmark={"role": "written", "question": "5"}
# Why is the maximum subtracted before the exponential? (2 points, two sentences)
