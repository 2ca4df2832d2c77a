"""YAML for question heads, without its surprises: every mapping key once, and plain words stay words.

Only `true`, `false`, `null`, whole and decimal numbers are converted; `no`, `on`, `1_000`, `0x10` and dates stay
text. Places are kept, so that an error can name the line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import yaml

__all__ = ["Located", "YamlFault", "load"]


class YamlFault(ValueError):
    """What is wrong, and in which line of the text (1-based)."""

    def __init__(self, reason: str, line: int) -> None:
        self.reason, self.line = reason, line
        super().__init__(f"line {line}: {reason}")


@dataclass(frozen=True)
class Located:
    """Plain data, and the line of each key or item by its path."""

    value: Any
    lines: dict[tuple[str | int, ...], int]

    def line(self, path: tuple[str | int, ...]) -> int:
        """The line of the nearest known ancestor of the path."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


# libyaml's parser is ten times as fast; PyYAML's own where it was built without.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)\Z")
_FLOAT = re.compile(r"[-+]?[0-9]+\.[0-9]+([eE][-+]?[0-9]+)?\Z|[-+]?[0-9]+[eE][-+]?[0-9]+\Z")
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "~": None, "": None}


def _scalar(node: yaml.ScalarNode) -> Any:
    text = node.value
    if node.style:  # plain words have None, or "" from libyaml
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INT.match(text):
        return int(text)
    return float(text) if _FLOAT.match(text) else text


def _value(node: yaml.Node, path: tuple[str | int, ...], lines: dict[tuple[str | int, ...], int]) -> Any:
    lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node)
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, (*path, i), lines) for i, item in enumerate(node.value)]
    assert isinstance(node, yaml.MappingNode)
    result: dict[str, Any] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
        if not isinstance(key, str):
            raise YamlFault("a key must be a plain word", line)
        if key in result:
            raise YamlFault(f"the key {key!r} appears twice (first in line {lines[(*path, key)]})", line)
        lines[(*path, key)] = line
        result[key] = _value(value_node, (*path, key), lines)
    return result


def _refuse_aliases(text: str) -> None:
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.AliasEvent):
            line = event.start_mark.line + 1 if event.start_mark else 1
            raise YamlFault("aliases (*name) are not used here: write the value out", line)


def load(text: str) -> Located:
    """Read one YAML document. Raises YamlFault for syntax errors, aliases and duplicate keys."""
    try:
        if "*" in text:
            _refuse_aliases(text)
        node = yaml.compose(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as fault:
        mark = fault.problem_mark or fault.context_mark
        raise YamlFault(f"not valid YAML: {fault.problem}", mark.line + 1 if mark else 1) from None
    lines: dict[tuple[str | int, ...], int] = {}
    return Located({} if node is None else _value(node, (), lines), lines)
