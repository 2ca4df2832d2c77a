"""reference → student's notebook: what is handed out, what never is, and that it is the same every time."""

from __future__ import annotations

import ast
import io
import json
import os
import re
import stat
import zipfile
from pathlib import Path
from typing import Any

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.assignment import load_assignment
from autograder.errors import CourseError
from autograder.model import Assignment
from autograder.release import blank, derive, filled, notebook_text, release, with_answers
from autograder.solution import Place, SolutionCell, blank_source, solved_source

TOML = """\
title = "A set"
version = "3"
total = 10

[[questions]]
id = "1"
title = "Scale"
points = 4
functions = ["scale"]

[[questions]]
id = "2"
title = "Layer"
points = 4
functions = ["Layer", "apply"]

[[questions]]
id = "H"
title = "By hand"
points = 2
functions = ["hand"]
"""

SOLUTION = '''\
# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% [markdown]
# # A set
#
# Text for the student.

# %% softmark={"role": "given"}
import math

STUDENT_ID = ""

# %% softmark={"role": "hidden"}
def secret_helper(number):
    return number * 7919 + math.floor(number / 3) - 12345

# %% softmark={"role": "answer", "question": "1"}
from math import sqrt

FACTOR = 2.0


def scale(x: float, root: float = sqrt(2)) -> float:  # both are floats
    """The scaled number.

    x: any → x·root.
    """
    # the trick comes first
    wonderful = secret_helper(x) * FACTOR
    return wonderful * root + math.hypot(x, root)
    # and this is why it works


# %% softmark={"role": "public-check", "question": "1"}
assert scale(0.0) is not None

# %% softmark={"role": "answer", "question": "2", "keep": ["__init__"]}
class Layer:
    """Scales."""

    width: int = 3

    def __init__(self, factor: float) -> None:
        self.factor = factor

    @property
    def doubled(self) -> float:
        return self.factor * 2 + self.width ** 2 - 1

    def forward(self, x: float, *, scale=scale) -> float:
        """One step."""
        return scale(x) * self.factor + self.doubled


def apply(
    layer: Layer,
    x: float,
    *args: float,
    times: int = 1,
    scaled=scale,
    **options: float,
) -> float:
    for _ in range(times):
        x = scaled(layer.forward(x)) + sum(args)
    return x


# %% tags=["active-ipynb"] softmark={"role": "demo"}
# %matplotlib inline
# print(scale(1.0))

# %% softmark={"role": "answer", "question": "H"}
hand = {"H1": secret_helper(4), "H2": 17}

# %% [markdown] softmark={"role": "written", "question": "E"}
# Explain.
'''


def write_course(folder: Path, solution: str = SOLUTION, toml: str = TOML) -> Assignment:
    """A course with the assignment `set`."""
    for part in ("assignments", "reference"):
        (folder / part / "set").mkdir(parents=True, exist_ok=True)
    (folder / "assignments" / "set" / "assignment.toml").write_text(toml, encoding="utf-8")
    (folder / "reference" / "set" / "solution.py").write_text(solution, encoding="utf-8")
    return load_assignment(folder, "set")


@pytest.fixture
def assignment(tmp_path: Path) -> Assignment:
    return write_course(tmp_path)


def sources(notebook: Any) -> dict[str, str]:
    return {cell.id: cell.source for cell in notebook.cells}


# ---------------------------------------------------------------------------------------------------------------
# what a student gets


def test_bodies_go_and_signatures_stay(assignment: Assignment) -> None:
    """A function keeps its signature, its docstring and the comment on its line; body and inner comments go."""
    assert sources(derive(assignment))["answer-1-1"] == (
        "from math import sqrt\n\nFACTOR = 2.0\n\n\n"
        "def scale(x: float, root: float = sqrt(2)) -> float:  # both are floats\n"
        '    """The scaled number.\n\n    x: any → x·root.\n    """\n'
        "    raise NotImplementedError"
    )


def test_methods_go_except_the_kept_ones(assignment: Assignment) -> None:
    """In a class every method's body goes but those that the author keeps; fields and decorators stay."""
    source = sources(derive(assignment))["answer-2-1"]
    assert "self.factor = factor" in source
    assert "width: int = 3" in source
    assert "    @property\n    def doubled(self) -> float:\n        raise NotImplementedError" in source
    assert source.count("raise NotImplementedError") == 3


def test_follow_through_parameters_are_not_handed_out(assignment: Assignment) -> None:
    """Keyword-only parameters whose default is a reference function vanish; other keyword-only ones stay."""
    source = sources(derive(assignment))["answer-2-1"]
    assert "def forward(self, x: float) -> float:" in source
    assert "def apply(layer: Layer, x: float, *args: float, times: int = 1, **options: float) -> float:" in source


def test_values_asked_for_are_emptied(assignment: Assignment) -> None:
    """`hand` is an answer although it is no function: its keys show the form, its values go."""
    assert sources(derive(assignment))["answer-H-1"] == 'hand = {"H1": None, "H2": None}'


def test_hidden_cells_are_left_out(assignment: Assignment) -> None:
    """Helpers of the reference are nowhere in the student's notebook."""
    assert "secret_helper" not in notebook_text(derive(assignment))


def test_demo_cells_are_live(assignment: Assignment) -> None:
    """A demo is a comment in the module and code in the notebook, magics included."""
    cells = {cell.id: cell for cell in derive(assignment).cells}
    assert cells["demo-1"].cell_type == "code"
    assert cells["demo-1"].source == "%matplotlib inline\nprint(scale(1.0))"


def test_cells_carry_their_role_and_question(assignment: Assignment) -> None:
    """The tag of each cell says what it is for, and the notebook's says which release it is."""
    notebook = derive(assignment)
    marks = {cell.id: dict(cell.metadata.get("softmark", {})) for cell in notebook.cells}
    assert marks == {
        "text-1": {},
        "given-1": {"role": "given"},
        "answer-1-1": {"role": "answer", "question": "1"},
        "public-check-1-1": {"role": "public-check", "question": "1"},
        "answer-2-1": {"role": "answer", "question": "2"},
        "demo-1": {"role": "demo"},
        "answer-H-1": {"role": "answer", "question": "H"},
        "written-E-1": {"role": "written", "question": "E"},
    }
    assert notebook.metadata.softmark == {"assignment": "set", "version": "3"}


def test_the_notebook_is_valid_and_compiles(assignment: Assignment) -> None:
    """Every editor can open it: valid nbformat 4.5, and all answer cells are Python."""
    notebook = derive(assignment)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    for cell in notebook.cells:
        if cell.cell_type == "code" and "%" not in cell.source:
            ast.parse(cell.source)


def test_untouched_it_is_the_blank_hand_in(assignment: Assignment) -> None:
    """`blank` is what somebody hands in who did nothing."""
    assert blank(assignment) == derive(assignment)


def test_two_releases_are_equal_byte_for_byte(tmp_path: Path) -> None:
    """Nothing in notebook or zip depends on time, folder or order of files."""
    results = []
    for part in ("one", "two"):
        assignment = write_course(tmp_path / part)
        data = assignment.folder / "data"
        data.mkdir()
        for name in ("b.txt", "a.txt") if part == "one" else ("a.txt", "b.txt"):
            (data / name).write_text(name)
            os.utime(data / name, (1e9 + len(results) * 1e6, 1e9))
        done = release(assignment)
        results.append((done.notebook.read_bytes(), done.archive.read_bytes()))
    assert results[0] == results[1]


def test_a_new_cell_moves_no_other_id(tmp_path: Path) -> None:
    """Ids follow from role, question and number, so that a text put in between leaves all answers' ids alone."""
    before = {c.id for c in derive(write_course(tmp_path)).cells}
    longer = SOLUTION.replace(
        '# %% softmark={"role": "given"}', '# %% [markdown]\n# More.\n\n# %% softmark={"role": "given"}'
    )
    assert {c.id for c in derive(write_course(tmp_path, longer)).cells} == before | {"text-2"}


def test_the_zip_holds_notebook_and_data_only(tmp_path: Path) -> None:
    """The hand-out is one folder; settings and hidden files are not in it."""
    assignment = write_course(tmp_path)
    (assignment.folder / "data" / "deep").mkdir(parents=True)
    (assignment.folder / "data" / "deep" / "words.txt").write_text("words")
    with zipfile.ZipFile(io.BytesIO(release(assignment).archive.read_bytes())) as archive:
        assert archive.namelist() == ["set/data/deep/words.txt", "set/set.ipynb"]
        assert {i.date_time for i in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_a_link_in_the_data_is_refused(tmp_path: Path) -> None:
    """A link could point at a hidden file."""
    assignment = write_course(tmp_path)
    (assignment.folder / "data").mkdir()
    (assignment.folder / "data" / "x").symlink_to("/etc/hostname")
    with pytest.raises(CourseError, match="link"):
        release(assignment)


def test_release_makes_the_secret_once(assignment: Assignment) -> None:
    """The first release makes the course's secret, private to its owner; the second leaves it."""
    secret = assignment.reference.parent / ".secret"
    assert release(assignment).made_secret
    content = secret.read_text()
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert not release(assignment).made_secret
    assert secret.read_text() == content


def test_check_writes_nothing_and_lists_differences(assignment: Assignment) -> None:
    """--check names a missing notebook, is silent when all is in step, and shows an edit by hand as a diff."""
    assert release(assignment, check=True).differences == ("set.ipynb: missing",)
    assert not (assignment.folder / "set.ipynb").exists()
    assert not (assignment.reference.parent / ".secret").exists()
    done = release(assignment)
    assert release(assignment, check=True).differences == ()
    edited = done.notebook.read_text().replace("Text for the student.", "Text by hand.")
    done.notebook.write_text(edited)
    differences = "\n".join(release(assignment, check=True).differences)
    assert '-    "Text by hand."' in differences
    assert '+    "Text for the student."' in differences
    assert done.notebook.read_text() == edited


# ---------------------------------------------------------------------------------------------------------------
# planted faults


@pytest.mark.parametrize(
    ("old", "new", "reason", "line"),
    [
        ('{"role": "answer", "question": "1"}', '{"role": "anwser", "question": "1"}', "unknown role 'anwser'", 22),
        ('{"role": "answer", "question": "1"}', '{"rol": "answer", "question": "1"}', "unknown key 'rol'", 22),
        ('# %% softmark={"role": "answer", "question": "1"}', "# %%", "says its role", 22),
        (
            '# %% softmark={"role": "answer", "question": "1"}',
            '# %% softmrk={"role": "answer", "question": "1"}',
            "unknown option 'softmrk'",
            22,
        ),
        ('"answer", "question": "1"}', '"answer" "question": "1"}', "can't be read", 22),
        ('{"role": "answer", "question": "1"}', '{"role": "answer"}', "names its question", 22),
        ('{"role": "answer", "question": "1"}', '{"role": "answer", "question": "9"}', "not in assignment.toml", 22),
        ('{"role": "answer", "question": "1"}', '{"role": "answer", "question": 1}', "must be a string", 22),
        ('{"role": "answer", "question": "1"}', '{"role": "written", "question": "1"}', "does not fit a code cell", 22),
        ('{"role": "given"}', '{"role": "given", "keep": ["x"]}', "answer cell only", 13),
        ('"keep": ["__init__"]', '"keep": ["__inti__"]', "'__inti__' is listed", 42),
        ('"keep": ["__init__"]', '"keep": "__init__"', "list of names", 42),
        ("FACTOR = 2.0\n", "FACTOR = sqrt(2.0)\n", "`FACTOR = sqrt(2.0)` is code outside", 25),
        ("FACTOR = 2.0\n", "print('hello')\n", "`print('hello')` is code outside", 25),
        ("FACTOR = 2.0\n", "for i in range(3): pass\n", "code outside", 25),
        ("FACTOR = 2.0\n", "FACTOR = [n * n for n in (1, 2)]\n", "code outside", 25),
        ("    width: int = 3\n", "    width = len('abc')\n", "code outside", 46),
        ("FACTOR = 2.0\n", "FACTOR = = 2.0\n", "not plain Python", 25),
        ('# %% tags=["active-ipynb"] softmark', "# %% softmark", "active-ipynb", 73),
        ('tags=["active-ipynb"]', 'tags=["active_ipynb"]', "unknown tags", 73),
    ],
)
def test_a_planted_fault_is_refused_with_its_line(tmp_path: Path, old: str, new: str, reason: str, line: int) -> None:
    """A misspelt role, code outside a function and the like stop the release; the error names file, line and cell."""
    assert SOLUTION.count(old) == 1
    assignment = write_course(tmp_path, SOLUTION.replace(old, new))
    with pytest.raises(CourseError, match=re.escape(reason)) as caught:
        release(assignment)
    assert caught.value.where == f"{assignment.reference / 'solution.py'}:{line}"
    assert re.fullmatch(r"cell \d+", caught.value.key or "")
    assert not (assignment.folder / "set.ipynb").exists()


def test_two_answers_for_one_question_are_refused(tmp_path: Path) -> None:
    """The second answer cell of a question is named, and the first one too."""
    second = '\n# %% softmark={"role": "answer", "question": "1"}\ndef other():\n    return 1\n'
    with pytest.raises(CourseError, match=r"question 1 has two answer cells.*cell 4 \(line 22\)"):
        derive(write_course(tmp_path, SOLUTION + second))


def test_one_function_in_two_cells_is_refused(tmp_path: Path) -> None:
    """The same name in two answer cells would make the order decide."""
    twice = SOLUTION.replace("def apply(", "def scale(x):\n    return 1\n\n\ndef apply(")
    with pytest.raises(CourseError, match="`scale` is defined in cell 4 too"):
        derive(write_course(tmp_path, twice))


def test_a_missing_function_is_refused(tmp_path: Path) -> None:
    """A function that assignment.toml asks for is in the answer cell of its question."""
    with pytest.raises(CourseError, match="no answer cell defines `missing`"):
        derive(write_course(tmp_path, toml=TOML.replace('["scale"]', '["scale", "missing"]')))
    with pytest.raises(CourseError, match="`apply` belongs to question 1"):
        derive(
            write_course(
                tmp_path,
                toml=TOML.replace('["scale"]', '["scale", "apply"]').replace(
                    ', "apply"]\n\n[[questions]]\nid = "H"', ']\n\n[[questions]]\nid = "H"'
                ),
            )
        )


BODY = "    wonderful = secret_helper(x) * FACTOR\n    return wonderful * root + math.hypot(x, root)\n"


@pytest.mark.parametrize(
    "leak",
    [
        pytest.param(f'# %% softmark={{"role": "given"}}\ndef other(x, root):\n{BODY}', id="function in a given cell"),
        pytest.param(
            '# %% softmark={"role": "given"}\nx = root = 1.0\nwonderful = 3.0\n'
            "y = wonderful*root+math.hypot(x,root)   # other layout",
            id="one expression",
        ),
        pytest.param(
            '# %% tags=["active-ipynb"] softmark={"role": "demo"}\n# wonderful = 3.0\n'
            "# print( wonderful * root + math.hypot(x,  root) )",
            id="inside a call in a demo",
        ),
        pytest.param(
            f"# %% [markdown]\n# ```python\n# def solved(x, root):\n{BODY.replace('    ', '#     ')}# ```",
            id="fenced block",
        ),
        pytest.param(
            "# %% [markdown]\n# Return wonderful * root + math.hypot(x, root). That is: \n"
            "# return  wonderful*root + math.hypot(x, root)",
            id="line in a text",
        ),
        pytest.param('# %% softmark={"role": "given"}\n%time 1\ndef other(x, root):\n' + BODY, id="beside a magic"),
    ],
)
def test_a_solution_left_in_a_public_cell_is_refused(tmp_path: Path, leak: str) -> None:
    """Wherever a piece of a solution stands in the student's notebook, in whatever layout, nothing is written."""
    assignment = write_course(tmp_path, f"{SOLUTION}\n{leak}\n")
    with pytest.raises(CourseError, match=r"set\.ipynb, cell 9: holds .* of the reference's scale"):
        release(assignment)
    assert not (assignment.folder / "set.ipynb").exists()


@pytest.mark.parametrize("name", ["helper.py", "notes.md", "data/old.ipynb", "data/x.txt"])
def test_a_solution_in_another_public_file_is_refused(tmp_path: Path, name: str) -> None:
    """The whole public folder is searched, other notebooks and texts too."""
    assignment = write_course(tmp_path)
    path = assignment.folder / name
    path.parent.mkdir(exist_ok=True)
    text = f"def solved(x, root):\n{BODY}"
    if name.endswith(".ipynb"):
        text = json.dumps({"cells": [{"cell_type": "code", "source": text.splitlines(keepends=True)}]})
    path.write_text(text)
    with pytest.raises(CourseError, match=re.escape(name)):
        release(assignment)


def test_a_hidden_check_in_a_public_file_is_refused(tmp_path: Path) -> None:
    """Code of a hidden check may not be handed out; a check marked @public may."""
    check = (
        "    def test_it(self):\n"
        "        for x in self.draws(lots, times=31):\n"
        "            self.agree('scale', x, 4711)\n"
    )
    cell = '\n# %% softmark={"role": "given"}\nclass Stolen:\n' + check
    assignment = write_course(tmp_path, SOLUTION + cell)
    checks = assignment.reference / "checks.py"
    checks.write_text("class Q:\n" + check)
    with pytest.raises(CourseError, match="hidden check test_it"):
        release(assignment)
    checks.write_text("class Q:\n    @public\n" + check)
    assert release(assignment).notebook.exists()


def test_an_alternative_in_a_public_file_is_refused(tmp_path: Path) -> None:
    """Other right answers are as secret as the reference."""
    body = "    total = sum(abs(n - 17) ** 3 for n in (x, root))\n    return total / 4711\n"
    assignment = write_course(tmp_path, f'{SOLUTION}\n# %% softmark={{"role": "given"}}\ndef f(x, root):\n{body}')
    (assignment.reference / "alternatives.py").write_text(f"def other(x, root):\n{body}")
    with pytest.raises(CourseError, match="the alternative other"):
        release(assignment)


def test_an_import_that_both_sides_need_is_no_leak(tmp_path: Path) -> None:
    """Alternatives import inside their bodies what the student's notebook imports on top."""
    line = "from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed"
    assignment = write_course(tmp_path, SOLUTION.replace("import math\n", f"import math\n{line}\n"))
    (assignment.reference / "alternatives.py").write_text(f"def other(x):\n    {line}\n    return x\n")
    assert release(assignment).notebook.exists()


def test_kept_methods_are_no_leak(tmp_path: Path) -> None:
    """What an author keeps on purpose may stand in public."""
    long = "self.factor = factor * 2 + factor ** 3 - math.floor(factor / 7)"
    solution = SOLUTION.replace("self.factor = factor", long)
    assert release(write_course(tmp_path, solution)).notebook.exists()
    with pytest.raises(CourseError, match="__init__"):
        release(
            write_course(
                tmp_path,
                solution.replace(', "keep": ["__init__"]', "")
                + f'\n# %% softmark={{"role": "given"}}\ndef g(self, factor):\n    {long}\n',
            )
        )


# ---------------------------------------------------------------------------------------------------------------
# filled notebooks


def run(notebook: Any) -> dict[str, Any]:
    """The names that a notebook's code defines, run as plain Python."""
    names: dict[str, Any] = {}
    for cell in notebook.cells:
        if cell.cell_type == "code" and not cell.id.startswith("demo"):
            exec(compile(cell.source, cell.id, "exec"), names)
    return names


def test_the_filled_notebook_runs_and_has_the_students_signatures(assignment: Assignment) -> None:
    """Bodies are there, follow-through parameters are not, and a renamed one still finds its function."""
    names = run(filled(assignment))
    assert names["hand"]["H2"] == 17
    layer = names["Layer"](2.0)
    scale = names["scale"]
    assert layer.forward(1.0) == scale(1.0) * 2.0 + layer.doubled
    assert names["apply"](layer, 1.0) == scale(layer.forward(1.0))
    assert "scaled" not in names["apply"].__code__.co_varnames[: names["apply"].__code__.co_argcount + 1]


def test_answers_can_be_exchanged_by_function_question_or_constant(assignment: Assignment) -> None:
    """Mistakes and alternatives become notebooks: one function, a whole cell, or a value is put in."""
    answers = {"scale": "def scale(x):\n    return 3.0", "hand": 'hand = {"H1": 1, "H2": 2}'}
    names = run(with_answers(assignment, answers))
    assert names["scale"](1) == 3.0
    assert names["FACTOR"] == 2.0
    assert names["hand"] == {"H1": 1, "H2": 2}
    helped = run(with_answers(assignment, {"secret_helper": "def secret_helper(number):\n    return 1.0"}))
    assert helped["hand"]["H1"] == 1.0
    whole = run(with_answers(assignment, {"1": "def scale(x):\n    return 4.0\n"}))
    assert whole["scale"](1) == 4.0
    assert "FACTOR" not in whole


def test_a_mistake_under_its_own_name_gets_the_functions_name(assignment: Assignment) -> None:
    """A whole-function mistake is written under a name of its own, with a decorator and follow-through parameters."""
    source = (
        "@mistake(\n    question='1', of='scale',\n)\n@staticmethod\ndef wrong(x, *, helper=scale):\n    return 5.0\n"
    )
    notebook = with_answers(assignment, {"scale": source})
    answer = sources(notebook)["answer-1-1"]
    assert "@mistake" not in answer
    assert "@staticmethod\ndef scale(x):\n    helper = scale\n    return 5.0" in answer


def test_an_answer_for_nothing_is_refused(assignment: Assignment) -> None:
    """A key that no answer cell defines is an error, not a notebook without the mistake."""
    with pytest.raises(CourseError, match="no answer cell defines nothing"):
        with_answers(assignment, {"nothing": "x = 1"})


# ---------------------------------------------------------------------------------------------------------------
# the cuts in general

BODIES = [
    "page = 'a\x0cb\u2028c\x85d'\n    return page",
    "return x",
    "y = x\n    return y",
    "if x:\n        return 1\n    return 2",
    "text = '''a\nb  # not a comment\n'''\n    return text",
    "return (x +\n1)",
    "...",
    "pass  # nothing",
]
HEADS = [
    "def f(x):",
    "async def f(x: int = 3, /, *rest) -> 'a: b':",
    "@cached\n@other(1)\ndef f(x, y=lambda z: {1: z}, *, key=(1, 2)): # why",
    "def f(\n    x,  # first\n    y,\n) -> dict[str, int]:",
]
DOCSTRINGS = ["", '"""One line: ünïcode."""', '"""Two.\n\n    Lines.\n    """', "'short'"]


@given(
    head=st.sampled_from(HEADS),
    body=st.sampled_from(BODIES),
    docstring=st.sampled_from(DOCSTRINGS),
    comment=st.sampled_from(["", "    # left over\n", "\n        # deeper\n    # more\n"]),
    after=st.sampled_from(["", "\n\nX = 1\n", "# below\n\n\ndef g(a):\n    return a\n"]),
)
def test_every_body_becomes_the_stub_and_nothing_else_changes(
    head: str, body: str, docstring: str, comment: str, after: str
) -> None:
    """For any layout: signature, decorators and docstring are as before, the body is the stub, the rest untouched."""
    source = f"{head}\n    {docstring + chr(10) + '    ' if docstring else ''}{body}\n{comment}{after}"
    cell = SolutionCell("code", source, "answer", Place(Path("s.py"), 1, 1), "1")
    cut = blank_source(cell, {"f"})
    before, behind = ast.parse(cell.source), ast.parse(cut)
    assert len(before.body) == len(behind.body)
    one, two = before.body[0], behind.body[0]
    assert isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
    assert isinstance(two, ast.FunctionDef | ast.AsyncFunctionDef)
    assert ast.get_docstring(one) == ast.get_docstring(two)
    one.body = two.body = [ast.Pass()]
    assert ast.dump(one) == ast.dump(two)
    assert "left over" not in cut
    assert "deeper" not in cut
    assert ("X = 1" in cut) == ("X = 1" in source)
    assert ("# below" in cut) == ("# below" in source)


PARAMETERS = ["a", "b: int = 2", "*rest", "*", "c=3", "own=ref", "same: object = same", "**more"]


@given(chosen=st.sets(st.sampled_from(range(len(PARAMETERS)))), lines=st.booleans(), trailing=st.booleans())
def test_only_follow_through_parameters_go(chosen: set[int], lines: bool, trailing: bool) -> None:
    """Whatever else a signature holds, exactly the keyword-only defaults of the reference go, and it still compiles."""
    names = [PARAMETERS[i] for i in sorted(chosen)]
    joint = ",\n    " if lines else ", "
    comma = "," if trailing and names and not names[-1].startswith("**") and names[-1] != "*" else ""
    source = f"def f({joint.join(names)}{comma}):\n    return 1\n"
    try:
        before = ast.parse(source).body[0]
    except SyntaxError:
        return
    assert isinstance(before, ast.FunctionDef)
    after = ast.parse(solved_source(source, Place(Path("s.py"), 1, 1), {"ref", "same"})).body[0]
    assert isinstance(after, ast.FunctionDef)
    keyword_only = [a.arg for a in before.args.kwonlyargs if a.arg not in ("own", "same")]
    assert [a.arg for a in after.args.kwonlyargs] == keyword_only
    assert [a.arg for a in after.args.args] == [a.arg for a in before.args.args]
    assert (after.args.vararg is None, after.args.kwarg is None) == (
        before.args.vararg is None,
        before.args.kwarg is None,
    )
