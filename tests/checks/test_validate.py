"""The grader is graded, and so is the grading of the grader: planted weaknesses must be found."""

from __future__ import annotations

import ast
import multiprocessing
from collections.abc import Sequence
from typing import Any

import pytest

from autograder.checks import LocalSession
from autograder.checks.explain import explain_check
from autograder.checks.mutants import mutants
from autograder.errors import CourseError
from autograder.model import Outcome, Verdict
from autograder.validate import STUDENT, Row, Variant, validate

from .conftest import NOTHING_RAN, SECRET


def check(times: int = 4, body: str = 'self.agree("double", x)') -> str:
    return f'''
class A(Question):
    question = "1"
    @number("1.1")
    @weight(2)
    def test_it(self):
        """The claim."""
        for (x,) in self.draws(vectors, times={times}):
            {body}
'''


TRIPLES = 'Mistake("triples", question="1", function="double", replace="x * 2", by="x * 3", keeps=0.5, hint="h")'


def failures(tiny: Any, **options: Any) -> list[Row]:
    return list(validate(tiny.checks, secret=SECRET, **options).failures)


def test_the_mini_course_is_well_on_several_seeds(mini: Any) -> None:
    """Reference, empty answer, mistakes, pairs, alternatives, mutants."""
    found = validate(mini.checks, secret=SECRET, seeds=[None, 1, 2])
    assert found.failures == ()
    for kind in ("reference", "empty", "mistake", "pair", "alternative", "mutants"):
        well, tried = found.share(kind)
        assert well == tried > 0


def test_several_seeds_at_once_find_the_same(mini: Any) -> None:
    """The same rows in the same order, in this process and in three forks of it, mutants included."""
    seeds = [None, 1, 2, 3, 4]
    alone = validate(mini.checks, secret=SECRET, seeds=seeds)
    told: list[Row] = []
    at_once = validate(mini.checks, secret=SECRET, seeds=seeds, jobs=3, on_rows=told.extend)
    assert tuple(told) == at_once.rows == alone.rows
    assert {row.seed for row in told if row.kind == "pair"} == set(seeds)
    assert multiprocessing.active_children() == []


def test_pairs_can_be_left_out(mini: Any) -> None:
    """Everything else is tried as before."""
    found = [validate(mini.checks, secret=SECRET, mutants=0, pairs=pairs).rows for pairs in (True, False)]
    assert {row.kind for row in found[0]} - {row.kind for row in found[1]} == {"pair"}
    assert [row for row in found[0] if row.kind != "pair"] == list(found[1])


def test_a_mistake_that_no_check_notices_is_found(course: Any) -> None:
    """A contract alone can't see a wrong factor."""
    tiny = course(check(body='self.contract("double", x)'), mistakes=f"MISTAKES = [{TRIPLES}]")
    rows = failures(tiny, mutants=0)
    assert any(row.kind == "mistake" and "not noticed" in row.detail and row.checks == ("1.1",) for row in rows)


def test_two_mistakes_that_look_alike_are_found_unless_the_author_says_why(course: Any) -> None:
    """`Same` names them as one."""
    twin = 'Mistake("adds", question="1", function="double", replace="x * 2", by="x + 2 * x", keeps=0.5, hint="h")'
    tiny = course(check(), mistakes=f"MISTAKES = [{TRIPLES}, {twin}]")
    assert any(row.kind == "equal" for row in failures(tiny, mutants=0))
    excused = course(
        check(), mistakes=f'MISTAKES = [{TRIPLES}, {twin}, Same(("triples", "adds"), reason="3x = x + 2x")]'
    )
    assert failures(excused, mutants=0) == []


def test_a_mistake_that_is_no_mistake_is_found(course: Any) -> None:
    """It equals the reference: it belongs to the alternatives."""
    same = 'Mistake("sum", question="1", function="double", replace="x * 2", by="x + x", keeps=0.5, hint="h")'
    kinds = {row.kind for row in failures(course(check(), mistakes=f"MISTAKES = [{same}]"), mutants=0)}
    assert kinds == {"mistake", "equal"}


def test_a_wrong_alternative_is_found(course: Any) -> None:
    """With the points that it loses."""
    tiny = course(check(), alternatives='ALTERNATIVES = [Alternative("1", "wrong", source="def double(x): return x")]')
    rows = failures(tiny, mutants=0)
    assert [(row.kind, row.name, row.detail) for row in rows] == [("alternative", "wrong", "loses 2 points")]


def test_a_check_that_an_empty_answer_passes_is_found(course: Any) -> None:
    """Points for nothing."""
    rows = failures(course(check(body="pass")), mutants=0)
    assert [row.kind for row in rows] == ["empty"]


def test_a_check_that_its_reference_fails_is_found(course: Any) -> None:
    """Nobody could get these points."""
    tiny = course(check(body='self.expect(False, "Never.")'))
    assert "reference" in {row.kind for row in failures(tiny, mutants=0)}


@pytest.mark.parametrize("value", ["chr(0xD800)", "2**63", "[0] * 10**6", "{1: 2}"])
def test_a_sweep_refuses_what_a_kernel_could_not_send(course: Any, value: str) -> None:
    """An answer that no hand-in could give is no right answer, although it equals the reference's here."""
    tiny = course(check(), solution=f"def double(x):\n    return {value}\n")
    assert {(row.kind, row.ok) for row in failures(tiny, mutants=0)} == {("reference", False)}


def test_a_sweep_takes_any_text_that_a_kernel_can_send(course: Any) -> None:
    """NUL among them, which some right answers hold."""
    assert failures(course(check(), solution='def double(x):\n    return "a\\0" + str(x.tolist())\n'), mutants=0) == []


def test_weak_checks_let_mutants_live(course: Any) -> None:
    """Survivors are listed; below 99 % the validation fails."""
    tiny = course(check(body='self.contract("double", x)'))
    found = validate(tiny.checks, secret=SECRET)
    assert any(row.kind == "survivor" and "double" in row.name for row in found.rows)
    assert [row.kind for row in found.failures] == ["mutants"]
    assert failures(course(check())) == []


def test_so_many_mutants_are_tried_as_wanted(course: Any) -> None:
    """Spread over the text, never more than asked for; none with 0."""
    tiny = course(check())

    def tried(most: int | None) -> int:
        rows = [row for row in validate(tiny.checks, secret=SECRET, mutants=most).rows if row.kind == "mutants"]
        return int(rows[0].detail.split()[2]) if rows else 0

    every = tried(None)
    assert every > 1
    assert tried(0) == 0
    assert all(1 <= tried(most) <= most for most in range(1, every))
    assert tried(every) == tried(every + 7) == every


def test_values_that_no_check_compares_tell_nothing_apart(course: Any) -> None:
    """Two mistakes that differ in the values of a contract's call only are one to every check."""
    mistakes = """
MISTAKES = [
    Mistake("two", question="1", function="double", replace="2 * x", by="2.5 if x == 50 else x", keeps=0, hint="h"),
    Mistake("three", question="1", function="double", replace="2 * x", by="3.5 if x == 50 else x", keeps=0, hint="h"),
]
"""
    solution = "def double(x):\n    return 2 * x\n"
    asked = course(check(body='self.contract("double", 50)'), solution=solution, mistakes=mistakes)
    assert "equal" in {row.kind for row in failures(asked, mutants=0)}
    compared = course(check(body='self.agree("double", 50)'), solution=solution, mistakes=mistakes)
    assert "equal" not in {row.kind for row in failures(compared, mutants=0)}


def test_each_variant_can_be_graded_once_for_real(mini: Any) -> None:
    """The callback gets the text of a whole hand-in; its outcomes are held to the same rows."""
    seen: list[Variant] = []

    def grade(variant: Variant) -> Sequence[Outcome]:
        seen.append(variant)
        space = mini.checks.source.namespace(variant.change)
        space["hand"] = dict(variant.hand)
        return mini.run(LocalSession(space), student_id=STUDENT).outcomes

    found = validate(mini.checks, secret=SECRET, mutants=0, grade_variant=grade)
    assert found.ok
    assert len({(variant.kind, variant.name) for variant in seen}) == len(seen) > 10
    for variant in seen:
        assert ast.parse(variant.text)
    assert any(row.kind == "sandbox mistake" for row in found.rows)


def test_separating_draws_part_every_pair(course: Any) -> None:
    """Two mistakes that differ on few inputs only are told apart all the same."""
    solution = "def double(x):\n    return 1 if x > 97 else 0\n"
    mistakes = """
MISTAKES = [
    Mistake("ge", question="1", function="double", replace="x > 97", by="x >= 97", keeps=0.5, hint="h"),
    Mistake("never", question="1", function="double", replace="x > 97", by="x > 200", keeps=0.5, hint="h"),
]
"""
    checks = '''
def numbers(draw):
    return (draw.randrange(100),)
class A(Question):
    question = "1"
    @number("1.1")
    @weight(2)
    def test_it(self):
        """The claim."""
        for (x,) in self.separating(numbers, "double", pool=POOL):
            self.agree("double", x)
'''
    tiny = course(checks.replace("POOL", "400"), solution=solution, mistakes=mistakes)
    assert failures(tiny, mutants=0) == []
    few = course(checks.replace("POOL", "4"), solution=solution, mistakes=mistakes)
    assert {"draws", "mistake"} <= {row.kind for row in failures(few, mutants=0)}


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    '''Doc.'''\n    return x + 1\n",
        "def f(x: int = 3, *, g=len) -> int:\n    if x < 2 and not x:\n        x += 1\n    return -x @ 2.5\n",
        "class C:\n    def f(self):\n        for i in range(3):\n            continue\n        return [1, True]\n",
    ],
)
def test_mutants_are_python_and_differ_from_the_text(text: str) -> None:
    """Docstrings, annotations and signatures stay."""
    found = mutants("f", text)
    assert found
    for mutant in found:
        assert ast.unparse(ast.parse(mutant.text)) != ast.unparse(ast.parse(text))
        assert ("Doc." in mutant.text) == ("Doc." in text)
        assert "g=len" in mutant.text or "g=len" not in text
    assert len({mutant.text for mutant in found}) == len(found)


def test_explain_shows_staff_inputs_values_and_the_nearest_mistakes(mini: Any) -> None:
    """Everything that a student's report leaves out."""
    hypothesis = next(h for h in mini.checks.hypotheses if h.name == "by-d")
    session = LocalSession(mini.checks.source.namespace(hypothesis.change))
    found = explain_check(mini.checks, session, NOTHING_RAN, "2.1", secret=SECRET)
    assert found.outcome.verdict is Verdict.FAILED
    assert len(found.asked) == 4
    assert all(asked.distance and asked.distance > 1e-6 for asked in found.asked)
    assert (found.candidates[0].name, found.candidates[0].fits) == ("by-d", True)
    assert not any(candidate.fits for candidate in found.candidates[1:])
    with pytest.raises(CourseError, match=r"no check '7\.7'"):
        explain_check(mini.checks, session, NOTHING_RAN, "7.7", secret=SECRET)
