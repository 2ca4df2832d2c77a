"""The sentences that students read. A closed set: nothing of a hidden check's values can stand in them.

Students choose the names, messages and types of what they raise and return, so nothing of that is repeated unless it
comes from a list that was fixed before the call.
"""

from __future__ import annotations

from autograder.model import CellRecord, CellStatus, Reason

__all__ = [
    "GRADIENT",
    "advice",
    "cell_sentence",
    "no_result",
    "reason_sentence",
    "signal_sentence",
    "text_cell_sentence",
]

_UNREADABLE = ("SyntaxError", "IndentationError", "TabError")

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

#: what is told of a result whose gradient was to be taken
GRADIENT = {
    Reason.TYPE: "This check takes the gradient of your result, which only a tensor has: return a tensor that torch's "
    "functions computed from the input.",
    Reason.SHAPE: "The result has another shape or size than expected, so its gradient can't be compared.",
    Reason.RAISED: "Your function returned a result, but taking the gradient of it failed. Leave the input and what "
    "you computed from it as they are: operations in place (`+=`, `x[…] =`) spoil what the gradient needs.",
    Reason.WRONG: "No gradient reaches the input: the result has lost its connection to it on the way. `detach()`, "
    "`.item()`, `.data`, `torch.no_grad()`, numpy and `torch.tensor(…)` cut it.",
}

#: type of what came instead of a result → how that happens
_NO_RESULT = {
    "coroutine": "`{function}` is an `async def`: calling it runs nothing. Write `def`.",
    "async_generator": "`{function}` is an `async def` with `yield`. Write `def` and `return`.",
    "generator": "`{function}` yields its values one by one. Collect them and `return` them.",
    "function": "A function was returned and not what it gives: are its parentheses missing?",
    "method": "A method was returned and not what it gives: are its parentheses missing?",
    "builtin_function_or_method": "A method was returned and not what it gives: are its parentheses missing?",
    "ellipsis": "`{function}` returned `...`, which stands for an answer that is not there yet.",
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
        error, line = record.ename or "an error", f" in line {record.line}" if record.line else ""
        if error in _UNREADABLE:
            return f"Python can't read {where}, which should define `{name}`: {error}{line}. Repair that cell."
        return f"{where}, which should define `{name}`, stopped before it did: {error}{line}. Repair that cell."
    return f"{where}, which should define `{name}`, {_CELLS[record.status]}. Repair that cell."


def no_result(kind: str | None, function: str) -> str | None:
    """How something of this type comes to be returned, where that is a common slip."""
    sentence = _NO_RESULT.get(kind or "")
    return sentence.format(function=function) if sentence is not None else None


def advice(name: str | None, function: str) -> str:
    """How to see oneself what a hidden check may not show of an exception."""
    if name == "NameError":
        return (
            "A name in this line is not defined when the notebook runs from top to bottom. Restart your kernel and run "
            f"all cells, then call `{function}`: Python tells the name."
        )
    return f"Call `{function}` on small inputs of your own: Python shows the whole message."


def text_cell_sentence(where: str, name: str) -> str:
    """Why a definition that stands in a text cell does not count."""
    return (
        f"`{name}` stands in {where}, which is a text cell: it is shown and never run. Make it a code cell: click it, "
        "press Esc and then Y; in Colab, copy the text into a new code cell."
    )
