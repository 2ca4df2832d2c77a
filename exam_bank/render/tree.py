"""Markdown pieces → pandoc's tree, all of an exam in one run of pandoc; formulas converted beside it.

`Store` remembers every piece and every formula by its source, so that twenty versions of one exam cost what differs
between them. A node that some target can't show is refused here, once for all targets.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from exam_bank.errors import BankError
from exam_bank.render import pandoc
from exam_bank.render.formulas import Formula, convert

__all__ = ["Node", "Store", "TreeFault", "nodes", "plain"]

Node = dict[str, Any]
Inline = list[Node]
_SEPARATOR = "softmarkpiece"


@dataclass(frozen=True)
class TreeFault:
    """What a piece of Markdown holds that can't be shown: the lint rule, the piece, one sentence."""

    rule: str
    source: str
    reason: str


def nodes(value: Any) -> Iterator[Node]:
    """Every node of a tree, outside in, in the order of the text."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            if "t" in item:
                yield item
            waiting += reversed(item.values())
        elif isinstance(item, list):
            waiting += reversed(item)


def plain(blocks: Any) -> str:
    """The text of a tree without marks; formulas as TeX."""
    words = []
    for node in nodes(blocks):
        kind = node["t"]
        if kind == "Str":
            words.append(node["c"])
        elif kind in ("Space", "SoftBreak", "LineBreak"):
            words.append(" ")
        elif kind in ("Code", "CodeBlock", "Math"):
            words.append(node["c"][1])
        elif kind in ("Para", "Plain"):
            words.append(" ")
    return " ".join("".join(words).split())


@dataclass
class Store:
    """Parsed pieces and converted formulas, by source."""

    pieces: dict[str, list[Node]] = field(default_factory=dict)
    formulas: dict[tuple[str, bool], Formula] = field(default_factory=dict)
    faults: dict[str, list[TreeFault]] = field(default_factory=dict)

    def prepare(self, sources: Iterable[str]) -> None:
        """Parse what is new among the sources, in one go. What can't be shown is kept in `faults`."""
        new = list(dict.fromkeys(source for source in sources if source not in self.pieces))
        if not new:
            return
        wanted: dict[tuple[str, bool], None] = {}
        used: dict[str, list[tuple[str, bool]]] = {}
        for source, blocks in zip(new, _parse(new), strict=True):
            self.pieces[source] = blocks
            listed = list(nodes(blocks))
            found = [TreeFault(rule, source, reason) for rule, reason in _refusals(listed)]
            if found:
                self.faults.setdefault(source, []).extend(found)
            used[source] = [_key(node) for node in listed if node["t"] == "Math"]
            wanted |= dict.fromkeys(used[source])
        for key, made in convert([key for key in wanted if key not in self.formulas]).items():
            self.formulas[key] = made
        for source, keys in used.items():
            self._formula_faults(source, keys)

    def _formula_faults(self, source: str, keys: Sequence[tuple[str, bool]]) -> None:
        for key in keys:
            fault = self.formulas[key].fault
            if fault is not None:
                self.faults.setdefault(source, []).append(TreeFault(fault.rule, source, fault.reason))

    def __getitem__(self, source: str) -> list[Node]:
        """The blocks of a prepared piece. Raises BankError if it can't be shown."""
        if source not in self.pieces:
            self.prepare([source])
        for fault in self.faults.get(source, []):
            raise BankError(fault.reason, key=_short(source), rule=fault.rule)
        return self.pieces[source]

    def formula(self, node: Node) -> Formula:
        """The conversions of a Math node."""
        return self.formulas[_key(node)]


def _short(source: str) -> str:
    line = " ".join(source.split())
    return line if len(line) < 60 else line[:57] + "…"


def _key(node: Node) -> tuple[str, bool]:
    return node["c"][1], node["c"][0]["t"] == "DisplayMath"


def _parse(sources: Sequence[str]) -> list[list[Node]]:
    """All pieces in one run, with a marked paragraph between them; one by one if a piece swallows a mark."""
    text = "".join(f"{source}\n\n{_SEPARATOR}{i}\n\n" for i, source in enumerate(sources))
    blocks = json.loads(pandoc.run(text, "-f", pandoc.DIALECT, "-t", "json")[0])["blocks"]
    pieces: list[list[Node]] = [[]]
    for block in blocks:
        if _is_mark(block, len(pieces) - 1):
            pieces.append([])
        else:
            pieces[-1].append(block)
    if len(pieces) == len(sources) + 1 and not pieces[-1]:
        return pieces[:-1]
    if len(sources) == 1:
        return [blocks]
    middle = len(sources) // 2
    return _parse(sources[:middle]) + _parse(sources[middle:])


def _is_mark(block: Node, index: int) -> bool:
    return block["t"] == "Para" and len(block["c"]) == 1 and block["c"][0].get("c") == f"{_SEPARATOR}{index}"


def _refusals(listed: Sequence[Node]) -> Iterator[tuple[str, str]]:
    """(rule, sentence) for nodes that no target, or not every target, can show."""
    for node in listed:
        kind = node["t"]
        if kind == "Image":
            yield from _image(node)
        elif kind == "Table" and not _header(node):
            yield "Q022", "a table has no header row."
        elif kind == "Str" and _SEPARATOR in node["c"]:
            yield "Q005", "a code block or list isn't closed."
        elif kind == "Str" and node["c"].startswith("\\"):
            yield "Q005", f"{node['c']!r} is TeX outside of a formula: put it between dollars."
        elif kind in (
            "Header",
            "Link",
            "Note",
            "RawBlock",
            "RawInline",
            "Cite",
            "SmallCaps",
            "Underline",
            "DefinitionList",
            "LineBlock",
            "Figure",
        ):
            yield "Q005", f"{kind} is not used in questions: see the list of allowed Markdown."


def _image(node: Node) -> Iterator[tuple[str, str]]:
    target = node["c"][2][0]
    if not target.startswith("figure:"):
        yield "Q022", f"the picture {target!r} is no `figure:NAME` of the generator."


def _header(table: Node) -> bool:
    rows = table["c"][3][1]
    return bool(rows) and any(plain(cell[4]) for cell in rows[0][1])
