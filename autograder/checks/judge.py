"""One answer, judged: is it right, wrong, not there, or not to be had?

The distinction that matters: a function that was called and failed is FAILED; one that could not be called, because
it is not written, its cell failed or something that it needs is missing, is BLOCKED, and the text says what to do.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from autograder.checks.compare import Difference, compare, contract, kind_name, show
from autograder.checks.desk import Mode, Record
from autograder.checks.line import DEADLINE, GAVE_UP, Line
from autograder.checks.load import Checks
from autograder.checks.texts import (
    GRADIENT,
    advice,
    cell_sentence,
    no_result,
    reason_sentence,
    signal_sentence,
    text_cell_sentence,
)
from autograder.hints import hint
from autograder.model import CellRecord, CellStatus, CheckSpec, QuestionSpec, Reason, Reply, ReplyKind, Run, Verdict
from autograder.plan import Call, Gradients, Plan
from autograder.probe.evaluate import names

__all__ = ["BrokenCheck", "Finding", "Judge", "called"]

_LIMITS = {
    ReplyKind.MEMORY: Reason.LIMIT_MEMORY,
    ReplyKind.PROCESSES: Reason.LIMIT_PROCESSES,
    ReplyKind.DISK: Reason.LIMIT_DISK,
    ReplyKind.PROTOCOL: Reason.PROTOCOL,
    ReplyKind.TOO_BIG: Reason.TOO_BIG,
}


#: exceptions whose own sentence leaves nothing to ask
_SAY_IT_ALL = ("SystemExit", "MemoryError", "RecursionError")


class BrokenCheck(Exception):
    """A check or its reference can't be right, whatever the student did: a fault of the grader."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Why a check did not pass. lines: for everybody · details: for public checks and staff, with values."""

    verdict: Verdict
    reason: Reason
    lines: tuple[tuple[str, str], ...] = ()
    details: tuple[tuple[str, str], ...] = ()
    staff: str = ""


def _failed(reason: Reason, *lines: tuple[str, str], details: tuple[tuple[str, str], ...] = ()) -> Finding:
    return Finding(Verdict.FAILED, reason, lines or (("", reason_sentence(reason)),), details)


def _blocked(reason: Reason, *lines: tuple[str, str]) -> Finding:
    return Finding(Verdict.BLOCKED, reason, lines)


class Judge:
    """Judges the answers of one submission."""

    def __init__(self, checks: Checks, line: Line, run: Run) -> None:
        self.checks, self.line, self.run = checks, line, run
        self.owner: dict[str, QuestionSpec] = {f: q for q in checks.assignment.questions for f in q.functions}
        self._written: Mapping[str, tuple[str, ...]] | None = None

    def finding(self, spec: CheckSpec, record: Record, served: Mapping[str, object]) -> Finding | None:
        """None if the answer is what it should be. Raises BrokenCheck."""
        reply = record.reply
        if record.mode == Mode.ASIDE or reply is None:
            return None
        if record.mode == Mode.REJECTS:
            return self._rejected(spec, record, reply)
        if reply.kind is not ReplyKind.VALUE:
            return self._expecting(self._no_value(spec, record, reply), record, served)
        too_often = next((s for n, (most, s) in record.most.items() if reply.calls.get(n, 0) > most), None)
        if too_often is not None:
            return _failed(Reason.WRONG, ("must hold", too_often))
        if record.mode == Mode.FREE:
            return None
        return self._value(record, reply, served)

    # ── a value came back ─────────────────────────────────────────────────────────────────────────────────────
    def _value(self, record: Record, reply: Reply, served: Mapping[str, object]) -> Finding | None:
        if record.mode == Mode.UNCHANGED:
            line = ("must hold", "The arguments are left as they are: work on a copy.")
            return _failed(Reason.WRONG, line) if reply.changed_inputs else None
        if record.part is not None and reply.value is None:
            return _blocked(Reason.NOT_ANSWERED, ("", f'Put your result into hand["{record.part}"].'))
        expected = record.expected if record.mode == Mode.GIVEN else record.seen(self.expected(record, served).value)
        given = record.seen(reply.value)
        if record.mode == Mode.CONTRACT:
            found = contract(expected, given)
        else:
            found = compare(expected, given, record.tolerance)
        return None if found is None else different(found, record)

    def expected(self, record: Record, served: Mapping[str, object]) -> Reply:
        """The reference's answer, which has to be a value."""
        reply = self.checks.oracle.expected(record.plan, served, record.key)  # type: ignore[arg-type]
        if reply.kind is not ReplyKind.VALUE:
            said = f"{reply.name}: {reply.message}" if reply.message else str(reply.name)
            raise BrokenCheck(f"the reference itself fails on {called(record.plan)}: {reply.kind} {said}")
        return reply

    def wrong_kind(self, records: list[Record], served: Mapping[str, object]) -> Finding | None:
        """A fetched value of another type or shape than the reference's, which a check's code may trip over."""
        for record in records:
            if record.mode == Mode.FREE and record.reply is not None and record.reply.kind is ReplyKind.VALUE:
                reply = self.checks.oracle.expected(record.plan, served, record.key)  # type: ignore[arg-type]
                found = contract(reply.value, record.reply.value) if reply.kind is ReplyKind.VALUE else None
                if found is not None:
                    return different(found, record)
        return None

    def _rejected(self, spec: CheckSpec, record: Record, reply: Reply) -> Finding | None:
        if reply.kind is ReplyKind.RAISED and reply.name in record.errors:
            return None
        if reply.kind not in (ReplyKind.VALUE, ReplyKind.RAISED) or reply.name == "NotImplementedError":
            return self._no_value(spec, record, reply)
        wanted = " or ".join(record.errors)
        return _failed(Reason.WRONG, ("must hold", f"`{record.plan.function}` raises {wanted} on this input."))

    # ── no value came back ────────────────────────────────────────────────────────────────────────────────────
    def _no_value(self, spec: CheckSpec, record: Record, reply: Reply) -> Finding:
        function = record.plan.function
        if reply is DEADLINE:
            return _blocked(Reason.OUT_OF_TIME, ("", reason_sentence(Reason.OUT_OF_TIME)))
        if reply is GAVE_UP:
            line = f"`{function}` did not end twice, so this check was left out. Find the endless loop first."
            return _blocked(Reason.OUT_OF_TIME, ("", line))
        if reply.kind is ReplyKind.NOT_DEFINED:
            return self._not_defined(spec, record, reply)
        if reply.kind is ReplyKind.RAISED:
            return self._raised(spec, record, reply)
        details = (("called", called(record.plan)),)
        if reply.kind is ReplyKind.TIME:
            line = f"`{function}` did not end within {self.line.call_seconds:g} s."
            return _failed(Reason.LIMIT_TIME, ("", line), details=details)
        if reply.kind is ReplyKind.DIED:
            return _failed(Reason.KERNEL_DIED, ("", signal_sentence(reply.signal)), details=details)
        if reply.kind is ReplyKind.NOT_PLAIN:
            return self._not_plain(record, reply)
        return _failed(_LIMITS[reply.kind], details=details)

    def _expecting(self, finding: Finding, record: Record, served: Mapping[str, object]) -> Finding:
        """With the type that was expected, where another one came that can't be judged."""
        if finding.reason is not Reason.NOT_PLAIN or record.mode not in (Mode.VALUES, Mode.CONTRACT):
            return finding
        wanted = kind_name(self.expected(record, served).value)
        return replace(finding, lines=(*finding.lines, ("expected", wanted)))

    def changed(self, record: Record, served: Mapping[str, object]) -> bool:
        """Whether the student's function changed an argument in place, and the reference does not."""
        if record.reply is None or not record.reply.changed_inputs or record.mode in (Mode.UNCHANGED, Mode.ASIDE):
            return False
        return not self.checks.oracle.expected(record.plan, served, record.key).changed_inputs  # type: ignore[arg-type]

    def _not_plain(self, record: Record, reply: Reply) -> Finding:
        if record.part is not None and reply.name == "ellipsis":
            return _blocked(Reason.NOT_ANSWERED, ("", f'Put your result into hand["{record.part}"].'))
        lines = [("", reason_sentence(Reason.NOT_PLAIN))]
        if reply.name:
            lines.append(("you gave", reply.name))
        slip = no_result(reply.name, record.plan.function)
        if slip is not None:
            lines.append(("hint", slip))
        return _failed(Reason.NOT_PLAIN, *lines, details=(("called", called(record.plan)),))

    def _not_defined(self, spec: CheckSpec, record: Record, reply: Reply) -> Finding:
        name = reply.name if reply.name in names(record.plan) else record.plan.function
        top = (name or "").partition(".")[0]
        failed = self._failed_cell(spec, top)
        if failed is not None:
            reason = Reason.OUT_OF_TIME if failed.status is CellStatus.NOT_RUN else Reason.CELL_FAILED
            return _blocked(reason, ("", cell_sentence(failed, top)))
        where = self._text_cell(top)
        if where is not None:
            return _blocked(Reason.NOT_DEFINED, ("", text_cell_sentence(where, top)))
        if name != top:
            return _blocked(Reason.NOT_DEFINED, ("", f"Your class has no `{name}`: write it."))
        lines = [("", f"There is no `{top}` in your notebook: write it under this name.")]
        near = self._near(top)
        if near is not None:
            lines.append(("did you mean", f"your `{near}`? Rename it to `{top}`."))
        return _blocked(Reason.NOT_DEFINED, *lines)

    def _failed_cell(self, spec: CheckSpec, name: str) -> CellRecord | None:
        """The failed cell that holds the definition, else a failed answer cell of the question."""
        failed = [cell for cell in self.run.cells if cell.status is not CellStatus.OK]
        holds = [cell for cell in failed if _defines(self._cell_text(cell), name)]
        own = [cell for cell in failed if cell.question == spec.question and cell.role == "answer"]
        return next(iter([*holds, *own]), None)

    def _text_cell(self, name: str) -> str | None:
        """The text cell that holds the definition, as a student counts cells."""
        for cell in getattr(self.run.notebook, "cells", None) or []:
            if cell.get("cell_type") != "code" and _defines(str(cell.get("source", "")), name):
                tag = cell.get("metadata", {}).get("softmark")
                return f"cell {tag['cell']}" if isinstance(tag, dict) and "cell" in tag else "a cell"
        return None

    def _cell_text(self, cell: CellRecord) -> str:
        cells = getattr(self.run.notebook, "cells", None) or []
        return str(cells[cell.index].get("source", "")) if cell.index < len(cells) else ""

    def _near(self, name: str) -> str | None:
        """A similar name that the notebook defines and nobody asked for."""
        others = {n.lower(): n for n in self.written() if n not in self.owner}
        found = difflib.get_close_matches(name.lower(), list(others), n=1, cutoff=0.6)
        return others[found[0]] if found else None

    def written(self) -> Mapping[str, tuple[str, ...]]:
        """Functions and classes that stand in the notebook's text, with their parameters.

        Read from the text, not from the kernel: what that says now could have been changed by a call that saw
        hidden inputs.
        """
        if self._written is None:
            found: dict[str, tuple[str, ...]] = {}
            for cell in getattr(self.run.notebook, "cells", None) or []:
                if cell.get("cell_type") == "code":
                    found.update(_definitions(str(cell.get("source", ""))))
            self._written = found
        return self._written

    # ── it raised ─────────────────────────────────────────────────────────────────────────────────────────────
    def _raised(self, spec: CheckSpec, record: Record, reply: Reply) -> Finding:
        function = record.plan.function
        guilty = self._earlier(spec, (reply.function or "").partition(".")[0])
        if record.part is not None:
            return _blocked(Reason.NOT_ANSWERED, ("", f'Put your result into hand["{record.part}"].'))
        if reply.cell is None and _takes_gradient(record.plan, reply.step):
            return _no_gradient(record, reply)
        if reply.name == "NotImplementedError":
            if guilty is not None:
                return self._needs(function, reply.function or "", guilty, "has no answer yet. Write")
            return _blocked(Reason.NOT_ANSWERED, ("", f"`{function}` has no answer yet: write it."))
        missing = self._missing_name(spec, reply)
        if missing is not None:
            return self._needs(function, missing, self.owner[missing], "your notebook does not define. Look at")
        if reply.name == "TypeError" and reply.function is None:
            signature = self._signature(record)
            if signature is not None:
                return signature
        return self._exception(spec, record, reply, guilty)

    def _needs(self, function: str, name: str, question: QuestionSpec, which: str) -> Finding:
        needs = f"`{function}` needs `{name.partition('.')[0]}` of question {question.id}"
        return _blocked(Reason.NEEDS_EARLIER, ("", f"{needs}, which {which} question {question.id} first."))

    def _earlier(self, spec: CheckSpec, function: str) -> QuestionSpec | None:
        """The other question that a function of the assignment belongs to."""
        question = self.owner.get(function)
        return question if question is not None and question.id != spec.question else None

    def _missing_name(self, spec: CheckSpec, reply: Reply) -> str | None:
        """A function of another question that a NameError is about."""
        found = re.search(r"name '(\w+)' is not defined", reply.message or "") if reply.name == "NameError" else None
        return found[1] if found and self._earlier(spec, found[1]) is not None else None

    def _signature(self, record: Record) -> Finding | None:
        """Called with arguments that the student's function does not take."""
        function = record.plan.function
        wanted, given = self.checks.source.parameters(function), self.written().get(function)
        if wanted is None or given is None or given == wanted:
            return None
        lines = (
            ("", f"`{function}` can't be called with the arguments that the question fixes."),
            ("you have", f"{function}({', '.join(given)})"),
            ("expected", f"{function}({', '.join(wanted)})"),
        )
        return _failed(Reason.RAISED, *lines, details=(("called", called(record.plan)),))

    def _exception(self, spec: CheckSpec, record: Record, reply: Reply, guilty: QuestionSpec | None) -> Finding:
        lines, reason = [("", self._what_was_raised(reply))], Reason.RAISED
        if reply.name == "MemoryError":
            reason = Reason.LIMIT_MEMORY
        if guilty is not None:
            name = (reply.function or "").partition(".")[0]
            lines.append(("where", f"It happened in your `{name}` of question {guilty.id}: repair that first."))
        known = hint(reply.name, reply.message)
        if known is not None:
            lines.append(("hint", known))
        elif guilty is None and not spec.public and reply.name not in _SAY_IT_ALL:
            lines.append(("hint", advice(reply.name, record.plan.function)))
        details = [("called", called(record.plan))]
        if reply.message:
            details.append(("message", reply.message))
        return _failed(reason, *lines, details=tuple(details))

    def _what_was_raised(self, reply: Reply) -> str:
        place = self._place(reply)
        if reply.name == "SystemExit":
            return f"Your function ended the program (SystemExit{place})."
        if reply.name == "MemoryError":
            gib = self.checks.assignment.limits.memory_bytes / 2**30
            return f"Your code asked for more memory than it may use ({gib:g} GiB{place})."
        if reply.name == "RecursionError":
            return f"Your function calls itself too often: the end of the recursion is missing (RecursionError{place})."
        return f"Your code raised {reply.name or 'an exception'}{place}."

    def _place(self, reply: Reply) -> str:
        """ ", line 3 of cell 7 (Q3)", as far as the notebook that ran really has such a line."""
        cell = next((c for c in self.run.cells if c.cell_id == reply.cell), None) if reply.cell else None
        if cell is None or reply.line is None:
            return ""
        if not 1 <= reply.line <= self._cell_text(cell).count("\n") + 1:
            return f" in {cell.label}"
        return f" in line {reply.line} of {cell.label}"


def _defines(source: str, name: str) -> bool:
    """Whether a cell's text, which may not be Python, looks as if it defined this name."""
    name = re.escape(name)
    return re.search(rf"^\s*(?:(?:async\s+)?def|class)\s+{name}\b|^{name}\s*[=:]", source, re.MULTILINE) is not None


def _takes_gradient(plan: Plan, step: int | None) -> bool:
    return step is not None and 0 <= step < len(plan.steps) and isinstance(plan.steps[step], Gradients)


def _no_gradient(record: Record, reply: Reply) -> Finding:
    """The student's function returned something, and the gradient of it could not be taken."""
    reason = {"TypeError": Reason.TYPE, "ValueError": Reason.SHAPE}.get(reply.name or "", Reason.RAISED)
    details = [("called", called(record.plan))]
    if reply.message:
        details.append(("message", reply.message))
    return _failed(reason, ("", GRADIENT[reason]), details=tuple(details))


def _definitions(source: str) -> dict[str, tuple[str, ...]]:
    """Top-level functions and classes of a cell's text, with their parameters. Magics are skipped."""
    lines = ["" if line.lstrip().startswith(("%", "!")) else line for line in source.splitlines()]
    try:
        body = ast.parse("\n".join(lines)).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for node in body:
        if isinstance(node, ast.ClassDef):
            found[node.name] = ()
        elif isinstance(node, ast.FunctionDef):
            arguments = node.args
            found[node.name] = tuple(a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))
    return found


def different(found: Difference, record: Record) -> Finding:
    """A difference, with what everybody may read and what only public checks show."""
    sentence = reason_sentence(found.reason)
    if found.returned_none:
        sentence = "Your function returned None: is the `return` missing?"
    elif found.is_none and any(isinstance(step, Gradients) for step in record.plan.steps):
        sentence = GRADIENT[Reason.WRONG]
    lines = [("", sentence)]
    if found.kinds is not None and not found.returned_none:
        lines += [("you gave", found.kinds[0]), ("expected", found.kinds[1])]
    shown = [line for line in found.lines if found.kinds is None or line[0] not in ("you gave", "expected")]
    details = (("called", called(record.plan)), *shown)
    return Finding(Verdict.FAILED, found.reason, tuple(lines), details)


def called(plan: Plan) -> str:
    """A plan as a call that one can read."""
    calls = [step for step in plan.steps if isinstance(step, Call)]
    if len(plan.steps) == 1 and calls:
        step = calls[0]
        arguments = [show(a, 120) for a in step.args] + [f"{k}={show(v, 120)}" for k, v in step.kwargs.items()]
        return f"{step.function}({', '.join(arguments)})"
    return plan.function + "".join(f" · {step.on}.{step.function}" for step in calls if step.on)
