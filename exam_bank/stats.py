"""The few statistics that the linter and the item analysis need, from their definitions."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["binomial_tail", "chi_square", "chi_square_p", "correlation", "mean", "variance"]


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean; ValueError on nothing."""
    if not values:
        raise ValueError("the mean of nothing")
    return math.fsum(values) / len(values)


def variance(values: Sequence[float]) -> float:
    """Sample variance (n − 1 in the denominator)."""
    middle = mean(values)
    return math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1)


def correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Pearson's r, or None where one side doesn't vary."""
    a, b = mean(first), mean(second)
    top = math.fsum((x - a) * (y - b) for x, y in zip(first, second, strict=True))
    bottom = math.fsum((x - a) ** 2 for x in first) * math.fsum((y - b) ** 2 for y in second)
    return top / math.sqrt(bottom) if bottom > 0 else None


def chi_square(counts: Sequence[float], expected: Sequence[float]) -> float:
    """Σ (observed − expected)² / expected."""
    return math.fsum((o - e) ** 2 / e for o, e in zip(counts, expected, strict=True))


def chi_square_p(value: float, freedom: int) -> float:
    """P(χ² ≥ value): the upper regularised gamma function Q(freedom / 2, value / 2)."""
    a, x = freedom / 2, value / 2
    if x <= 0:
        return 1.0
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        for n in range(1, 10_000):
            term *= x / (a + n)
            total += term
            if term < total * 1e-16:
                break
        return max(0.0, 1 - front * total)
    return front * _fraction(a, x)


def _fraction(a: float, x: float) -> float:
    """Continued fraction of Q(a, x), by Lentz's method."""
    tiny = 1e-300
    b = x + 1 - a
    c, d = 1 / tiny, 1 / b
    result = d
    for i in range(1, 10_000):
        step = -i * (i - a)
        b += 2
        d = 1 / (step * d + b or tiny)
        c = b + step / c or tiny
        result *= d * c
        if abs(d * c - 1) < 1e-16:
            break
    return result


def binomial_tail(hits: int, trials: int, p: float) -> float:
    """P(at least `hits` of `trials`)."""
    return math.fsum(math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(hits, trials + 1))
