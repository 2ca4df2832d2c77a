"""Text that people read, made of text that nobody vouches for.

Names, exceptions and values come from a student's notebook. Before they stand on a page they lose whatever could
change how the page is read: terminal escapes, control characters, direction overrides, NUL, lone surrogates. They
are also cut to a length, at a line end, so that the end of a traceback stays.
"""

from __future__ import annotations

import re
from fractions import Fraction

__all__ = ["LONGEST_OUTPUT", "clean", "cut", "one_line", "points_of", "points_text", "signed_points"]

#: Gradescope cuts longer texts in the middle of a line; ours end before that. Code points, not bytes.
LONGEST_OUTPUT = 100_000

_ANSI = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS, SOS, PM, APC: titles, links
    r"|\x1b[ -/]*[0-~]?"  # two-character escapes, and a lone ESC
    r"|\x9b[0-?]*[ -/]*[@-~]"  # CSI in eight bits
)
_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f"  # C0 without tab and newline, DEL, C1
    "\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff"  # direction overrides and invisible characters
    "\ufdd0-\ufdef\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e0fff]"  # non-characters, tag characters
)
_SURROGATES = re.compile("[\ud800-\udfff]")


def clean(text: object) -> str:
    """`text` as harmless characters with `\\n` line ends; lone surrogates become U+FFFD, the rest of the harm goes."""
    plain = _ANSI.sub("", _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", _string(text)))
    return _UNSEEN.sub("", _LINE_ENDS.sub("\n", plain)).expandtabs(4)


def one_line(text: object, longest: int = 300) -> str:
    """`clean` on one line: white space is one space, and what is longer than `longest` ends in `…`."""
    whole = _string(text)
    read = whole[: 20 * longest + 1000]  # enough, unless nearly all of it is spaces and escapes
    line = " ".join(clean(read).split())
    return line if len(line) <= longest and read == whole else line[: longest - 1].rstrip() + "…"


def cut(text: str, longest: int = LONGEST_OUTPUT) -> str:
    """At most `longest` characters: whole lines of the head and the tail, with a line that says what is gone.

    The tail gets two thirds, since the end of a traceback tells most.
    """
    if len(text) <= longest:
        return text
    room = longest - len(_gap(len(text)))
    head, tail = text[: room // 3], text[len(text) - (room - room // 3) :]
    head = head[: head.rfind("\n") + 1] or head
    tail = tail[tail.find("\n") + 1 :] or tail
    return head.removesuffix("\n") + _gap(len(text) - len(head) - len(tail)) + tail


def _gap(characters: int) -> str:
    return f"\n… {characters} characters left out …\n"


def _string(text: object) -> str:
    return text if isinstance(text, str) else str(text)


def points_text(points: Fraction) -> str:
    """3 → "3", 5/2 → "2.5", 1/3 → "0.33". What is lost stays visible: 1.999 is never shown as 2."""
    sign, size = ("−" if points < 0 else ""), abs(points)
    if size.denominator == 1:
        return f"{sign}{size.numerator}"
    hundredths = round(size * 100)
    if hundredths % 100 == 0:  # not whole, so it must not look whole
        return f"{sign}{float(size):.6g}" if round(size * 10**6) % 10**6 else f"{sign}~{hundredths // 100}"
    return sign + f"{hundredths / 100:.2f}".rstrip("0")


def points_of(earned: Fraction, possible: Fraction) -> str:
    """`3 of 5 points`, `0 of 1 point`."""
    return f"{points_text(earned)} of {points_text(possible)} {'point' if possible == 1 else 'points'}"


def signed_points(change: Fraction) -> str:
    """`+4`, `−2`, `0`."""
    return f"+{points_text(change)}" if change > 0 else points_text(change)
