"""Other right ways to write the four small questions."""

from __future__ import annotations

from typing import Any

from autograder.checks import alternative


@alternative(question="2", of="softmax")
def library(s: Any, dim: int) -> Any:
    import torch

    return torch.softmax(s, dim)
