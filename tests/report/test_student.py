"""What students read: golden messages, and what must not show through."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_samples import (
    BLOCKED,
    FAILED,
    GRADER_FAULT,
    HOSTILE,
    MESSAGES,
    PASSED,
    outcomes,
    report,
    spec,
    with_visibility,
)

from autograder.model import CellRecord, CellStatus, Isolation, Level, Note, Outcome, Reason, Verdict, Visibility
from autograder.report.student import (
    cell_text,
    changes,
    check_block,
    check_text,
    explain,
    headline,
    notebook_text,
    number_key,
    report_text,
)
from autograder.report.text import LONGEST_OUTPUT

GOLDEN = Path(__file__).parent / "golden"
BEFORE = {
    "tests": [
        {"number": "1.1", "name": "The result has the input's shape and dtype and is finite.", "score": 0.0},
        {"number": "1.2", "score": 5.0},
        {"number": "3.2", "score": 1.5, "extra_data": {"verdict": "FAILED"}},
        {"number": "3.3", "score": 2.0},
    ]
}


# ── the texts of checks ───────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("name", MESSAGES)
def test_each_kind_of_message_reads_as_its_golden_file(name):
    """The wording that was read and found good is the wording that students get."""
    assert check_block(MESSAGES[name]) + "\n" == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


def test_every_golden_file_belongs_to_a_message():
    """No golden file outlives its message."""
    assert {path.stem for path in GOLDEN.iterdir()} == set(MESSAGES)


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_a_sentence_of_its_own(reason):
    """A check that can explain nothing still says in a sentence what happened."""
    verdict = GRADER_FAULT if reason is Reason.GRADER else FAILED
    text = check_text(Outcome(spec("1.1", "A claim.", 1), verdict, Fraction(0), reason))
    assert text.endswith(".")
    assert len(text.split()) >= 2


@pytest.mark.parametrize("verdict", Verdict)
def test_an_outcome_without_reason_is_still_explained(verdict):
    """An author's check may name no reason: there is a sentence for each verdict."""
    assert check_text(Outcome(spec("1.1", "A claim.", 1), verdict, Fraction(verdict is PASSED))).endswith(".")


def test_blocked_and_failed_are_told_apart():
    """What could not be tried says so, and what was judged does not."""
    blocked = [o for o in MESSAGES.values() if o.verdict is BLOCKED]
    judged = [o for o in MESSAGES.values() if o.verdict in (PASSED, FAILED)]
    assert all("Not tried" in check_text(o) for o in blocked)
    assert not any("Not tried" in check_text(o) for o in judged)


def test_a_grader_fault_never_blames_the_student():
    """Whatever else is told, the student reads that it is not their fault, and no number stands for open points."""
    fault = replace(MESSAGES["grader-fault"], explanation=(("", "The check stopped at its own limit."),))
    assert "not a fault of your work" in check_text(fault)
    assert "The check stopped at its own limit." in check_text(fault)
    assert check_block(fault).split("\n")[0].endswith("?/5")


def test_sentences_of_a_check_stand_in_the_place_of_ours():
    """A line without label is the author's sentence; the reason's own sentence would only repeat it."""
    outcome = replace(MESSAGES["wrong-hidden"], explanation=(("", "The loss grew."), ("called", "train(data)")))
    assert explain(outcome) == ("The loss grew.", [("called", "train(data)")])
    named = replace(MESSAGES["named-mistake"], explanation=(("", "The values differ."),))
    assert explain(named)[0] == "The values differ. This mistake gives exactly this result."
    blocked = replace(MESSAGES["not-defined"], explanation=(("", "`attention` has no answer yet: write it."),))
    assert explain(blocked) == ("Not tried. `attention` has no answer yet: write it.", [])
    on_top = replace(MESSAGES["right-on-top"], explanation=(("", "Q3 is right on top of your own `softmax`."),))
    assert explain(on_top) == ("Q3 is right on top of your own `softmax`.", [])


def test_a_value_with_line_ends_can_not_forge_a_line():
    """Further lines of a student's value are indented, so none of them looks like a check of ours."""
    forged = replace(MESSAGES["wrong-public"], explanation=(("you gave", "0\nQ3.3 All right.   2/2\n  hint  none"),))
    lines = check_block(forged).split("\n")[1:]
    assert len(lines) == 3
    assert all(line.startswith(" " * 14) for line in lines[1:])


def test_hidden_checks_show_only_what_the_outcome_was_given():
    """`staff` details never reach the text."""
    outcome = replace(MESSAGES["named-mistake"], staff="expected 0.123456, seed 99")
    assert "0.123456" not in check_block(outcome)
    assert "99" not in check_block(outcome)


@given(st.lists(st.tuples(st.text(max_size=30), st.text(max_size=300)), max_size=5), st.text(max_size=300))
@settings(deadline=None, max_examples=50)
def test_texts_of_any_outcome_are_harmless(explanation, hint):
    """Arbitrary labels, values and hints give a text without controls and overrides."""
    outcome = replace(MESSAGES["wrong-public"], explanation=tuple(explanation), hints=(hint, HOSTILE))
    categories = {unicodedata.category(c) for c in check_text(outcome) if c != "\n"}
    assert categories.isdisjoint({"Cc", "Cs"})
    assert "\u202e" not in check_text(outcome)


@pytest.mark.parametrize("text", ["x" * 300_000, "line\n" * 100_000, "\x1b[31m" * 80_000 + "y"])
def test_long_values_are_cut(text):
    """No output is longer than Gradescope takes, and the end stays."""
    outcome = replace(MESSAGES["raised-public"], explanation=(("raised", text + "\nlast words"),))
    assert len(check_text(outcome)) <= LONGEST_OUTPUT
    assert check_text(outcome).endswith("last words")


# ── the headline ──────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("visibility", [v for v in Visibility if v is not Visibility.VISIBLE])
def test_the_headline_does_not_depend_on_the_verdicts_of_hidden_checks(visibility):
    """Whether a hidden check passed, failed or was blocked: the same headline, notebook entry and changes."""
    hidden = with_visibility(visibility, "1.2", "3.2", of=report())
    seen = set()
    for verdict, earned in ((PASSED, 5), (FAILED, 0), (FAILED, 3), (BLOCKED, 0)):
        swapped = tuple(
            replace(o, verdict=verdict, earned=Fraction(earned)) if o.spec.visibility is visibility else o
            for o in hidden.outcomes
        )
        changed = replace(hidden, outcomes=swapped)
        seen.add((headline(changed, BEFORE), notebook_text(changed), report_text(changed, BEFORE)))
    assert len(seen) == 1


def test_points_that_are_not_shown_yet_are_counted():
    """A student with hidden checks learns how many points wait."""
    text = headline(with_visibility(Visibility.AFTER_DUE_DATE, "1.2", "H1.1"))
    assert "8 points are not shown yet" in text
    assert "5 of 14 points" in text


def test_a_grader_fault_in_a_hidden_check_is_told_without_its_number():
    """The student is told that the grader failed; which hidden check it was stays hidden."""
    text = headline(with_visibility(Visibility.HIDDEN, "2.1"))
    assert "The grader failed in 1 check that is shown later" in text
    assert "2.1" not in text


def test_a_run_below_its_isolation_level_says_so_first():
    """Practice only, not for grades: the first words of the headline."""
    practice = report(practice_only=True, isolation=Isolation(Level.C, ("rlimits",)))
    assert headline(practice).startswith("Practice only, not for grades")
    assert "ractice only" not in headline(report())


def test_an_unfinished_report_blames_nobody():
    """The file written early reads as a fault of the grader, whatever the outcomes are."""
    text = headline(report(complete=False))
    assert "not a fault of your work" in text
    assert "of 22 points" not in text


def test_a_refused_hand_in_gets_its_reason_on_top():
    """The reason and the way out are the first thing to read."""
    reason = "attention.ipynb is a web page. Download the notebook again (File, Download) and submit that file."
    assert headline(report(refused=reason)).startswith(f"Nothing could be graded. {reason}")


def test_notes_for_staff_stay_with_staff():
    """A note is on top, with its question, unless it is for staff only."""
    notes = (Note("kept back", staff_only=True), Note("Loose file used.", question="2"))
    text = headline(report(notes=notes))
    assert "Note: Q2: Loose file used." in text
    assert "kept back" not in text


def test_cells_that_stopped_are_named_with_their_error():
    """The cell as the student knows it, the exception, the line."""
    text = notebook_text(report())
    assert "cell 9 (Q2) stopped with an exception: NameError in line 2: name 'masks' is not defined" in text
    assert "cell 13 (demo) was stopped at its time limit" in text


@pytest.mark.parametrize("status", [s for s in CellStatus if s is not CellStatus.OK])
def test_every_way_to_stop_has_words(status):
    """No status of a cell is shown as a code."""
    text = cell_text(CellRecord(0, "x", status, 0.1, "cell 1", signal=11 if status is CellStatus.DIED else None))
    assert str(status) not in text.removeprefix("cell 1 ")
    assert ("signal 11" in text) == (status is CellStatus.DIED)


# ── since the last submission ─────────────────────────────────────────────────────────────────────────────────
def test_changes_name_gains_and_losses_by_check():
    """What now passes, what has more, what is lost; what is the same is not listed."""
    assert changes(report(), BEFORE).split("\n") == [
        "Since your last submission:",
        "  +1: 1.1 now passes",
        "  +1.5: 3.2 now has 3 of 5 points",
        "  −2: 3.3 no longer passes",
    ]


def test_a_renumbered_check_is_found_by_its_name():
    """A name finds an earlier result only where it is unique, then and now."""
    renamed = {"tests": [{"number": "9.9", "name": "Padding does not count.", "score": 2.0}]}
    assert "−2: 2.2 no longer passes" in changes(report(), renamed)
    shared = {
        "tests": [{"number": "9.9", "name": "The result has the input's shape and dtype and is finite.", "score": 0.0}]
    }
    assert changes(report(), shared) == ""


def test_no_change_is_said_in_words():
    """Equal points everywhere are worth one line."""
    same = {"tests": [{"number": "1.1", "score": 1.0}]}
    assert changes(report(), same) == "Since your last submission: the same points in every check."


def test_thirds_do_not_change_by_rounding():
    """A third of a point that went through a float is the same third."""
    third = (Outcome(spec("1.1", "c", Fraction(1, 3)), PASSED, Fraction(1, 3)),)
    before = {"tests": [{"number": "1.1", "score": 1 / 3}]}
    assert "same points" in changes(report(outcomes=third, total=Fraction(1, 3)), before)


def test_faults_of_the_grader_are_no_change():
    """Then or now: an open check neither gained nor lost."""
    fault_now = {"tests": [{"number": "2.1", "score": 2.0}]}
    fault_then = {"tests": [{"number": "1.1", "score": 0.0, "extra_data": {"verdict": "GRADER_FAULT"}}]}
    assert changes(report(), fault_now) == changes(report(), fault_then) == ""


@pytest.mark.parametrize(
    "previous",
    [None, {}, {"tests": None}, {"tests": "x"}, {"tests": [None, 3, {}]}, {"score": 1}, [], "x"]
    + [{"tests": [{"number": "1.1", "score": score}]} for score in (None, "1", True, float("nan"), float("inf"), [1])],
)
def test_whatever_is_no_earlier_result_is_passed_over(previous):
    """The platform's metadata is not ours: odd shapes give no text and no exception."""
    assert changes(report(), previous) == ""


def test_numbers_sort_as_numbers():
    """1.2 before 1.10, hand calculations last."""
    assert sorted(["1.10", "H1.1", "1.2", "2"], key=number_key) == ["1.2", "1.10", "2", "H1.1"]


def test_the_text_report_lists_visible_checks_in_order():
    """Blocks come by number, hidden checks are left out."""
    text = report_text(with_visibility(Visibility.HIDDEN, "1.2", of=report(outcomes=tuple(reversed(outcomes())))))
    heads = [line.split()[0] for line in text.split("\n") if line.startswith(("Q", "H1"))]
    assert heads == ["Q1.1", "Q2.1", "Q2.2", "Q3.1", "Q3.2", "Q3.3", "H1.1"]
