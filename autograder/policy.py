"""What an assignment makes of dates and earlier submissions: lateness, its price, and how often one may hand in.

All of it follows from the metadata's `created_at`, never from the clock: a rerun a year later gives the same verdict.
Nothing is taken off and nobody is turned away unless `[gradescope]` of assignment.toml asks for it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from fractions import Fraction
from typing import Any

from autograder.metadata import Metadata
from autograder.model import Note, Outcome, Report, Verdict

__all__ = ["Penalty", "lateness", "over_the_limit", "penalty", "repeated", "with_penalty"]

_DAY = timedelta(days=1)
_KEPT = ("score", "status", "output", "output_format")


# ── lateness ──────────────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class Penalty:
    """What lateness costs. share: of the points earned, 0 to 1 · text: the sentence for the student."""

    share: Fraction
    text: str


def lateness(metadata: Metadata, group_dates: str = "latest") -> timedelta:
    """How long after the due date it was handed in; zero when on time or when a date is unknown.

    A person's own date comes before the assignment's. Of a group the latest (or earliest) date counts.
    """
    dates = [person.due or metadata.due for person in metadata.people] or [metadata.due]
    if metadata.created is None or None in dates:
        return timedelta(0)
    known = [date for date in dates if date is not None]
    due = max(known) if group_dates == "latest" else min(known)
    return max(metadata.created - due, timedelta(0))


def penalty(metadata: Metadata, settings: Mapping[str, Any]) -> Penalty | None:
    """What the assignment takes for lateness; None when nothing. settings: the table [gradescope].

    `late.percent_per_day` is taken for each started day, unless the hand-in came within `late.grace_minutes`. After
    `late.days` days, where that is set, no points are left.
    """
    rule = settings.get("late")
    late = lateness(metadata, settings.get("group_dates", "latest"))
    if not rule or late <= timedelta(minutes=rule["grace_minutes"]):
        return None
    days = math.ceil(late / _DAY)
    if rule.get("days") is not None and days > rule["days"]:
        accepted = f"{rule['days']} {'day' if rule['days'] == 1 else 'days'}"
        return Penalty(Fraction(1), f"Handed in {_long(late)} late. After {accepted} no points are given.")
    share = min(Fraction(1), days * Fraction(str(rule["percent_per_day"])) / 100)
    if not share:
        return None
    return Penalty(
        share, f"Handed in {_long(late)} late: {_percent(share)} of the points that you earned are taken off."
    )


def with_penalty(report: Report, price: Penalty | None) -> Report:
    """The report with each check's points lowered by the share, and a note that says so."""
    if price is None or not report.earned:
        return report
    note = Note(price.text)
    return replace(
        report, outcomes=tuple(_lowered(outcome, price) for outcome in report.outcomes), notes=(note, *report.notes)
    )


def _lowered(outcome: Outcome, price: Penalty) -> Outcome:
    if not outcome.earned:
        return outcome
    line = f"Handed in late: {_percent(price.share)} of its points are taken off."
    if outcome.verdict is Verdict.PASSED:
        explanation = (("", f"Right. {line}"), *(pair for pair in outcome.explanation if pair[0]))
    else:
        explanation = (*outcome.explanation, ("late", line))
    return replace(outcome, earned=outcome.earned * (1 - price.share), explanation=explanation)


def _percent(share: Fraction) -> str:
    return f"{float(share * 100):.4g} %"


def _long(time: timedelta) -> str:
    minutes = max(1, math.ceil(time / timedelta(minutes=1)))
    days, hours, minutes = minutes // 1440, minutes // 60 % 24, minutes % 60
    parts = [f"{days} d" * bool(days), f"{hours} h" * bool(hours), f"{minutes} min" * bool(minutes)]
    return " ".join(filter(None, parts))


# ── rate limit ────────────────────────────────────────────────────────────────────────────────────────────────────
def over_the_limit(metadata: Metadata, settings: Mapping[str, Any]) -> str | None:
    """The sentence for a student who handed in too often; None when they may. Failed runs of the grader don't count."""
    rule = settings.get("rate_limit")
    if not rule or metadata.created is None:
        return None
    window = timedelta(hours=rule["hours"])
    counted = sorted(
        one.time
        for one in metadata.earlier
        if one.time is not None and not one.failed and timedelta(0) <= metadata.created - one.time < window
    )
    allowed = rule["submissions"]
    if len(counted) < allowed:
        return None
    free = counted[len(counted) - allowed] + window
    return (
        f"Not graded: at most {allowed} {'submission is' if allowed == 1 else 'submissions are'} graded in "
        f"{rule['hours']:g} hours. Hand in again after {free:%Y-%m-%d %H:%M %Z}. "
        "Below stands the result of your submission before this one."
    )


def repeated(previous: Mapping[str, Any], template: Mapping[str, Any], message: str) -> dict[str, Any] | None:
    """`results` of an earlier submission once more, under a message; None when they fit these checks no longer.

    template: the declared checks as `results.json` (see `package`). What comes back from the platform is not trusted:
    each declared check takes over score, status and text of the test with its number, if that has the same maximum.
    """
    before = {
        test.get("number"): test
        for test in previous.get("tests") or ()
        if isinstance(test, dict) and isinstance(test.get("number"), str)
    }
    tests: list[dict[str, Any]] = []
    for declared in template["tests"]:
        earlier = before.get(declared["number"])
        if earlier is None or earlier.get("max_score") != declared["max_score"]:
            return None
        kept = {key: earlier[key] for key in _KEPT if earlier.get(key) is not None}
        extra = earlier.get("extra_data")
        verdict = extra.get("verdict") if isinstance(extra, dict) else None
        if verdict not in set(Verdict):
            verdict = Verdict.PASSED if earlier.get("status") == "passed" else Verdict.FAILED
        tests.append({**declared, **kept, "extra_data": {"verdict": verdict}})
    extra_data = {**template["extra_data"], "outcome": "repeated", "complete": True}
    score = sum(test.get("score", 0.0) for test in tests)
    return {**template, "tests": tests, "score": score, "output": message, "extra_data": extra_data}
