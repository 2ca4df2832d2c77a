"""JSON from a stranger: measured as text before one object of it is built.

`json.loads` takes `NaN`, turns `1e400` into infinity, keeps the last of two equal keys, and leaves a deep nesting by
RecursionError. Here size, depth and the number of nodes are counted on the bytes first. Floats don't exist: the wire
writes them as hex text.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from autograder.errors import ProtocolError

__all__ = ["INT_MAX", "INT_MIN", "measure", "parse"]

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
_INT_DIGITS = 20  # sign and 19 digits


def measure(text: bytes, limit: int) -> tuple[int, int]:
    """(depth, nodes) of a JSON text; nodes may be counted too high, never too low. Stops counting above `limit`.

    Right for every valid text; for an invalid one it is right up to the place where a parser would stop.
    """
    bare = text.replace(rb"\\", b"").replace(rb"\"", b"")
    if bare.count(b'"') > 2 * limit + 2:
        return 0, limit + 1
    outside = b"".join(bare.split(b'"')[::2])
    nodes = 1 + sum(outside.count(mark) for mark in (b",", b":", b"[", b"{"))
    if nodes > limit:
        return 0, nodes
    depth = deepest = 0
    for bracket in re.findall(rb"[\[\]{}]", outside):
        depth += 1 if bracket in b"[{" else -1
        deepest = max(deepest, depth)
    return deepest, nodes


def parse(text: bytes, *, json_bytes: int, depth: int, nodes: int) -> Any:
    """None, bool, int of 64 bits, str, list and dict. Raises ProtocolError for everything else."""
    if len(text) > json_bytes:
        raise ProtocolError(f"JSON of {len(text)} bytes; at most {json_bytes} are read")
    found_depth, found_nodes = measure(text, nodes)
    if found_depth > depth or found_nodes > nodes:
        raise ProtocolError(f"JSON is nested deeper than {depth} levels, or has more than {nodes} nodes")
    try:
        return json.loads(
            text.decode("utf-8"),
            parse_int=_parse_int,
            parse_float=_refuse_number,
            parse_constant=_refuse_number,
            object_pairs_hook=_unique,
        )
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"this is no JSON: {type(error).__name__}") from error


def _parse_int(digits: str) -> int:
    if len(digits) > _INT_DIGITS:
        raise ProtocolError(f"an int of {len(digits)} digits; 64 bits are the limit")
    value = int(digits)
    if not INT_MIN <= value <= INT_MAX:
        raise ProtocolError("an int of more than 64 bits")
    return value


def _refuse_number(_text: str) -> NoReturn:
    raise ProtocolError("floats travel as hex text, never as JSON numbers")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ProtocolError("an object has the same key twice")
    return result
