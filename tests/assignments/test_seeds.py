"""The verdicts don't hang on the inputs that happened to be drawn: each assignment on four more seeds.

The course's own draws are swept in each assignment's tests, with pairs and mutants.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from autograder.checks import Checks
from autograder.forks import cores
from autograder.validate import validate
from tests.assignments.grading import COURSE, Grading

SEEDS = (1, 2, 3, 4)
#: Checks that train a model for seconds, with the same inputs for every seed.
TRAINING = {"minigpt": ("8.4", "8.5")}


def seeded(name: str) -> Checks:
    """An assignment's checks, without those that look alike for every seed."""
    checks = Grading(name).checks
    left_out = TRAINING.get(name, ())
    assert {spec.number for spec in checks.specs} >= set(left_out)
    return replace(checks, checks=tuple(check for check in checks.checks if check.spec.number not in left_out))


@pytest.mark.parametrize("name", sorted(path.parent.name for path in COURSE.glob("reference/*/checks.py")))
def test_four_more_seeds_notice_and_name_the_same(name: str) -> None:
    """Reference all, empty answer nothing, each mistake named for what it says, other right ways all points."""
    checks = seeded(name)
    found = validate(
        checks, secret=Grading(name).secret, seeds=SEEDS, pairs=False, mutants=0, jobs=min(cores(), len(SEEDS))
    )
    assert found.ok, "\n".join(str(row) for row in found.failures)
    singles = sum(hypothesis.size == 1 for hypothesis in checks.hypotheses)
    assert found.share("mistake")[1] == len(SEEDS) * singles > 300
    assert found.share("alternative")[1] == len(SEEDS) * len(checks.alternatives)
