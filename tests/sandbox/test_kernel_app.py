"""The kernel without subshells, heartbeat and network does what a stock one does with a cell."""

from __future__ import annotations

import ast
import time
from pathlib import Path

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.inputtransformer2 import TransformerManager

from autograder.sandbox import Sandbox

from .student import Raised, Student

pytestmark = pytest.mark.level_a


def test_a_cell_may_await(sandbox: Sandbox) -> None:
    """Coroutines, sleeps and tasks are awaited at the top level of a cell, and what they give stays."""
    with Student(sandbox.spawn()) as student:
        student.run("import asyncio\nasync def double(x):\n    await asyncio.sleep(0.01)\n    return 2 * x")
        assert student.run("a = await double(4)", "a") == 8
        assert student.run("b = sum(await asyncio.gather(double(1), double(2)))", "a + b") == 14
        with pytest.raises(Raised, match="RuntimeError"):
            student.run("asyncio.run(double(1))")
        assert student.run("a = await double(5)", "a") == 10


def test_an_interrupt_ends_what_is_awaited_and_the_kernel_lives_on(sandbox: Sandbox) -> None:
    """SIGINT cancels a cell that awaits for ever, and no other."""
    kernel = sandbox.spawn()
    with Student(kernel) as student:
        student.run("import asyncio\nx = 41")
        student.start("await asyncio.sleep(1000)")
        time.sleep(0.3)
        kernel.interrupt()
        with pytest.raises(Raised, match="CancelledError"):
            student.finish(5)
        assert student.run("x += 1", "x") == 42


NOTEBOOKS = sorted((Path(__file__).parents[2] / "assignments").glob("*/*.ipynb"))
#: pieces that stand near what IPython transforms
PIECES = (
    *("x", "a = 1", "a %b", "a % b", "!", "!ls", "%time x", "%%time", "x = %time y", "x = !ls", "f?", "?f", "f??"),
    *("/f x", ";f x", ",f x", "(", ")", "[", "]", "%t", "\n", "\n    ", "\n\n", "if a:", "'''", '"""', "'%time'"),
    *("\\\n", "#?", "...", "def f(): pass", "await x", "lambda: 0", "f(a,\n%b)", "f(a,\n!b)", "[a\n?b]", "a@b", "a; b"),
)


def by_tokens(code: str) -> str:
    manager = TransformerManager()
    return "".join(manager.do_token_transforms(code.splitlines(keepends=True)))


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map(" ".join))
def test_what_is_python_already_holds_nothing_to_transform(code: str) -> None:
    """IPython's transformation by tokens leaves every cell that compiles as it is, so a kernel may skip it."""
    code += "\n"
    try:
        ast.parse(code)
    except (SyntaxError, ValueError):
        return
    assert by_tokens(code) == code


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_courses_own_cells_hold_nothing_to_transform(path: Path) -> None:
    """As above, for cells as they are written."""
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code":
            assert by_tokens(cell.source + "\n") == cell.source + "\n"


TREE = """
import ast
class Up(ast.NodeTransformer):
    def visit_Constant(self, node):
        return ast.copy_location(ast.Constant(node.value + 10), node) if type(node.value) is int else node
shell.ast_transformers.append(Up())
"""
TOKENS = """
from IPython.core.inputtransformer2 import TokenTransformBase
class Three(TokenTransformBase):
    @classmethod
    def find(cls, lines):
        for line in lines:
            for token in line:
                if token.string == "THREE":
                    return cls(token.start)
    def transform(self, lines):
        lines[self.start_line] = lines[self.start_line].replace("THREE", "3")
        return lines
manager.token_transformers.append(Three)
"""


def test_transformers_of_the_students_own_still_act(sandbox: Sandbox) -> None:
    """On lines, after the stock ones, on the tree and on tokens; magics, too, and one cell twice."""
    with Student(sandbox.spawn()) as student:
        student.run("shell = get_ipython()\nmanager = shell.input_transformer_manager")
        student.run("manager.cleanup_transforms.append(lambda lines: [l.replace('ONE', '1') for l in lines])")
        assert student.run("a = ONE", "a") == 1
        student.run("shell.input_transformers_post.append(lambda lines: [l.replace('TWO', '2') for l in lines])")
        assert student.run("a = ONE + TWO", "a") == 3
        student.run(TREE)
        assert student.run("b = 5", "b") == 15
        assert student.run("b = 5", "b") == 15
        student.run("shell.ast_transformers.clear()")
        assert student.run("c = %time 7", "c") == 7
        assert student.run("%%capture text\nprint('shown')", "text.stdout") == "shown\n"
        student.run(TOKENS)
        assert student.run("d = THREE", "d") == 3


def test_a_warning_of_the_compiler_is_told_once_and_from_its_cell(sandbox: Sandbox) -> None:
    """A cell is read once, and what Python says about its text is said when it runs."""
    with Student(sandbox.spawn()) as student:
        student.run("import io, sys, warnings\nwarnings.simplefilter('always')")
        student.run("stderr, sys.stderr = sys.stderr, io.StringIO()")
        told = student.run("pattern = '\\d'\nkept, sys.stderr = sys.stderr.getvalue(), stderr", "kept")
        assert told.count("invalid escape sequence") == 1
        assert "ipykernel_" in told


def test_standard_output_is_as_libraries_know_it(sandbox: Sandbox) -> None:
    """The names of classes that tqdm and others look for."""
    with Student(sandbox.spawn()) as student:
        names = "[type(x).__name__ for x in (sys.stdout, sys.stderr, get_ipython())]"
        assert student.run("import sys", names) == ["OutStream", "OutStream", "ZMQInteractiveShell"]
