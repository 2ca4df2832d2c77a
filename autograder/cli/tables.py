"""Terminal tables of reports. Colour never says anything that the words don't."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from rich.table import Table
from rich.text import Text

from autograder.model import Isolation, Outcome, Report, Verdict

__all__ = ["isolation_line", "outcome_table", "points", "summary_table"]

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


def isolation_line(isolation: Isolation) -> str:
    missing = ", ".join(f"{name} ({why})" for name, why in isolation.missing.items())
    return f"isolation level {isolation.level}: {', '.join(isolation.layers)}" + (
        f" · missing: {missing}" if missing else ""
    )
