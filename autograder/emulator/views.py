"""What the site shows of a result: to staff, and to the student before and after the dates.

A test's visibility comes from itself, else from the top level, else it is visible. While any test is hidden from a
student, so is the total. The log is for staff unless `stdout_visibility` says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from autograder.emulator.harness import Payload
from autograder.report.page import element, page, safe
from autograder.report.text import clean

__all__ = ["Moment", "Shown", "View", "view", "view_page"]


class Moment(StrEnum):
    """Who looks, and when."""

    STAFF = "staff"
    BEFORE_DUE = "before-due"
    AFTER_DUE = "after-due"
    AFTER_LATE_DUE = "after-late-due"
    PUBLISHED = "published"


@dataclass(frozen=True, slots=True)
class Shown:
    """One test on the page. points: "3 / 5", or empty for an entry without points."""

    name: str
    points: str
    passed: bool | None
    output: str
    output_format: str = "text"
    hidden: bool = False  # from students, on the staff's page


@dataclass(frozen=True, slots=True)
class View:
    """The page as values. total: "18 / 20", or None while the student may not see it · stdout: None when not shown."""

    moment: Moment
    total: str | None
    output: str
    tests: tuple[Shown, ...]
    stdout: str | None = None
    leaderboard: tuple[tuple[str, str], ...] = ()
    failed: bool = False


def view(payload: Payload, moment: Moment, *, late_allowed: bool = True) -> View:
    """The page of one moment. late_allowed: late hand-ins are, so "after the due date" means after the late one."""
    results = payload.results
    staff = moment is Moment.STAFF
    if not isinstance(results, dict):
        text = "The autograder failed to execute." + ("" if staff else " Ask the course staff.")
        return View(moment, None, text, (), payload.stdout if staff else None, failed=True)
    tests = [test for test in results.get("tests") or () if isinstance(test, dict)]
    default = results.get("visibility") or "visible"
    seen = [_seen(test.get("visibility") or default, moment, late_allowed) for test in tests]
    log = _seen(results.get("stdout_visibility") or "hidden", moment, late_allowed)
    return View(
        moment,
        total=_total(results, tests) if staff or all(seen) else None,
        output=str(results.get("output") or ""),
        tests=tuple(
            _shown(test, results, hidden=not can and staff)
            for test, can in zip(tests, seen, strict=True)
            if can or staff
        ),
        stdout=payload.stdout if staff or log else None,
        leaderboard=tuple((str(row.get("name")), str(row.get("value"))) for row in results.get("leaderboard") or ()),
        failed=payload.error_code is not None,
    )


def _seen(visibility: str, moment: Moment, late_allowed: bool) -> bool:
    """Whether a student sees it. For staff: whether students see it before the due date."""
    passed = {
        "after_due_date": {Moment.AFTER_LATE_DUE, Moment.PUBLISHED} | (set() if late_allowed else {Moment.AFTER_DUE}),
        "after_published": {Moment.PUBLISHED},
        "hidden": set(),
    }
    return visibility not in passed or moment in passed[visibility]


def _total(results: dict[str, Any], tests: list[dict[str, Any]]) -> str:
    score = results.get("score", sum(test.get("score") or 0 for test in tests))
    possible = sum(test.get("max_score") or 0 for test in tests)
    return f"{_number(score)} / {_number(possible)}"


def _number(value: Any) -> str:
    return f"{value:.10g}" if isinstance(value, int | float) else str(value)


def _shown(test: dict[str, Any], results: dict[str, Any], hidden: bool) -> Shown:
    number, name = test.get("number"), str(test.get("name") or "")
    score, possible = test.get("score"), test.get("max_score")
    points = f"{_number(score)} / {_number(possible)}" if possible is not None else ""
    passed = {"passed": True, "failed": False}.get(str(test.get("status")))
    if passed is None and possible is not None:
        passed = score == possible
    return Shown(
        f"{number}) {name}" if number else name,
        points,
        passed,
        str(test.get("output") or ""),
        str(test.get("output_format") or results.get("test_output_format") or "text"),
        hidden,
    )


# ── the page ──────────────────────────────────────────────────────────────────────────────────────────────────────
_CSS = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
header { display: flex; justify-content: space-between; align-items: baseline; border-bottom: 2px solid #333 }
h1 { font-size: 1.3rem } .total { font-size: 1.3rem; font-weight: 600 }
section { border: 1px solid #bbb; border-left: .5rem solid #767676; margin: 1rem 0; padding: .5rem 1rem }
section.passed { border-left-color: #1b7a3d } section.failed { border-left-color: #b3261e }
h2 { font-size: 1rem; margin: 0; display: flex; justify-content: space-between; gap: 1rem }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font: 14px/1.45 ui-monospace, monospace; margin: .5rem 0 }
.note { color: #595959 } h2 span:last-child:not(:first-child) { white-space: nowrap }
"""
_TITLES = {
    Moment.STAFF: "What staff see",
    Moment.BEFORE_DUE: "What the student sees before the due date",
    Moment.AFTER_DUE: "What the student sees after the due date",
    Moment.AFTER_LATE_DUE: "What the student sees after the late due date",
    Moment.PUBLISHED: "What the student sees after the grades are published",
}


def view_page(shown: View) -> str:
    """The view as a page of its own. Every text is escaped, whatever its format: nothing here runs."""
    total = shown.total or ("no total yet: some checks are hidden" if not shown.failed else "—")
    parts = [
        element("header", element("h1", safe(_TITLES[shown.moment])), element("span", safe(total), class_="total")),
        element("pre", safe(shown.output)) if shown.output else "",
        *map(_test_box, shown.tests),
    ]
    if shown.leaderboard:
        parts += [element("p", f"Leaderboard: {safe(', '.join(f'{n} {v}' for n, v in shown.leaderboard))}")]
    if shown.stdout is not None:
        parts += [element("h2", "Autograder output"), element("pre", safe(shown.stdout))]
    return page(_TITLES[shown.moment], "\n".join(parts), _CSS)


def _test_box(test: Shown) -> str:
    word = {True: "passed", False: "failed", None: "info"}[test.passed]
    heading = element("h2", element("span", safe(test.name)), element("span", safe(test.points)))
    note = element("p", "hidden from students now", class_="note") if test.hidden else ""
    format_note = element("p", safe(f"format: {test.output_format}"), class_="note") * (test.output_format != "text")
    body = element("pre", safe(clean(test.output))) if test.output else ""
    return element("section", heading, note, format_note, body, class_=word)
