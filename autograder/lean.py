"""Saved outputs and pictures, cut out of a notebook's bytes while they stream in.

Theory of operation. A notebook of a few kilobytes can carry hundreds of megabytes of saved outputs, pictures and
widgets, none of which the grader reads. So a large file is never held as a whole: it comes in pieces, the values of
the keys "outputs", "attachments" and "widgets" are passed over, and only the rest is kept, up to a limit. Passing over
needs no JSON decoder: strings and brackets are enough, and the state between two pieces is a depth and whether a
string is open. An unescaped `"outputs":` can only be a key, since quotes inside JSON strings are escaped.

Colab puts pictures into the text of a cell, as `data:` addresses: a photo of a page of hand calculations is some
megabytes of it. They go too, but for code, which is never touched.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator

__all__ = ["LARGE", "TooLarge", "lean", "utf_8", "utf_16_of"]

#: From this size on, outputs are cut out before a notebook is decoded.
LARGE = 2 * 2**20
#: Brackets inside of what is passed over; each takes a moment.
_MOST_MARKS = 10_000_000
#: Longer than any key with its colon, blanks included.
_TAIL = 256
_KEY = rb'(?<!\\)"(?:%s)"\s*:\s*(?=[\[{])'
_KIND = rb'(?<!\\)"cell_type"\s*:\s*"(?P<kind>\w+)"'
_PICTURE = rb"(?P<picture>data:image/[\w.+-]{1,40};base64,)(?=[A-Za-z0-9+/])"
_BULK = re.compile(b"|".join((_KEY % b"outputs|attachments|widgets", _KIND, _PICTURE)))
_ALL_BUT_ATTACHMENTS = re.compile(_KEY % b"outputs|widgets")
_BASE64 = re.compile(rb"[A-Za-z0-9+/=]*")
#: Everything up to the next bracket outside of strings, or to a string that does not end in this slice. (Possessive
#: quantifiers would fit, but Python 3.11.2 gets nested ones wrong.)
_TOKENS = re.compile(rb'[^"\[\]{}]*(?:"[^"\\]*(?:\\.[^"\\]*)*"[^"\[\]{}]*)*', re.DOTALL)
#: A match remembers each string that it passed, so pieces are looked at in slices.
_SLICE = 64 * 1024


class TooLarge(ValueError):
    """What is left without saved outputs is more than the limit, or the outputs take too long to be passed over."""


def utf_16_of(content: bytes) -> str | None:
    """The encoding of a file that begins as UTF-16 does: with its mark, or with a brace and half a character."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    return {b"{\0": "utf-16-le", b"\0{": "utf-16-be"}.get(content[:2])


def utf_8(pieces: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """The same text in UTF-8; what can't be decoded becomes a replacement character."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for piece in pieces:
        yield decoder.decode(piece).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def lean(pieces: Iterable[bytes], limit: int, *, attachments: bool = False) -> tuple[bytes, int]:
    """The notebook without the values of "outputs", "attachments" and "widgets" and without the pictures in its
    texts, and how many bytes went.

    limit: bytes of what is kept · attachments: keep these and the pictures. Raises TooLarge. Of a file that breaks off
    inside such a value, the end is missing.
    """
    cutter = _Cutter(limit, _ALL_BUT_ATTACHMENTS if attachments else _BULK)
    for piece in pieces:
        for start in range(0, len(piece), _SLICE):
            cutter.feed(piece[start : start + _SLICE])
    return cutter.close()


class _Cutter:
    """State between two pieces: what may be half a key or half an escape, depth, and what is open."""

    def __init__(self, limit: int, bulk: re.Pattern[bytes]) -> None:
        self._limit, self._bulk = limit, bulk
        self._kept = bytearray()
        self._dropped = 0
        self._carry = b""
        self._depth = 0
        self._in_string = self._in_text = self._in_picture = False
        self._marks = 0

    def feed(self, piece: bytes) -> None:
        piece = self._carry + piece
        self._carry = b""
        position = 0
        while position < len(piece):
            if self._in_picture:
                position = self._through_picture(piece, position)
            else:
                position = self._skip(piece, position) if self._depth else self._keep(piece, position)

    def close(self) -> tuple[bytes, int]:
        if not self._depth:
            self._add(self._carry)
        return bytes(self._kept), self._dropped

    def _add(self, content: bytes) -> None:
        self._kept += content
        if len(self._kept) > self._limit:
            raise TooLarge(f"even without its saved outputs and pictures it holds more than {self._limit >> 20} MiB")

    def _keep(self, piece: bytes, position: int) -> int:
        """Keep up to the next value that is passed over; the last bytes wait, as they may be half a key."""
        match = self._bulk.search(piece, position)
        if match is None:
            end = max(position, len(piece) - _TAIL)
            while end > position and piece[end - 1 : end] == b"\\":
                end -= 1  # a quote keeps its backslash
            self._add(piece[position:end])
            self._carry = piece[end:]
            return len(piece)
        self._add(piece[position : match.end()])
        if match.lastgroup == "kind":
            self._in_text = match["kind"] != b"code"
            return match.end()
        if match.lastgroup == "picture":
            self._in_picture = self._in_text
            return match.end()
        self._add(b"[]" if piece.startswith(b"[", match.end()) else b"{}")
        self._depth = 1
        self._dropped += 1
        return match.end() + 1

    def _skip(self, piece: bytes, position: int) -> int:
        """Pass over, up to the end of the value or of the piece."""
        start = position
        while self._depth and position < len(piece):
            position = self._through_string(piece, position) if self._in_string else self._to_bracket(piece, position)
        self._dropped += position - start - len(self._carry)
        return position

    def _through_picture(self, piece: bytes, position: int) -> int:
        match = _BASE64.match(piece, position)
        end = match.end() if match is not None else position
        self._dropped += end - position
        self._in_picture = end == len(piece)
        return end

    def _through_string(self, piece: bytes, position: int) -> int:
        while (end := piece.find(b'"', position)) >= 0:
            if not _half_an_escape(piece[position:end]):
                self._in_string = False
                return end + 1
            position = end + 1
        if _half_an_escape(piece[position:]):
            self._carry = piece[-1:]
        return len(piece)

    def _to_bracket(self, piece: bytes, position: int) -> int:
        """Past the next bracket, or the quote that opens a string."""
        found = _TOKENS.match(piece, position)
        end = found.end() if found is not None else position
        if end == len(piece):
            return end
        self._marks += 1
        if self._marks > _MOST_MARKS:
            raise TooLarge("its saved outputs are too large")
        sign = piece[end : end + 1]
        if sign == b'"':
            self._in_string = True
        else:
            self._depth += 1 if sign in b"[{" else -1
        return end + 1


def _half_an_escape(content: bytes) -> bool:
    return (len(content) - len(content.rstrip(b"\\"))) % 2 == 1
