"""The sentences that students read. A closed set: nothing of a hidden check's values can stand in them.

Students choose the names, messages and types of what they raise and return, so nothing of that is repeated unless it
comes from a list that was fixed before the call.
"""

from __future__ import annotations

from autograder.model import CellRecord, CellStatus, Reason

__all__ = ["cell_sentence", "reason_sentence", "signal_sentence"]

_REASONS = {
    Reason.WRONG: "The values differ from what is expected.",
    Reason.SHAPE: "The result has another shape or size than expected.",
    Reason.DTYPE: "The result has another dtype than expected.",
    Reason.TYPE: "The result has another type than expected.",
    Reason.NOT_FINITE: "The result holds NaN or infinite values where finite ones are expected.",
    Reason.NOT_PLAIN: "The result is of a type that can't be judged: return tensors, numbers, text, lists, tuples "
    "or dicts with text as keys.",
    Reason.TOO_BIG: "The result is far larger than expected.",
    Reason.RAISED: "Your code raised an exception.",
    Reason.KERNEL_DIED: "Your code ended the program.",
    Reason.PROTOCOL: "Your code disturbed the line to the grader, so that no result arrived.",
    Reason.LIMIT_MEMORY: "Your code asked for more memory than it may use.",
    Reason.LIMIT_PROCESSES: "Your code started more processes than it may.",
    Reason.LIMIT_DISK: "Your code wrote more files than it may.",
    Reason.LIMIT_OUTPUT: "Your code printed more than it may.",
    Reason.OUT_OF_TIME: "The time for the whole run was over before this could be tried.",
}

_SIGNALS = {4: "illegal instruction", 6: "abort", 7: "bus error", 8: "arithmetic error", 9: "killed", 11: "crash"}

_CELLS = {
    CellStatus.TIME: "did not end within its time",
    CellStatus.MEMORY: "asked for more memory than it may use",
    CellStatus.PROCESSES: "started more processes than it may",
    CellStatus.DISK: "wrote more files than it may",
    CellStatus.OUTPUT: "printed more than it may",
    CellStatus.DIED: "ended or crashed Python",
    CellStatus.PROTOCOL: "disturbed the line to the grader",
}


def reason_sentence(reason: Reason) -> str:
    """What happened, in one sentence."""
    return _REASONS.get(reason, "The check did not pass.")


def signal_sentence(signal: int | None) -> str:
    """How the program ended. Only well-known signals are named: a process can choose the number."""
    if signal is None:
        return "Your function ended the program."
    if signal == 11:
        return "Your code crashed Python (signal 11)."
    name = _SIGNALS.get(signal)
    return f"Your code ended the program (signal {signal}, {name})." if name else "Your code ended the program."


def cell_sentence(record: CellRecord, name: str) -> str:
    """Why a cell did not define `name`."""
    where = record.label
    if record.status is CellStatus.NOT_RUN:
        return f"{where}, which should define `{name}`, was not run: the time for the whole run was over."
    if record.status is CellStatus.ERROR:
        line = f", line {record.line}" if record.line else ""
        return f"{where} stopped with {record.ename or 'an error'}{line} before `{name}` was defined. Repair that cell."
    return f"{where}, which should define `{name}`, {_CELLS[record.status]}. Repair that cell."
