"""Drawings as SVG text, from a question's own numbers: trees, heat maps, curves, gate diagrams.

Pure functions: same numbers, same bytes. Text names fonts that the paper carries itself. Colours differ in lightness
too, so that a grey print says the same; where a value matters it is also printed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from exam_bank.model import Figure

__all__ = ["curve", "flow", "heatmap", "tree"]

_FONT = 'font-family="DejaVu Sans Mono, monospace" font-size="11"'
_INK, _GREY, _BLUE = "#1a1a1a", "#8a8a8a", "#1f4e8c"
Tree = tuple[str, str, Sequence["Tree"]]


@dataclass
class _Canvas:
    """SVG elements and their extent."""

    width: float
    height: float
    items: list[str] = field(default_factory=list)

    def line(self, x1: float, y1: float, x2: float, y2: float, colour: str = _INK, width: float = 1) -> None:
        self.items.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
            f'stroke="{colour}" stroke-width="{width:g}"/>'
        )

    def text(self, x: float, y: float, words: str, anchor: str = "middle", colour: str = _INK) -> None:
        self.items.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" {_FONT}>{escape(words)}</text>'
        )

    def box(self, x: float, y: float, width: float, height: float, fill: str = "white", stroke: str = _INK) -> None:
        self.items.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}" stroke="{stroke}"/>'
        )

    def figure(self, alt: str) -> Figure:
        body = "".join(self.items)
        size = f'width="{self.width:.0f}" height="{self.height:.0f}" viewBox="0 0 {self.width:.0f} {self.height:.0f}"'
        return Figure(f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{body}</svg>', alt)


def _leaves(node: Tree) -> int:
    return sum(map(_leaves, node[2])) or 1


def _depth(nodes: Sequence[Tree]) -> int:
    return 1 + max((_depth(node[2]) for node in nodes), default=0) if nodes else 0


def tree(nodes: Sequence[Tree], alt: str, root: str = "start", step: float = 52) -> Figure:
    """A tree that grows downwards. A node is (name, label of the edge to it, children)."""
    width = max(160.0, step * sum(map(_leaves, nodes)) + 40)
    canvas = _Canvas(width, 62.0 * _depth(nodes) + 34)
    _children(canvas, nodes, 20, width - 40, (width / 2, 18))
    _node(canvas, width / 2, 18, root)
    return canvas.figure(alt)


def _children(canvas: _Canvas, nodes: Sequence[Tree], left: float, width: float, parent: tuple[float, float]) -> None:
    total = sum(map(_leaves, nodes)) or 1
    for name, label, below in nodes:
        share = width * _leaves((name, label, below)) / total
        x, y = left + share / 2, parent[1] + 62
        canvas.line(*parent, x, y)
        middle = ((parent[0] + x) / 2, (parent[1] + y) / 2)
        canvas.box(middle[0] - 4 * len(label) - 3, middle[1] - 9, 8 * len(label) + 6, 15, stroke="white")
        canvas.text(middle[0], middle[1] + 3, label, colour=_BLUE)
        _children(canvas, below, left, share, (x, y))
        _node(canvas, x, y, name)
        left += share


def _node(canvas: _Canvas, x: float, y: float, name: str) -> None:
    half = max(11.0, 3.6 * len(name) + 6)
    canvas.items.append(
        f'<rect x="{x - half:.1f}" y="{y - 11:.1f}" width="{2 * half:.1f}" height="22" rx="11" '
        f'fill="#eef2f7" stroke="{_INK}"/>'
    )
    canvas.text(x, y + 4, name)


def heatmap(
    values: Sequence[Sequence[float]],
    rows: Sequence[str],
    columns: Sequence[str],
    alt: str,
    *,
    decimals: int = 2,
    printed: bool = True,
) -> Figure:
    """A matrix as shaded cells, e.g. attention weights; dark is large, and the value is printed in each cell."""
    left, cell = 14 + 7.2 * max(map(len, rows), default=0), 46
    canvas = _Canvas(left + cell * len(columns) + 8, 26.0 + 26 * len(rows) + 8)
    flat = [value for row in values for value in row]
    low, span = min(flat), (max(flat) - min(flat)) or 1.0
    for j, name in enumerate(columns):
        canvas.text(left + cell * (j + 0.5), 18, name)
    for i, row in enumerate(values):
        y = 26.0 + 26 * i
        canvas.text(left - 6, y + 17, rows[i], "end")
        for j, value in enumerate(row):
            shade = round(255 - 200 * (value - low) / span)
            canvas.box(left + cell * j, y, cell, 26, f"rgb({shade},{min(255, shade + 14)},{min(255, shade + 40)})")
            if printed:
                ink = "white" if shade < 140 else _INK
                canvas.text(left + cell * (j + 0.5), y + 17, f"{value + 0.0:.{decimals}f}", colour=ink)
    return canvas.figure(alt)


def curve(
    lines: Sequence[tuple[str, Sequence[tuple[float, float]]]],
    alt: str,
    *,
    x_name: str = "step",
    y_name: str = "loss",
    width: float = 330,
    height: float = 200,
) -> Figure:
    """Curves over one pair of axes; each has a name, a dash pattern of its own and points (x, y)."""
    canvas = _Canvas(width, height)
    points = [point for _, line in lines for point in line]
    xs, ys = [x for x, _ in points], [y for _, y in points]
    left, right, top, bottom = 56.0, width - 70, 22.0, height - 34

    def place(x: float, y: float) -> tuple[float, float]:
        across = (x - min(xs)) / ((max(xs) - min(xs)) or 1)
        up = (y - min(ys)) / ((max(ys) - min(ys)) or 1)
        return left + across * (right - left), bottom - up * (bottom - top)

    canvas.line(left, bottom, right, bottom)
    canvas.line(left, bottom, left, top)
    canvas.text((left + right) / 2, height - 6, x_name)
    canvas.text(left, 12, y_name)
    for value in (min(xs), max(xs)):
        canvas.text(place(value, min(ys))[0], bottom + 14, f"{value:g}")
    for value in (min(ys), max(ys)):
        canvas.text(left - 5, place(min(xs), value)[1] + 4, f"{value:g}", "end")
    for i, (name, line) in enumerate(lines):
        path = " ".join("{:.1f},{:.1f}".format(*place(x, y)) for x, y in line)
        dash = ("none", "7 3", "2 3", "9 3 2 3")[i % 4]
        colour = (_BLUE, "#b3541e", _INK, _GREY)[i % 4]
        canvas.items.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.8" stroke-dasharray="{dash}"/>'
        )
        end = place(*line[-1])
        canvas.text(end[0] + 5, end[1] + 4, name, "start", colour)
    return canvas.figure(alt)


def flow(
    boxes: Sequence[tuple[str, float, float]],
    arrows: Sequence[tuple[int, int, str]],
    alt: str,
    *,
    width: float = 360,
    height: float = 140,
) -> Figure:
    """A diagram of named boxes (name, x, y of the middle) and arrows (from, to, label), e.g. the gates of an LSTM."""
    canvas = _Canvas(width, height)
    canvas.items.append(
        '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
        f'<path d="M0,0 L8,4 L0,8 z" fill="{_INK}"/></marker></defs>'
    )
    for start, end, label in arrows:
        (x1, y1), (x2, y2) = _edge(boxes[start], boxes[end]), _edge(boxes[end], boxes[start])
        canvas.items.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{_INK}" marker-end="url(#tip)"/>'
        )
        canvas.text((x1 + x2) / 2, (y1 + y2) / 2 - 5, label, colour=_BLUE)
    for name, x, y in boxes:
        half = 3.6 * len(name) + 8
        canvas.box(x - half, y - 12, 2 * half, 24, "#eef2f7")
        canvas.text(x, y + 4, name)
    return canvas.figure(alt)


def _edge(start: tuple[str, float, float], end: tuple[str, float, float]) -> tuple[float, float]:
    """Where the line from one box's middle to the other's leaves the box."""
    half = (3.6 * len(start[0]) + 8, 12.0)
    dx, dy = end[1] - start[1], end[2] - start[2]
    scale = min((half[0] / abs(dx)) if dx else 1e9, (half[1] / abs(dy)) if dy else 1e9)
    return start[1] + dx * scale, start[2] + dy * scale
