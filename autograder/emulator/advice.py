"""What the platform lets pass although it is outside its specification: a layer of warnings above parity."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["advice"]

_FORMATS = ("text", "html", "simple_format", "md", "ansi")
_VISIBILITIES = ("hidden", "after_due_date", "after_published", "visible")
_TOP = {
    "score", "tests", "execution_time", "output", "output_format", "test_output_format", "test_name_format",
    "visibility", "stdout_visibility", "extra_data", "leaderboard",
}  # fmt: skip
_TEST = {
    "score", "max_score", "status", "name", "number", "output", "output_format", "name_format", "tags", "visibility",
    "extra_data",
}  # fmt: skip
_ROW = {"name", "value", "order"}
_CLOSED = {
    "output_format": _FORMATS,
    "test_output_format": _FORMATS,
    "test_name_format": _FORMATS,
    "name_format": _FORMATS,
    "visibility": _VISIBILITIES,
    "stdout_visibility": _VISIBILITIES,
    "status": ("passed", "failed"),
    "order": ("asc", "desc"),
}


def advice(results: object) -> list[str]:
    """Warnings about results that were posted without an error; empty for a file that says what it means."""
    if results is None:
        return ["no results: the site says that the autograder failed to execute"]
    if not isinstance(results, dict):
        return ["results: an object is expected"]
    return list(_warnings(results))


def _warnings(results: Mapping[str, Any]) -> Iterator[str]:
    yield from _keys(results, _TOP, "results")
    tests = results.get("tests", [])
    if not isinstance(tests, list):
        yield "tests: an array is expected"
        tests = []
    for i, test in enumerate(tests):
        yield from _test(test, f"tests[{i}]")
    rows = results.get("leaderboard", [])
    for i, row in enumerate(rows if isinstance(rows, list) else ()):
        yield from _keys(row, _ROW, f"leaderboard[{i}]")
    yield from _strings(results, "results")
    yield from _score(results, [test for test in tests if isinstance(test, dict)])


def _test(test: object, where: str) -> Iterator[str]:
    yield from _keys(test, _TEST, where)
    if not isinstance(test, dict):
        return
    score: Any = test.get("score")
    possible: Any = test.get("max_score")
    if _number(score) and _number(possible) and not 0 <= score <= possible:
        yield f"{where}: score {score} is not between 0 and {possible}"


def _keys(obj: object, known: set[str], where: str) -> Iterator[str]:
    if not isinstance(obj, dict):
        yield f"{where}: an object is expected"
        return
    for key, value in obj.items():
        if key not in known:
            yield f"{where}: unknown key {key!r}"
        elif key in _CLOSED and value not in _CLOSED[key]:
            yield f"{where}.{key}: {value!r} is none of {', '.join(_CLOSED[key])}"
        elif key in ("score", "max_score", "execution_time") and not _number(value):
            yield f"{where}.{key}: a number is expected"
        elif key == "output" and not isinstance(value, str):
            yield f"{where}.output: a string is expected"


def _strings(value: object, where: str) -> Iterator[str]:
    """NUL and lone surrogates pass the platform's program; its database is thought to refuse them."""
    if isinstance(value, str) and ("\0" in value or any("\ud800" <= c <= "\udfff" for c in value)):
        yield f"{where}: a string holds U+0000 or a lone surrogate"
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _strings(key, where)
            yield from _strings(inner, f"{where}.{key}"[:100])
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner, where)


def _score(results: Mapping[str, Any], tests: list[Mapping[str, Any]]) -> Iterator[str]:
    scores = [test["score"] for test in tests if _number(test.get("score"))]
    if "score" not in results:
        if len(scores) < len(tests) or not tests:
            yield "score: missing, and not every test has one"
    elif _number(results["score"]) and scores and not math.isclose(results["score"], sum(scores), abs_tol=1e-9):
        yield f"score: {results['score']} is not the sum of the tests' scores, {sum(scores)}"


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
