"""What can't be right is refused before anything runs, with the file and the check."""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Any

import pytest

from autograder.checks.load import exact, sort_key
from autograder.errors import CourseError
from autograder.model import Visibility

CLAIM = '"""The claim."""'


def one(decorators: str = '@number("1.1")\n    @weight(2)', body: str = CLAIM, head: str = "def test_it(self)") -> str:
    return f"""
class A(Question):
    question = "1"
    {decorators}
    {head}:
        {body}
"""


@pytest.mark.parametrize(
    ("checks", "says"),
    [
        (one('@number("1.1")'), "weight"),
        (one("@weight(2)"), "@number"),
        (one('@number("1.1")\n    @weight("2")'), "weight '2'"),
        (one('@number("1.1")\n    @weight(-1)'), "weight -1"),
        (one('@number("1.1")\n    @weight(float("nan"))'), "weight nan"),
        (one('@number("1.1")\n    @weight(float("inf"))'), "weight inf"),
        (one('@number("1.1")\n    @weight(True)'), "weight True"),
        (one("@number(1.10)\n    @weight(2)"), "string"),
        (one('@number("1.a")\n    @weight(2)'), "digits and dots"),
        (one('@number("1.1")\n    @weight(2)\n    @visibility("hiden")'), "hiden"),
        (one('@number("1.1")\n    @weight(2)\n    @leaderboard("x", "up")'), "order 'up'"),
        (one('@number("1.1")\n    @weight(2)\n    @unittest.skip("x")'), "skipped"),
        (one('@number("1.1")\n    @weight(2)\n    @unittest.expectedFailure'), "expectedFailure"),
        (one(head="async def test_it(self)"), "async"),
        (one(body="pass"), "docstring"),
        (one('@number("1.1")\n    @weight(3)'), "3 points, assignment.toml says 2"),
        (one().replace('"1"\n', '"9"\n'), "'9'"),
        ("x = 1", "no checks"),
        ("1 / 0", "ZeroDivisionError"),
        ("def f(:", "SyntaxError"),
        (one() + one().replace("class A", "class B"), "twice"),
        (one('@number("1.1")\n    @weight(1)') + one('@number("1.01")\n    @weight(1)').replace("A(", "B("), "twice"),
    ],
)
def test_what_cannot_be_right_is_refused_at_load(course: Any, checks: str, says: str) -> None:
    """A CourseError that names checks.py and says what was met."""
    with pytest.raises(CourseError, match=r"checks\.py") as caught:
        course(checks)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("mistakes", "says"),
    [
        (
            'MISTAKES = [Mistake("m", question="1", function="double", replace="x", by="y", keeps=0.5, hint="h")]',
            "twice",
        ),
        (
            'MISTAKES = [Mistake("m", question="1", function="double", replace="zz", by="y", keeps=0.5, hint="h")]',
            "0 times",
        ),
        (
            'MISTAKES = [Mistake("m", question="1", function="nope", replace="x", by="y", keeps=0.5, hint="h")]',
            "`nope`",
        ),
        ('MISTAKES = [Mistake("m", question="7", function="double", replace="* 2", by="", keeps=0, hint="h")]', "'7'"),
        (
            'MISTAKES = [Mistake("m", question="1", function="double", replace="* 2", by="", keeps=1, hint="h")]',
            "keeps",
        ),
        ('MISTAKES = [Mistake("m", question="1", function="double", replace="* 2", by="", keeps=0.5)]', "hint"),
        (
            'MISTAKES = [Mistake("m", question="1", function="double", replace="* 2", by="", keeps=0, hint="h")] * 2',
            "twice",
        ),
        ('@mistake(question="1", of="double", keeps=0, hint="h")\ndef m(x): return unheard_of(x)', "unheard_of"),
        ('@mistake(question="1", of="nope", keeps=0, hint="h")\ndef m(x): return x', "`nope`"),
        ("MISTAKES = [3]", "no Mistake"),
    ],
)
def test_a_mistake_that_does_not_fit_the_reference_is_refused(course: Any, mistakes: str, says: str) -> None:
    """Exactly one place, a share, a hint, a name of its own."""
    with pytest.raises(CourseError, match=r"mistakes\.py") as caught:
        course(one(), mistakes=mistakes)
    assert says.replace("twice", "") in str(caught.value)


def test_declared_checks_are_sorted_as_numbers(course: Any) -> None:
    """1.2 comes before 1.10."""
    tiny = course(one('@number("1.10")\n    @weight(1)') + one('@number("1.2")\n    @weight(1)').replace("A(", "B("))
    assert [spec.number for spec in tiny.checks.specs] == ["1.2", "1.10"]
    assert sort_key("1.2") < sort_key("1.10") < sort_key("2.1")


def test_a_check_is_declared_with_what_its_decorators_say(course: Any) -> None:
    """Claim, points, tags, visibility, public."""
    decorators = '@number("1.1")\n    @weight(2)\n    @tags("edge", "long")\n    @visibility("hidden")\n    @public'
    spec = course(one(decorators)).checks.specs[0]
    assert (spec.name, spec.points, spec.tags, spec.public) == ("The claim.", Fraction(2), ("edge", "long"), True)
    assert spec.visibility is Visibility.HIDDEN


def test_two_courses_never_meet_in_sys_modules(course: Any, tmp_path: Any, mini: Any) -> None:
    """Each file is a module of its own path and content; none is called `checks` or `solution`."""
    tiny = course(one())
    assert tiny.checks.source.module is not mini.checks.source.module
    assert not {"checks", "solution", "mistakes"} & {
        name for name in sys.modules if "." not in name and name != "checks"
    }


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), True, "1", None, 1j])
def test_only_finite_numbers_are_points(odd: Any) -> None:
    """Nothing odd becomes a score."""
    with pytest.raises((TypeError, ValueError)):
        exact(odd)


def test_decimals_are_taken_as_they_are_written() -> None:
    """0.1 is a tenth."""
    assert exact(0.1) + exact(0.2) == Fraction(3, 10)
