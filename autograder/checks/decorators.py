"""The authors' vocabulary: gradescope-utils' decorators, typed once, and `public`.

What they leave on a function are attributes such as `__weight__`; `load` reads and checks them, `runner` obeys them.
gradescope-utils' own runner is not used: student code in its process could give itself any score.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from gradescope_utils.autograder_utils import decorators as _theirs

__all__ = ["chain", "leaderboard", "number", "partial_credit", "public", "tags", "visibility", "weight"]

F = TypeVar("F", bound=Callable[..., Any])


def weight(points: float) -> Callable[[F], F]:
    """The check's points, all or nothing."""
    return cast("Callable[[F], F]", _theirs.weight(points))


def number(value: str) -> Callable[[F], F]:
    """The check's number, a string of digits and dots such as "1.10"; the sort key."""
    if not isinstance(value, str):
        raise TypeError(f"number({value!r}): write a string, since 1.10 and 1.1 are the same float")
    return cast("Callable[[F], F]", _theirs.number(value))


def visibility(value: str) -> Callable[[F], F]:
    """ "hidden", "after_due_date", "after_published" or "visible"; the assignment's own otherwise."""
    return cast("Callable[[F], F]", _theirs.visibility(value))


def tags(*names: str) -> Callable[[F], F]:
    """Words for staff, such as "edge"."""
    return cast("Callable[[F], F]", _theirs.tags(*names))


def partial_credit(points: float) -> Callable[[F], F]:
    """In place of `weight`: the check calls `self.set_score(x)` with 0 ≤ x ≤ points, in every path."""

    def decorate(check: Any) -> Any:
        marked = _theirs.partial_credit(points)(check)
        marked.__partial__ = True
        return marked

    return cast("Callable[[F], F]", _with_optional("set_score", decorate))


def leaderboard(name: str, order: str = "desc") -> Callable[[F], F]:
    """Also a column of the leaderboard: the check calls `self.set_leaderboard_value(x)`; it keeps its points."""
    return cast("Callable[[F], F]", _with_optional("set_leaderboard_value", _theirs.leaderboard(name, order)))


def public(check: F) -> F:
    """The inputs of this check are fixed and public: values, messages and differences may be shown."""
    check.__public__ = True  # type: ignore[attr-defined]
    return check


def chain(check: Any) -> list[Any]:
    """The function and everything that it wraps, outermost first."""
    functions = [check]
    while (inner := getattr(functions[-1], "__wrapped__", None)) is not None:
        functions.append(inner)
    return functions


def _with_optional(keyword: str, decorate: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Let checks that use `self.…` leave out the keyword that gradescope-utils insists on."""
    import functools
    import inspect

    def apply(check: Any) -> Any:
        takes = inspect.signature(inspect.unwrap(check)).parameters
        if keyword in takes or any(p.kind is p.VAR_KEYWORD for p in takes.values()):
            return decorate(check)

        @functools.wraps(check)
        def without(*args: Any, **kwargs: Any) -> Any:
            kwargs.pop(keyword, None)
            return check(*args, **kwargs)

        return decorate(without)

    return apply
