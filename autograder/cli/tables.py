"""Terminal tables of reports. Colour never says anything that the words don't."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from rich.table import Table
from rich.text import Text

from autograder.checks.explain import Asked, Explanation
from autograder.model import Isolation, Outcome, Reply, ReplyKind, Report, Verdict

__all__ = ["explanation_lines", "isolation_line", "outcome_table", "points", "summary_table"]

_STYLES = {
    Verdict.PASSED: "green",
    Verdict.FAILED: "red",
    Verdict.BLOCKED: "yellow",
    Verdict.GRADER_FAULT: "bold magenta",
}


def points(value: Fraction) -> str:
    """Points as people write them: 4, 2.5, 0.33."""
    return f"{float(value):.2f}".rstrip("0").rstrip(".") or "0"


def _why(outcome: Outcome) -> str:
    if outcome.hints:
        return "; ".join(outcome.mistakes) + ": " + " ".join(outcome.hints)
    if outcome.verdict is Verdict.PASSED:
        return ""
    sentences = [text for label, text in outcome.explanation if not label]
    return sentences[0] if sentences else str(outcome.reason or "")


def outcome_table(report: Report) -> Table:
    """One line a check."""
    table = Table(title=f"{report.title} · {report.submission}", title_justify="left", expand=False)
    for name, justify in (("check", "left"), ("verdict", "left"), ("points", "right"), ("claim and reason", "left")):
        table.add_column(name, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for outcome in report.outcomes:
        style = _STYLES[outcome.verdict]
        text = Text(outcome.spec.name)
        if why := _why(outcome):
            text.append("\n" + why, style="dim")
        table.add_row(
            outcome.spec.number,
            Text(str(outcome.verdict), style=style),
            f"{points(outcome.earned)}/{points(outcome.spec.points)}",
            text,
        )
    table.add_section()
    table.add_row("", "", f"{points(report.earned)}/{points(report.total)}", "")
    return table


def summary_table(rows: Iterable[tuple[str, Report, str]]) -> Table:
    """One line a submission: name, report, what it shows."""
    table = Table(expand=False)
    for name in ("submission", "points", "passed", "failed", "blocked", "seconds", "what was found"):
        table.add_column(name, justify="right" if name not in ("submission", "what was found") else "left")
    for name, report, found in rows:
        count = {v: sum(o.verdict is v for o in report.outcomes) for v in Verdict}
        table.add_row(
            name,
            f"{points(report.earned)}/{points(report.total)}",
            str(count[Verdict.PASSED]),
            str(count[Verdict.FAILED]),
            str(count[Verdict.BLOCKED]),
            f"{report.seconds:.2f}",
            Text(found),
        )
    return table


def explanation_lines(explanation: Explanation) -> Iterable[str]:
    """For staff: every call of a check with its real inputs, both values, and the nearest mistakes."""
    outcome = explanation.outcome
    yield f"check {outcome.spec.number}: {outcome.spec.name}"
    score = f"{points(outcome.earned)} of {points(outcome.spec.points)}"
    yield f"verdict {outcome.verdict}, {score}, reason {outcome.reason}"
    yield f"inputs drawn from: {explanation.seed}"
    for number, asked in enumerate(explanation.asked, 1):
        yield ""
        yield f"call {number}: {asked.text}"
        yield from _asked_lines(asked)
    if explanation.candidates:
        yield ""
        yield "nearest mistakes (largest distance to what the student gave, over all calls):"
    for candidate in explanation.candidates:
        fits = "fits all calls" if candidate.fits else ""
        yield f"  {candidate.distance:12.4g}  keeps {points(candidate.keeps):>4}  {candidate.name}  {fits}".rstrip()
    if outcome.staff:
        yield ""
        yield outcome.staff


def _asked_lines(asked: Asked) -> Iterable[str]:
    for step in asked.plan.steps:
        yield f"  input     {_full(step)}"
    yield f"  given     {_reply_text(asked.given)}"
    if asked.expected is not None:
        yield f"  expected  {_reply_text(asked.expected)}"
    if asked.distance is not None:
        yield f"  distance  {asked.distance:.6g}"


def _full(value: object, longest: int = 6000) -> str:
    """Values as Python shows them, tensors with their numbers; staff can paste them into a notebook."""
    text = repr(value)
    return text if len(text) <= longest else text[:longest] + " …"


def _reply_text(reply: Reply) -> str:
    if reply.kind is ReplyKind.VALUE:
        return _full(reply.value)
    place = f" at line {reply.line}" if reply.line else ""
    return f"{reply.kind} {reply.name or ''}{place}: {reply.message or ''}".strip()


def isolation_line(isolation: Isolation) -> str:
    missing = ", ".join(f"{name} ({why})" for name, why in isolation.missing.items())
    return f"isolation level {isolation.level}: {', '.join(isolation.layers)}" + (
        f" · missing: {missing}" if missing else ""
    )
