"""The papermill engine `softmark` (entry-point group `papermill.engine`).

papermill records the cells (times, status, progress); the kernels and the message pump are ours. The engine is
handed the `LiveNotebook` that `execute` made, because a kernel is only ever started inside a submission's sandbox.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# Imported by papermill itself when it registers its entry points, so this import never starts the cycle.
from papermill.engines import Engine

from autograder.model import CellStatus

if TYPE_CHECKING:
    from autograder.execute.live import LiveNotebook

__all__ = ["SoftmarkEngine"]


class SoftmarkEngine(Engine):
    """Runs every code cell, goes on after a failing one, and leaves the kernel alive for the hidden calls."""

    @classmethod
    def execute_managed_notebook(
        cls, nb_man: Any, kernel_name: str, *, live: LiveNotebook | None = None, **_: Any
    ) -> None:
        """live: the kernels of one submission; kernel_name is ignored, since the course decides the kernel."""
        if live is None:
            raise ValueError(
                "papermill: engine 'softmark' runs inside a sandbox that only Softmark can open; "
                "use `softmark grade NOTEBOOK --assignment NAME` instead of `papermill --engine softmark`"
            )
        for index, cell in enumerate(nb_man.nb.cells):
            if cell.cell_type != "code":
                continue
            nb_man.cell_start(cell, index)
            record = live.run_cell(cell, index)
            if record.status is not CellStatus.OK:
                nb_man.cell_exception(cell, cell_index=index)
            nb_man.cell_complete(cell, cell_index=index)
