"""What students read: one block a check, one headline a report.

The texts are made from closed parts. The verdict's reason picks the first sentence, the check adds labelled lines
(`called`, `you gave`, `expected`, `raised`, …), and this module adds what follows from the outcome itself: the hints
of the diagnosed mistakes, the points that they leave, and the student's own functions that an answer is right on
top of. Nothing else gets in, so a hidden check can't show an input by way of a message.

    Q3.2 RoPE uses the positions it is given                                  0/2
      called      rope(x, positions=[3, 1, 2])
      you gave    the same output as for positions=[0, 1, 2]
      expected    row 0 rotated by 3·θ, as in the hand-out, section 3.2
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from autograder.model import CellRecord, CellStatus, CheckSpec, Note, Outcome, Reason, Report, Verdict, Visibility
from autograder.report.text import clean, cut, one_line, points_of, points_text, signed_points

__all__ = [
    "NUMBER_OF_THE_NOTEBOOK",
    "cell_text",
    "changes",
    "check_block",
    "check_text",
    "explain",
    "headline",
    "note_text",
    "notebook_text",
    "number_key",
    "number_text",
    "report_text",
    "shown_now",
    "stamp",
    "stopped_cells",
    "student_notes",
    "summary",
]

#: The entry without points that tells about the file and its cells.
NUMBER_OF_THE_NOTEBOOK = "0"

_WIDTH = 80
_LABEL = 12

_LEADS: Mapping[Reason, str] = {
    Reason.WRONG: "The result is not the expected one.",
    Reason.SHAPE: "The result has the wrong shape.",
    Reason.DTYPE: "The result has the wrong dtype.",
    Reason.TYPE: "The result has the wrong type.",
    Reason.NOT_FINITE: "The result holds NaN or infinite numbers.",
    Reason.NOT_PLAIN: "The result is of a type that the grader does not accept. "
    "Return a tensor, a number, a string, or a list, tuple or dict of these.",
    Reason.TOO_BIG: "The result is too big.",
    Reason.RAISED: "Your code raised an exception.",
    Reason.KERNEL_DIED: "Your code crashed Python.",
    Reason.PROTOCOL: "Your code broke the connection to the grader, so no result arrived.",
    Reason.LIMIT_TIME: "Your code did not end within its time limit. "
    "Look for a loop that never ends, or one that goes over single elements.",
    Reason.LIMIT_MEMORY: "Your code used more memory than it may.",
    Reason.LIMIT_PROCESSES: "Your code started more processes or threads than it may.",
    Reason.LIMIT_DISK: "Your code wrote more files or bytes than it may.",
    Reason.LIMIT_OUTPUT: "Your code printed more than it may.",
    Reason.NOT_DEFINED: "Not tried: your notebook does not define what this check calls. "
    "Keep the names of the hand-out.",
    Reason.NOT_ANSWERED: "Not tried: this question has no answer yet.",
    Reason.CELL_FAILED: "Not tried: the cell that defines what this check calls did not run to its end. "
    "Restart your kernel and run all cells to see it.",
    Reason.NEEDS_EARLIER: "Not tried: this builds on an earlier question that has no answer yet.",
    Reason.OUT_OF_TIME: "Not tried: the time for the whole notebook was used up before this check. "
    "Make slow cells faster, or leave out what no question asks for.",
    Reason.SKIPPED: "Not tried.",
    Reason.GRADER: "The grader failed here. This is not a fault of your work. "
    "The points of this check are open, and the course staff can see that the grader failed.",
}
_BARE_LEADS: Mapping[Verdict, str] = {
    Verdict.PASSED: "Right.",
    Verdict.FAILED: _LEADS[Reason.WRONG],
    Verdict.BLOCKED: _LEADS[Reason.SKIPPED],
    Verdict.GRADER_FAULT: _LEADS[Reason.GRADER],
}
_CELL_TEXTS: Mapping[CellStatus, str] = {
    CellStatus.ERROR: "stopped with an exception",
    CellStatus.TIME: "was stopped at its time limit",
    CellStatus.MEMORY: "was stopped: it used more memory than it may",
    CellStatus.PROCESSES: "was stopped: it started more processes or threads than it may",
    CellStatus.DISK: "was stopped: it wrote more files or bytes than it may",
    CellStatus.OUTPUT: "was stopped: it printed more than it may",
    CellStatus.DIED: "crashed Python",
    CellStatus.PROTOCOL: "broke the connection to the grader",
    CellStatus.NOT_RUN: "was not run: the time for the whole notebook was used up",
}

#: what a cell says that was stopped at its time limit and heard it
_INTERRUPTED = ("KeyboardInterrupt", "CancelledError")

#: where IPython says that it read a cell with a SyntaxError from
_FILE_OF_A_CELL = re.compile(r" \(\d+\.py, line \d+\)$")

Rows = list[tuple[str, str]]


# ── one check ─────────────────────────────────────────────────────────────────────────────────────────────────
def explain(outcome: Outcome) -> tuple[str, Rows]:
    """The sentence and the labelled lines of one check, clean. The text and the page are both made of these.

    Lines of the check without a label are sentences: they stand in the place of ours.
    """
    lines = [(one_line(label, 40), clean(text).strip()) for label, text in outcome.explanation]
    said = " ".join(text for label, text in lines if not label and text)
    rows = [(label, text) for label, text in lines if label]
    lead = _judged(outcome, said) if said else _lead(outcome, rows)
    rows += [("built on", _built_on(outcome))] if outcome.on_top_of and not said else []
    rows += [("hint", one_line(hint, 1000)) for hint in outcome.hints]
    rows += [("you keep", _kept(outcome))] if _is_partly(outcome) else []
    return lead, rows


def check_text(outcome: Outcome) -> str:
    """What stands under the check's name on Gradescope: at most 100,000 harmless characters."""
    lead, rows = explain(outcome)
    return cut("\n".join([*([lead] if lead else []), *_columns(rows)]))


def check_block(outcome: Outcome) -> str:
    """`check_text` under a line with number, claim and points, for terminals and text files."""
    spec = outcome.spec
    name, score = f"{number_text(spec.number)} {one_line(spec.name)}", _score(outcome)
    heading = f"{name:{_WIDTH - len(score) - 1}} {score}"
    return "\n".join([heading, *(f"  {line}".rstrip() for line in check_text(outcome).split("\n"))])


def _judged(outcome: Outcome, said: str) -> str:
    """What a check says, with what its verdict must say."""
    if outcome.verdict is Verdict.BLOCKED and not said.startswith("Not tried"):
        return f"Not tried: {said}" if said[0].islower() else f"Not tried. {said}"
    if outcome.verdict is Verdict.GRADER_FAULT and "fault" not in said:
        return f"{_LEADS[Reason.GRADER]} {said}"
    return f"{said} {_diagnosed(outcome)}".strip()


def _lead(outcome: Outcome, rows: Rows) -> str:
    if outcome.verdict is Verdict.PASSED:
        return "Right." if outcome.earned == outcome.spec.points else "Partly right."
    if outcome.verdict is Verdict.FAILED and outcome.reason in (Reason.WRONG, None):
        return _lead_of_a_wrong_result(outcome, rows)
    return _LEADS[outcome.reason] if outcome.reason else _BARE_LEADS[outcome.verdict]


def _lead_of_a_wrong_result(outcome: Outcome, rows: Rows) -> str:
    if outcome.mistakes:
        return f"{_LEADS[Reason.WRONG]} {_diagnosed(outcome)}"
    if any(label == "you gave" for label, _ in rows):
        return ""  # the lines say it better
    if outcome.spec.public or outcome.hints:
        return _LEADS[Reason.WRONG]
    return f"{_LEADS[Reason.WRONG]} The inputs of this check are not shown: try its claim on small inputs of your own."


def _diagnosed(outcome: Outcome) -> str:
    if not outcome.mistakes:
        return ""
    these = "This mistake gives" if len(outcome.mistakes) == 1 else "These mistakes together give"
    return f"{these} exactly this result."


def _is_partly(outcome: Outcome) -> bool:
    judged = outcome.verdict in (Verdict.PASSED, Verdict.FAILED)
    return judged and 0 < outcome.earned < outcome.spec.points


def _kept(outcome: Outcome) -> str:
    kept = points_of(outcome.earned, outcome.spec.points)
    if not outcome.mistakes:
        return kept
    these = "this mistake costs" if len(outcome.mistakes) == 1 else "these mistakes cost"
    return f"{kept}: {these} the other {points_text(outcome.spec.points - outcome.earned)}"


def _built_on(outcome: Outcome) -> str:
    names = " and ".join(f"your own `{one_line(name, 80)}`" for name in outcome.on_top_of)
    if len(outcome.on_top_of) == 1:
        return f"{names}: its mistake costs points in its own question, not here again"
    return f"{names}: their mistakes cost points in their own questions, not here again"


def _score(outcome: Outcome) -> str:
    earned = "?" if outcome.verdict is Verdict.GRADER_FAULT else points_text(outcome.earned)
    return f"{earned}/{points_text(outcome.spec.points)}"


def _columns(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Labels in a column; further lines of a text stay under its first, so that none can pass for a line of ours."""
    rows = list(rows)
    width = max([_LABEL, *(len(label) + 2 for label, _ in rows)])
    for label, text in rows:
        for label_once, line in zip([label, *[""] * text.count("\n")], text.split("\n"), strict=True):
            yield f"{label_once:{width}}{line}".rstrip()


# ── the notebook ──────────────────────────────────────────────────────────────────────────────────────────────
def stopped_cells(report: Report) -> list[CellRecord]:
    """The cells that did not run to their end, in order."""
    return [cell for cell in report.cells if cell.status is not CellStatus.OK]


def cell_text(cell: CellRecord) -> str:
    """`cell 7 (Q3) stopped with an exception: NameError in line 2: name 'x' is not defined`."""
    said = f"{one_line(cell.label, 80)} {_CELL_TEXTS.get(cell.status, 'ran')}"
    if cell.status is CellStatus.TIME and cell.ename in _INTERRUPTED:
        said += f", in line {cell.line}" if cell.line is not None else ""
    elif cell.ename is not None:
        said += f": {one_line(cell.ename, 80)}"
        said += f" in line {cell.line}" if cell.line is not None else ""
        said += f": {one_line(_FILE_OF_A_CELL.sub('', cell.evalue))}" if cell.evalue else ""
    if cell.signal is not None:
        said += f" (signal {cell.signal})"
    return said


def notebook_text(report: Report) -> str:
    """What stands under "Your notebook": the file, its cells, and which of them stopped."""
    if report.refused is not None:
        return cut(clean(report.refused))
    stopped = [cell_text(cell) for cell in stopped_cells(report)]
    ran = f"{len(report.cells)} code {_plural('cell', len(report.cells))} of {one_line(report.submission)}"
    if not stopped:
        return f"All {ran} ran." if report.cells else f"No code cell of {one_line(report.submission)} was run."
    head = f"{len(stopped)} of {ran} did not run to {'its' if len(stopped) == 1 else 'their'} end. "
    return cut("\n".join([head + "What other cells defined still counts.", *(f"- {text}" for text in stopped)]))


def note_text(note: Note) -> str:
    """One note on one line, with the question that it is about."""
    where = f"{number_text(note.question)}: " if note.question else ""
    human = " The course staff will look at this." if note.needs_human else ""
    return f"{where}{one_line(note.text, 2000)}{human}"


def student_notes(report: Report) -> list[Note]:
    return [note for note in report.notes if not note.staff_only]


# ── the whole report ──────────────────────────────────────────────────────────────────────────────────────────
def shown_now(spec: CheckSpec) -> bool:
    """Whether students see this check at once. What they don't see yet must not show through anywhere else."""
    return spec.visibility is Visibility.VISIBLE


def headline(report: Report, previous: Mapping[str, Any] | None = None) -> str:
    """The text on top. It tells nothing of the verdicts of checks that are shown later.

    previous: `results` of the last submission, as Gradescope hands them back.
    """
    notes = [f"Note: {note_text(note)}" for note in student_notes(report)]
    return cut("\n".join(part for part in [stamp(report), summary(report, previous), *notes] if part))


def summary(report: Report, previous: Mapping[str, Any] | None = None) -> str:
    """The headline without stamp and notes: points, grader faults, written answers, changes."""
    parts = [_so_many_points(report), _faults(report), _written(report), changes(report, previous)]
    return "\n".join(part for part in parts if part)


def stamp(report: Report) -> str:
    """What a run must say of itself whose points can't be trusted; empty for others."""
    if not report.practice_only:
        return ""
    return (
        "Practice only, not for grades: this run was not isolated well enough to promise that its points can't be "
        "forged."
    )


def _so_many_points(report: Report) -> str:
    if report.refused is not None:
        return f"Nothing could be graded. {clean(report.refused)}"
    if not report.complete:
        return (
            "The grader stopped before it had finished. This is not a fault of your work. What was decided before "
            "stands; the other points are open, and the course staff can see it."
        )
    shown = [outcome for outcome in report.outcomes if shown_now(outcome.spec)]
    right = sum(outcome.verdict is Verdict.PASSED for outcome in shown)
    earned, possible = _sum(o.earned for o in shown), _sum(o.spec.points for o in shown)
    if len(shown) == len(report.outcomes):
        return f"{points_of(earned, possible)}. {right} of {len(shown)} {_plural('check', len(shown))} passed."
    later = f"{points_text(report.total - possible)} points are not shown yet: their checks are shown later."
    if not shown:
        return later
    return f"{points_of(earned, possible)} in the checks that are shown now ({right} of {len(shown)} passed). {later}"


def _faults(report: Report) -> str:
    """Named where the check is shown; a hidden one is not named, but its student is told."""
    if not report.complete or report.refused is not None or not report.faults:
        return ""
    shown = [number_text(outcome.spec.number) for outcome in report.faults if shown_now(outcome.spec)]
    hidden = len(report.faults) - len(shown)
    later = [f"{hidden} {_plural('check', hidden)} that {'is' if hidden == 1 else 'are'} shown later"] if hidden else []
    return (
        f"The grader failed in {', '.join([*shown, *later])}. This is not a fault of your work: those points are "
        "open, the points of the other checks stand, and the course staff can see it."
    )


def _written(report: Report) -> str:
    if not report.written_points:
        return ""
    points = points_text(report.written_points)
    return f"{points} more {'point is' if points == '1' else 'points are'} for written answers, which a person reads."


def report_text(report: Report, previous: Mapping[str, Any] | None = None) -> str:
    """The whole report as plain text: headline, notebook, and a block for each check that is shown now."""
    blocks = [check_block(o) for o in sorted(report.outcomes, key=_by_number) if shown_now(o.spec)]
    notebook = [notebook_text(report)] if report.refused is None and stopped_cells(report) else []
    return "\n\n".join([f"{one_line(report.title)}\n{headline(report, previous)}", *notebook, *blocks]) + "\n"


# ── since the last submission ─────────────────────────────────────────────────────────────────────────────────
def changes(report: Report, previous: Mapping[str, Any] | None) -> str:
    """`Since your last submission: +4: 2.1 now passes`; empty when nothing is known or nothing can be compared.

    Only checks that are shown now are compared, by number, and by name where the number is new. Checks that the
    grader could not decide, then or now, are left out. Whatever does not look like results is passed over.
    """
    if previous is None or report.refused is not None:
        return ""
    before = list(_earlier_tests(previous))
    specs = [outcome.spec for outcome in report.outcomes]
    pairs = [(outcome, _match(outcome.spec, specs, before)) for outcome in sorted(report.outcomes, key=_by_number)]
    known = [(o, test) for o, test in pairs if test is not None and _comparable(o, test)]
    if not known:
        return ""
    lines = [line for outcome, test in known if (line := _change(outcome, test))]
    if not lines:
        return "Since your last submission: the same points in every check."
    return "\n".join(["Since your last submission:", *(f"  {line}" for line in lines)])


def _earlier_tests(previous: object) -> Iterator[Mapping[str, Any]]:
    tests = previous.get("tests") if isinstance(previous, Mapping) else None
    for test in tests if isinstance(tests, Sequence) and not isinstance(tests, str) else ():
        if isinstance(test, Mapping) and _points(test.get("score")) is not None:
            yield test


def _points(value: object) -> Fraction | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return Fraction(value).limit_denominator(10**6)


def _match(spec: CheckSpec, specs: Sequence[CheckSpec], tests: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The earlier result of the same check. A name counts only where no number does, and only when it is unique."""
    if same := [test for test in tests if test.get("number") == spec.number]:
        return same[0] if len(same) == 1 else None
    numbers, name = {other.number for other in specs}, one_line(spec.name)
    same = [test for test in tests if test.get("name") == name and test.get("number") not in numbers]
    return same[0] if len(same) == 1 and [other.name for other in specs].count(spec.name) == 1 else None


def _comparable(outcome: Outcome, test: Mapping[str, Any]) -> bool:
    extra = test.get("extra_data")
    fault_then = isinstance(extra, Mapping) and extra.get("verdict") == Verdict.GRADER_FAULT
    return shown_now(outcome.spec) and not fault_then and outcome.verdict is not Verdict.GRADER_FAULT


def _change(outcome: Outcome, test: Mapping[str, Any]) -> str:
    before = _points(test.get("score")) or Fraction(0)
    change = outcome.earned.limit_denominator(10**6) - before
    if abs(change) < Fraction(1, 1000):
        return ""
    if outcome.earned == outcome.spec.points:
        said = "now passes"
    elif outcome.earned == 0:
        said = "no longer passes"
    else:
        said = f"now has {points_of(outcome.earned, outcome.spec.points)}"
    return f"{signed_points(change)}: {outcome.spec.number} {said}"


# ── small things ──────────────────────────────────────────────────────────────────────────────────────────────
def number_text(number: str) -> str:
    """`Q3.2`; numbers that begin with a letter, as `H1.1` of the hand calculations, stand alone."""
    plain = one_line(number, 20)
    return f"Q{plain}" if plain[:1].isdigit() else plain


def number_key(number: str) -> tuple[tuple[int, int, str], ...]:
    """Sorts "1.2" before "1.10", and "H1.1" after all that begin with digits."""
    return tuple((0, int(p), "") if p.isascii() and p.isdigit() else (1, 0, p) for p in number.split("."))


def _by_number(outcome: Outcome) -> tuple[tuple[int, int, str], ...]:
    return number_key(outcome.spec.number)


def _sum(points: Iterable[Fraction]) -> Fraction:
    return sum(points, Fraction(0))


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"
