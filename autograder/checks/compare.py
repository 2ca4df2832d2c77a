"""Is this the expected value? In the order type → shape → dtype → finite → value.

Tolerances follow from the coarser dtype of the two sides; they are measured noise with room (float64 maths is noisy
at 1e-15, float32 attention at 1e-6). Integers, bools and strings are compared exactly. A wrong dtype is a matter of
the contract: values are compared all the same. A list passes for a tuple, and the reverse, unless `exact`.

A `Difference` holds a reason from the closed set and names of types, which anybody may read, and details that only a
public check shows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from autograder.model import Reason, Value

__all__ = ["Difference", "Tolerance", "compare", "contract", "distance", "kind_name", "show"]

#: dtype → (rtol, atol), coarsest last.
_TOLERANCES = {
    torch.float64: (1e-7, 1e-9),
    torch.float32: (1e-4, 1e-5),
    torch.float16: (1e-2, 1e-3),
    torch.bfloat16: (2e-2, 1e-2),
}
_COARSENESS = list(_TOLERANCES)


@dataclass(frozen=True, slots=True)
class Tolerance:
    """What counts as equal. rtol, atol: None means by dtype · exact: lists and tuples differ."""

    rtol: float | None = None
    atol: float | None = None
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Difference:
    """Why a value is not the expected one. lines: (label, text), with values: for public checks and staff only ·
    kinds: (type given, type expected), for everybody · is_none: None was given, whole or inside."""

    reason: Reason
    lines: tuple[tuple[str, str], ...] = ()
    returned_none: bool = False
    is_none: bool = False
    kinds: tuple[str, str] | None = None


def compare(expected: Value, given: Value, tolerance: Tolerance = Tolerance()) -> Difference | None:
    """The first difference in values, or None. dtypes and number types may differ."""
    return _Comparison(tolerance, False).differ(expected, given, "")


def contract(expected: Value, given: Value) -> Difference | None:
    """The first difference in type, shape, dtype or finiteness, or None. Values are not compared."""
    return _Comparison(Tolerance(), True).differ(expected, given, "")


class _Comparison:
    def __init__(self, tolerance: Tolerance, contract_only: bool) -> None:
        self.tolerance, self.contract_only = tolerance, contract_only

    def differ(self, expected: Value, given: Value, where: str) -> Difference | None:
        if isinstance(expected, Tensor):
            return self.tensors(expected, given, where)
        if isinstance(expected, list | tuple):
            return self.sequences(expected, given, where)
        if isinstance(expected, dict):
            return self.mappings(expected, given, where)
        if isinstance(expected, int | float):
            return self.numbers(expected, given, where)
        if type(expected) is not type(given):
            return _wrong_type(expected, given, where)
        if expected != given and not self.contract_only:
            return _difference(Reason.WRONG, expected, given, where)
        return None

    def sequences(self, expected: Sequence[Any], given: Value, where: str) -> Difference | None:
        if not isinstance(given, list | tuple) or (self.tolerance.exact and type(given) is not type(expected)):
            return _wrong_type(expected, given, where)
        if len(given) != len(expected):
            return Difference(
                Reason.SHAPE,
                (("you gave", f"{len(given)} values{_at(where)}"), ("expected", f"{len(expected)} values")),
            )
        pairs = zip(expected, given, strict=True)
        return next((d for i, (e, g) in enumerate(pairs) if (d := self.differ(e, g, f"{where}[{i}]"))), None)

    def mappings(self, expected: dict[str, Any], given: Value, where: str) -> Difference | None:
        if not isinstance(given, dict):
            return _wrong_type(expected, given, where)
        if self.contract_only:
            shared = [key for key in expected if key in given]
        elif expected.keys() != given.keys():
            return _wrong_keys(expected, given, where)
        else:
            shared = list(expected)
        return next((d for key in shared if (d := self.differ(expected[key], given[key], f"{where}[{key!r}]"))), None)

    def numbers(self, expected: int | float, given: Value, where: str) -> Difference | None:
        if not self.contract_only and isinstance(given, Tensor) and given.dim() == 0:
            given = given.item()
        if not isinstance(given, bool | int | float):
            return _wrong_type(expected, given, where)
        if self.contract_only:
            return self.number_contract(expected, given, where)
        if isinstance(expected, float) or isinstance(given, float):
            rtol, atol = self.limits(torch.float64, torch.float64)
            if math.isfinite(expected) and not math.isfinite(given):
                return _difference(Reason.NOT_FINITE, expected, given, where)
            equal = _close(expected, given, rtol, atol)
        else:
            equal = _close(expected, given, self.tolerance.rtol or 0.0, self.tolerance.atol or 0.0)
        return None if equal else _difference(Reason.WRONG, expected, given, where)

    def number_contract(self, expected: int | float, given: int | float, where: str) -> Difference | None:
        """bool for bool, int for int, int or float for float."""
        right = type(given) in (int, float) if isinstance(expected, float) else type(given) is type(expected)
        if not right:
            return _wrong_type(expected, given, where)
        if math.isfinite(expected) and not math.isfinite(given):
            return _difference(Reason.NOT_FINITE, expected, given, where)
        return None

    def tensors(self, expected: Tensor, given: Value, where: str) -> Difference | None:
        if isinstance(given, bool | int | float) and expected.dim() == 0 and not self.contract_only:
            given = torch.tensor(given, dtype=torch.float64 if isinstance(given, float) else None)
        if not isinstance(given, Tensor):
            return _wrong_type(expected, given, where)
        if given.shape != expected.shape:
            return Difference(Reason.SHAPE, (("you gave", _shape(given) + _at(where)), ("expected", _shape(expected))))
        if self.contract_only and given.dtype != expected.dtype:
            return Difference(
                Reason.DTYPE,
                (("you gave", f"{given.dtype}{_at(where)}"), ("expected", str(expected.dtype))),
                kinds=(str(given.dtype), str(expected.dtype)),
            )
        if given.dtype == expected.dtype and torch.equal(expected, given):
            return None
        bad = _finite(expected) & ~_finite(given)
        if bool(bad.any()):
            return _not_finite(expected, given, bad, where)
        return None if self.contract_only else self.tensor_values(expected, given, where)

    def tensor_values(self, expected: Tensor, given: Tensor, where: str) -> Difference | None:
        if not (expected.is_floating_point() or given.is_floating_point()) and self.tolerance.atol is None:
            wrong = expected != given
        else:
            rtol, atol = self.limits(expected.dtype, given.dtype)
            wide, other = expected.to(torch.float64), given.to(torch.float64)
            wrong = ~torch.isclose(other, wide, rtol=rtol, atol=atol, equal_nan=True)
        return _wrong_values(expected, given, wrong, where) if bool(wrong.any()) else None

    def limits(self, *dtypes: torch.dtype) -> tuple[float, float]:
        """(rtol, atol) of the coarser dtype, where the check names none."""
        coarsest = max((d for d in dtypes if d in _TOLERANCES), key=_COARSENESS.index)
        rtol, atol = _TOLERANCES[coarsest]
        named = self.tolerance.rtol is not None or self.tolerance.atol is not None
        if named:  # an absolute limit alone means that limit alone
            return self.tolerance.rtol or 0.0, self.tolerance.atol or 0.0
        return rtol, atol


def _finite(tensor: Tensor) -> Tensor:
    return torch.isfinite(tensor) if tensor.is_floating_point() else torch.ones_like(tensor, dtype=torch.bool)


def _close(expected: float, given: float, rtol: float, atol: float) -> bool:
    if expected == given or (expected != expected and given != given):
        return True
    return math.isfinite(expected) and math.isfinite(given) and abs(expected - given) <= atol + rtol * abs(expected)


# ── details for public checks and staff ───────────────────────────────────────────────────────────────────────
def _at(where: str) -> str:
    return f" at {where}" if where else ""


def _shape(tensor: Tensor) -> str:
    return f"a tensor of shape {tuple(tensor.shape)}"


def _kind(value: Value) -> str:
    return "a tensor" if isinstance(value, Tensor) else "None" if value is None else type(value).__name__


def kind_name(value: Value) -> str:
    """The name of a plain value's type: one of a closed set."""
    return "torch.Tensor" if isinstance(value, Tensor) else "None" if value is None else type(value).__name__


def _wrong_type(expected: Value, given: Value, where: str) -> Difference:
    lines = (("you gave", _kind(given) + _at(where)), ("expected", _kind(expected)))
    kinds = (kind_name(given), kind_name(expected))
    return Difference(Reason.TYPE, lines, given is None and not where, given is None, None if where else kinds)


def _difference(reason: Reason, expected: Value, given: Value, where: str) -> Difference:
    return Difference(reason, (("you gave", show(given) + _at(where)), ("expected", show(expected))))


def _wrong_keys(expected: dict[str, Any], given: dict[str, Any], where: str) -> Difference:
    missing, extra = [k for k in expected if k not in given], [k for k in given if k not in expected]
    lines = [("you gave", f"a dict with {len(given)} keys{_at(where)}"), ("expected", f"{len(expected)} keys")]
    if missing:
        lines.append(("missing", ", ".join(map(repr, missing[:3]))))
    if extra:
        lines.append(("too many", ", ".join(map(repr, extra[:3]))))
    return Difference(Reason.WRONG, tuple(lines))


def _first(mask: Tensor) -> tuple[int, ...]:
    return tuple(int(i) for i in mask.nonzero()[0])


def _not_finite(expected: Tensor, given: Tensor, bad: Tensor, where: str) -> Difference:
    nans = int(torch.isnan(given).sum())
    lines = (
        ("you gave", f"{int(bad.sum())} of {bad.numel()} values are not finite ({nans} NaN){_at(where)}"),
        ("expected", "finite values"),
        ("first at", str(list(_first(bad)))),
    )
    return Difference(Reason.NOT_FINITE, lines)


def _wrong_values(expected: Tensor, given: Tensor, wrong: Tensor, where: str) -> Difference:
    index = _first(wrong)
    largest = float((given.to(torch.float64) - expected.to(torch.float64))[wrong].abs().max())
    lines = (
        ("you gave", show(given) + _at(where)),
        ("expected", show(expected)),
        (
            "differs",
            f"in {int(wrong.sum())} of {wrong.numel()} values, by {largest:.3g} at most, first at {list(index)}",
        ),
    )
    return Difference(Reason.WRONG, lines)


def show(value: Value, width: int = 300) -> str:
    """A value on one line, cut to `width` characters."""
    if isinstance(value, Tensor) and value.numel() <= 12:
        digits = torch.round(value, decimals=4).tolist() if value.is_floating_point() else value.tolist()
        text = f"tensor({digits})"
    elif isinstance(value, Tensor):
        text = f"a tensor of shape {tuple(value.shape)}, {str(value.dtype).removeprefix('torch.')}"
    elif isinstance(value, float):
        text = f"{value:.6g}"
    elif isinstance(value, list | tuple):
        inner = ", ".join(show(item, width) for item in value[:12]) + (", …" if len(value) > 12 else "")
        text = f"[{inner}]" if isinstance(value, list) else f"({inner})"
    elif isinstance(value, dict):
        items = [f"{key!r}: {show(item, width)}" for key, item in list(value.items())[:12]]
        text = "{" + ", ".join(items) + (", …" if len(value) > 12 else "") + "}"
    elif isinstance(value, str):
        text = repr(value[: width + 1])
    else:
        text = repr(value)
    return text if len(text) <= width else text[: width - 1] + "…"


def distance(expected: Value, given: Value) -> float:
    """Largest absolute difference over all numbers; inf where type, shape or text differ."""
    if isinstance(expected, Tensor) and isinstance(given, Tensor):
        if expected.shape != given.shape:
            return math.inf
        gap = (expected.to(torch.float64) - given.to(torch.float64)).abs()
        gap = torch.where(expected == given, torch.zeros_like(gap), gap)
        return float(torch.nan_to_num(gap, nan=math.inf, posinf=math.inf).max()) if gap.numel() else 0.0
    if isinstance(expected, list | tuple) and isinstance(given, list | tuple):
        if len(expected) != len(given):
            return math.inf
        return max((distance(e, g) for e, g in zip(expected, given, strict=True)), default=0.0)
    if isinstance(expected, dict) and isinstance(given, dict):
        if expected.keys() != given.keys():
            return math.inf
        return max((distance(expected[key], given[key]) for key in expected), default=0.0)
    if isinstance(expected, int | float) and isinstance(given, int | float):
        far = 0.0 if expected == given else abs(float(expected) - float(given))
        return math.inf if far != far else far
    return 0.0 if type(expected) is type(given) and expected == given else math.inf
