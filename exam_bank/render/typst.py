"""pandoc's tree → Typst markup. Text goes over as string literals, so that no sign of it can act as markup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from exam_bank.errors import BankError
from exam_bank.model import Figure
from exam_bank.render.tree import Node, Store

__all__ = ["literal", "write", "write_inline"]


def literal(text: str) -> str:
    """A Typst string literal."""
    out = ['"']
    for sign in text:
        if sign in '"\\':
            out.append("\\" + sign)
        elif sign == "\n":
            out.append("\\n")
        elif ord(sign) < 32:
            out.append(f"\\u{{{ord(sign):x}}}")
        else:
            out.append(sign)
    return "".join(out) + '"'


_UNBROKEN = 24  # characters of a formula that is never broken over lines


class _Writer:
    """Writes blocks with the formulas of one store and the figures of one variant."""

    def __init__(self, store: Store, figures: Mapping[str, Figure]) -> None:
        self.store, self.figures = store, figures

    def blocks(self, blocks: Sequence[Node]) -> str:
        return "\n\n".join(filter(None, map(self.block, blocks)))

    def block(self, node: Node) -> str:
        kind = node["t"]
        content: Any = node.get("c")
        if kind in ("Para", "Plain"):
            text = self.inlines(content)
            return f"#airy[{text}]" if self.tall(content) else text
        if kind == "CodeBlock":
            # An empty line would become an empty paragraph in the tags.
            lines = "\n".join(line or " " for line in content[1].strip("\n").split("\n"))
            return f"#raw(block: true, {literal(lines)})"
        if kind == "BulletList":
            return f"#list({', '.join(self.item(item) for item in content)})"
        if kind == "OrderedList":
            return f"#enum({', '.join(self.item(item) for item in content[1])})"
        if kind == "BlockQuote":
            return f"#quote(block: true)[{self.blocks(content)}]"
        if kind == "Div":
            return self.blocks(content[1])
        if kind == "HorizontalRule":
            return "#line(length: 100%, stroke: 0.5pt)"
        if kind == "Table":
            return self.table(content)
        raise BankError(f"{kind} is not used in questions.", rule="Q005")

    def tall(self, inlines: Sequence[Node]) -> bool:
        """Whether a formula inside the lines is as high as a matrix."""
        made = [self.store.formula(node) for node in inlines if node["t"] == "Math"]
        return any(not each.display and ("mat(" in each.typst or "cases(" in each.typst) for each in made)

    def item(self, blocks: Sequence[Node]) -> str:
        return f"[{self.blocks(blocks)}]"

    def table(self, content: Any) -> str:
        aligns = {"AlignLeft": "left", "AlignRight": "right", "AlignCenter": "center", "AlignDefault": "left"}
        columns = ", ".join(aligns[spec[0]["t"]] for spec in content[2])
        head = ", ".join(self.item(cell[4]) for row in content[3][1] for cell in row[1])
        rows = [row for body in content[4] for row in body[3]]
        cells = ", ".join(self.item(cell[4]) for row in rows for cell in row[1])
        count = len(content[2])
        return f"#align(center, table(columns: {count}, align: ({columns},), table.header({head}), {cells}))"

    def inlines(self, inlines: Sequence[Node]) -> str:
        out: list[str] = []
        text = ""
        for node in inlines:
            words = _text(node)
            if words is None:
                out += [_said(text), self.inline(node)]
                text = ""
            else:
                text += words
        return "".join([*out, _said(text)])

    def inline(self, node: Node) -> str:
        kind = node["t"]
        content: Any = node.get("c")
        wrap = {"Emph": "emph", "Strong": "strong", "Strikeout": "strike", "Superscript": "super", "Subscript": "sub"}
        if kind in wrap:
            return f"#{wrap[kind]}[{self.inlines(content)}];"
        if kind == "LineBreak":
            return "#linebreak();"
        if kind == "Code":
            return f"#raw({literal(content[1])});"
        if kind == "Span":
            return self.inlines(content[1])
        if kind == "Quoted":
            return f'#"\\u{{201c}}";{self.inlines(content[1])}#"\\u{{201d}}";'
        if kind == "Math":
            return self.formula(node)
        if kind == "Image":
            return self.image(content)
        raise BankError(f"{kind} is not used in questions.", rule="Q005")

    def formula(self, node: Node) -> str:
        made = self.store.formula(node)
        block = "true" if made.display else "false"
        equation = f"math.equation(block: {block}, alt: {literal(made.words)}, $ {made.typst} $.body)"
        # A short formula stays on one line: "b =" at the end of one and "1000" on the next is hard to read.
        whole = not made.display and len(made.typst) <= _UNBROKEN and "mat(" not in made.typst
        return f"#whole({equation});" if whole else f"#{equation};"

    def image(self, content: Any) -> str:
        name = str(content[2][0]).removeprefix("figure:")
        if name not in self.figures:
            raise BankError(f"the figure {name!r} is not drawn.", key=name, rule="Q022")
        figure = self.figures[name]
        return f'#align(center, image(bytes({literal(figure.svg)}), format: "svg", alt: {literal(figure.alt)}));'


def _said(text: str) -> str:
    """Text as content; a per cent sign stays with its number."""
    return f"#{literal(text.replace(' %', chr(0xA0) + '%'))};" if text else ""


def _text(node: Node) -> str | None:
    if node["t"] == "Str":
        return str(node["c"])
    return " " if node["t"] in ("Space", "SoftBreak") else None


def write(store: Store, source: str, figures: Mapping[str, Figure] | None = None) -> str:
    """Typst content of a piece of Markdown."""
    return _Writer(store, figures or {}).blocks(store[source])


def write_inline(text: str) -> str:
    """Plain words as Typst content."""
    return f"#{literal(text)};"
