"""pandoc's tree → HTML with MathML: for the practice page and for the texts of LMS exports."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from exam_bank.errors import BankError
from exam_bank.model import Figure
from exam_bank.render.tree import Node, Store

__all__ = ["data_uri", "write"]

_TAGS = {"Emph": "em", "Strong": "strong", "Strikeout": "s", "Superscript": "sup", "Subscript": "sub"}
_ALIGN = {"AlignRight": "right", "AlignCenter": "center"}


def data_uri(figure: Figure) -> str:
    """The drawing as a data URI."""
    return "data:image/svg+xml;base64," + base64.b64encode(figure.svg.encode()).decode()


class _Writer:
    """Writes blocks with the formulas of one store and the figures of one variant."""

    def __init__(self, store: Store, figures: Mapping[str, Figure]) -> None:
        self.store, self.figures = store, figures

    def blocks(self, blocks: Sequence[Node]) -> str:
        return "".join(map(self.block, blocks))

    def block(self, node: Node) -> str:
        kind = node["t"]
        content: Any = node.get("c")
        if kind == "Para":
            return f"<p>{self.inlines(content)}</p>"
        if kind == "Plain":
            return self.inlines(content)
        if kind == "CodeBlock":
            return f"<pre><code>{escape(content[1].strip(chr(10)), quote=False)}</code></pre>"
        if kind == "BulletList":
            return f"<ul>{self.items(content)}</ul>"
        if kind == "OrderedList":
            return f"<ol>{self.items(content[1])}</ol>"
        if kind == "BlockQuote":
            return f"<blockquote>{self.blocks(content)}</blockquote>"
        if kind == "Div":
            return self.blocks(content[1])
        if kind == "HorizontalRule":
            return "<hr/>"
        if kind == "Table":
            return self.table(content)
        raise BankError(f"{kind} is not used in questions.", rule="Q005")

    def items(self, items: Sequence[Sequence[Node]]) -> str:
        return "".join(f"<li>{self.blocks(item)}</li>" for item in items)

    def table(self, content: Any) -> str:
        aligns = [_ALIGN.get(spec[0]["t"], "") for spec in content[2]]
        head = "".join(self.row(row, "th", aligns) for row in content[3][1])
        body = "".join(self.row(row, "td", aligns) for each in content[4] for row in each[3])
        return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"

    def row(self, row: Any, tag: str, aligns: Sequence[str]) -> str:
        cells = []
        for cell, align in zip(row[1], aligns, strict=True):
            shown = f' class="{align}"' if align else ""
            scope = ' scope="col"' if tag == "th" else ""
            cells.append(f"<{tag}{scope}{shown}>{self.blocks(cell[4])}</{tag}>")
        return f"<tr>{''.join(cells)}</tr>"

    def inlines(self, inlines: Sequence[Node]) -> str:
        return "".join(map(self.inline, inlines))

    def inline(self, node: Node) -> str:
        kind = node["t"]
        content: Any = node.get("c")
        if kind == "Str":
            return escape(content, quote=False)
        if kind in ("Space", "SoftBreak"):
            return " "
        if kind in _TAGS:
            return f"<{_TAGS[kind]}>{self.inlines(content)}</{_TAGS[kind]}>"
        if kind == "LineBreak":
            return "<br/>"
        if kind == "Code":
            return f"<code>{escape(content[1], quote=False)}</code>"
        if kind == "Span":
            return self.inlines(content[1])
        if kind == "Quoted":
            return f"\u201c{self.inlines(content[1])}\u201d"
        if kind == "Math":
            return self.store.formula(node).mathml
        if kind == "Image":
            return self.image(content)
        raise BankError(f"{kind} is not used in questions.", rule="Q005")

    def image(self, content: Any) -> str:
        name = str(content[2][0]).removeprefix("figure:")
        if name not in self.figures:
            raise BankError(f"the figure {name!r} is not drawn.", key=name, rule="Q022")
        figure = self.figures[name]
        return f'<img src="{data_uri(figure)}" alt="{escape(figure.alt)}"/>'


def write(store: Store, source: str, figures: Mapping[str, Figure] | None = None, *, inline: bool = False) -> str:
    """HTML of a piece of Markdown; inline: without the paragraph round a single one."""
    html = _Writer(store, figures or {}).blocks(store[source])
    if inline and html.startswith("<p>") and html.endswith("</p>") and html.count("<p>") == 1:
        return html[3:-4]
    return html
