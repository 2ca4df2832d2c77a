"""`results.json`: a report as Gradescope takes it, and never as it loses it.

One NaN, one number too long or a torn file costs a student the whole grade there, so nothing is written that the
strict validator of this module would not pass. Numbers are what makes that delicate: points are exact fractions, and
the file holds binary floats whose sum has to be the declared total. So each number is a whole multiple of the last
bit of the total (the total's *unit in the last place*): then every partial sum has at most 53 bits, and any program
that adds the numbers up, in any order, gets the declared total to the last bit. What rounding leaves over goes, one
unit each, to the largest remainders. Whole points, halves and quarters stay as they are; a third moves by 1e-14.

The first file is written before any student code runs, the next after each question; each replaces the one before
atomically, and checks that are not decided yet stand in it as faults of the grader. So whatever kills the grader, the
file is valid, keeps what was earned and blames nobody wrongly.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from autograder.errors import GraderFault
from autograder.model import LeaderboardRow, Outcome, Report, Verdict, Visibility
from autograder.report.student import (
    NUMBER_OF_THE_NOTEBOOK,
    check_text,
    headline,
    notebook_text,
    number_key,
    stopped_cells,
)
from autograder.report.text import LONGEST_OUTPUT, clean, one_line

__all__ = [
    "exact_floats",
    "render",
    "to_json",
    "validate_bytes",
    "validate_results",
    "write_atomic",
]

_STATUSES = ("passed", "failed")
_FORMATS = ("text", "html", "simple_format", "md", "ansi")
_VISIBILITIES = tuple(v.value for v in Visibility)
_ORDERS = ("asc", "desc")
_DEEPEST = 49
_LONGEST_NAME = 300
_LONGEST_KEY = 80


# ── report → dict → bytes ─────────────────────────────────────────────────────────────────────────────────────
def to_json(report: Report, previous: Mapping[str, Any] | None = None) -> bytes:
    """`results.json` as bytes: ASCII, strict JSON, checked by the validator. Raises GraderFault rather than lie."""
    data = json.dumps(render(report, previous), allow_nan=False, ensure_ascii=True).encode("ascii")
    if problems := validate_bytes(data, report.total):
        raise GraderFault(f"results.json would not be valid: {'; '.join(problems[:5])}")
    return data


def render(report: Report, previous: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """`report` as the object that Gradescope reads. Pure.

    previous: `results` of the last submission, for "since your last submission". Raises GraderFault when the
    declared checks contradict each other or the total, since no file would then be right.
    """
    outcomes = sorted(report.outcomes, key=lambda outcome: number_key(outcome.spec.number))
    _refuse_contradictions(report, outcomes)
    scores, maxima = exact_floats([o.earned for o in outcomes], [o.spec.points for o in outcomes])
    results: dict[str, Any] = {
        "score": math.fsum(scores),
        "output": headline(report, previous),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": report.visibility.value,
        "stdout_visibility": "hidden",
        "extra_data": _extra_data(report),
        "tests": [*_notebook_entry(report), *map(_entry, outcomes, scores, maxima)],
    }
    if (seconds := _number(report.seconds)) is not None:
        results["execution_time"] = max(0.0, round(seconds, 3))
    if rows := list(filter(None, map(_leaderboard_row, report.leaderboard))):
        results["leaderboard"] = rows
    return results


def _refuse_contradictions(report: Report, outcomes: Sequence[Outcome]) -> None:
    numbers = [outcome.spec.number for outcome in outcomes]
    if twice := sorted({number for number in numbers if numbers.count(number) > 1}):
        raise GraderFault(f"number {', '.join(twice)} stands for two checks: give each check its own number")
    possible = sum((outcome.spec.points for outcome in outcomes), Fraction(0))
    if possible != report.total:
        raise GraderFault(f"the checks have {possible} points, but {report.total} are declared")
    for outcome in outcomes:
        if not 0 <= outcome.earned <= outcome.spec.points:
            raise GraderFault(
                f"check {outcome.spec.number} earned {outcome.earned} of {outcome.spec.points} points: "
                "expected 0 up to all of them"
            )


def _notebook_entry(report: Report) -> Iterator[dict[str, Any]]:
    """The entry without points, left out when there is nothing to say or its number belongs to a check."""
    taken = any(outcome.spec.number == NUMBER_OF_THE_NOTEBOOK for outcome in report.outcomes)
    if taken or not (report.refused is not None or report.cells):
        return
    bad = report.refused is not None or bool(stopped_cells(report))
    yield {
        "number": NUMBER_OF_THE_NOTEBOOK,
        "name": "Your notebook",
        "status": "failed" if bad else "passed",
        "output": notebook_text(report),
        "output_format": "text",
        "visibility": "visible",
    }


def _entry(outcome: Outcome, score: float, maximum: float) -> dict[str, Any]:
    spec = outcome.spec
    entry: dict[str, Any] = {
        "number": one_line(spec.number),
        "name": one_line(spec.name, _LONGEST_NAME) or f"Check {one_line(spec.number)}",
        "score": score,
        "max_score": maximum,
        "status": "passed" if outcome.verdict is Verdict.PASSED else "failed",
        "output": check_text(outcome),
        "output_format": "text",
        "name_format": "text",
        "visibility": spec.visibility.value,
        "extra_data": _check_extra(outcome),
    }
    if spec.tags:
        entry["tags"] = [one_line(tag) for tag in spec.tags]
    return entry


def _check_extra(outcome: Outcome) -> dict[str, Any]:
    """What staff and later runs need. Never `outcome.staff`: it may hold expected values, and this file comes back
    in the metadata of the student's next submission."""
    extra: dict[str, Any] = {"verdict": outcome.verdict.value}
    if outcome.reason is not None:
        extra["reason"] = outcome.reason.value
    if outcome.mistakes:
        extra["mistakes"] = [one_line(name) for name in outcome.mistakes]
    if outcome.on_top_of:
        extra["on_top_of"] = [one_line(name) for name in outcome.on_top_of]
    if (seconds := _number(outcome.seconds)) is not None:
        extra["seconds"] = round(seconds, 3)
    return extra


def _extra_data(report: Report) -> dict[str, Any]:
    extra: dict[str, Any] = {
        "grader_version": one_line(report.grader_version),
        "assignment": one_line(report.assignment),
        "assignment_version": one_line(report.version),
        "submission_sha256": one_line(report.sha256),
        "outcome": _outcome_word(report),
        "complete": report.complete,
        "seed": one_line(report.seed),
        "practice_only": report.practice_only,
    }
    if report.isolation is not None:
        extra["isolation"] = report.isolation.level.value
        extra["sandbox"] = [one_line(layer) for layer in report.isolation.layers]
    if report.faults:
        extra["grader_faults"] = [one_line(outcome.spec.number) for outcome in report.faults]
    if notes := [one_line(note.text, 1000) for note in report.notes if note.staff_only or note.needs_human]:
        extra["staff_notes"] = notes[:200]
    return extra


def _outcome_word(report: Report) -> str:
    if report.refused is not None:
        return "refused"
    if report.faults or not report.complete:
        return "grader_fault"
    return "graded"


def _leaderboard_row(row: LeaderboardRow) -> dict[str, Any] | None:
    """Every student sees the value, so it is rounded; a value that is no number and no text, or no name, leaves no
    row."""
    value = clean(row.value)[:100] if isinstance(row.value, str) else _number(row.value)
    rounded = _number(float(f"{value:.4g}")) if isinstance(value, float) else value
    name = one_line(row.name)
    if rounded is None or not name or row.order not in _ORDERS:
        return None
    return {"name": name, "value": rounded, "order": row.order}


def _number(value: object) -> float | None:
    """Numbers of Python, numpy, torch, `Decimal` and `Fraction` as a finite float; else None."""
    if isinstance(value, bool | str | bytes) or not hasattr(value, "__float__"):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return None
    return number if math.isfinite(number) else None


# ── exact sums of floats ──────────────────────────────────────────────────────────────────────────────────────
def exact_floats(earned: Sequence[Fraction], possible: Sequence[Fraction]) -> tuple[list[float], list[float]]:
    """(scores, maxima) as floats with 0 ≤ score ≤ maximum, that add up exactly in any order.

    The maxima add up to `float(sum(possible))`, the scores to the float grid's nearest neighbour of `sum(earned)`.
    Full marks stay full marks, and no points stay none. Source of the rounding: largest remainders (Hamilton).
    """
    unit = Fraction(math.ulp(float(sum(possible, Fraction(0)))))
    maxima = _apportion([points / unit for points in possible], caps=None)
    scores = _apportion(
        [
            Fraction(maximum) if won == points else won / unit
            for won, points, maximum in zip(earned, possible, maxima, strict=True)
        ],
        caps=maxima,
    )
    return [float(n * unit) for n in scores], [float(n * unit) for n in maxima]


def _apportion(values: Sequence[Fraction], caps: Sequence[int] | None) -> list[int]:
    """Whole numbers next to `values`, whose sum is the rounded sum of `values` as far as `caps` allow."""
    whole = [math.floor(value) for value in values]
    if caps is not None:
        whole = [min(number, cap) for number, cap in zip(whole, caps, strict=True)]
    missing = round(sum(values, Fraction(0))) - sum(whole)
    for i in sorted(range(len(values)), key=lambda i: whole[i] - values[i]):
        if missing <= 0:
            break
        if values[i] > whole[i] and (caps is None or whole[i] < caps[i]):
            whole[i] += 1
            missing -= 1
    return whole


# ── the validator ─────────────────────────────────────────────────────────────────────────────────────────────
def validate_bytes(data: bytes, declared_total: Fraction | float) -> list[str]:
    """What is wrong with a file's bytes: encoding, strictness of the JSON, then `validate_results`."""
    if data.startswith(b"\xef\xbb\xbf"):
        return ["file: begins with a byte-order mark"]
    try:
        obj = json.loads(data.decode("utf-8"), parse_constant=_refuse_constant, object_pairs_hook=_refuse_twice)
    except (ValueError, RecursionError) as error:
        return [f"file: not strict JSON: {error}"]
    return validate_results(obj, declared_total)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"the number {name} is not JSON")


def _refuse_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError(f"a key stands twice among {sorted(found)}")
    return found


def validate_results(obj: object, declared_total: Fraction | float) -> list[str]:
    """What keeps `obj` from being a `results.json` that Gradescope takes as we mean it; empty when nothing does.

    Stricter than Gradescope: unknown keys, unequal totals and a score unlike the tests' sum are problems, too.
    """
    if not isinstance(obj, dict):
        return [f"file: a JSON object is expected, not {type(obj).__name__}"]
    problems = [f"file{place}: {problem}" for place, problem in _walk(obj)]
    if problems:
        return problems
    problems += _keys(obj, _TOP, "file")
    tests = obj.get("tests")
    if isinstance(tests, list):
        for i, test in enumerate(tests):
            problems += _keys(test, _TEST, f"tests[{i}]") or _test(test, f"tests[{i}]")
        problems += [] if problems else _sums(obj, tests, declared_total)
    for i, row in enumerate(obj["leaderboard"] if isinstance(obj.get("leaderboard"), list) else []):
        problems += _keys(row, _ROW, f"leaderboard[{i}]")
    return problems


def _walk(value: object, depth: int = 1) -> Iterator[tuple[str, str]]:
    """(place, problem) of everything, however deep: numbers finite, strings storable, nesting bounded, JSON's types."""
    if isinstance(value, str):
        yield from (("", problem) for problem in _string_problems(value))
    elif isinstance(value, dict | list) and depth > _DEEPEST:
        yield "", f"nested deeper than {_DEEPEST}"
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from ((", a key" + place, problem) for place, problem in _walk(key, depth))
            yield from ((f".{key}"[:_LONGEST_KEY] + place, problem) for place, problem in _walk(inner, depth + 1))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from ((f"[{i}]{place}", problem) for place, problem in _walk(inner, depth + 1))
    elif value is not None and not isinstance(value, bool) and _finite(value) is None:
        yield "", f"{type(value).__name__} that is not a finite number"


def _string_problems(value: str) -> Iterator[str]:
    if "\0" in value:
        yield "holds U+0000"
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        yield "holds a lone surrogate"


def _finite(value: object) -> float | None:
    """`value` as a float when it is a finite one, or an int that a float can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return _number(value)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_output(value: object) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_OUTPUT


def _is_line(value: object) -> bool:
    return isinstance(value, str) and bool(value) and "\n" not in value and "\r" not in value


def _is_number(value: object) -> bool:
    return _finite(value) is not None


def _is_size(value: object) -> bool:
    return (number := _finite(value)) is not None and number >= 0


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


_TOP: Mapping[str, Any] = {
    "score": _is_size,
    "tests": lambda v: isinstance(v, list),
    "execution_time": _is_size,
    "output": _is_output,
    "output_format": _FORMATS,
    "test_output_format": _FORMATS,
    "test_name_format": _FORMATS,
    "visibility": _VISIBILITIES,
    "stdout_visibility": _VISIBILITIES,
    "extra_data": lambda v: isinstance(v, dict),
    "leaderboard": lambda v: isinstance(v, list),
}
_TEST: Mapping[str, Any] = {
    "score": _is_size,
    "max_score": _is_size,
    "status": _STATUSES,
    "name": _is_line,
    "number": _is_line,
    "output": _is_output,
    "output_format": _FORMATS,
    "name_format": _FORMATS,
    "tags": _is_texts,
    "visibility": _VISIBILITIES,
    "extra_data": lambda v: isinstance(v, dict),
}
_ROW: Mapping[str, Any] = {
    "name": _is_line,
    "value": lambda v: _is_text(v) or _is_number(v),
    "order": _ORDERS,
}
_NEEDED: Mapping[int, tuple[str, ...]] = {
    id(_TOP): ("score", "tests", "output", "output_format", "extra_data"),
    id(_TEST): ("name", "number", "status"),
    id(_ROW): ("name", "value"),
}


def _keys(obj: object, allowed: Mapping[str, Any], where: str) -> list[str]:
    """Keys and values of one object against its table of rules."""
    if not isinstance(obj, dict):
        return [f"{where}: an object is expected, not {type(obj).__name__}"]
    problems = [f"{where}: `{key}` is missing" for key in _NEEDED[id(allowed)] if key not in obj]
    for key, value in obj.items():
        rule = allowed.get(key)
        if rule is None:
            problems.append(f"{where}: unknown key {key!r}")
        elif isinstance(rule, tuple):
            problems += [] if value in rule else [f"{where}.{key}: one of {', '.join(rule)} is expected"]
        elif not rule(value):
            problems.append(f"{where}.{key}: not what is expected there")
    return problems


def _test(test: Mapping[str, Any], where: str) -> list[str]:
    """What spans the keys of one test: both numbers or none, and the score within them."""
    if ("score" in test) != ("max_score" in test):
        return [f"{where}: has only one of score and max_score"]
    if "score" not in test:
        return []
    problems = []
    if test["score"] > test["max_score"]:
        problems.append(f"{where}: score {test['score']} is above max_score {test['max_score']}")
    extra = test.get("extra_data")
    if not isinstance(extra, dict) or extra.get("verdict") not in set(Verdict):
        problems.append(f"{where}.extra_data.verdict: one of {', '.join(Verdict)} is expected")
    return problems


def _sums(obj: Mapping[str, Any], tests: Sequence[Mapping[str, Any]], declared_total: Fraction | float) -> list[str]:
    problems = []
    numbers = [test["number"] for test in tests]
    if len(set(numbers)) != len(numbers):
        problems.append("tests: a number stands twice")
    scored = [test for test in tests if "score" in test]
    if obj["score"] != sum(test["score"] for test in scored):
        problems.append(f"score: {obj['score']} is not the sum of the tests' scores")
    total = sum(test["max_score"] for test in scored)
    if total != float(declared_total):
        problems.append(f"tests: max_score adds up to {total}, the declared total is {float(declared_total)}")
    return problems


# ── the writer ────────────────────────────────────────────────────────────────────────────────────────────────
def write_atomic(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Replace the file by one that holds `data`, so that no reader ever meets a torn one, whenever we are killed.

    Temporary files that a killed writer of the same path left behind are swept. Raises OSError.
    """
    folder, prefix = path.parent, f".{path.name}."
    temporary = folder / f"{prefix}{secrets.token_hex(8)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(temporary, flags, mode), "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        for left in folder.iterdir():
            if left.name.startswith(prefix) and left.name.endswith(".tmp"):
                with contextlib.suppress(OSError):
                    left.unlink()
    _sync_folder(folder)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
