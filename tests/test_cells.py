"""Notebooks that are made without nbformat's own check of every cell."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.cells import new_cell, new_notebook, new_output, notebook_text, read_notebook

OUTPUTS = (
    new_output("stream", name="stdout", text="a\nb"),
    new_output("error", ename="E", evalue="v", traceback=["one", "two"]),
    new_output("display_data", data={"text/plain": "x\ny", "image/png": "aGk="}, metadata={"image/png": {"alt": "x"}}),
    new_output("execute_result", data={"text/plain": "x"}, execution_count=3),
    new_output("execute_result", data={"text/plain": "x"}, execution_count=None),
)


@given(
    cells=st.lists(
        st.builds(
            lambda kind, source, name, question: new_cell(
                kind,
                source,
                id=name,
                metadata={"softmark": {"question": question}},
                outputs=OUTPUTS,
                execution_count=4,
            ),
            st.sampled_from(("code", "markdown", "raw")),
            st.text(st.characters(codec="utf-8")),
            st.from_regex(r"[a-zA-Z0-9_-]{1,64}", fullmatch=True),
            st.text(st.characters(codec="utf-8")),
        ),
        unique_by=lambda cell: cell.id,
    )
)
def test_what_is_made_keeps_the_schema_and_reads_back(cells: list[nbformat.NotebookNode]) -> None:
    """Every notebook of ours is valid for nbformat, which writes the very same text and reads the same value."""
    notebook = new_notebook(cells, {"language_info": {"name": "python"}})
    nbformat.validate(notebook)
    text = notebook_text(notebook)
    assert text == nbformat.writes(notebook, version=4) + "\n"
    assert nbformat.reads(text, as_version=4) == notebook


def test_a_file_of_ours_is_read_as_nbformat_reads_it(tmp_path: Path) -> None:
    """Lists of lines become texts; what is no JSON is a ValueError."""
    path = tmp_path / "x.ipynb"
    path.write_text(notebook_text(new_notebook([new_cell("code", "a = 1\nb = 2", id="c", outputs=OUTPUTS)], {})))
    assert read_notebook(path) == nbformat.read(path, as_version=4)
    path.write_text("{")
    with pytest.raises(ValueError, match="line 1"):
        read_notebook(path)
