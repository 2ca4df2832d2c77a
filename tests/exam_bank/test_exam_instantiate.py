"""A question is a pure function of its seed; templates see what they may see; fences and choices are found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from exam_helpers import Plant
from hypothesis import given, settings
from hypothesis import strategies as st

from exam_bank.bank import Bank, load_bank, load_question
from exam_bank.errors import BankError, GeneratorError
from exam_bank.instantiate import instantiate, verified

TWO = "- {key: a, type: single, points: 2, shuffle: true}"
BODY = """
Stem.

::: {.part key=a}
Which?

- [x] One
  why: because
- [ ] Two
- [ ] Three
- [ ] [None]{.fixed}
:::

::: solution
One.
:::
"""


def _load(folder: Path) -> Any:
    return load_question(folder / "planted.md")


def test_the_same_seed_gives_the_same_variant(bank: Bank) -> None:
    """Every question of the bank, twice."""
    for question in bank.questions:
        assert instantiate(question, 11, 3) == instantiate(question, 11, 3)


@given(seed=st.integers(0, 10**9))
@settings(deadline=None, max_examples=30)
def test_the_right_choice_survives_every_shuffle(seed: int) -> None:
    """Text, mark and reason of a choice move together, and a fixed choice stays where it is."""
    question = load_bank(Path(__file__).parent / "bank")["residual-facts"]
    part = instantiate(question, seed, 1).parts[0]
    assert {choice.index for choice in part.choices if choice.right} == {0, 1}
    assert part.choices[-1].text == "None of these"
    assert [choice.why for choice in part.choices if choice.index == 2] == ["Nothing is learned on the shortcut."]


def test_a_new_part_moves_no_other_shuffle(plant: Plant) -> None:
    """Each element has a stream of its own."""
    before = [c.index for c in instantiate(_load(plant(TWO, BODY)), 5, 1).parts[0].choices]
    more = "- {key: z, type: true-false, points: 1, answer: true}\n- {key: a, type: single, points: 1, shuffle: true}"
    body = BODY.replace("::: {.part key=a}", "::: {.part key=z}\nTrue.\n:::\n\n::: {.part key=a}")
    after = [c.index for c in instantiate(_load(plant(more, body)), 5, 1).parts[1].choices]
    assert before == after


def test_code_with_shift_signs_is_left_alone(bank: Bank) -> None:
    """`<% raw %>` protects code; a fence inside a code block is code."""
    stem = instantiate(bank["shape-line"], 1, 1).stem
    assert "s << 0 if False else s" in stem


def test_the_stem_cant_see_the_solution(plant: Plant) -> None:
    """A name of `solution` before the solution div is an error with its line."""
    code = "def generate(rng):\n    return {'params': {'n': 1}, 'solution': {'key': 2}}\n\ndef verify(params):\n    return {}\n"
    folder = plant(TWO, BODY.replace("Stem.", "Stem with << n >>\nand << key >>."), code)
    with pytest.raises(BankError, match="'key' is undefined") as caught:
        instantiate(_load(folder), 1, 1)
    assert caught.value.rule == "Q011"
    lines = (folder / "planted.md").read_text().splitlines()
    assert caught.value.line is not None
    assert "<< key >>" in lines[caught.value.line - 1]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("__import__('fractions').Fraction(1, 2)", "type Fraction"),
        ("float('nan')", "nan"),
        ("{1: 2}", "no str"),
        ("__import__('numpy').float64(1)", "type float64"),
    ],
)
def test_parameters_that_are_no_json_are_refused(plant: Plant, value: str, words: str) -> None:
    """What a manifest can't hold is no parameter."""
    code = f"def generate(rng):\n    return {{'params': {{'n': {value}}}}}\n\ndef verify(params):\n    return {{}}\n"
    with pytest.raises(GeneratorError, match=words) as caught:
        instantiate(_load(plant(TWO, BODY, code)), 1, 1)
    assert caught.value.rule == "Q031"


def test_an_exception_in_generate_names_its_line(plant: Plant) -> None:
    """The author is led to the line of their own file."""
    code = "def generate(rng):\n    return [][3]\n\ndef verify(params):\n    return {}\n"
    with pytest.raises(GeneratorError, match="IndexError in line 2"):
        instantiate(_load(plant(TWO, BODY, code)), 1, 1)


def test_verify_gets_a_copy(plant: Plant) -> None:
    """A second route that changes its input can't change the question."""
    code = "def generate(rng):\n    return {'params': {'n': [1]}}\n\ndef verify(params):\n    params['n'].append(2)\n    return {}\n"
    question = _load(plant(TWO, BODY, code))
    variant = instantiate(question, 1, 1)
    verified(question, variant.params)
    assert variant.params == {"n": [1]}


@pytest.mark.parametrize(
    ("parts", "old", "new", "words"),
    [
        (TWO, "- [ ] [None]{.fixed}", "more text", "follows the choices"),
        (TWO, "- [x] One\n  why: because\n- [ ] Two\n- [ ] Three\n- [ ] [None]{.fixed}", "", "0 choices"),
        ("- {key: a, type: numeric, points: 2, tolerance: {abs: 0}, answer: '3'}", "Which?", "Which?", "has choices"),
        ("- {key: a, type: single, points: 2, answer: Four}", "[x] One", "[ ] One", "don't bear out"),
    ],
)
def test_a_part_that_contradicts_itself_is_refused(plant: Plant, parts: str, old: str, new: str, words: str) -> None:
    """Choices and answers fit the type of the part."""
    with pytest.raises(BankError, match=words):
        instantiate(_load(plant(parts, BODY.replace(old, new))), 1, 1)
