"""Nothing that a check or a student can say makes a file that the platform would lose, cut or misread."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.emulator import Moment, Payload, advice, emulate, view, view_page
from autograder.errors import GraderFault
from autograder.model import CellRecord, CellStatus, CheckSpec, LeaderboardRow, Note, Outcome, Report, Verdict
from autograder.output import write_results

TEXT = (
    st.text(max_size=30)
    | st.text(st.characters(categories=("Cs", "Cc", "Cf", "Co")), max_size=8)
    | st.sampled_from(["\0", "\ud800", "\ufeff", "</pre><script>", "x" * 150_000, "\U0001d54f" * 100_001, "a\r\nb"])
)
NUMBER = st.floats() | st.integers() | st.sampled_from([math.nan, math.inf, 10**400, True])


class Writes:
    """A starter whose script writes one report, as the grader does."""

    def __init__(self, report: Report, previous: Any) -> None:
        self.report, self.previous = report, previous

    def __call__(self, work: Path, log: IO[bytes], seconds: float) -> tuple[int, bool]:
        write_results(self.report, work / "results", self.previous)
        return 0, False

    def end(self) -> None:
        """Nothing runs."""


def posted(report: Report, previous: Any = None) -> Payload:
    with TemporaryDirectory() as folder:
        hand_in = Path(folder) / "hand-in"
        hand_in.write_text("")
        return emulate(Path(folder), hand_in, None, Writes(report, previous))


@st.composite
def reports(draw: st.DrawFn) -> Report:
    """One to five checks with hostile words and numbers wherever a student or a check's author can put them."""
    outcomes = []
    for n in range(draw(st.integers(1, 5))):
        points = draw(st.fractions(0, 20, max_denominator=30))
        verdict = draw(st.sampled_from(list(Verdict)))
        share = {Verdict.PASSED: Fraction(1), Verdict.FAILED: draw(st.fractions(0, 1, max_denominator=9))}
        earned = points * share.get(verdict, Fraction(0))
        spec = CheckSpec(f"{n}.1", str(n), draw(TEXT), points, tags=(draw(TEXT),))
        outcomes.append(
            Outcome(
                spec, verdict, earned, explanation=((draw(TEXT), draw(TEXT)),), hints=(draw(TEXT),),
                mistakes=(draw(TEXT),), on_top_of=(draw(TEXT),), staff=draw(TEXT), seconds=draw(st.floats()),
            )
        )  # fmt: skip
    cell = CellRecord(0, "c", CellStatus.ERROR, 0.0, draw(TEXT), ename=draw(TEXT), evalue=draw(TEXT))
    return Report(
        "a", draw(TEXT), draw(TEXT), sum((o.spec.points for o in outcomes), Fraction(0)), tuple(outcomes), draw(TEXT),
        draw(TEXT), notes=(Note(draw(TEXT)), Note(draw(TEXT), staff_only=True)), cells=(cell,),
        leaderboard=(LeaderboardRow(draw(TEXT), draw(NUMBER | TEXT), draw(st.sampled_from(["asc", "desc", "up"]))),),
        seconds=draw(st.floats()), complete=draw(st.booleans()), grader_version=draw(TEXT),
    )  # fmt: skip


@given(reports(), st.none() | st.dictionaries(st.sampled_from(["tests", "score"]), st.lists(TEXT, max_size=2)))
@settings(deadline=None, max_examples=80)
def test_no_report_is_lost_cut_or_warned_of(report: Report, previous: Any) -> None:
    """Through the platform: no code, no warning, the declared total, the earned score, every output whole."""
    payload = posted(report, previous)
    assert payload.error_code is None
    assert advice(payload.results) == []
    scored = [test for test in payload.results["tests"] if "max_score" in test]
    assert sum(test["max_score"] for test in scored) == float(report.total)
    assert math.isclose(payload.results["score"], report.earned, abs_tol=1e-9)
    assert not any("[...(truncated)...]" in test["output"] for test in payload.results["tests"])
    for moment in Moment:
        assert "<script" not in view_page(view(payload, moment))


@given(reports(), NUMBER)
@settings(deadline=None, max_examples=40)
def test_points_that_do_not_add_up_are_never_written(report: Report, wrong: Any) -> None:
    """A declared total unlike the checks' points: refused as a fault of ours, and no file is left."""
    finite = not isinstance(wrong, float) or math.isfinite(wrong)
    total = report.total + Fraction(wrong) if finite and wrong else report.total + 1
    with TemporaryDirectory() as folder:
        try:
            write_results(replace(report, total=total), Path(folder))
        except (GraderFault, OverflowError):
            assert list(Path(folder).iterdir()) == []
        else:
            raise AssertionError("it was written")
