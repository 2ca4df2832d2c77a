"""The order and the tolerances of comparison."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.checks.compare import Tolerance, compare, contract, distance
from autograder.model import Reason

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(PLAIN)
@settings(deadline=None, max_examples=200)
def test_every_value_equals_itself(value: Any) -> None:
    """NaN and infinity included; its contract holds, and its distance is 0 wherever it has no NaN."""
    assert compare(value, value) is None
    assert contract(value, value) is None


@given(PLAIN, PLAIN)
@settings(deadline=None, max_examples=200)
def test_comparison_never_raises_whatever_came_back(expected: Any, given_: Any) -> None:
    """A student may return any plain value for any other."""
    compare(expected, given_)
    contract(expected, given_)
    distance(expected, given_)


@pytest.mark.parametrize(
    ("dtype", "noise", "mistake"),
    [(torch.float64, 1e-10, 1e-6), (torch.float32, 1e-6, 1e-2), (torch.float16, 1e-4, 0.1)],
)
def test_the_tolerance_follows_from_the_dtype(dtype: torch.dtype, noise: float, mistake: float) -> None:
    """Rounding noise passes, the smallest true mistakes don't."""
    value = torch.linspace(0.1, 1, 7, dtype=torch.float64)
    assert compare(value.to(dtype), (value + noise).to(dtype)) is None
    found = compare(value.to(dtype), (value + mistake).to(dtype))
    assert found is not None
    assert found.reason is Reason.WRONG


def test_a_wrong_dtype_costs_the_contract_only() -> None:
    """Values are compared at the coarser dtype."""
    value = torch.linspace(0, 1, 7, dtype=torch.float64)
    rounded = value.to(torch.float32)
    assert compare(value, rounded) is None
    found = contract(value, rounded)
    assert found is not None
    assert found.reason is Reason.DTYPE
    mask = torch.tensor([True, False])
    assert compare(mask, mask.to(torch.float32)) is None


@pytest.mark.parametrize(
    ("given_", "reason"),
    [
        ([1.0, 2.0], Reason.TYPE),
        (None, Reason.TYPE),
        (torch.zeros(3, dtype=torch.float32), Reason.SHAPE),
        (torch.zeros(1, 2, dtype=torch.float32), Reason.SHAPE),
        (torch.tensor([math.nan, 0.0], dtype=torch.float32), Reason.NOT_FINITE),
        (torch.tensor([math.inf, 0.0]), Reason.NOT_FINITE),
        (torch.tensor([1.0, 3.0]), Reason.WRONG),
    ],
)
def test_type_comes_before_shape_before_finite_before_value(given_: Any, reason: Reason) -> None:
    """The first thing that is wrong is named, also where more is wrong behind it."""
    found = compare(torch.tensor([1.0, 2.0], dtype=torch.float64), given_)
    assert found is not None
    assert found.reason is reason


def test_infinity_is_right_where_it_is_expected() -> None:
    """log 0 is −inf in a reference too."""
    value = torch.tensor([-math.inf, 1.0])
    assert compare(value, value.clone()) is None
    assert compare(value, -value) is not None
    assert contract(value, torch.tensor([0.0, 1.0])) is None
    assert compare(-math.inf, -math.inf) is None
    assert compare(0.5, math.inf) is not None


def test_lists_pass_for_tuples_unless_asked() -> None:
    """And the reverse; sizes still count."""
    assert compare((1, 2), [1, 2]) is None
    assert compare([1, 2], (1, 2)) is None
    assert compare((1, 2), [1, 2], Tolerance(exact=True)) is not None
    found = compare((1, 2), [1, 2, 3])
    assert found is not None
    assert found.reason is Reason.SHAPE


def test_counts_and_text_are_exact() -> None:
    """No tolerance for integers, bools, strings; a float that is near enough to an integer is that integer."""
    assert compare(10**15, 10**15 + 1) is not None
    assert compare("a", "b") is not None
    assert compare({"a": 1}, {"a": 1, "b": 0}) is not None
    assert compare(3, 3.0) is None
    assert contract(3, 3.0) is not None
    assert contract(3.0, 3) is None


def test_details_name_the_place_and_the_size_of_a_difference() -> None:
    """For public checks and staff: first index, largest difference, number of NaN."""
    expected = torch.zeros(3, 4, dtype=torch.float64)
    given_ = expected.clone()
    given_[1, 2], given_[2, 0] = 0.5, -2.0
    found = compare(expected, given_)
    assert found is not None
    assert ("differs", "in 2 of 12 values, by 2 at most, first at [1, 2]") in found.lines
    given_[0, 0] = math.nan
    found = compare(expected, given_)
    assert found is not None
    assert any("1 NaN" in text for _, text in found.lines)


def test_a_named_limit_replaces_both() -> None:
    """atol=5e-3 means 5e-3, without a relative part."""
    assert compare(torch.tensor([1000.0]), torch.tensor([1000.004]), Tolerance(atol=5e-3)) is None
    assert compare(torch.tensor([1000.0]), torch.tensor([1000.02]), Tolerance(atol=5e-3)) is not None
