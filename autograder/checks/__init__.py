"""The authors' vocabulary, and the runner that judges with it.

Authors import from here: `Question`, the decorators, `Mistake`, `Axis`, `Same`, `mistake`, `planned`, `alternative`.
The pipeline uses `load_checks` and `run_checks`.
"""

from autograder.checks.decorators import leaderboard, number, partial_credit, public, tags, visibility, weight
from autograder.checks.explain import Explanation, explain_check
from autograder.checks.load import Check, Checks, load_checks, sibling
from autograder.checks.mistakes import Alternative, Axis, Mistake, Same, alternative, mistake, planned
from autograder.checks.question import Question
from autograder.checks.runner import Examination, Result, run_checks
from autograder.checks.session import LocalSession

__all__ = [
    "Alternative",
    "Axis",
    "Check",
    "Checks",
    "Examination",
    "Explanation",
    "LocalSession",
    "Mistake",
    "Question",
    "Result",
    "Same",
    "alternative",
    "explain_check",
    "leaderboard",
    "load_checks",
    "mistake",
    "number",
    "partial_credit",
    "planned",
    "public",
    "run_checks",
    "sibling",
    "tags",
    "visibility",
    "weight",
]
