"""Hand-in → notebook to run: every kind of file that people hand in, and every way to touch the course's cells."""

from __future__ import annotations

import base64
import copy
import json
import random
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.assignment import load_assignment
from autograder.errors import SubmissionError
from autograder.lean import lean
from autograder.model import Assignment, Edit, Note, Submission
from autograder.pysource import look_alike, parse_cell
from autograder.release import derive, filled, notebook_text
from autograder.sanitise import sanitise

TOML = """\
title = "Two questions"
version = "2"
total = 10

[[questions]]
id = "1"
title = "Double"
points = 5
functions = ["double"]

[[questions]]
id = "2"
title = "Shift"
points = 5
functions = ["shift", "Shifter"]
"""

SOLUTION = """\
# %% [markdown]
# # Two questions

# %% softmark={"role": "given"}
import math

STUDENT_ID = ""

# %% [markdown]
# ## Q1

# %% softmark={"role": "answer", "question": "1"}
def double(x):
    return x + x

# %% softmark={"role": "public-check", "question": "1"}
assert double(2) == 4

# %% softmark={"role": "given", "question": "2"}
class Table:
    rows = (1, 2, 3)

# %% softmark={"role": "answer", "question": "2"}
def shift(x):
    return math.floor(x) + 1

class Shifter:
    def move(self, x):
        return shift(x)

# %% softmark={"role": "public-check", "question": "2"}
assert shift(1.5) == 2

# %% [markdown] softmark={"role": "written", "question": "E"}
# Explain.
"""

KEYS = ("given-1", "answer-1-1", "public-check-1-1", "given-2-1", "answer-2-1", "public-check-2-1")


@pytest.fixture(scope="module")
def assignment(tmp_path_factory: pytest.TempPathFactory) -> Assignment:
    folder = tmp_path_factory.mktemp("course")
    for part in ("assignments", "reference"):
        (folder / part / "two").mkdir(parents=True)
    (folder / "assignments" / "two" / "assignment.toml").write_text(TOML, encoding="utf-8")
    (folder / "reference" / "two" / "solution.py").write_text(SOLUTION, encoding="utf-8")
    return load_assignment(folder, "two")


@pytest.fixture(scope="module")
def released(assignment: Assignment) -> Any:
    return derive(assignment)


@pytest.fixture
def answered(assignment: Assignment) -> Any:
    """A fresh hand-in with both answers, as plain JSON values."""
    return json.loads(notebook_text(filled(assignment)))


class Result:
    """What sanitising gave, for asking questions."""

    def __init__(self, values: tuple[Any, tuple[Edit, ...], tuple[Note, ...]]) -> None:
        self.notebook, self.edits, self.notes = values

    @property
    def ids(self) -> list[str]:
        return [cell.id for cell in self.notebook.cells]

    def __getitem__(self, id: str) -> Any:
        return next(cell for cell in self.notebook.cells if cell.id == id)

    def mark(self, id: str) -> dict[str, Any]:
        return dict(self[id].metadata.get("softmark", {}))

    @property
    def texts(self) -> list[str]:
        return [note.text for note in self.notes]

    def run(self) -> dict[str, Any]:
        """The names that its code defines, run as plain Python, broken cells left out."""
        names: dict[str, Any] = {}
        for cell in self.notebook.cells:
            if cell.cell_type == "code":
                try:
                    exec(compile(cell.source, cell.id, "exec"), names)
                except Exception as error:
                    names.setdefault("errors", []).append(error)
        return names


Sanitise = Callable[..., Result]


@pytest.fixture
def clean(assignment: Assignment, released: Any) -> Sanitise:
    """Sanitise a notebook given as a value, as text or as bytes."""

    def call(notebook: Any, key: str = "softmark") -> Result:
        if not isinstance(notebook, str | bytes):
            notebook = json.dumps(notebook)
        content = notebook if isinstance(notebook, bytes) else notebook.encode("utf-8", "surrogatepass")
        before = copy.deepcopy(released)
        result = Result(sanitise(Submission("x.ipynb", content, ""), released, assignment, key=key))
        assert released == before, "the release is not changed"
        nbformat.validate(result.notebook)
        return result

    return call


@pytest.fixture
def refused(clean: Sanitise) -> Callable[[Any], str]:
    """The sentence with which a file is refused."""

    def call(notebook: Any) -> str:
        with pytest.raises(SubmissionError) as caught:
            clean(notebook)
        return str(caught.value)

    return call


def cell(notebook: Any, id: str) -> Any:
    return next(c for c in notebook["cells"] if c["id"] == id)


def code(source: str, id: str = "extra", **more: Any) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "id": id,
        "metadata": {},
        "outputs": [],
        "execution_count": None,
        "source": source,
    } | more


def put_behind(notebook: Any, id: str, new: dict[str, Any]) -> None:
    place = notebook["cells"].index(cell(notebook, id))
    notebook["cells"].insert(place + 1, new)


# ---------------------------------------------------------------------------------------------------------------
# files


def test_an_honest_notebook_needs_no_note(clean: Sanitise, answered: Any) -> None:
    """A filled release comes out with the same sources, the set-up first, no edits and no notes."""
    result = clean(answered)
    assert (result.edits, result.texts) == ((), [])
    assert result.ids[0] == "given-1"
    assert sorted(c.source for c in result.notebook.cells) == sorted(
        c["source"].rstrip() if isinstance(c["source"], str) else "".join(c["source"]) for c in answered["cells"]
    )
    assert result.run()["double"](3) == 6


@pytest.mark.parametrize(
    ("encoding", "noted"),
    [("utf-8", False), ("utf-8-sig", False), ("utf-16", True), ("utf-16-be", True), ("latin-1", True)],
)
def test_encodings_are_recognised(clean: Sanitise, answered: Any, encoding: str, noted: bool) -> None:
    """A byte-order mark costs nothing and says nothing; UTF-16 and Latin-1 are graded with a note."""
    cell(answered, "answer-1-1")["source"] = "def double(x):\n    return x + x  # é"
    result = clean(json.dumps(answered, ensure_ascii=False).encode(encoding))
    assert bool(result.notes) == noted
    assert result["answer-1-1"].source.endswith("# é")


def test_text_behind_the_end_is_left_out_with_a_note(clean: Sanitise, answered: Any) -> None:
    """The first complete value is the notebook."""
    result = clean(json.dumps(answered, indent=1) + "\n}\n]")
    assert ["behind the end" in text for text in result.texts] == [True]
    assert result.run()["double"](3) == 6


def test_conflict_markers_are_refused_with_their_lines(refused: Callable[[Any], str], answered: Any) -> None:
    """No side is chosen; the lines are named."""
    lines = json.dumps(answered, indent=1).splitlines()
    lines[4:4] = ["<<<<<<< HEAD"]
    lines[7:7] = ["======="]
    lines[9:9] = [">>>>>>> main"]
    sentence = refused("\n".join(lines))
    assert "Git conflict markers" in sentence
    assert "5, 8, 10" in sentence


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ("", "is empty"),
        ("[]", "holds a list"),
        ('"notebook"', "holds a single value"),
        ("17", "holds a single value"),
        ("{}", "has no cells"),
        ('{"cells": {}}', "has no cells"),
        ('{"cells": []}', "no cells with anything"),
        ('{"cells": [{"cell_type": "code", "source": " "}]}', "no cells with anything"),
        ('{"cells": [', "cut off"),
        ('{"cells": [{"cell_type": "code", "source": "abc', "cut off"),
        ('{"cells": [] "metadata": {}}', "is damaged in line 1, column 14"),
        ("\x00\x01\x02", "does not begin like one"),
        ("def softmax(x):", "does not begin like one"),
        ('{"cells": ' + "[" * 100_000, "nested too deeply"),
        ('{"cells": [], "metadata": ' + '{"a":' * 5_000 + "1" + "}" * 5_000 + "}", "nested too deeply"),
        (json.dumps({"cells": [{"cell_type": "code", "source": "x"}] * 20_000}), "20000 cells"),
        (json.dumps({"cells": [{"cell_type": "code", "source": "x" * 9_000_000}]}), "2 million"),
    ],
    ids=lambda value: str(value)[:25],
)
def test_what_can_not_be_read_is_refused_plainly(refused: Callable[[Any], str], content: str, word: str) -> None:
    """One or two sentences with the cause; never another exception."""
    sentence = refused(content)
    assert word in sentence
    assert len(sentence) < 400


@pytest.mark.parametrize("nesting", [10, 200, 600])
def test_deep_metadata_is_dropped_where_it_can_be_read(clean: Sanitise, answered: Any, nesting: int) -> None:
    """Metadata of any depth that the JSON reader bears makes no difference."""
    deep = '{"a":' * nesting + "1" + "}" * nesting
    text = json.dumps(answered).replace('"nbformat": 4', f'"deep": {deep}, "nbformat": 4', 1)
    assert clean(text).run()["double"](3) == 6


def test_old_worksheets_are_upgraded(clean: Sanitise) -> None:
    """Format 3: cells in worksheets, `input` for code, headings with a level, no tags and no ids."""
    cells = [
        {"cell_type": "heading", "level": 2, "source": ["Title"]},
        {"cell_type": "code", "input": ["import math\n", "\n", 'STUDENT_ID = ""'], "outputs": [], "prompt_number": 1},
        {"cell_type": "code", "input": "def double(x):\n    return x * 2", "language": "python", "outputs": []},
    ]
    result = clean({"worksheets": [{"cells": cells[:2]}, {"cells": cells[2:]}], "metadata": {}, "nbformat": 3})
    assert ["old format 3" in text for text in result.texts] == [True]
    assert "## Title" in [c.source for c in result.notebook.cells]
    assert result.run()["double"](4) == 8


@pytest.mark.parametrize(
    ("change", "noted"),
    [
        ({"nbformat_minor": 99}, ""),
        ({"nbformat": 5}, "format version 5"),
        ({"nbformat": None}, ""),
        ({"metadata": None}, ""),
        ({"metadata": []}, ""),
        ({"metadata": {"kernelspec": None, "language_info": 3}}, ""),
        ({"metadata": {"kernelspec": {"name": "python3", "display_name": "mine"}}}, ""),
        ({"metadata": {"kernelspec": {"language": "R"}, "language_info": {"name": "python"}}}, ""),
        ({"unknown": [1, 2]}, ""),
    ],
    ids=str,
)
def test_what_the_notebook_says_of_itself_does_not_matter(
    clean: Sanitise, answered: Any, change: dict[str, Any], noted: str
) -> None:
    """Null metadata, newer versions and odd kernels are read; the course's kernel runs."""
    result = clean(answered | change)
    assert [noted in text for text in result.texts] == ([True] if noted else [])
    assert result.notebook.metadata.kernelspec.name == "python3"
    assert result.run()["double"](4) == 8


def test_a_missing_version_key_is_no_silent_zero(clean: Sanitise, answered: Any) -> None:
    """Without `nbformat` all cells keep their source, and a note says what was missing."""
    del answered["nbformat"]
    result = clean(answered)
    assert ["format version" in text for text in result.texts] == [True]
    assert result.run()["double"](4) == 8


def test_null_metadata_of_cells_counts_as_empty(clean: Sanitise, answered: Any) -> None:
    """Cells without tags are found by id and by function."""
    for one in answered["cells"]:
        one["metadata"] = None
    result = clean(answered)
    assert result.texts == []
    assert result.mark("answer-2-1") == {"role": "answer", "question": "2", "cell": 7}


@pytest.mark.parametrize(
    ("metadata", "language"),
    [
        ({"kernelspec": {"language": "R", "name": "ir"}, "language_info": {"name": "R"}}, "an R notebook"),
        ({"kernelspec": {"name": "julia-1.10"}}, "a Julia notebook"),
        ({"language_info": {"name": "javascript"}}, "a javascript notebook"),
    ],
)
def test_another_language_is_refused(
    refused: Callable[[Any], str], answered: Any, metadata: dict[str, Any], language: str
) -> None:
    """The sentence names the language that was found and the one that is expected."""
    sentence = refused(answered | {"metadata": metadata})
    assert language in sentence
    assert "Python is expected" in sentence


def test_outputs_attachments_and_widgets_are_gone(clean: Sanitise, answered: Any) -> None:
    """Nothing but sources and our own tags is left."""
    answered["metadata"]["widgets"] = {"state": {"x": "canary"}}
    for one in answered["cells"]:
        one["metadata"]["mine"] = "canary"
        if one["cell_type"] == "code":
            one["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "canary"}]
            one["execution_count"] = 3
        else:
            one["attachments"] = {"a.png": {"image/png": "canary"}}
    result = clean(answered)
    assert "canary" not in nbformat.writes(result.notebook)
    assert [edit.what for edit in result.edits] == ["dropped the saved outputs of 6 cells"]


def with_outputs(notebook: Any, megabytes: int) -> bytes:
    """The notebook with so many bytes of outputs: lines full of quotes and brackets, and large pictures."""
    stream = json.dumps({"output_type": "stream", "name": "stdout", "text": ['say "hi"\\ [{\n'] * 1000})
    picture = json.dumps({"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo" * 80_000}, "metadata": {}})
    copies = megabytes * 10**6 // len(stream + picture) + 1
    outputs = "[" + ",".join([stream, picture] * copies) + "]"
    return json.dumps(notebook).replace('"outputs": []', f'"outputs": {outputs}', 1).encode()


def test_huge_outputs_cost_little_time(clean: Sanitise, answered: Any) -> None:
    """200 MB of outputs are cut out before the JSON is decoded: seconds, not minutes."""
    content = with_outputs(answered, 200)
    assert len(content) > 200 * 10**6
    start = time.process_time()
    result = clean(content)
    assert time.process_time() - start < 15
    assert ["MB of saved outputs and pictures" in edit.what for edit in result.edits] == [True]
    assert result.run()["double"](4) == 8


def test_huge_outputs_cost_little_memory(clean: Sanitise, answered: Any) -> None:
    """Beside the file itself, only its text is held."""
    content = with_outputs(answered, 20)
    tracemalloc.start()
    try:
        clean(content)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.5 * len(content)


@given(
    outputs=st.recursive(st.text(max_size=9) | st.integers(), lambda v: st.lists(v) | st.dictionaries(st.text(), v)),
    size=st.integers(1, 900),
)
def test_cutting_outputs_out_changes_nothing_else(outputs: Any, size: int) -> None:
    """Whatever the outputs hold and in whatever pieces they come, the rest is the same value with empty ones."""
    value = {
        "a": '"outputs": [',
        'of "outputs': [1],
        "outputs": [outputs],
        "b": {"attachments": {"c": outputs}, "source": "}"},
    }
    content = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    value = json.loads(content)
    pieces = [content[at : at + size] for at in range(0, len(content), size)]
    cut, dropped = lean(pieces, 10**6)
    assert json.loads(cut) == value | {"outputs": [], "b": {"attachments": {}, "source": "}"}}
    assert len(cut) + dropped == len(content) + 4
    kept, _ = lean(pieces, 10**6, attachments=True)
    assert json.loads(kept) == value | {"outputs": []}


@given(
    pictures=st.lists(st.tuples(st.text(max_size=9), st.binary(min_size=1, max_size=99), st.text(max_size=9))),
    size=st.integers(1, 400),
)
def test_pictures_go_out_of_texts_and_never_out_of_code(pictures: list[Any], size: int) -> None:
    """Whatever stands around a picture and in whatever pieces it comes, its text loses the picture and nothing else."""
    start = "data:image/jpeg;base64,"
    shown = [f"{a}({start}{base64.b64encode(photo).decode()}){b}" for a, photo, b in pictures]
    cells = [{"cell_type": kind, "source": shown} for kind in ("code", "markdown", "raw", "code")]
    content = json.dumps({"cells": cells}).encode()
    cut, dropped = lean([content[at : at + size] for at in range(0, len(content), size)], 10**6)
    bare = [f"{a}({start}){b}" for a, _, b in pictures]
    texts = [{"cell_type": kind, "source": bare} for kind in ("markdown", "raw")]
    assert json.loads(cut) == {"cells": [cells[0], *texts, cells[3]]}
    assert len(cut) + dropped == len(content)
    assert lean([content], 10**6, attachments=True)[0] == content


def test_a_text_of_a_million_characters_loses_its_end(clean: Sanitise, answered: Any) -> None:
    """Text is not run, so its length is no reason for a refusal, and staff read what was left out."""
    text = nbformat.v4.new_markdown_cell("y" * 1_500_000, id="long")
    answered["cells"].insert(0, text)
    result = clean(answered)
    assert max(len(c.source) for c in result.notebook.cells) == 2**20
    assert [e.what for e in result.edits if e.cell == 1] == ["left out the end of a text of 1500000 characters"]
    assert result.run()["double"](3) == 6


def test_code_beyond_reason_is_run_without_being_analysed(clean: Sanitise, answered: Any) -> None:
    """The trees of a hundred thousand lines would take more memory than all the rest; the answers are found still."""
    answered["cells"][:0] = [nbformat.v4.new_code_cell("x=1\n" * 1000, id=f"n-{n}") for n in range(100)]
    tracemalloc.start()
    try:
        result = clean(answered)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 48 * 2**20
    assert result.run()["double"](3) == 6


@given(
    value=st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=9),
        lambda v: (
            st.lists(v, max_size=4)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "cells",
                        "cell_type",
                        "source",
                        "metadata",
                        "softmark",
                        "role",
                        "question",
                        "id",
                        "nbformat",
                        "worksheets",
                        "outputs",
                        "code",
                    ]
                ),
                v,
                max_size=5,
            )
        ),
        max_leaves=25,
    )
)
def test_no_json_makes_it_crash(value: Any, assignment: Assignment, released: Any) -> None:
    """Any JSON is a notebook that can be run, or a refusal."""
    wrapped = value if isinstance(value, dict) else {"cells": value if isinstance(value, list) else [value]}
    for content in (json.dumps(value), json.dumps(wrapped)):
        try:
            result = sanitise(Submission("x", content.encode(), ""), released, assignment)
        except SubmissionError:
            continue
        nbformat.validate(result[0])
        assert {"given-1", "given-2-1", "public-check-1-1"} <= {c.id for c in result[0].cells}


# ---------------------------------------------------------------------------------------------------------------
# the course's cells


@pytest.mark.parametrize("key", ["given-1", "given-2-1", "public-check-1-1", "public-check-2-1"])
@pytest.mark.parametrize("how", ["edited", "deleted", "emptied", "retagged", "markdown", "copied", "untagged"])
def test_course_cells_come_from_the_release(clean: Sanitise, answered: Any, released: Any, key: str, how: str) -> None:
    """Whatever a student does to a course cell, the release's one is there, once, and in the same order."""
    mine = cell(answered, key)
    if how == "edited":
        mine["source"] = "double = lambda x: 'forged'\nTable = None\nmath = None"
    elif how == "deleted":
        answered["cells"].remove(mine)
    elif how == "emptied":
        mine["source"] = ""
    elif how == "retagged":
        mine["metadata"]["softmark"]["question"] = "77"
    elif how == "markdown":
        mine["cell_type"] = "markdown"
        del mine["outputs"], mine["execution_count"]
    elif how == "copied":
        put_behind(answered, key, mine | {"id": "copy"})
    else:
        mine["metadata"] = {}
        mine["id"] = "fresh"
    result = clean(answered)
    original = {c.id: c for c in released.cells}
    for name in ("given-1", "given-2-1", "public-check-1-1", "public-check-2-1"):
        assert result[name].source == original[name].source
        assert result[name].cell_type == "code"
    order = [name for name in result.ids if name in KEYS]
    assert order == list(KEYS)
    names = result.run()
    assert names["Table"].rows == (1, 2, 3)
    assert names["math"].floor(2.5) == 2
    assert "errors" not in names


def test_the_set_up_runs_first_wherever_it_was(clean: Sanitise, answered: Any) -> None:
    """A set-up cell that was moved to the end is back at the top, once."""
    mine = cell(answered, "given-1")
    answered["cells"].remove(mine)
    answered["cells"].append(mine)
    result = clean(answered)
    assert result.ids[0] == "given-1"
    assert [c.source for c in result.notebook.cells].count(
        mine["source"] if isinstance(mine["source"], str) else "".join(mine["source"])
    ) == 1


def test_what_a_student_adds_to_the_set_up_is_kept(clean: Sanitise, answered: Any) -> None:
    """Imports and a personal id typed into the given cell run right after it; changes of its own names don't."""
    cell(answered, "given-1")["source"] = 'import math\nimport statistics\n\nSTUDENT_ID = "rosa"\nmath = 3\n'
    result = clean(answered)
    names = result.run()
    assert names["STUDENT_ID"] == "rosa"
    assert names["statistics"].mean([1, 3]) == 2
    assert names["math"].floor(1.5) == 1
    assert ["belongs to the assignment" in text for text in result.texts] == [True]


def test_a_set_up_with_colab_in_it_loses_nothing(clean: Sanitise, answered: Any) -> None:
    """The imports of the set-up are there although the student's version of the cell fails."""
    cell(answered, "given-1")["source"] = "from google.colab import drive\ndrive.mount('/content/drive')\nimport math"
    result = clean(answered)
    assert result.run()["shift"](1.5) == 2
    assert any("drive" in text and "next to the notebook" in text for text in result.texts)


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6))
def test_extra_cells_stay_in_order(seed: int, assignment: Assignment, released: Any) -> None:
    """Scratch cells anywhere, and course cells shuffled away: the student's own cells keep their order and source."""
    draw = random.Random(seed)
    notebook = json.loads(notebook_text(filled(assignment)))
    for number in range(draw.randrange(12)):
        notebook["cells"].insert(
            draw.randrange(len(notebook["cells"]) + 1), code(f"x{number} = {number}", f"s{number}")
        )
    for key in draw.sample(["given-1", "given-2-1", "public-check-1-1", "public-check-2-1"], draw.randrange(4)):
        notebook["cells"].remove(cell(notebook, key))
    own = [c["id"] for c in notebook["cells"] if not c["id"].startswith(("given", "public-check"))]
    made, _, notes = sanitise(Submission("x", json.dumps(notebook).encode(), ""), released, assignment)
    ids = [c.id for c in made.cells]
    assert [name for name in ids if name in own] == own
    assert ids[0] == "given-1"
    assert [name for name in ids if name in KEYS] == list(KEYS)
    assert notes == ()


def test_cells_without_tags_and_ids_are_matched_by_place(clean: Sanitise, answered: Any) -> None:
    """An old editor that drops tags and ids, and an edited check: the check is the release's all the same."""
    for one in answered["cells"]:
        one["metadata"] = {}
        if "double(2)" in "".join(one["source"]):
            one["source"] = "print('no check')"
        del one["id"]
    result = clean(answered)
    assert result.texts == []
    assert [name for name in result.ids if name in KEYS] == [name for name in KEYS if not name.startswith("answer")]
    assert "no check" not in nbformat.writes(result.notebook)


# ---------------------------------------------------------------------------------------------------------------
# answers


def test_answers_are_found_by_function_when_tags_are_wrong(clean: Sanitise, answered: Any) -> None:
    """Tags of a wrong type are ignored with a note that names the cells."""
    cell(answered, "answer-1-1")["metadata"]["softmark"] = "1"
    cell(answered, "answer-2-1")["metadata"]["softmark"] = ["2"]
    result = clean(answered)
    assert ["tags of cells 4, 7 have a wrong form" in text for text in result.texts] == [True]
    assert result.mark("answer-1-1")["question"] == "1"
    assert result.mark("answer-2-1")["question"] == "2"


def test_a_split_answer_is_one_answer(clean: Sanitise, answered: Any) -> None:
    """Two halves with the same tag need no note."""
    second = cell(answered, "answer-2-1")
    first = copy.deepcopy(second) | {"id": "half"}
    source = "".join(second["source"])
    first["source"], second["source"] = source.split("\n\n", 1)[0], source.split("\n\n", 1)[1]
    answered["cells"].insert(answered["cells"].index(second), first)
    result = clean(answered)
    assert result.texts == []
    assert result.mark("half")["question"] == "2"


def test_the_last_of_two_definitions_counts_and_both_are_named(clean: Sanitise, answered: Any) -> None:
    """Both cells run in order; the note names both."""
    put_behind(
        answered,
        "answer-1-1",
        copy.deepcopy(cell(answered, "answer-1-1")) | {"id": "b", "source": "def double(x):\n    return 9"},
    )
    result = clean(answered)
    assert result.run()["double"](1) == 9
    (note,) = result.notes
    assert "cells 4 and 5" in note.text
    assert (note.question, note.needs_human) == ("1", False)


def test_an_equal_copy_needs_no_note(clean: Sanitise, answered: Any) -> None:
    """The same definition twice makes no difference."""
    put_behind(answered, "answer-1-1", copy.deepcopy(cell(answered, "answer-1-1")) | {"id": "b"})
    assert clean(answered).texts == []


def test_a_stub_below_does_not_undo_an_answer(clean: Sanitise, answered: Any) -> None:
    """A second copy that is still a stub is left out, with a note for a person."""
    put_behind(
        answered,
        "answer-1-1",
        copy.deepcopy(cell(answered, "answer-1-1"))
        | {"id": "b", "source": "def double(x):\n    raise NotImplementedError\n"},
    )
    result = clean(answered)
    assert result.run()["double"](2) == 4
    (note,) = result.notes
    assert note.needs_human
    assert note.question == "1"
    assert "cell 4 was graded" in note.text.lower()


def test_an_answer_below_an_untouched_stub_is_just_an_answer(clean: Sanitise, answered: Any) -> None:
    """Who answers in a new cell and leaves the stub above is told nothing."""
    cell(answered, "answer-1-1")["source"] = "def double(x):\n    raise NotImplementedError\n"
    put_behind(answered, "answer-1-1", code("def double(x):\n    return 2 * x"))
    result = clean(answered)
    assert result.texts == []
    assert result.mark("extra") == {"role": "answer", "question": "1", "cell": 5}


@pytest.mark.parametrize("tagged", [True, False])
def test_an_answer_in_a_text_cell_is_flagged(clean: Sanitise, answered: Any, tagged: bool) -> None:
    """The note says that the cell is text, how to turn it back, and a person is asked to look."""
    mine = cell(answered, "answer-1-1")
    mine["cell_type"] = "markdown"
    if not tagged:
        mine["metadata"] = {}
    (note,) = clean(answered).notes
    assert "Cell 4" in note.text
    assert "text cell" in note.text
    assert "press Esc and then Y" in note.text
    assert (note.question, note.needs_human) == ("1", True)


def test_a_text_that_quotes_the_function_is_no_answer(clean: Sanitise, answered: Any) -> None:
    """Notes about the code are fine as long as the code is there."""
    put_behind(
        answered, "answer-1-1", {"cell_type": "markdown", "id": "m", "metadata": {}, "source": "def double(x): ..."}
    )
    assert clean(answered).texts == []


# ---------------------------------------------------------------------------------------------------------------
# which release


def test_the_unmodified_release_is_recognised(clean: Sanitise, released: Any) -> None:
    """Whoever hands in the untouched file reads it at once, as the first note."""
    assert clean(notebook_text(released)).texts[0].startswith("This is the unmodified release")


@pytest.mark.parametrize("change", ["answer", "written", "scratch", "deleted"])
def test_a_single_change_is_no_unmodified_release(clean: Sanitise, released: Any, change: str) -> None:
    """One answer, one written word or one own cell is work; a release without an answer cell is not the release."""
    notebook = json.loads(notebook_text(released))
    if change == "answer":
        cell(notebook, "answer-1-1")["source"] = "def double(x):\n    return None"
    elif change == "written":
        cell(notebook, "written-E-1")["source"] = "Explain. Because."
    elif change == "scratch":
        put_behind(notebook, "answer-1-1", code("double = abs"))
    else:
        notebook["cells"].remove(cell(notebook, "answer-1-1"))
    assert not any("unmodified" in text for text in clean(notebook).texts)


def test_a_name_in_the_set_up_alone_is_no_answer(clean: Sanitise, released: Any) -> None:
    """Typing an id into the given cell leaves the release unanswered."""
    notebook = json.loads(notebook_text(released))
    cell(notebook, "given-1")["source"] = 'import math\n\nSTUDENT_ID = "rosa"'
    assert clean(notebook).texts[0].startswith("This is the unmodified release")


def test_an_older_release_is_named_and_graded(clean: Sanitise, answered: Any) -> None:
    """Questions that changed their id are found by function; both versions are named."""
    answered["metadata"]["softmark"]["version"] = "1"
    cell(answered, "answer-1-1")["metadata"]["softmark"]["question"] = "1a"
    result = clean(answered)
    (note,) = result.notes
    assert "comes from release 1" in note.text
    assert "current one is release 2" in note.text
    assert not note.needs_human
    assert result.mark("answer-1-1")["question"] == "1"


def test_an_answer_that_fits_nowhere_is_flagged(clean: Sanitise, answered: Any) -> None:
    """A tag of a question that is gone, on a cell that defines nothing asked for, needs a person."""
    put_behind(
        answered,
        "answer-1-1",
        code("def gone(x):\n    return 1", metadata={"softmark": {"role": "answer", "question": "9"}}),
    )
    assert [(n.needs_human, "question '9'" in n.text) for n in clean(answered).notes] == [(True, True)]


def test_another_assignment_is_flagged(clean: Sanitise, answered: Any) -> None:
    """The wrong file is graded, said, and shown to a person."""
    answered["metadata"]["softmark"]["assignment"] = "other"
    (note,) = clean(answered).notes
    assert "'other'" in note.text
    assert note.needs_human


def test_the_name_of_the_tag_is_a_parameter(clean: Sanitise, answered: Any) -> None:
    """Hand-ins of another course's tool can be read; the result always carries our own tag."""
    text = json.dumps(answered).replace('"softmark"', '"autograder"')
    result = clean(text, key="autograder")
    assert result.texts == []
    assert result.mark("answer-1-1") == {"role": "answer", "question": "1", "cell": 4}


# ---------------------------------------------------------------------------------------------------------------
# sources


@pytest.mark.parametrize(
    ("line", "becomes"),
    [
        ("%matplotlib widget", "%matplotlib inline"),
        ("%matplotlib notebook", "%matplotlib inline"),
        ("  %matplotlib qt5  # window", "  %matplotlib inline"),
        ("%matplotlib inline", "%matplotlib inline"),
        ("%matplotlib agg", "%matplotlib agg"),
        (
            "get_ipython().run_line_magic('matplotlib', 'widget')",
            "get_ipython().run_line_magic('matplotlib', 'inline')",
        ),
        ("x = 1 %matplotlib", "x = 1 %matplotlib"),
    ],
)
def test_windows_for_pictures_become_inline(clean: Sanitise, answered: Any, line: str, becomes: str) -> None:
    """Only the backend changes; the rest of the cell stays, and the student is not bothered."""
    put_behind(answered, "given-1", code(f"import os\n{line}\ny = 2"))
    result = clean(answered)
    assert result["extra"].source == f"import os\n{becomes}\ny = 2"
    assert len(result.edits) == (line != becomes)
    assert result.texts == []


@pytest.mark.parametrize(
    ("source", "name", "place"),
    [
        ("def double(x)：\n    return x", "FULLWIDTH COLON", "line 1, column 14"),
        ("def double(x):\n    return “x”", "LEFT DOUBLE QUOTATION MARK", "line 2, column 12"),
        ("!echo “\ndef double(x)：\n    return x", "FULLWIDTH COLON", "line 2, column 14"),
        ("def double(x):\n\u00a0   return x", "NO-BREAK SPACE", "line 2, column 1"),
        ("%time 1\n# “fine”\nt = '“fine”'\ndef double(x):\n    return x − 1", "MINUS SIGN", "line 5, column 14"),
    ],
)
def test_look_alikes_are_named_with_their_place(
    clean: Sanitise, answered: Any, source: str, name: str, place: str
) -> None:
    """A character that only looks like Python is named, with line and column."""
    cell(answered, "answer-1-1")["source"] = source
    (note,) = clean(answered).notes
    assert f"{name}, which only looks" in note.text
    assert place in note.text
    assert note.question == "1"


@pytest.mark.parametrize(
    "source",
    [
        "# “curly” and − in a comment\ndef double(x):\n    return 2 * x",
        "def double(x):\n    '''“curly” quotes\n    −'''\n    return 2 * x",
        "%%time\ndef double(x):\n    return 2 * x",
        "    def double(x):\n        return 2 * x",
        "!ls “\ndef double(x):\n    return 2 * x",
        "größe = 1\ndef double(x):\n    return 2 * x",
    ],
)
def test_harmless_cells_are_left_alone(clean: Sanitise, answered: Any, source: str) -> None:
    """Magics, indented cells, and odd characters in strings and comments are what Jupyter runs: no note, no change."""
    for one in answered["cells"]:
        one["metadata"] = {}
    cell(answered, "answer-1-1")["source"] = source
    result = clean(answered)
    assert result.texts == []
    assert result["answer-1-1"].source == source
    assert result.mark("answer-1-1")["question"] == "1"


@given(st.text(alphabet="ab'\"#\\\n“：x( ", max_size=40))
def test_the_named_place_is_where_the_character_is(text: str) -> None:
    """Whatever the cell: the line and column that are named hold a character of that name."""
    parsed = parse_cell(text)
    found = look_alike(text, parsed.lineno if isinstance(parsed, SyntaxError) else None)
    if found is not None:
        name, line, column = found
        assert text.split("\n")[line - 1][column - 1] in "“："
        assert name in ("LEFT DOUBLE QUOTATION MARK", "FULLWIDTH COLON")


def test_hidden_state_is_explained(clean: Sanitise, answered: Any) -> None:
    """A name that no cell defines, together with run numbers out of order, is named."""
    cell(answered, "answer-1-1").update(source="def double(x):\n    return FACTOR * x", execution_count=7)
    cell(answered, "answer-2-1").update(execution_count=3)
    (note,) = clean(answered).notes
    assert "`FACTOR` is not defined by any cell" in note.text
    assert "out of order" in note.text


@pytest.mark.parametrize("counts", [(1, 2), (None, None), (7, 3)])
def test_order_alone_is_no_reason_for_a_note(clean: Sanitise, answered: Any, counts: tuple[int | None, ...]) -> None:
    """Most real notebooks were run out of order; where every name is defined, nobody is told."""
    for key, count in zip(("answer-1-1", "answer-2-1"), counts, strict=True):
        cell(answered, key)["execution_count"] = count
    result = clean(answered)
    assert result.texts == []
    order = {(1, 2): "in order", (7, 3): "out of order"}.get(counts)  # type: ignore[arg-type]
    assert result.notebook.metadata.softmark.get("run_order") == order


def test_the_students_python_is_passed_on(clean: Sanitise, answered: Any) -> None:
    """The report can print the student's version next to ours."""
    answered["metadata"]["language_info"] = {"name": "python", "version": "3.13.1"}
    assert clean(answered).notebook.metadata.softmark["python"] == "3.13.1"


def test_ids_of_the_result_are_valid_and_unique(clean: Sanitise, answered: Any) -> None:
    """Missing, double, too long and odd ids are replaced; the number in the hand-in stays known."""
    for name in ("given-1", "answer-1-1", "a b", "x" * 99, "", 7, None, "given-1"):
        answered["cells"].append(code("y = 1", name))  # type: ignore[arg-type]
    result = clean(answered)
    assert len(set(result.ids)) == len(result.ids)
    assert [result.mark(name)["cell"] for name in result.ids[-8:]] == list(range(10, 18))


@pytest.mark.parametrize("name", ["courses/mini"])
def test_the_mini_course_goes_through(name: str) -> None:
    """The tests' own course: its filled notebook comes out unchanged, and its blank one is recognised."""
    mini = load_assignment(Path(__file__).parent / name, "mini")
    full = Result(sanitise(Submission("x", notebook_text(filled(mini)).encode(), ""), derive(mini), mini))
    assert full.texts == []
    empty = Result(sanitise(Submission("x", notebook_text(derive(mini)).encode(), ""), derive(mini), mini))
    assert empty.texts[0].startswith("This is the unmodified release")
