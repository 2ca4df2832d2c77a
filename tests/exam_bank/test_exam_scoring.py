"""What an answer earns, and how numbers are read."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from exam_bank.bank import Bank
from exam_bank.bridge import grade, personal, prompt
from exam_bank.errors import BankError
from exam_bank.instantiate import instantiate
from exam_bank.model import OPEN_TYPES, Part, PartSpec, Tolerance
from exam_bank.printed import decimals_of, normal, parse
from exam_bank.scoring import score


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12,288", 12288), ("1 024", 1024), ("\u22123.5", Fraction(-7, 2)), ("3/4", Fraction(3, 4)), ("2.5e-4", Fraction(1, 4000)),
        ("$7$", 7), ("10{,}000", 10000), (".5", Fraction(1, 2)), ("1,2", None), ("abc", None), ("", None), ("1/0", None),
        ("1e999", 10**999), ("--1", None), ("1/2/3", None),
    ],
)  # fmt: skip
def test_printed_numbers_are_read(text: str, value: object) -> None:
    """Thousands, TeX commas, minus signs and fractions are numbers; other things are not."""
    assert parse(text) == value


@given(st.one_of(st.text(max_size=30), st.text("\\\\$ \r\n\t,:;!{}0123456789/eE+-.aß", max_size=30)))
@example("\\\\\r0")
@example("9" * 5000)
@settings(deadline=None)
def test_reading_never_fails(text: str) -> None:
    """Any text is a number or not, never an exception, and comparing is stable."""
    parse(text)
    assert normal(normal(text)) == normal(text)


def test_decimals_are_counted_as_printed() -> None:
    """Zeros at the end count."""
    assert [decimals_of(text) for text in ("3", "3.50", "-0.1", "2.5e-4")] == [0, 2, 1, 1]


@given(st.fractions(-1000, 1000), st.sampled_from([0.0, 0.01, 0.5]), st.sampled_from([0.0, 0.01, 0.1]))
@settings(deadline=None)
def test_both_sides_of_a_tolerance(key: Fraction, absolute: float, relative: float) -> None:
    """Inside earns all points, outside none."""
    spec = PartSpec(key="a", type="numeric", points=3, tolerance=Tolerance(abs=absolute, rel=relative))
    part = Part(spec, "", expected=(str(key),))
    room = Fraction(spec.tolerance.around(float(key))) if spec.tolerance else Fraction(0)
    assert score(part, [str(key)]) == 3
    assert score(part, [str(key + room * Fraction(99, 100))]) == 3
    assert score(part, [str(key + room * Fraction(101, 100) + Fraction(1, 1000))]) == 0


def test_partial_credit_of_each_type(bank: Bank) -> None:
    """multi `each`: (right − wrong) / n, never below 0; table and match by cell; vector all or nothing."""
    multi = instantiate(bank["residual-facts"], 1, 1).parts[0]
    assert [score(multi, chosen) for chosen in ({0, 1}, {0}, {0, 2}, {2, 3}, set())] == [3, Fraction(3, 2), 0, 0, 0]
    match = instantiate(bank["model-match"], 1, 1).parts[0]
    assert score(match, [match.expected[0], "x", match.expected[2]]) == 2
    vector = instantiate(bank["shape-line"], 1, 1).parts[0]
    assert score(vector, ["2", "3", "5", "5"]) == 2
    assert score(vector, ["2", "3", "5", "8"]) == 0
    assert score(vector, ["2", "3"]) == 0


def test_spelling_rules(bank: Bank) -> None:
    """Short answers: spaces and case don't count unless the part says so."""
    part = instantiate(bank["perplexity-two"], 1, 1).parts[2]
    assert score(part, ["  The   Perplexity "]) == 1
    assert score(part, ["perplex"]) == 0
    exact = Part(PartSpec(key="a", type="short", points=1, accept=["Adam"], case="exact"), "", expected=("Adam",))
    assert [score(exact, [text]) for text in ("Adam", "adam")] == [1, 0]


def test_every_key_earns_all_points(bank: Bank) -> None:
    """The key of each variant, given as an answer, is right; nothing given is worth nothing."""
    for question in bank.questions:
        for part in instantiate(question, 3, 1).parts:
            if part.spec.type in OPEN_TYPES:
                assert score(part, ["anything"]) is None
                continue
            key = {c.index for c in part.choices if c.right} if part.choices else part.expected
            assert score(part, key) == part.spec.points
            assert score(part, ()) == 0


def test_each_student_has_numbers_of_their_own(bank: Bank) -> None:
    """Bridge: the same student always gets the same numbers, two students differ, and the key earns all points."""
    question = bank["perplexity-two"]
    ana, ben = personal(question, "hw1", "ana@x.edu", "salt"), personal(question, "hw1", "ben@x.edu", "salt")
    assert ana == personal(question, "hw1", " ANA@x.edu ", "salt")
    assert ana.params != ben.params
    keys: dict[str, object] = {part.spec.key: list(part.expected) for part in ana.parts}
    keys["name"] = "perplexity"
    assert sum(grade(ana, keys).values()) == 5
    assert grade(ben, keys)["ppl"] == 0


def test_the_prompt_holds_no_key(bank: Bank) -> None:
    """What goes into a notebook is stem, parts and choices."""
    variant = personal(bank["gqa-kv-bytes"], "hw1", "ana", "salt")
    text = prompt(variant)
    assert "key-value" in text
    assert "(1 MiB is" in text
    assert variant.solution not in text
    letter = "ABCD"[[choice.right for choice in variant.parts[0].choices].index(True)]
    assert grade(variant, {"mib": letter, "ratio": variant.parts[1].expected[0]}) == {"mib": 2, "ratio": 1}


def test_an_open_part_cant_be_graded_by_machine(bank: Bank) -> None:
    """The bridge says so instead of giving 0."""
    with pytest.raises(BankError, match="read by a person"):
        grade(personal(bank["rope-shift"], "hw1", "ana"), {})
