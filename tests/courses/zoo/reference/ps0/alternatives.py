"""Other right ways to write practice set 0."""

from __future__ import annotations

from typing import Any

from autograder.checks import alternative


@alternative(question="1", of="softmax")
def library(x: Any) -> Any:
    import torch

    return torch.softmax(x, -1)
