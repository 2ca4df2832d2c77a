"""What students get wrong in practice set 0."""

from autograder.checks import Axis, Mistake

MISTAKES = [
    Axis(
        "scale",
        question="2",
        function="attention",
        mistakes=[
            Mistake(
                "not-scaled", replace=" / math.sqrt(q.shape[-1])", by="", keeps=0.5, hint="Divide the scores by √d."
            ),
            Mistake("by-d", replace="math.sqrt(q.shape[-1])", by="q.shape[-1]", keeps=0.5, hint="√d, not d."),
            Mistake("by-length", replace="q.shape[-1]", by="q.shape[-2]", keeps=0.4, hint="d is the last size of q."),
        ],
    ),
]
