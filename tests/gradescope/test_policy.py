"""Dates, lateness, rate limits: from the metadata's own times, and only where an assignment asks for them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder import policy
from autograder.metadata import parse_time, read_metadata, understand
from autograder.model import CheckSpec, Outcome, Report, Verdict
from autograder.report.gradescope import to_json, validate_bytes, validate_results

DATA = Path(__file__).parent / "data"
FULL = json.loads((DATA / "submission_metadata_full.json").read_text())
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5) | st.datetimes().map(str),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def full(**changes: Any) -> Any:
    return understand({**FULL, **changes})


# ── reading ───────────────────────────────────────────────────────────────────────────────────────────────────────
def test_both_examples_are_read() -> None:
    """The documented fields, the undocumented dates of a person, and the latest earlier results."""
    found = read_metadata(DATA / "submission_metadata_full.json")
    assert found.problems == ()
    assert [person.sid for person in found.people] == ["00471122", "00471123"]
    assert found.people[0].due == parse_time("2026-03-06T23:59:00.000000-05:00")
    assert [one.failed for one in found.earlier] == [True, False]
    assert found.previous == FULL["previous_submissions"][1]["results"]
    assert read_metadata(DATA / "submission_metadata_min.json").problems == ()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"users": 3}', b"[" * 100_000])
def test_a_broken_file_means_no_metadata(tmp_path: Path, content: bytes) -> None:
    """It never ends a run; staff are told."""
    path = tmp_path / "submission_metadata.json"
    path.write_bytes(content)
    found = read_metadata(path)
    assert found.created is None
    assert found.problems or content == b'{"users": 3}'
    assert read_metadata(tmp_path / "missing").problems


@given(
    st.dictionaries(
        st.sampled_from(["created_at", "users", "assignment", "previous_submissions", "id"]),
        JSON | st.lists(st.fixed_dictionaries({}, optional={"submission_time": JSON, "assignment": JSON, "sid": JSON})),
    )
)
@settings(deadline=None, max_examples=100)
def test_no_metadata_can_end_a_run(read: Any) -> None:
    """Whatever the fields hold, lateness and limits have an answer."""
    found = understand(read)
    assert policy.lateness(found) >= timedelta(0)
    policy.over_the_limit(found, {"rate_limit": {"submissions": 1, "hours": 1.0}})


@pytest.mark.parametrize("text", ["2026-03-04T21:58:07.412903-05:00", "2026-03-05T02:58:07.412903Z"])
def test_times_have_an_offset_or_a_z(text: str) -> None:
    """Both forms are the same moment."""
    assert parse_time(text) == datetime(2026, 3, 5, 2, 58, 7, 412903, tzinfo=UTC)


# ── lateness ──────────────────────────────────────────────────────────────────────────────────────────────────────
def test_an_extension_counts_for_the_group() -> None:
    """By Rosa's extension on time; for Tove alone, or by the earliest date of the group, late."""
    created = "2026-03-05T10:00:00.000000-05:00"
    assert policy.lateness(full(created_at=created)) == timedelta(0)
    late = timedelta(hours=10, minutes=1)
    assert policy.lateness(full(created_at=created), "earliest") == late
    assert policy.lateness(full(created_at=created, users=FULL["users"][1:])) == late


def test_without_dates_nobody_is_late() -> None:
    """No due date, no creation time, no metadata at all."""
    assert policy.lateness(understand({})) == timedelta(0)
    assert policy.lateness(full(created_at=None)) == timedelta(0)
    assert policy.lateness(full(assignment={}, users=[{}])) == timedelta(0)


LATE = {"group_dates": "earliest", "late": {"grace_minutes": 5.0, "percent_per_day": 10.0, "days": 3}}


@pytest.mark.parametrize(
    ("created", "share"),
    [
        ("2026-03-04T23:59:00.000000-05:00", None),
        ("2026-03-05T00:04:00.000000-05:00", None),
        ("2026-03-05T00:04:00.000001-05:00", Fraction(1, 10)),
        ("2026-03-05T23:59:00.000001-05:00", Fraction(2, 10)),
        ("2026-03-07T23:59:00.000000-05:00", Fraction(3, 10)),
        ("2026-03-07T23:59:01.000000-05:00", Fraction(1)),
    ],
)
def test_each_started_day_costs_its_share(created: str, share: Fraction | None) -> None:
    """Grace first, then started days, then nothing at all; the sentence says so."""
    price = policy.penalty(full(created_at=created), LATE)
    assert (price.share if price else None) == share
    assert price is None or "late" in price.text


def test_lateness_costs_nothing_unless_asked_for() -> None:
    """No table `late`, no penalty."""
    late = full(created_at="2027-01-01T00:00:00Z")
    assert policy.penalty(late, {"group_dates": "latest"}) is None
    assert policy.penalty(late, {}) is None


def outcome(number: str, points: Fraction, verdict: Verdict, earned: Fraction) -> Outcome:
    return Outcome(CheckSpec(number, number[0], f"Claim {number}", points), verdict, earned)


def report(*outcomes: Outcome) -> Report:
    total = sum((one.spec.points for one in outcomes), Fraction(0))
    return Report("mini", "Mini", "1", total, outcomes, "mini.ipynb", "0")


@given(
    st.lists(
        st.tuples(st.fractions(0, 10, max_denominator=12), st.sampled_from([Verdict.PASSED, Verdict.FAILED])),
        min_size=1,
        max_size=6,
    ),
    st.fractions(0, 1, max_denominator=100),
)
@settings(deadline=None, max_examples=60)
def test_a_lowered_report_is_still_a_valid_file(checks: Any, share: Fraction) -> None:
    """The verdicts and the declared total stay; exactly the share is gone; the file passes the validator."""
    outcomes = [
        outcome(f"{n}.1", points, verdict, points if verdict is Verdict.PASSED else points / 2)
        for n, (points, verdict) in enumerate(checks, 1)
    ]
    before = report(*outcomes)
    after = policy.with_penalty(before, policy.Penalty(share, "Handed in late."))
    assert after.earned == before.earned * (1 - share)
    assert [one.verdict for one in after.outcomes] == [one.verdict for one in before.outcomes]
    assert validate_bytes(to_json(after), before.total) == []
    assert not before.earned or b"Handed in late" in to_json(after)


# ── rate limit ────────────────────────────────────────────────────────────────────────────────────────────────────
def test_failed_runs_and_old_ones_do_not_count() -> None:
    """Of two earlier submissions one was the grader's fault; the other leaves the window after a day."""
    rule = {"rate_limit": {"submissions": 1, "hours": 48.0}}
    text = policy.over_the_limit(full(), rule)
    assert text is not None
    assert "2026-03-05 20:02" in text
    assert policy.over_the_limit(full(), {"rate_limit": {"submissions": 2, "hours": 48.0}}) is None
    assert policy.over_the_limit(full(created_at="2026-03-09T00:00:00Z"), rule) is None
    assert policy.over_the_limit(full(), {}) is None


def test_the_earlier_result_is_repeated_and_valid() -> None:
    """Scores and texts of the earlier run under the message; a file that passes the validator anew."""
    template = json.loads(to_json(report(outcome("1.1", Fraction(5), Verdict.GRADER_FAULT, Fraction(0)))))
    again = policy.repeated(full().previous or {}, template, "Too often.")
    assert again is not None
    assert validate_results(again, 5) == []
    assert (again["score"], again["output"]) == (5, "Too often.")
    assert again["tests"][0]["status"] == "passed"


def test_a_result_of_other_checks_is_not_repeated() -> None:
    """Where the checks changed since then, the hand-in is graded all the same."""
    template = json.loads(to_json(report(outcome("1.1", Fraction(6), Verdict.GRADER_FAULT, Fraction(0)))))
    assert policy.repeated(full().previous or {}, template, "Too often.") is None
    assert policy.repeated({}, template, "Too often.") is None
