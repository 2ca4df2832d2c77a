"""What students get wrong in the mini assignment."""

from __future__ import annotations

from typing import Any

from autograder.checks import Axis, Mistake, mistake, planned

MISTAKES = [
    Mistake(
        "overflows",
        question="1",
        function="softmax",
        replace="s - s.amax(dim, keepdim=True)",
        by="s",
        keeps=0.6,
        hint="Subtract the maximum first.",
    ),
    Mistake(
        "base-two",
        question="1",
        function="softmax",
        replace="torch.exp(shifted)",
        by="torch.exp2(shifted)",
        keeps=0.5,
        hint="Use e, not 2.",
    ),
    Axis(
        "scale",
        question="2",
        function="attention",
        mistakes=[
            Mistake(
                "not-scaled",
                replace=" / math.sqrt(Q.shape[-1])",
                by="",
                keeps=0.6,
                hint="Divide the scores by √d.",
            ),
            Mistake("by-d", replace="math.sqrt(Q.shape[-1])", by="Q.shape[-1]", keeps=0.7, hint="√d, not d."),
        ],
    ),
    Axis(
        "axis",
        question="2",
        function="attention",
        mistakes=[
            Mistake(
                "over-queries",
                replace="softmax(scores, -1)",
                by="softmax(scores, -2)",
                keeps=0.4,
                hint="One row per query.",
            ),
        ],
    ),
    Mistake(
        "forgets",
        question="3",
        function="Counter.forward",
        replace="self.total + self.scale",
        by="self.scale",
        keeps=0.5,
        hint="Add to what was counted before.",
    ),
    Mistake(
        "no-parameter",
        question="3",
        function="Counter",
        replace="nn.Parameter(torch.tensor(scale, dtype=torch.float64))",
        by="torch.tensor(scale, dtype=torch.float64)",
        keeps=0.5,
        hint="Make the scale an nn.Parameter.",
    ),
]


EQUIVALENT = {
    "attention:3: -1 → +1": "matrices have two axes",
    "attention:4: -1 → +1": "matrices have two axes",
}


@mistake(question="1", of="softmax", keeps=0.3, hint="Sum over `dim` only.", spills=("2",))
def all_axes(s: Any, dim: int) -> Any:
    e = torch.exp(s - s.max())  # noqa: F821
    return e / e.sum()


@planned(question="4", part="H1", keeps=0.5, hint="Multiply the two numbers.")
def added(numbers: list[int]) -> int:
    return numbers[0] + numbers[1]
