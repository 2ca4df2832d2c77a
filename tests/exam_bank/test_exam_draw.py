"""Random streams: the numbers that were fixed on paper, and what makes shuffles fair."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exam_bank.draw import Draw, DrawsExhaustedError
from exam_bank.stats import chi_square, chi_square_p


def test_the_stream_of_the_example_is_the_one_on_record() -> None:
    """Seeds mean the same numbers for ever."""
    rng = Draw(7, 1, "attn-swap-x4", "params")
    assert [rng.below(10) for _ in range(12)] == [4, 2, 2, 4, 8, 9, 3, 2, 5, 0, 6, 2]


def test_every_permutation_is_as_likely_as_any_other() -> None:
    """24 orders of four choices over 6,000 seeds pass a chi-square test."""
    counts = Counter(tuple(Draw(seed, 1, "q", "choices/a").shuffled(range(4))) for seed in range(6000))
    values = [counts[order] for order in itertools.permutations(range(4))]
    assert chi_square_p(chi_square(values, [250.0] * 24), 23) > 0.001


def test_two_parts_of_a_question_are_shuffled_independently() -> None:
    """The joint place of the right choice in two parts is uniform over 16 cells."""
    joint: Counter[tuple[int, int]] = Counter()
    for seed in range(4000):
        places = [Draw(seed, 1, "q", f"choices/{part}").shuffled(range(4)).index(0) for part in ("a", "b")]
        joint[places[0], places[1]] += 1
    values = [joint[cell] for cell in itertools.product(range(4), repeat=2)]
    assert chi_square_p(chi_square(values, [250.0] * 16), 15) > 0.001


@given(st.integers(), st.integers(1, 10**30))
@settings(deadline=None)
def test_below_stays_below(seed: int, n: int) -> None:
    """Every number lies in its range, for ranges wider than a block too."""
    assert 0 <= Draw(seed).below(n) < n


@given(st.integers(), st.lists(st.integers(), max_size=20))
@settings(deadline=None)
def test_a_shuffle_keeps_its_items(seed: int, items: list[int]) -> None:
    """Nothing is lost or doubled, and the argument of `shuffled` stays as it was."""
    before = list(items)
    assert sorted(Draw(seed).shuffled(items)) == sorted(items)
    assert items == before


def test_a_stream_that_is_drawn_from_without_end_stops() -> None:
    """A rejection loop that can't succeed ends with an error instead of hanging."""
    rng = Draw("endless")
    with pytest.raises(DrawsExhaustedError, match="draws"):
        all(iter(lambda: rng.below(3) < 3, False))


def test_nonsense_is_refused() -> None:
    """An empty range and a sample larger than its list are errors, not surprises."""
    with pytest.raises(ValueError, match="at least 1"):
        Draw(1).below(0)
    with pytest.raises(ValueError, match="sample of 3"):
        Draw(1).sample([1, 2], 3)


def test_the_chi_square_tail_is_the_known_one() -> None:
    """Tabulated quantiles: 3.841 (1 df), 16.919 (9 df), 37.697 (15 df, 0.001)."""
    for value, freedom, p in [
        (3.841459, 1, 0.05),
        (16.918978, 9, 0.05),
        (37.697298, 15, 0.001),
        (1.0, 2, math.exp(-0.5)),
    ]:
        assert chi_square_p(value, freedom) == pytest.approx(p, rel=1e-5)
