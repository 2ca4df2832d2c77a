"""Text of students on its way to people: nothing in it can act, forge a line, or flood a page."""

from __future__ import annotations

import unicodedata
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_samples import HOSTILE

from autograder.report.text import clean, cut, one_line, points_text, signed_points

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=200)


@given(ANY_TEXT)
@settings(deadline=None)
def test_clean_text_holds_no_character_that_acts(text):
    """After `clean` there are no controls but newline, no direction overrides, no surrogates; twice is once."""
    cleaned = clean(text)
    acting = {c for c in cleaned if unicodedata.category(c) in ("Cc", "Cs") and c != "\n"}
    assert acting == set()
    assert not any(0x202A <= ord(c) <= 0x202E or 0x2066 <= ord(c) <= 0x2069 for c in cleaned)
    assert clean(cleaned) == cleaned
    cleaned.encode("utf-8")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07shown", "shown"),
        ("\x1b]8;;https://x.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("abc\u202edef\u2069", "abcdef"),
        ("n\x00ul \ud800", "nul \ufffd"),
        ("tab\tstop", "tab stop"),
        ("naïve √d · Ωμέγα 日本", "naïve √d · Ωμέγα 日本"),
    ],
)
def test_what_clean_takes_away_and_what_it_keeps(text, expected):
    """Escapes go with their arguments; letters of any language stay."""
    assert clean(text) == expected


@given(st.text(st.sampled_from("ab\n"), max_size=400), st.integers(60, 300))
@settings(deadline=None)
def test_cut_keeps_length_tail_and_whole_lines(text, longest):
    """A cut text is short enough, ends as the original ends, and says that something is gone."""
    short = cut(text, longest)
    assert len(short) <= longest
    if len(text) <= longest:
        assert short == text
    else:
        assert "characters left out" in short
        assert text.endswith(short.split(" left out …\n", 1)[1])


def test_cut_of_many_lines_cuts_at_line_ends():
    """Head and tail consist of whole lines, and the last line survives."""
    lines = [f"line {i}" for i in range(1000)]
    head, _, tail = cut("\n".join(lines), 500).partition("\n… ")
    assert all(line in lines for line in head.split("\n"))
    assert all(line in lines for line in tail.split(" …\n", 1)[1].split("\n"))
    assert tail.endswith("line 999")


@given(ANY_TEXT, st.integers(2, 80))
@settings(deadline=None)
def test_one_line_is_one_short_line(text, longest):
    """Names and labels never bring a second line."""
    line = one_line(text, longest)
    assert "\n" not in line
    assert len(line) <= longest


def test_one_line_of_hostile_text_is_plain():
    """The worst text that we know is a line of printable characters."""
    assert one_line(HOSTILE, 1000).isprintable()


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        (Fraction(3), "3"),
        (Fraction(5, 2), "2.5"),
        (Fraction(1, 3), "0.33"),
        (Fraction(1999, 1000), "1.999"),
        (Fraction(1, 1000), "0.001"),
        (Fraction(0), "0"),
        (Fraction(-1, 2), "−0.5"),
        (Fraction(-2), "−2"),
    ],
)
def test_points_read_as_people_write_them(points, expected):
    """Whole numbers have no decimals, and a lost bit is never rounded away to a whole number."""
    assert points_text(points) == expected


@pytest.mark.parametrize(("change", "expected"), [(Fraction(4), "+4"), (Fraction(-3, 2), "−1.5"), (Fraction(0), "0")])
def test_changes_carry_their_sign(change, expected):
    """A gain has a plus, a loss has a minus sign."""
    assert signed_points(change) == expected
