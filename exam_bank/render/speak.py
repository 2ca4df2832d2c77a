"""Formulas in words, for screen readers: a table-driven walk over pandoc's MathML.

`a_4 / b` becomes "a sub 4 over b". A sign or construct that the tables don't know raises Unspeakable: a formula that
can't be said is a finding, never a guess.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from xml.etree import ElementTree as ET

__all__ = ["Unspeakable", "speak"]

MATHML = "{http://www.w3.org/1998/Math/MathML}"


class Unspeakable(ValueError):
    """A construct without words."""


_SIGNS = {
    "+": "plus", "\u2212": "minus", "-": "minus", "\u00b1": "plus or minus", "\u2213": "minus or plus", "=": "equals",
    "\u2260": "is not equal to", "<": "is less than", ">": "is greater than", "\u2264": "is at most",
    "\u2265": "is at least", "\u226a": "is much less than", "\u226b": "is much greater than", "\u2248": "is about",
    "\u223c": "is distributed as", "~": "is distributed as", "\u221d": "is proportional to", "\u2261": "is identical to",
    "\u22c5": "times", "\u00d7": "times", "*": "star", "\u2217": "star", "/": "over", "\u00f7": "divided by",
    "\u2218": "composed with", "\u2299": "elementwise times", "\u2297": "tensor times", "\u2295": "direct plus",
    "\u2296": "direct minus",
    ",": ",", ".": "point", ";": ";", ":": "such that", "!": "factorial", "?": "question mark", "%": "per cent",
    "(": "open paren", ")": "close paren", "[": "open bracket", "]": "close bracket", "{": "open brace",
    "}": "close brace", "|": "bar", "\u2223": "given", "\u2225": "norm bar", "\u2016": "norm bar", "\u2308": "ceiling of",
    "\u2309": "end ceiling", "\u230a": "floor of", "\u230b": "end floor", "\u27e8": "open angle", "\u27e9": "close angle",
    "\u2211": "sum", "\u220f": "product", "\u222b": "integral", "\u222a": "union", "\u2229": "intersection",
    "\u22c3": "union", "\u22c2": "intersection", "\u2a01": "direct sum", "\u2a00": "elementwise product", "\u2a02": "tensor product",
    "\u2208": "in", "\u2209": "not in", "\u2286": "is a subset of", "\u2282": "is a proper subset of", "\u2205": "empty set",
    "\u2216": "without", "\u2192": "to", "\u2190": "from", "\u21d2": "implies", "\u21d0": "is implied by",
    "\u21d4": "if and only if", "\u21a6": "maps to", "\u27f6": "to", "\u27f9": "implies", "\u2194": "to and from",
    "\u2202": "partial", "\u2207": "gradient", "\u221e": "infinity", "\u2200": "for all", "\u2203": "there is",
    "\u00ac": "not", "\u2227": "and", "\u2228": "or", "\u22a4": "transpose", "\u22a5": "perpendicular",
    "\u2032": "prime", "\u2033": "double prime", "\u2034": "triple prime", "'": "prime", "\u2026": "and so on",
    "\u22ef": "and so on", "\u22ee": "and so on down", "\u22f1": "and so on diagonally", "\u210e": "h", "\u2113": "ell",
    "\u211d": "real numbers", "\u2115": "natural numbers", "\u2124": "integers", "\u00b0": "degrees", "\u2020": "dagger",
    "#": "number", "_": "blank", "&": "and", "\u25a1": "box", "\u2605": "star", "\u2237": "is to", "\u2254": "is defined as",
    "\u00b7": "times", "\u2200\u200a": "for all", "\u2a7d": "is at most", "\u2a7e": "is at least", "\u2245": "is about",
    "\u2243": "is about", "\u22a2": "proves", "\u2224": "does not divide", "\u2119": "probability", "\U0001d53c": "expectation",
    "\u2713": "check mark", "\u2717": "cross",
}  # fmt: skip
_SILENT = frozenset(
    "\u2061\u2062\u2063\u2064\u200b\u200a\u2009\u2005\u2004\u2003\u2002\u2006\u00a0 \u2000\u2001\u200d\ufe00"
)
_ACCENTS = {
    "^": "hat", "\u0302": "hat", "~": "tilde", "\u0303": "tilde", "\u00af": "bar", "\u203e": "bar", "\u0305": "bar", "\u0304": "bar",
    "_": "underlined", "\u2015": "bar", "\u02c9": "bar", "\u2192": "vector", "\u20d7": "vector", "\u02d9": "dot",
    "\u0307": "dot", "\u00a8": "double dot", "\u0308": "double dot", "\u02dc": "tilde", "\u02c6": "hat", "\u0332": "underlined",
    "\u2013": "bar", "\u00b4": "acute",
}  # fmt: skip
_WORDS = {"argmax": "arg max", "argmin": "arg min", "exp": "exp", "log": "log", "ln": "ln", "lim": "limit"}


def speak(math: ET.Element) -> str:
    """The words of one `math` element. Raises Unspeakable."""
    words = _say(math)
    return " ".join(words.replace(" ,", ",").replace(" ;", ";").split())


def _say(node: ET.Element) -> str:
    name = node.tag.removeprefix(MATHML)
    handler = _HANDLERS.get(name)
    if handler is None:
        raise Unspeakable(f"the construct <{name}>")
    return handler(node)


def _all(nodes: Sequence[ET.Element]) -> str:
    return " ".join(filter(None, map(_say, nodes)))


def _row(node: ET.Element) -> str:
    return _all(list(node))


def _semantics(node: ET.Element) -> str:
    return _say(node[0])


def _none(node: ET.Element) -> str:
    return ""


def _text(node: ET.Element) -> str:
    return (node.text or "").strip()


def _letters(text: str) -> str:
    """A name: a word as it stands, single signs by the tables, letters of other alphabets by their names."""
    plain = unicodedata.normalize("NFKC", text) if text not in _SIGNS else text
    if plain in _WORDS:
        return _WORDS[plain]
    if plain.isascii() and plain.replace(" ", "").isalnum():
        return plain
    return " ".join(filter(None, (_sign(sign) for sign in (text if text in _SIGNS else plain))))


def _sign(sign: str) -> str:
    if sign in _SIGNS:
        return _SIGNS[sign]
    if sign in _SILENT:
        return ""
    if sign.isascii() and sign.isalnum():
        return sign
    name = unicodedata.name(sign, "")
    if name.startswith("GREEK ") and " LETTER " in name:
        word = name.split(" LETTER ")[1].removesuffix(" SYMBOL").lower()
        word = {"lamda": "lambda"}.get(word, word)
        return f"capital {word}" if "CAPITAL" in name else word
    if name in ("GREEK LUNATE EPSILON SYMBOL", "GREEK PHI SYMBOL", "GREEK THETA SYMBOL", "GREEK PI SYMBOL"):
        return name.split()[-2].lower()
    if name.startswith("LATIN ") and " LETTER " in name:
        return sign
    if "\u3400" <= sign <= "\u9fff":
        return sign
    raise Unspeakable(f"the sign {sign!r} (U+{ord(sign):04X})")


def _identifier(node: ET.Element) -> str:
    text = node.text or ""
    capital = len(text) == 1 and text.isascii() and text.isupper()
    return f"capital {text}" if capital else _letters(text)


def _number(node: ET.Element) -> str:
    return unicodedata.normalize("NFKC", node.text or "").replace("\u2212", "minus ").strip()


def _operator(node: ET.Element) -> str:
    return _letters(node.text or "") if (node.text or "").strip() else ""


def _group(node: ET.Element) -> str:
    """A child, with quotes in words when it is more than one thing."""
    words = _say(node)
    return words if len(words.split()) <= 2 else f"quantity {words} end quantity"


def _fraction(node: ET.Element) -> str:
    top, bottom = node
    if node.get("linethickness") in ("0", "0px", "0pt"):
        return f"{_group(top)} choose {_group(bottom)}"
    simple = all(len(_say(side).split()) <= 3 for side in (top, bottom))
    return f"{_say(top)} over {_say(bottom)}" if simple else f"fraction {_say(top)} over {_say(bottom)} end fraction"


def _sqrt(node: ET.Element) -> str:
    return f"square root of {_all(list(node))} end root"


def _root(node: ET.Element) -> str:
    return f"root with index {_say(node[1])} of {_say(node[0])} end root"


def _sub(node: ET.Element) -> str:
    return f"{_say(node[0])} sub {_group(node[1])}"


_POWERS = {"2": "squared", "3": "cubed", "transpose": "transpose", "prime": "prime", "double prime": "double prime",
           "star": "star", "degrees": "degrees", "dagger": "dagger"}  # fmt: skip


def _power(words: str, node: ET.Element) -> str:
    return _POWERS.get(words) or f"to the {_group(node)}"


def _sup(node: ET.Element) -> str:
    words = "degrees" if _text(node[1]) == "\u2218" else _say(node[1])
    return f"{_say(node[0])} {_power(words, node[1])}" if words else _say(node[0])


def _subsup(node: ET.Element) -> str:
    return f"{_say(node[0])} sub {_group(node[1])} {_power(_say(node[2]), node[2])}"


def _under(node: ET.Element) -> str:
    mark = _accent(node[1])
    return f"{_say(node[0])} {mark}" if mark else f"{_say(node[0])} over {_say(node[1])}"


def _over(node: ET.Element) -> str:
    mark = _accent(node[1])
    return f"{_say(node[0])} {mark}" if mark else f"{_say(node[0])} with {_say(node[1])} above"


def _accent(node: ET.Element) -> str:
    text = (node.text or "").strip()
    if text in ("\u23de", "\u23df", "\ufe37", "\ufe38"):
        return "in a brace"
    return _ACCENTS.get(text, "") if node.tag == f"{MATHML}mo" else ""


def _underover(node: ET.Element) -> str:
    return f"{_say(node[0])} from {_say(node[1])} to {_say(node[2])}"


def _table(node: ET.Element) -> str:
    rows = [[_row(cell) or "blank" for cell in row] for row in node]
    if all(len(row) == 1 for row in rows):
        return f"column of {len(rows)}: " + "; ".join(row[0] for row in rows) + "; end column"
    width = max(map(len, rows))
    lines = [f"row {i}: {', '.join(row)}" for i, row in enumerate(rows, start=1)]
    return f"table of {len(rows)} by {width}: " + "; ".join(lines) + "; end table"


_HANDLERS: dict[str, Callable[[ET.Element], str]] = {
    "math": _row, "mrow": _row, "mstyle": _row, "mpadded": _row, "menclose": _row, "mphantom": _none, "mspace": _none,
    "semantics": _semantics, "annotation": _none, "mi": _identifier, "mn": _number, "mo": _operator, "mtext": _text,
    "ms": _text, "mfrac": _fraction, "msqrt": _sqrt, "mroot": _root, "msub": _sub, "msup": _sup, "msubsup": _subsup,
    "munder": _under, "mover": _over, "munderover": _underover, "mtable": _table, "mtd": _row, "mtr": _row,
}  # fmt: skip
