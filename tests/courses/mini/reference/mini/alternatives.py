"""Other right ways to write the answers of the mini assignment."""

from __future__ import annotations

from typing import Any

from autograder.checks import Alternative, alternative

ALTERNATIVES = [
    Alternative(
        "1",
        "with-log-sum-exp",
        source="def softmax(s, dim):\n    return torch.exp(s - torch.logsumexp(s, dim, keepdim=True))\n",
    ),
    Alternative("3", "in-float", function="Counter", replace="x.sum()", by="torch.sum(x)"),
]


@alternative(question="1", of="softmax")
def library(s: Any, dim: int) -> Any:
    import torch

    return torch.softmax(s, dim)


@alternative(question="2", of="attention")
def einsum(Q: Any, K: Any, V: Any) -> Any:
    import torch

    scores = torch.einsum("nd,md->nm", Q, K) / Q.shape[-1] ** 0.5
    return torch.einsum("nm,mv->nv", torch.softmax(scores, -1), V)
