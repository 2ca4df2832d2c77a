"""`report.html`: the words of the texts, inert, and readable by ear."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from page_tools import Node, assert_inert
from report_samples import BLOCKED, FAILED, HOSTILE, MESSAGES, PASSED, QUESTIONS, report, spec, with_visibility

from autograder.model import Isolation, LeaderboardRow, Level, Note, Outcome, Visibility
from autograder.report.html import report_html
from autograder.report.student import cell_text, explain, stopped_cells, summary

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=60) | st.just(HOSTILE)


def words(text: str) -> str:
    return " ".join(text.replace("`", "").split())


def hostile_report():
    """Every field that student code can reach holds the worst text."""
    return report(
        outcomes=tuple(
            replace(o, explanation=((HOSTILE, HOSTILE), ("you gave", HOSTILE)), hints=(HOSTILE,), staff=HOSTILE)
            for o in report().outcomes
        ),
        submission=HOSTILE,
        sha256=HOSTILE,
        notes=(Note(HOSTILE, question=HOSTILE), Note(HOSTILE, staff_only=True)),
        cells=tuple(replace(c, label=HOSTILE, ename=HOSTILE, evalue=HOSTILE) for c in report().cells),
        leaderboard=(LeaderboardRow(HOSTILE, HOSTILE),),
    )


def test_the_page_says_what_the_texts_say():
    """Headline, sentences, lines, cells and notes of the plain texts are all on the page."""
    made = report()
    shown = words(assert_inert(report_html(made)).text)
    assert words(summary(made)) in shown
    for outcome in made.outcomes:
        lead, rows = explain(outcome)
        assert words(outcome.spec.name) in shown
        assert lead in ("Right.", "Partly right.") or words(lead) in shown
        assert all(words(label) in shown and words(text) in shown for label, text in rows)
    for cell in stopped_cells(made):
        assert words(cell_text(cell).removeprefix(cell.label)).lower() in shown.lower()
    assert all((note.text in shown) == (not note.staff_only) for note in made.notes)
    assert "level a" in shown.lower()
    assert "landlock" in shown


@pytest.mark.parametrize("staff", [False, True])
def test_hostile_text_stays_text(staff):
    """Markup in every field of a student's is shown as it was typed, and acts nowhere."""
    root = assert_inert(report_html(hostile_report(), staff=staff))
    assert "<script>document.title='PWNED'</script>" in root.text
    assert not re.search("[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", root.text)


@given(ANY_TEXT, ANY_TEXT, ANY_TEXT)
@settings(deadline=None, max_examples=40)
def test_any_text_gives_a_well_formed_inert_page(label, text, name):
    """Arbitrary labels, values and file names never break the page's structure."""
    outcome = replace(MESSAGES["wrong-public"], explanation=((label, text),), hints=(text,))
    made = report(outcomes=(outcome,), total=Fraction(2), submission=name, notes=(Note(text, question=label),))
    assert_inert(report_html(made, staff=True)).text.encode("utf-8")


def test_a_page_for_students_does_not_depend_on_hidden_verdicts():
    """Hidden checks stand there without verdict and points: the same page whatever they are."""
    hidden = with_visibility(Visibility.AFTER_DUE_DATE, "1.2", "3.2")
    pages = {
        report_html(
            replace(
                hidden,
                outcomes=tuple(
                    replace(o, verdict=verdict, earned=Fraction(earned), hints=(), mistakes=())
                    if o.spec.number in ("1.2", "3.2")
                    else o
                    for o in hidden.outcomes
                ),
            )
        )
        for verdict, earned in ((PASSED, 5), (FAILED, 0), (BLOCKED, 0))
    }
    assert len(pages) == 1
    assert "Shown later" in pages.pop()


def test_staff_see_more_than_students():
    """Hidden checks, diagnoses, details and notes for staff are on the staff's page only."""
    made = with_visibility(Visibility.HIDDEN, "3.2")
    ours, theirs = (assert_inert(report_html(made, staff=staff)).text for staff in (True, False))
    for secret in ("not-scaled", "seed 7: max |Δ| = 0.41", "A process was left behind", "divided by √d"):
        assert secret in ours
        assert secret not in theirs


def test_the_page_can_be_read_by_ear():
    """Landmarks, one h1, no skipped heading, captions, scopes, labels that exist, pictures that are not read out."""
    root = assert_inert(report_html(report()))
    assert [len(root.all(tag)) for tag in ("header", "main", "footer", "h1")] == [1, 1, 1, 1]
    levels = [int(node.tag[1]) for node in root.all("h1", "h2", "h3", "h4")]
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert all(table.all("caption") for table in root.all("table"))
    assert all(head.attributes.get("scope") in ("row", "col") for head in root.all("th"))
    assert all(picture.attributes.get("aria-hidden") == "true" for picture in root.all("svg"))
    ids = [node.attributes["id"] for node in root.all() if "id" in node.attributes]
    assert len(ids) == len(set(ids))
    for node in root.all():
        for key in ("aria-labelledby", "href"):
            if (target := node.attributes.get(key)) and not target.startswith("http"):
                assert target.removeprefix("#") in ids
    (html,) = root.all("html")
    assert html.attributes["lang"] == "en"


def test_verdicts_are_words_and_signs_before_they_are_colours():
    """Each verdict has a word and a sign of its own in the text."""
    root = assert_inert(report_html(report()))
    said = {node.text for node in root.all("p") if node.attributes.get("class") == "verdict"}
    assert said == {
        "✓ Right",
        "✗ Not right",
        "◐ Partly right",
        "– Not tried",
        "! The grader failed; the points are open",
    }


def _bar(root: Node) -> dict[str, float]:
    (svg,) = [node for node in root.all("svg") if node.attributes.get("class") == "bar"]
    return {rect.attributes["class"]: float(rect.attributes["width"]) for rect in svg.all("rect")}


def test_the_bar_shows_the_shares_of_the_points():
    """Earned, open and shown later take their share of the width; the key says them as numbers."""
    root = assert_inert(report_html(with_visibility(Visibility.HIDDEN, "1.2")))
    bar = _bar(root)
    assert bar["bar-right"] == pytest.approx(1000 * 7.5 / 22, abs=0.01)
    assert bar["bar-open"] == pytest.approx(1000 * 2 / 22, abs=0.01)
    assert bar["bar-later"] == pytest.approx(1000 * 5 / 22, abs=0.01)
    assert all(text in root.text for text in ("7.5 earned", "2 open", "5 shown later", "7.5 not earned"))


def test_a_refused_hand_in_shows_its_reason_and_no_bar():
    """The reason is in the summary; a bar of zero points would say that something was graded."""
    root = assert_inert(report_html(report(refused="hw.ipynb is a PDF. Submit the notebook.")))
    assert "Nothing could be graded. hw.ipynb is a PDF. Submit the notebook." in root.text
    assert [node for node in root.all("svg") if node.attributes.get("class") == "bar"] == []


def test_practice_is_stamped_and_its_reasons_are_given():
    """The stamp, the level and the layers that are missing."""
    missing = Isolation(Level.C, ("rlimits",), {"landlock": "this kernel has no Landlock"})
    text = assert_inert(report_html(report(practice_only=True, isolation=missing))).text
    assert "Practice only, not for grades" in text
    assert "this kernel has no Landlock" in text


def test_questions_come_in_the_order_of_the_assignment_and_unknown_ones_last():
    """A check of a question that the file doesn't list is still on the page."""
    extra = Outcome(spec("Z.1", "An extra check.", 0), PASSED, Fraction(0))
    root = assert_inert(report_html(report(outcomes=(extra, *report().outcomes))))
    heads = [node.attributes["id"] for node in root.all("h2") if node.attributes.get("id", "").startswith("q-")]
    assert heads == [*(f"q-{question.id}" for question in QUESTIONS), "q-Z"]


def test_empty_reports_are_pages_too():
    """Nothing declared, nothing run: no division by zero, a whole page."""
    assert_inert(report_html(report(outcomes=(), total=Fraction(0), cells=(), notes=(), isolation=None)))
