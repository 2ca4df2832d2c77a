"""Blueprints: what an exam is made of, and an exact search for questions that meet it.

Slots are filled scarcest first by a seeded depth-first search. Two things cut it: what the remaining slots can still
add to each difficulty (all reachable totals, exactly) and to each type (bounds). Before the search, a matching tells
which slots compete for too few questions, so that a refusal names them.
"""

from __future__ import annotations

import functools
import hashlib
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from exam_bank.bank import HOME, Bank, Topics, most_telling
from exam_bank.draw import Draw
from exam_bank.errors import BlueprintError
from exam_bank.model import PartType, Question, group_of

__all__ = ["DEFAULT", "Blueprint", "ExamSettings", "Pick", "SectionSettings", "SlotSettings", "load_blueprint", "solve"]

DEFAULT = HOME / "blueprints" / "practice.toml"
Group = Literal["computed", "open"]
_STRICT = ConfigDict(extra="forbid", strict=True, frozen=True)
_GROUPS = ("true-false", "single", "multi", "computed", "match", "open")
MOST_NODES = 400_000


class SlotSettings(BaseModel):
    """A place for one question (or `count` of them)."""

    model_config = _STRICT
    points: int = Field(ge=1)
    topics: list[str] = Field(min_length=1)
    types: list[PartType | Group] = Field(default_factory=list)
    ids: list[str] = Field(default_factory=list)
    difficulty: list[int] = Field(default_factory=list)
    count: int = Field(1, ge=1, le=50)


class SectionSettings(BaseModel):
    """A section of the paper."""

    model_config = _STRICT
    id: str = Field(pattern=r"^[A-Z][A-Z0-9]*$")
    title: str
    minutes: float | None = Field(None, gt=0)
    points: int | None = Field(None, ge=1)
    slots: list[SlotSettings] = Field(min_length=1)


class ExamSettings(BaseModel):
    """What holds for the whole exam. difficulty: per cent of the points for 1, 2 and 3, within `slack`."""

    model_config = _STRICT
    title: str = Field(min_length=1)
    points: int = Field(ge=1)
    minutes: float = Field(gt=0)
    paper: Literal["us-letter", "a4"] = "us-letter"
    layout: Literal["plain", "gradescope", "crowdmark"] = "plain"
    difficulty: dict[Literal["1", "2", "3", "slack"], float] = Field(default_factory=dict)
    repeat: Literal["params", "id", "free"] = "params"
    across_versions: Literal["params", "questions"] = "params"
    types: dict[Literal["true-false", "single", "multi", "computed", "match", "open"], list[float]] = Field(
        default_factory=dict
    )
    instructions: str = "Answer all questions. Write in the boxes; fill one circle, or all squares that apply."

    @model_validator(mode="after")
    def _shares(self) -> ExamSettings:
        shares = [self.difficulty[each] for each in ("1", "2", "3") if each in self.difficulty]
        if self.difficulty and (len(shares) != 3 or abs(sum(shares) - 100) > 1e-9):
            raise ValueError("`difficulty` needs per cent for 1, 2 and 3 that add up to 100 (and may have `slack`)")
        for name, bounds in self.types.items():
            if len(bounds) != 2 or not 0 <= bounds[0] <= bounds[1] <= 100:
                raise ValueError(f"`types.{name}` is {bounds}: write [least, most] in per cent of the points")
        return self


class Blueprint(BaseModel):
    """A whole blueprint file."""

    model_config = _STRICT
    exam: ExamSettings
    section: list[SectionSettings] = Field(min_length=1)

    @model_validator(mode="after")
    def _sums(self) -> Blueprint:
        names = [section.id for section in self.section]
        if len(set(names)) < len(names):
            raise ValueError(f"two sections have one id: {names}")
        for section in self.section:
            total = sum(slot.points * slot.count for slot in section.slots)
            if section.points not in (None, total):
                raise ValueError(f"the slots of section {section.id} add up to {total} points, not {section.points}")
        total = sum(slot.points * slot.count for section in self.section for slot in section.slots)
        if total != self.exam.points:
            raise ValueError(f"the sections add up to {total} points, `exam.points` is {self.exam.points}")
        minutes = [section.minutes for section in self.section if section.minutes is not None]
        if len(minutes) == len(self.section) and abs(sum(minutes) - self.exam.minutes) > 1e-9:
            raise ValueError(
                f"the sections add up to {sum(minutes):g} minutes, `exam.minutes` is {self.exam.minutes:g}"
            )
        return self

    @property
    def sha256(self) -> str:
        """The blueprint's own hash: comments and spaces don't count."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()


def load_blueprint(path: Path | None = None) -> Blueprint:
    """Read a TOML file. Raises BlueprintError with file, key, reason and way out."""
    where = path or DEFAULT
    try:
        table = tomllib.loads(where.read_text(encoding="utf-8"))
    except OSError as fault:
        raise BlueprintError(f"can't be read: {fault.strerror}.", where=where, way_out="Name a TOML file.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as fault:
        raise BlueprintError(f"is not valid TOML: {fault}.", where=where, way_out="Mend that line.") from None
    try:
        return Blueprint.model_validate(table)
    except ValidationError as errors:
        first = most_telling(errors)
        key = ".".join(str(step) for step in first["loc"])
        reason = {"extra_forbidden": "this key is not known", "missing": "a required key is missing"}.get(
            first["type"], first["msg"].removeprefix("Value error, ")
        )
        raise BlueprintError(f"{reason}.", where=where, key=key or None, way_out="See the default blueprint.") from None


# ---------------------------------------------------------------------------------------------- the search


@dataclass(frozen=True)
class Pick:
    """A slot and the question that fills it. name: section and place, e.g. `B3`."""

    section: str
    name: str
    slot: SlotSettings
    question: Question


@dataclass(frozen=True)
class _Place:
    section: str
    name: str
    slot: SlotSettings
    candidates: tuple[Question, ...]


def _places(
    blueprint: Blueprint, bank: Bank, seed: int | str, forbidden: Collection[str], used: Mapping[str, int]
) -> list[_Place]:
    places = []
    for section in blueprint.section:
        number = 0
        for slot in section.slots:
            _known_topics(slot, bank.topics, section.id)
            leaves = {leaf for pattern in slot.topics for leaf in bank.topics.matches(pattern)}
            asked = (question for leaf in leaves for question in bank.by_topic.get(leaf, ()))
            fitting = [question for question in asked if _fits(question, slot) and question.id not in forbidden]
            fitting.sort(key=lambda question: question.id)
            for _ in range(slot.count):
                number += 1
                order = Draw(seed, "select", section.id, number).shuffled(fitting)
                order.sort(key=lambda question: used.get(question.id, 0))
                places.append(_Place(section.id, f"{section.id}{number}", slot, tuple(order)))
    return places


def _known_topics(slot: SlotSettings, topics: Topics, section: str) -> None:
    for pattern in slot.topics:
        if not topics.matches(pattern):
            raise BlueprintError(
                f"no topic is called {pattern!r}.", key=f"section {section}", way_out="Topics are in topics.toml."
            )


def _fits(question: Question, slot: SlotSettings) -> bool:
    head = question.head
    return (
        head.status == "reviewed"
        and head.points == slot.points
        and (not slot.types or question.main_type in slot.types or group_of(question.main_type) in slot.types)
        and (not slot.ids or head.id in slot.ids)
        and (not slot.difficulty or head.difficulty in slot.difficulty)
    )


def _described(place: _Place) -> str:
    slot = place.slot
    kinds = f", {'/'.join(slot.types)}" if slot.types else ""
    named = f", one of {slot.ids}" if slot.ids else ""
    return f"slot {place.name} needs 1 question of {', '.join(slot.topics)}{kinds}{named}, {slot.points} points"


def _resource(question: Question) -> str:
    """What a chosen question uses up: its group of which an exam takes one, or itself."""
    return f"group {question.head.exclusive}" if question.head.exclusive else question.id


def _check_each(places: Sequence[_Place], forbidden: Collection[str]) -> None:
    for place in places:
        if not place.candidates:
            kept = f" ({len(forbidden)} questions are taken by the ledger)" if forbidden else ""
            raise BlueprintError(
                f"{_described(place)}: the bank has 0{kept}.",
                key=place.name,
                way_out="Write one, or change the slot.",
            )


def _check_matching(places: Sequence[_Place]) -> None:
    """Every slot a question of its own: a maximum matching, or the slots that compete."""
    owner: dict[str, int] = {}

    def assign(i: int, seen: set[str]) -> bool:
        for question in places[i].candidates:
            name = _resource(question)
            if name in seen:
                continue
            seen.add(name)
            if name not in owner or assign(owner[name], seen):
                owner[name] = i
                return True
        return False

    for i in range(len(places)):
        seen: set[str] = set()
        if not assign(i, seen):
            rivals = sorted({places[owner[name]].name for name in seen} | {places[i].name})
            raise BlueprintError(
                f"the slots {', '.join(rivals)} compete for {len(seen)} questions: {', '.join(sorted(seen))}.",
                key=places[i].name,
                way_out="Write more of that kind, or change a slot.",
            )


Shares = tuple[int, int, int]


def _difficulty(question: Question) -> Shares:
    level, points = question.head.difficulty, question.head.points
    return tuple(points if level == each else 0 for each in (1, 2, 3))  # type: ignore[return-value]


def _types(question: Question) -> tuple[int, ...]:
    totals = dict.fromkeys(_GROUPS, 0)
    for part in question.head.parts:
        totals[group_of(part.type)] += part.points
    return tuple(totals[name] for name in _GROUPS)


@dataclass(frozen=True)
class _Limits:
    """Bounds on points: (least, most) per difficulty and per type."""

    difficulty: tuple[tuple[float, float], ...]
    types: tuple[tuple[float, float], ...]


def _limits(settings: ExamSettings) -> _Limits:
    slack = settings.difficulty.get("slack", 0.0)
    unit = settings.points / 100
    anything = (0.0, float(settings.points))
    return _Limits(
        tuple(
            ((settings.difficulty[each] - slack) * unit, (settings.difficulty[each] + slack) * unit)
            if settings.difficulty
            else anything
            for each in ("1", "2", "3")
        ),
        tuple(
            (settings.types[name][0] * unit, settings.types[name][1] * unit) if name in settings.types else anything
            for name in _GROUPS
        ),
    )


def _inside(totals: Sequence[int], bounds: Sequence[tuple[float, float]]) -> bool:
    return all(low - 1e-9 <= total <= high + 1e-9 for total, (low, high) in zip(totals, bounds, strict=True))


def _add(first: Shares, second: Shares) -> Shares:
    return first[0] + second[0], first[1] + second[1], first[2] + second[2]


@functools.lru_cache(maxsize=64)
def _reachable(
    steps: tuple[frozenset[Shares], ...], bounds: tuple[tuple[float, float], ...]
) -> tuple[list[frozenset[Shares]], frozenset[Shares]]:
    """For each depth, the difficulty totals so far from which the bounds can still be met; and all final totals."""
    reach: list[frozenset[Shares]] = [frozenset({(0, 0, 0)})]
    for each in steps:
        reach.append(frozenset((a + x, b + y, c + z) for a, b, c in reach[-1] for x, y, z in each))
    good = [frozenset(total for total in reach[-1] if _inside(total, bounds))]
    for before, each in zip(reach[-2::-1], reversed(steps), strict=True):
        good.append(before & {(a - x, b - y, c - z) for a, b, c in good[-1] for x, y, z in each})
    return good[::-1], reach[-1]


class _Search:
    """Depth-first over the slots, scarcest first."""

    def __init__(self, places: Sequence[_Place], limits: _Limits) -> None:
        self.places = sorted(places, key=lambda place: (len(place.candidates), place.name))
        self.limits = limits
        self.nodes = 0
        self.chosen: list[Question] = []
        self.used: set[str] = set()
        steps = tuple(frozenset(map(_difficulty, place.candidates)) for place in self.places)
        self.allowed, self.reachable = _reachable(steps, limits.difficulty)
        self.low, self.high = self._type_bounds()

    def _type_bounds(self) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
        """For each depth, the least and the most that the remaining slots add to each type."""
        low, high = [(0,) * len(_GROUPS)], [(0,) * len(_GROUPS)]
        for place in reversed(self.places):
            kinds = [_types(question) for question in place.candidates]
            low.append(tuple(a + min(column) for a, column in zip(low[-1], zip(*kinds, strict=True), strict=True)))
            high.append(tuple(a + max(column) for a, column in zip(high[-1], zip(*kinds, strict=True), strict=True)))
        return low[::-1], high[::-1]

    def _types_possible(self, depth: int, totals: Sequence[int]) -> bool:
        return all(
            total + most >= least_wanted - 1e-9 and total + least <= most_wanted + 1e-9
            for total, least, most, (least_wanted, most_wanted) in zip(
                totals, self.low[depth], self.high[depth], self.limits.types, strict=True
            )
        )

    def check(self) -> None:
        """Refuse when no choice at all meets a share, whatever is used twice."""
        if (0, 0, 0) not in self.allowed[0]:
            best = min(
                self.reachable,
                key=lambda total: sum(
                    max(low - t, 0, t - high) for t, (low, high) in zip(total, self.limits.difficulty, strict=True)
                ),
            )
            raise BlueprintError(
                "no exam has the wanted difficulty: "
                f"nearest is {best[0]}, {best[1]} and {best[2]} points of level 1, 2 and 3.",
                key="exam.difficulty",
                way_out="Widen `slack`, or write questions of the missing level.",
            )
        for i, name in enumerate(_GROUPS):
            least, most = self.limits.types[i]
            if self.high[0][i] < least - 1e-9 or self.low[0][i] > most + 1e-9:
                raise BlueprintError(
                    f"the slots give {self.low[0][i]} to {self.high[0][i]} points of {name}, "
                    f"{least:g} to {most:g} are wanted.",
                    key=f"exam.types.{name}",
                    way_out="Change the share, or the slots.",
                )

    def run(self) -> bool:
        """Fill `chosen`; False when every way was tried."""
        return self._step(0, (0, 0, 0), (0,) * len(_GROUPS))

    def _step(self, depth: int, levels: Shares, kinds: tuple[int, ...]) -> bool:
        if depth == len(self.places):
            return True
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise BlueprintError(
                f"no exam was found in {MOST_NODES} steps.", way_out="Loosen the shares, or write more questions."
            )
        for question in self.places[depth].candidates:
            name = _resource(question)
            after = _add(levels, _difficulty(question))
            totals = tuple(a + b for a, b in zip(kinds, _types(question), strict=True))
            if name in self.used or after not in self.allowed[depth + 1] or not self._types_possible(depth + 1, totals):
                continue
            self.chosen.append(question)
            self.used.add(name)
            if self._step(depth + 1, after, totals):
                return True
            self.chosen.pop()
            self.used.discard(name)
        return False


def solve(
    blueprint: Blueprint,
    bank: Bank,
    seed: int | str,
    *,
    forbidden: Collection[str] = (),
    used: Mapping[str, int] | None = None,
) -> list[Pick]:
    """Questions for all slots, in the order of the paper.

    forbidden: ids that the ledger rules out; used: how often other versions have an id already (fewest first).
    Raises BlueprintError with the slot, or the share, that can't be met.
    """
    places = _places(blueprint, bank, seed, forbidden, used or {})
    _check_each(places, forbidden)
    _check_matching(places)
    search = _Search(places, _limits(blueprint.exam))
    search.check()
    if not search.run():
        raise BlueprintError(
            "every combination was tried: slots, shares and `exclusive` groups can't be met together.",
            way_out="Widen `slack` or a share of `types`, or write more questions.",
        )
    found = {place.name: question for place, question in zip(search.places, search.chosen, strict=True)}
    return [Pick(place.section, place.name, place.slot, found[place.name]) for place in places]
