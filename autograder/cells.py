"""Cells, outputs and notebooks of format 4.5, made and written without nbformat's check of every one of them.

nbformat's own constructors hold each cell and each output against the schema: a millisecond each, which is more than
most cells take to run. What is made here is right by construction, and the tests hold it against the schema.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nbformat import NotebookNode, from_dict
from nbformat.v4 import reads, writes

__all__ = ["new_cell", "new_notebook", "new_output", "notebook_text", "read_notebook"]


def new_cell(
    kind: str,
    source: str,
    *,
    id: str,
    metadata: Mapping[str, Any] | None = None,
    outputs: Sequence[NotebookNode] = (),
    execution_count: int | None = None,
) -> NotebookNode:
    """A cell. kind: code, markdown or raw; outputs and execution_count are for code."""
    of_code = {"execution_count": execution_count, "outputs": list(outputs)} if kind == "code" else {}
    return _node({"cell_type": kind, "id": id, "metadata": dict(metadata or {}), "source": source, **of_code})


def new_output(kind: str, **content: Any) -> NotebookNode:
    """An output; what its type demands (`data`, `text`, `traceback`) is in `content`."""
    extra: dict[str, Any] = {"metadata": {}} if kind in ("display_data", "execute_result") else {}
    return _node({"output_type": kind, **extra, **content})


def new_notebook(cells: Sequence[NotebookNode], metadata: Mapping[str, Any]) -> NotebookNode:
    """A notebook of these very cells."""
    notebook = _node({"metadata": dict(metadata), "nbformat": 4, "nbformat_minor": 5})
    notebook["cells"] = list(cells)
    return notebook


def read_notebook(path: Path) -> NotebookNode:
    """A notebook of ours. Raises OSError and ValueError."""
    notebook: NotebookNode = reads(path.read_text(encoding="utf-8"))
    return notebook


def notebook_text(notebook: NotebookNode) -> str:
    """The file's content: keys sorted, one line a value, so that equal notebooks are equal files."""
    return str(writes(notebook)) + "\n"


def _node(value: dict[str, Any]) -> NotebookNode:
    node: NotebookNode = from_dict(value)
    return node
