"""Running a notebook's cells as plain Python, which is enough for tests of what it says."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

COURSE = Path(__file__).parents[2]


def run(notebook: Any) -> tuple[list[tuple[str, str]], str]:
    """(role, exception) of the cells that raise, and everything that was printed."""
    space: dict[str, Any] = {}
    raised = []
    with contextlib.redirect_stdout(io.StringIO()) as said:
        for cell in notebook.cells:
            if cell.cell_type == "code":
                try:
                    exec(cell.source, space)
                except Exception as error:
                    raised.append((cell.metadata.get("softmark", {}).get("role", "hidden"), type(error).__name__))
    return raised, said.getvalue()
