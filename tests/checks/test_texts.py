"""What a student reads says what went wrong in their notebook, not in the grader's plan."""

from __future__ import annotations

from typing import Any

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder.checks import LocalSession
from autograder.checks.texts import cell_sentence
from autograder.model import CellRecord, CellStatus, Isolation, Level, Outcome, Reason, Run, Verdict

FLOWS = '''
from autograder.plan import Call, Gradients, Leaf, Plan

class A(Question):
    question = "1"
    @number("1.1")
    @weight(2)
    def test_flows(self):
        """The gradient flows through."""
        weights = torch.arange(1.0, 4.0)
        steps = (Call("out", "double", (Leaf(torch.ones(3), "x"),)), Gradients("found", "out", ("x",), weights))
        self.agree_plan(Plan(steps, "found", "double"))
'''


def said(outcome: Outcome) -> str:
    return " ".join(text for _, text in outcome.explanation)


@pytest.mark.parametrize(
    ("body", "reason", "words"),
    [
        ("return (x * 2).tolist()", Reason.TYPE, "which only a tensor has"),
        ("return (x * 2).detach().numpy()", Reason.TYPE, "which only a tensor has"),
        ("return (x * 2).detach()", Reason.TYPE, "No gradient reaches the input"),
        ("return torch.tensor([2.0, 2.0, 2.0])", Reason.TYPE, "No gradient reaches the input"),
        ("return (x * 2)[:2]", Reason.SHAPE, "its gradient can't be compared"),
        ("y = x.exp(); z = y * 1; y += 1; return y", Reason.RAISED, "taking the gradient of it failed"),
        ("x += x; return x", Reason.RAISED, "Make a new one"),
        ("raise TypeError('mine')", Reason.RAISED, "Your code raised TypeError"),
    ],
)
def test_a_gradient_that_can_not_be_had_is_explained(course: Any, body: str, reason: Reason, words: str) -> None:
    """Whoever returns no tensor, or cuts the gradient off, reads that; nobody reads of an exception that is ours."""
    tiny = course(FLOWS)
    namespace = tiny.namespace({"double": f"def double(x):\n    {body}"})
    outcome = tiny.outcomes(LocalSession(namespace))["1.1"]
    assert (outcome.verdict, outcome.reason) == (Verdict.FAILED, reason)
    assert words in said(outcome)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("yield x * 2", "yields its values one by one"),
        ("return x.mul", "parentheses missing"),
        ("return lambda: x", "parentheses missing"),
        ("return ...", "not there yet"),
    ],
)
def test_a_slip_that_returns_no_result_is_explained(course: Any, body: str, words: str) -> None:
    """A generator, a method without its parentheses, an ellipsis: the usual reason is told beside the type."""
    tiny = course(FLOWS.replace('steps, "found"', 'steps[:1], "out"'))
    outcome = tiny.outcomes(LocalSession(tiny.namespace({"double": f"def double(x):\n    {body}"})))["1.1"]
    assert (outcome.verdict, outcome.reason) == (Verdict.FAILED, Reason.NOT_PLAIN)
    assert words in said(outcome)


def test_a_function_that_stands_in_a_text_cell_is_found_there(course: Any) -> None:
    """The check names the text cell, and does not say that there is no such function."""
    tiny = course(FLOWS)
    cells = [
        new_code_cell("import torch"),
        new_markdown_cell("def double(x):\n    return x * 2", metadata={"softmark": {"cell": 4}}),
    ]
    run = Run((), new_notebook(cells=cells), Isolation(Level.C, ()))
    namespace = {name: value for name, value in tiny.namespace().items() if name != "double"}
    outcome = tiny.outcomes(LocalSession(namespace), run)["1.1"]
    assert (outcome.verdict, outcome.reason) == (Verdict.BLOCKED, Reason.NOT_DEFINED)
    assert "`double` stands in cell 4, which is a text cell" in said(outcome)
    assert "There is no" not in said(outcome)


def test_a_cell_that_stopped_is_told_in_whole_sentences() -> None:
    """A cell that Python can't read, one that raised, one that ran too long: each says what to do where."""
    cases = {
        ("SyntaxError", 3): "Python can't read cell 7 (Q3), which should define `f`: SyntaxError in line 3. "
        "Repair that cell.",
        ("NameError", 2): "cell 7 (Q3), which should define `f`, stopped before it did: NameError in line 2. "
        "Repair that cell.",
        (None, None): "cell 7 (Q3), which should define `f`, stopped before it did: an error. Repair that cell.",
    }
    for (name, line), sentence in cases.items():
        record = CellRecord(6, "c", CellStatus.ERROR, 0.1, label="cell 7 (Q3)", ename=name, line=line)
        assert cell_sentence(record, "f") == sentence
    slow = CellRecord(6, "c", CellStatus.TIME, 0.1, label="cell 7 (Q3)")
    assert "did not end within its time" in cell_sentence(slow, "f")
