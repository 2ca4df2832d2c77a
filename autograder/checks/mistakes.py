"""What students get wrong, by name; and the hypotheses that follow from it: singles and pairs.

A mistake is an edit of the reference's source, found exactly once. Edits of one function combine to pairs when they
belong to different axes and their places don't overlap; a whole function, where an edit can't say it, pairs with
nothing. `keeps` is the share of a failing check's points that the diagnosis leaves; for pairs the losses add.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

from autograder.checks.source import Source, Span, renamed
from autograder.errors import CourseError

__all__ = [
    "Alternative",
    "Axis",
    "Hypothesis",
    "Mistake",
    "Planned",
    "Same",
    "Way",
    "Whole",
    "alternative",
    "hypotheses",
    "mistake",
    "planned",
]

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Mistake:
    """An edit of the reference: `replace` (found exactly once in `function`) becomes `by`.

    keeps: share of a failing check's points that stays, 0 ≤ keeps < 1 · hint: one sentence for the student ·
    edits: several (old, new), in place of replace and by · pairs: whether it combines with others · seen_in: the
    functions whose checks show it, if not `function` · spills: ids of questions that it takes along, because
    follow-through can't work on such a value.
    """

    name: str
    question: str = ""
    function: str = ""
    replace: str = ""
    by: str = ""
    keeps: float | str | Fraction = 0
    hint: str = ""
    edits: Sequence[tuple[str, str]] = ()
    pairs: bool = True
    seen_in: Sequence[str] = ()
    spills: Sequence[str] = ()


@dataclass(frozen=True)
class Axis:
    """Edits that exclude each other: the wrong values of one choice. Question and function are inherited."""

    name: str
    question: str = ""
    function: str = ""
    mistakes: Sequence[Mistake] = ()
    pairs: bool = True

    def members(self) -> list[Mistake]:
        return [
            replace(
                m,
                question=m.question or self.question,
                function=m.function or self.function,
                pairs=m.pairs and self.pairs,
            )
            for m in self.mistakes
        ]


@dataclass(frozen=True)
class Same:
    """Names ("a"), pairs ("a+b") or "reference" that are provably one function; with the reason why."""

    names: Sequence[str]
    reason: str
    question: str | None = None


@dataclass(frozen=True)
class Whole:
    """A mistake that is a whole function, in place of `of`."""

    name: str
    question: str
    of: str
    keeps: float | str | Fraction
    hint: str
    body: Callable[..., Any]
    seen_in: Sequence[str] = ()
    spills: Sequence[str] = ()


@dataclass(frozen=True)
class Planned:
    """A planned wrong answer of a hand calculation: personal numbers → value."""

    name: str
    question: str
    part: str
    keeps: float | str | Fraction
    hint: str
    answer: Callable[[Any], Any]


@dataclass(frozen=True)
class Alternative:
    """Another right way to write a question: definitions (`source`) or an edit; it must get full marks.

    forfeits: numbers of checks that it may lose, e.g. brute force on a long input · on: earlier functions that this
    edit is built on in place of what the reference is built on; follow-through goes this way, too.
    """

    question: str
    name: str
    source: str = ""
    function: str = ""
    replace: str = ""
    by: str = ""
    edits: Sequence[tuple[str, str]] = ()
    forfeits: Sequence[str] = ()
    on: Sequence[str] = ()
    body: Callable[..., Any] | None = None


@dataclass(frozen=True)
class Way:
    """How a right answer may be built on earlier functions: the reference with these edits. None: as it is."""

    question: str
    function: str
    on: tuple[str, ...]
    spans: tuple[Span, ...]

    def change(self, source: Source, hypothesis: Hypothesis | None) -> dict[str, str]:
        """The definitions of this way, with the edits of a mistake."""
        more = () if hypothesis is None else hypothesis.spans
        return source.edited((*self.spans, *more))

    def takes(self, hypothesis: Hypothesis) -> bool:
        """Whether a mistake can be made on this way: edits at other places of the same function."""
        places = hypothesis.spans
        same = bool(places) and all(place.owner == self.function for place in places)
        return same and not any(a.overlaps(b) for a in places for b in self.spans)


def mistake(
    *,
    question: str,
    of: str,
    keeps: float | str,
    hint: str,
    name: str | None = None,
    seen_in: Sequence[str] = (),
    spills: Sequence[str] = (),
) -> Callable[[F], F]:
    """The decorated function is what a student might write in place of `of`. Its name, _ → -, is the mistake's."""

    def mark(function: F) -> F:
        title = name or function.__name__.replace("_", "-")
        whole = Whole(title, question, of, keeps, hint, function, seen_in, spills)
        return _marked(function, "__mistakes__", whole)

    return mark


def planned(*, question: str, part: str, keeps: float | str, hint: str, name: str | None = None) -> Callable[[F], F]:
    """The decorated function gives a planned wrong answer to part `part` of the hand calculations."""

    def mark(function: F) -> F:
        title = name or function.__name__.replace("_", "-")
        return _marked(function, "__mistakes__", Planned(title, question, part, keeps, hint, function))

    return mark


def alternative(*, question: str, of: str, name: str | None = None, forfeits: Sequence[str] = ()) -> Callable[[F], F]:
    """The decorated function is another right way to write `of`."""

    def mark(function: F) -> F:
        title = name or function.__name__.replace("_", "-")
        return _marked(
            function, "__alternatives__", Alternative(question, title, function=of, forfeits=forfeits, body=function)
        )

    return mark


def _marked(function: F, attribute: str, what: Any) -> F:
    """Append to the list on the function, so that one body can serve twice under two names."""
    setattr(function, attribute, [*getattr(function, attribute, ()), what])
    return function


# ── hypotheses ────────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, eq=False)
class Hypothesis:
    """One thing that a student may have done: a single mistake, or a pair.

    functions: whose checks show it · change: the texts of the definitions that it changes · answer: for a planned
    wrong answer · axis: edits of one axis exclude each other.
    """

    names: tuple[str, ...]
    question: str
    functions: frozenset[str]
    keeps: Fraction
    hints: tuple[str, ...]
    change: dict[str, str] = field(default_factory=dict)
    part: str | None = None
    answer: Callable[[Any], Any] | None = None
    spans: tuple[Span, ...] = ()
    axis: str | None = None
    spills: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return "+".join(self.names)

    @property
    def size(self) -> int:
        return len(self.names)

    @property
    def key(self) -> str:
        return f"{self.question}:{self.name}"


def hypotheses(items: Iterable[Any], source: Source, where: Path | str) -> tuple[Hypothesis, ...]:
    """All singles, then all pairs. Raises CourseError for an edit not found once, a bad `keeps`, a name twice."""
    singles: list[Hypothesis] = []
    for item in items:
        if isinstance(item, Axis):
            singles += [_single(m, source, where, axis=f"{m.function}:{item.name}") for m in item.members()]
        elif isinstance(item, Mistake):
            singles.append(_single(item, source, where, axis=f"{item.function}:{item.name}"))
        elif isinstance(item, Whole):
            singles.append(_whole(item, source, where))
        elif isinstance(item, Planned):
            singles.append(_planned(item, where))
        elif not isinstance(item, Same):
            raise CourseError(f"{item!r} is no Mistake, Axis or Same", where=where, key="MISTAKES")
    _no_name_twice(singles, where)
    pairs = [_pair(a, b, source) for a, b in combinations(singles, 2) if _combine(a, b)]
    return (*singles, *pairs)


def _keeps(value: float | str | Fraction, where: Path | str, key: str) -> Fraction:
    try:
        share = Fraction(str(value))
    except ValueError:
        share = Fraction(-1)
    if not 0 <= share < 1:
        raise CourseError(f"keeps is {value!r}; a share with 0 ≤ keeps < 1 was expected", where=where, key=key)
    return share


def _single(m: Mistake, source: Source, where: Path | str, axis: str) -> Hypothesis:
    key = f"mistake {m.name!r}"
    if not (m.name and m.question and m.function and m.hint):
        raise CourseError("a mistake needs name, question, function and hint", where=where, key=key)
    edits = m.edits or [(m.replace, m.by)]
    spans = tuple(source.find(m.function, old, new, where=where, key=key) for old, new in edits)
    if any(a.overlaps(b) for a, b in combinations(spans, 2)):
        raise CourseError("its edits overlap", where=where, key=key)
    return Hypothesis(
        (m.name,),
        m.question,
        frozenset(m.seen_in or (m.function.partition(".")[0],)),
        _keeps(m.keeps, where, key),
        (m.hint,),
        source.edited(spans),
        spans=spans,
        axis=axis if m.pairs else None,
        spills=tuple(m.spills),
    )


def _whole(m: Whole, source: Source, where: Path | str) -> Hypothesis:
    key = f"mistake {m.name!r}"
    if m.of not in source.names:
        raise CourseError(f"solution.py defines no `{m.of}`", where=where, key=key)
    change = {m.of: renamed(m.body, m.of)}
    unknown = source.unknown_names(change)
    if unknown:
        raise CourseError(f"its body uses {sorted(unknown)}, which solution.py does not have", where=where, key=key)
    return Hypothesis(
        (m.name,),
        m.question,
        frozenset(m.seen_in or (m.of,)),
        _keeps(m.keeps, where, key),
        (m.hint,),
        change,
        spills=tuple(m.spills),
    )


def _planned(m: Planned, where: Path | str) -> Hypothesis:
    keeps = _keeps(m.keeps, where, f"mistake {m.name!r}")
    return Hypothesis((m.name,), m.question, frozenset({"hand"}), keeps, (m.hint,), part=m.part, answer=m.answer)


def _combine(a: Hypothesis, b: Hypothesis) -> bool:
    """Two edits of one definition, of different axes, at different places."""
    if a.axis is None or b.axis is None or a.axis == b.axis or a.question != b.question:
        return False
    if {s.owner for s in a.spans} != {s.owner for s in b.spans}:
        return False
    return not any(s.overlaps(t) for s in a.spans for t in b.spans)


def _pair(a: Hypothesis, b: Hypothesis, source: Source) -> Hypothesis:
    spans = (*a.spans, *b.spans)
    return Hypothesis(
        (*a.names, *b.names),
        a.question,
        a.functions | b.functions,
        max(Fraction(0), a.keeps + b.keeps - 1),
        (*a.hints, *b.hints),
        source.edited(spans),
        spans=spans,
        spills=tuple(sorted({*a.spills, *b.spills})),
    )


def _no_name_twice(singles: Sequence[Hypothesis], where: Path | str) -> None:
    seen: set[str] = set()
    for single in singles:
        if single.key in seen or "+" in single.name or "|" in single.name:
            raise CourseError("this name is used twice in its question, or holds + or |", where=where, key=single.name)
        seen.add(single.key)
