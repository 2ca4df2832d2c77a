"""The kernels of one submission: run each cell, replay after a dead or hung one, then serve the hidden calls.

A cell that raises is recorded and the next one runs. A cell that doesn't end is interrupted; when that doesn't
help, or when the kernel died or broke the protocol, everything of the student's is killed, and the next cell gets a
fresh kernel in which all cells that did *not* break were run again. Such a cell is never run a second time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import zmq
from nbformat import NotebookNode

from autograder.errors import GraderFault
from autograder.execute.outputs import Outputs
from autograder.execute.pump import Ending, Pump, PumpedKernel
from autograder.hints import hints_about
from autograder.model import (
    CellRecord,
    CellStatus,
    Definition,
    Isolation,
    Limits,
    Note,
    Reason,
    Reply,
    ReplyKind,
    Run,
    Value,
)
from autograder.plan import Plan

__all__ = ["LiveNotebook", "OpenKernel", "OpenSandbox", "Probe", "execute"]

START_SECONDS = 20.0
_CONTEXT: zmq.Context[Any] | None = None


class OpenKernel(PumpedKernel, Protocol):
    def close(self) -> None: ...


class HasOver(Protocol):
    """A sample of the watchdog: which limit is exceeded, if any, and how many processes there are."""

    @property
    def over(self) -> Reason | None: ...
    @property
    def processes(self) -> int: ...


class OpenSandbox(Protocol):
    """What execution needs of a sandbox (see `sandbox.Sandbox`)."""

    isolation: Isolation

    def spawn(self) -> OpenKernel: ...
    def kill(self) -> int: ...
    def usage(self) -> HasOver | None: ...


class Probe(Protocol):
    """What execution needs of the probe (see `probe.client.ProbeClient`)."""

    @property
    def broken(self) -> bool: ...

    def call(
        self,
        plans: Sequence[Plan],
        *,
        seconds: float,
        served: Mapping[str, Callable[..., Value]] | None = None,
        forked: bool = True,
        shared: bool = False,
    ) -> list[Reply]: ...
    def describe(self, names: Sequence[str]) -> dict[str, Definition]: ...
    def part(self) -> None: ...


class LiveNotebook:
    """Implements `model.Session` over the notebook's own kernel.

    open_probe: makes the probe's client for a fresh kernel · deadline: on `time.monotonic()`'s clock.
    """

    def __init__(
        self,
        sandbox: OpenSandbox,
        notebook: NotebookNode,
        limits: Limits,
        *,
        deadline: float,
        open_probe: Callable[[Any], Probe],
        on_cell: Callable[[CellRecord], None] = lambda record: None,
    ) -> None:
        self._sandbox, self._notebook, self._limits = sandbox, notebook, limits
        self._deadline, self._open_probe, self._on_cell = deadline, open_probe, on_cell
        self._kernel: OpenKernel | None = None
        self._pump: Pump | None = None
        self._probe: Probe | None = None
        self._replayable: list[int] = []
        self._labels = _labels(notebook)
        self.records: dict[int, CellRecord] = {}
        self.restarts = 0

    @property
    def seconds_left(self) -> float:
        return self._deadline - time.monotonic()

    def over(self) -> Reason | None:
        """The limit that the submission exceeds right now, if any."""
        usage = self._sandbox.usage()
        return usage.over if usage is not None else None

    def _has_company(self) -> bool:
        """Whether anything of the student's runs beside the kernel."""
        usage = self._sandbox.usage()
        return usage is not None and usage.processes > 1

    # ── cells ─────────────────────────────────────────────────────────────────────────────────────────────────
    def run_cell(self, cell: NotebookNode, index: int) -> CellRecord:
        """Run one code cell; its outputs go into the cell."""
        outputs = Outputs(self._limits.output_text)
        ending = self._execute(cell, outputs)
        if ending.status is CellStatus.TIME and not ending.fatal and self._has_company():
            # The kernel heard the interrupt; what the cell started beside it did not.
            ending = replace(ending, fatal=True)
        if ending.fatal and ending.status is not CellStatus.NOT_RUN:
            self._drop()
        elif ending.status in (CellStatus.OK, CellStatus.ERROR):
            self._replayable.append(index)
        record = self._record(cell, index, ending)
        if sentence := _SENTENCES.get(ending.status):
            outputs.say(sentence.format(seconds=self._limits.cell_seconds))
        cell.outputs, cell.execution_count = outputs.nodes, ending.execution_count
        self.records[index] = record
        self._on_cell(record)
        return record

    def _execute(self, cell: NotebookNode, outputs: Outputs) -> Ending:
        if self.seconds_left <= 0 or (pump := self._ready()) is None:
            return Ending(CellStatus.NOT_RUN, 0.0)
        seconds = min(self._limits.cell_seconds, max(self.seconds_left, 0.01))
        return pump.execute(cell.source, seconds=seconds, outputs=outputs, cell_id=cell.get("id"))

    def _record(self, cell: NotebookNode, index: int, ending: Ending) -> CellRecord:
        tag = cell.metadata.get("softmark")
        tag = tag if isinstance(tag, dict) else {}
        return CellRecord(
            index=index,
            cell_id=str(cell.get("id", index)),
            status=ending.status,
            seconds=ending.seconds,
            label=self._labels[index],
            question=tag.get("question"),
            role=tag.get("role"),
            ename=ending.ename,
            evalue=ending.evalue,
            line=ending.line,
            signal=ending.signal,
        )

    # ── kernels ───────────────────────────────────────────────────────────────────────────────────────────────
    def _ready(self) -> Pump | None:
        """The pump of a live kernel in which all replayable cells have run; None when the time is over."""
        self._blame_late_death()
        while self._pump is None:
            if self.seconds_left <= 0:
                return None
            self._start()
            self._replay()
        return self._pump

    def _blame_late_death(self) -> None:
        """A kernel that died between two cells (`exit()` does it) was ended by the cell that ran last."""
        if self._kernel is None or self._kernel.status() is None:
            return
        if self._replayable:
            self._mark_broken(self._replayable[-1], CellStatus.DIED)
        self._drop()

    def _start(self) -> None:
        for _ in range(2):
            kernel = self._sandbox.spawn()
            pump = Pump(_context(), kernel, self._limits, self.over)
            if pump.ready(START_SECONDS):
                self._kernel, self._pump, self._probe = kernel, pump, self._open_probe(kernel)
                return
            status = kernel.status()
            pump.close()
            self._sandbox.kill()
            kernel.close()
        raise GraderFault(
            f"execute: the kernel did not start within {START_SECONDS:.0f} s (wait status {status}); "
            "no student code had run in it. `softmark doctor` tells what this machine allows"
        )

    def _replay(self) -> None:
        """Run again what was run before; a cell that breaks this time is left out from now on."""
        for index in list(self._replayable):
            if self._pump is None or self.seconds_left <= 0:
                self._drop()
                return
            cell = self._notebook.cells[index]
            seconds = min(self._limits.cell_seconds, max(self.seconds_left, 0.01))
            ending = self._pump.execute(cell.source, seconds=seconds, outputs=Outputs(0), cell_id=cell.get("id"))
            if ending.status not in (CellStatus.OK, CellStatus.ERROR):
                self._mark_broken(index, ending.status)
                self._drop()
                return

    def _mark_broken(self, index: int, status: CellStatus) -> None:
        self._replayable.remove(index)
        record = self.records.get(index)
        if record is not None and record.status in (CellStatus.OK, CellStatus.ERROR):
            fields = {name: getattr(record, name) for name in CellRecord.__slots__}
            self.records[index] = CellRecord(**(fields | {"status": status}))

    def _drop(self) -> None:
        """Kill everything of the student's; the next use starts a fresh kernel."""
        if self._pump is not None:
            self._pump.close()
        self._sandbox.kill()
        if self._kernel is not None:
            self._kernel.close()
            self.restarts += 1
        self._kernel = self._pump = self._probe = None

    def close(self) -> None:
        self._drop()

    # ── the hidden calls ──────────────────────────────────────────────────────────────────────────────────────
    def call(
        self,
        plans: Sequence[Plan],
        *,
        seconds: float,
        served: Mapping[str, Callable[..., Value]] | None = None,
        forked: bool = True,
        shared: bool = False,
    ) -> list[Reply]:
        probe = self._probe_ready()
        if probe is None:
            return [Reply(ReplyKind.TIME) for _ in plans]
        seconds = min(seconds, max(self.seconds_left, 0.01))
        replies = probe.call(plans, seconds=seconds, served=served, forked=forked, shared=shared)
        if probe.broken:
            self._drop()
        return replies

    def part(self) -> None:
        if self._probe is not None:
            self._probe.part()
            if self._probe.broken:
                self._drop()

    def restart(self) -> None:
        self._drop()

    def describe(self, names: Sequence[str]) -> dict[str, Definition]:
        probe = self._probe_ready()
        found = probe.describe(names) if probe is not None else {}
        if probe is not None and probe.broken:
            self._drop()
        return {name: found.get(name, Definition(name, "missing")) for name in (names or found)}

    def _probe_ready(self) -> Probe | None:
        return self._probe if self._ready() is not None else None


_SENTENCES = {
    CellStatus.TIME: "This cell did not end within {seconds:g} s and was stopped.",
    CellStatus.DIED: "This cell ended the Python process. The next cells ran in a fresh one, without this cell.",
    CellStatus.MEMORY: "This cell used more memory than allowed and was stopped.",
    CellStatus.PROCESSES: "This cell started more processes than allowed and was stopped.",
    CellStatus.DISK: "This cell wrote more to disk than allowed and was stopped.",
    CellStatus.OUTPUT: "This cell printed more than allowed and was stopped.",
    CellStatus.PROTOCOL: "This cell broke the connection to the grader and was stopped.",
    CellStatus.NOT_RUN: "There was no time left to run this cell.",
}


def _context() -> zmq.Context[Any]:
    """One zmq context a grader process, made after the zygote was forked."""
    global _CONTEXT  # noqa: PLW0603
    if _CONTEXT is None:
        _CONTEXT = zmq.Context()
    return _CONTEXT


def _labels(notebook: NotebookNode) -> list[str]:
    """What a student recognises: the cell's number in the hand-in (all cells counted, from 1) and its question."""
    labels = []
    for cell in notebook.cells:
        tag = cell.metadata.get("softmark")
        tag = tag if isinstance(tag, dict) else {}
        place = f"cell {tag['cell']}" if "cell" in tag else "a cell of the hand-out"
        labels.append(place + (f" (Q{tag['question']})" if tag.get("question") else ""))
    return labels


def execute(live: LiveNotebook, notebook: NotebookNode, isolation: Isolation, *, notes: Sequence[Note] = ()) -> Run:
    """Run the notebook through papermill's engine `softmark`; the kernel stays alive in `live`."""
    # papermill imports our engine while it registers entry points, so it is imported here and not on top.
    from papermill.engines import papermill_engines

    started = time.monotonic()
    notebook.metadata.setdefault("papermill", {})
    papermill_engines.execute_notebook_with_engine(
        "softmark", notebook, kernel_name="softmark", progress_bar=False, autosave_cell_every=0, live=live
    )
    records = tuple(live.records[index] for index in sorted(live.records))
    notes = (*notes, *hints_about(records))
    return Run(records, notebook, isolation, notes, live.restarts, time.monotonic() - started)
