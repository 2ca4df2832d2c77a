"""TeX formulas → Typst, MathML and words, many at once: two runs of pandoc for all formulas of an exam.

What pandoc doesn't know it prints as text with a warning only; here that is a fault of the formula. Two spaces that
its Typst writer gets wrong are replaced before: `\\!` is dropped (it became a step back of 1 em), `\\;` becomes `\\:`. `10{,}000` is kept together as text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from exam_bank.render import pandoc
from exam_bank.render.speak import MATHML, Unspeakable, speak

__all__ = ["Formula", "FormulaFault", "convert", "tidy"]

ET.register_namespace("", MATHML.strip("{}"))
_TOKEN = re.compile(r"\\([a-zA-Z]+|.)", re.DOTALL)
_THOUSANDS = re.compile(r"\d{1,3}(?:\{,\}\d{3})+")
_MARK = "softmarkformula"
_SPACED = frozenset({"log", "ln", "exp", "max", "min", "sin", "cos", "tan", "tanh", "arg", "det", "lim", "softmax"})


@dataclass(frozen=True)
class FormulaFault:
    """The rule that a formula breaks, and a sentence."""

    rule: str
    reason: str


@dataclass(frozen=True)
class Formula:
    """One formula in three languages. typst: the content between dollars; mathml: a `math` element."""

    tex: str
    display: bool
    typst: str = ""
    mathml: str = ""
    words: str = ""
    fault: FormulaFault | None = None


def tidy(tex: str) -> str:
    """The formula without the spaces that a target gets wrong."""

    def change(found: re.Match[str]) -> str:
        return {"!": "", ";": r"\:"}.get(found[1], found[0])

    return _THOUSANDS.sub(lambda found: rf"\text{{{found[0].replace('{,}', ',')}}}", _TOKEN.sub(change, tex))


def convert(keys: Sequence[tuple[str, bool]]) -> dict[tuple[str, bool], Formula]:
    """All formulas (TeX, display) in two runs of pandoc."""
    if not keys:
        return {}
    tree = _document(keys)
    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(pandoc.run, tree, "-f", "json", "-t", "typst", "--wrap=none")
        two = pool.submit(pandoc.run, tree, "-f", "json", "-t", "html", "--mathml", "--wrap=none")
        typst, said = _split(*one.result(), len(keys))
        mathml, _ = _split(*two.result(), len(keys))
    return {key: _formula(key, written, html, said) for key, written, html in zip(keys, typst, mathml, strict=True)}


def _document(keys: Sequence[tuple[str, bool]]) -> str:
    blocks = []
    for i, (tex, display) in enumerate(keys):
        math = {"t": "Math", "c": [{"t": "DisplayMath" if display else "InlineMath"}, tidy(tex)]}
        blocks += [{"t": "Para", "c": [math]}, {"t": "Para", "c": [{"t": "Str", "c": f"{_MARK}{i}"}]}]
    return json.dumps({"pandoc-api-version": [1, 23, 1], "meta": {}, "blocks": blocks})


def _split(output: str, warnings: str, count: int) -> tuple[list[str], str]:
    pieces = re.split(rf"(?:<p>)?{_MARK}\d+(?:</p>)?", output)
    assert len(pieces) == count + 1, "a formula swallowed a mark"
    return [piece.strip() for piece in pieces[:-1]], warnings


def _formula(key: tuple[str, bool], typst: str, html: str, warnings: str) -> Formula:
    tex, display = key
    body = html.removeprefix("<p>").removesuffix("</p>").strip()
    if not typst.startswith("$") or not body.startswith("<math"):
        return Formula(
            tex, display, fault=FormulaFault("Q005", f"the formula ${tex}$ can't be read{_why(tidy(tex), warnings)}.")
        )
    element = ET.fromstring(body)
    _clean(element)
    try:
        words = speak(element)
    except Unspeakable as missing:
        return Formula(tex, display, fault=FormulaFault("Q032", f"the formula ${tex}$ can't be spoken: {missing}."))
    return Formula(tex, display, typst[1:-1].strip(), ET.tostring(element, encoding="unicode"), words)


def _why(tex: str, warnings: str) -> str:
    """pandoc's own reason for this formula."""
    for warning in warnings.split("[WARNING]"):
        if tex.strip() in warning and "unexpected" in warning:
            return ": " + " ".join(warning[warning.index("unexpected") :].split("expecting")[0].split())
    return ""


def _clean(math: ET.Element) -> None:
    """Drop the TeX annotation (with the element that holds it), and give function names the thin space that pandoc leaves out."""
    if len(math) == 1 and math[0].tag == f"{MATHML}semantics":
        math[:] = [math[0][0]]
    _space_functions(math)


def _space_functions(node: ET.Element) -> None:
    children = list(node)
    for i in reversed(range(1, len(children))):
        before = children[i - 1].tag.removeprefix(MATHML)
        if (
            _is_function(children[i])
            and before in ("mi", "mn", "msub", "msup", "mfrac")
            and node.tag in (f"{MATHML}mrow", f"{MATHML}mtd")
        ):
            node.insert(i, ET.Element(f"{MATHML}mspace", {"width": "0.167em"}))
    for child in children:
        _space_functions(child)
    if node.tag not in (f"{MATHML}mrow", f"{MATHML}mtd"):
        return
    for i in reversed(range(len(node) - 1)):
        after = node[i + 1].tag.removeprefix(MATHML)
        if _is_function(node[i]) and after in ("mi", "mn", "msub", "msup", "mfrac"):
            node.insert(i + 1, ET.Element(f"{MATHML}mspace", {"width": "0.167em"}))


def _is_function(node: ET.Element) -> bool:
    """`<mi>log</mi>`, alone or in the row or script that pandoc puts round it."""
    name = node.tag.removeprefix(MATHML)
    if name == "mi":
        return (node.text or "") in _SPACED
    inner = name in ("mrow", "msub", "msup", "munder") and len(node) > 0
    return inner and len(node) <= 2 and _is_function(node[0])
