"""What students get wrong in the four small questions."""

from autograder.checks import Mistake

MISTAKES = [
    Mistake(
        "not-scaled",
        question="3",
        function="attention",
        replace=" / math.sqrt(Q.shape[1])",
        by="",
        keeps=0.5,
        hint="Divide the scores by √d.",
    ),
]
