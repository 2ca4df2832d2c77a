"""Pairs of submissions whose code is alike: a list to look at, never a verdict.

The fingerprints are copydetect's (winnowing, over tokens with names taken away, so that renaming hides nothing). What
was handed out is removed, and so is what a third of the class shares, since short answers to one question look alike.
An index from fingerprint to submissions finds the pairs that share anything at all, so that a class of a thousand is
no million comparisons.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from autograder.batch.notebooks import OwnCell, read_hand_in, release_cells
from autograder.batch.store import Store
from autograder.errors import CourseError
from autograder.model import Assignment
from autograder.report.page import element, page, safe, style
from autograder.report.text import clean, one_line

__all__ = ["Pair", "find_pairs", "own_code", "similar_html"]

_NOISE = 20  # tokens; what is shorter is chance
_GUARANTEE = 30  # tokens; what is longer is always found
_COMMON = 1 / 3
_MOST_CODE = 400_000


@dataclass(frozen=True, slots=True)
class Pair:
    """Two submissions. share: part of each one's own code that both have · marked: (text, whether shared) pieces."""

    left: str
    right: str
    share: tuple[float, float]
    marked: tuple[tuple[tuple[str, bool], ...], tuple[tuple[str, bool], ...]]


def own_code(cells: Iterable[OwnCell], handed_out: frozenset[str]) -> str:
    """The code that a student wrote: cells that are not as they were handed out."""
    sources = (cell.source for cell in cells if cell.kind == "code")
    return "\n\n".join(clean(source) for source in sources if " ".join(source.split()) not in handed_out)[:_MOST_CODE]


def _library() -> Any:
    try:
        import matplotlib as mpl

        mpl.use("Agg")
        import copydetect
    except ImportError:
        raise CourseError("this needs copydetect: install softmark[classes]") from None
    return copydetect


def find_pairs(codes: Mapping[str, str], boilerplate: str, *, least: float = 0.5, most: int = 200) -> list[Pair]:
    """Pairs that share at least `least` of one's own code, the most alike first.

    codes: name → code · boilerplate: what was handed out.
    """
    library = _library()

    def fingerprint(code: str, known: Sequence[int] = ()) -> Any:
        window = _GUARANTEE - _NOISE + 1
        return library.CodeFingerprint("code.py", _NOISE, window, boilerplate=list(known), fp=io.StringIO(code))

    known = {int(h) for h in library.CodeFingerprint("code.py", _NOISE, 1, fp=io.StringIO(boilerplate)).hashes}
    first = {name: fingerprint(code) for name, code in codes.items()}
    counts = Counter(int(h) for one in first.values() for h in set(one.hashes))
    if len(codes) >= 6:
        known |= {h for h, count in counts.items() if count > max(3, _COMMON * len(codes))}
    prints = {name: fingerprint(code, sorted(known)) for name, code in codes.items()}
    pairs = []
    for left, right in _candidates(prints):
        _, share, slices = library.compare_files(prints[left], prints[right])
        if max(share) >= least:
            marked = (_marked(codes[left], slices[0]), _marked(codes[right], slices[1]))
            pairs.append(Pair(left, right, (min(1.0, float(share[0])), min(1.0, float(share[1]))), marked))
    return sorted(pairs, key=lambda pair: (-max(pair.share), -min(pair.share), pair.left, pair.right))[:most]


def _candidates(prints: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Pairs that share a fingerprint, in order."""
    holders: dict[int, list[str]] = {}
    for name, one in prints.items():
        for h in one.hashes:
            holders.setdefault(int(h), []).append(name)
    yield from sorted({pair for names in holders.values() for pair in combinations(names, 2)})


def _marked(code: str, slices: Any) -> tuple[tuple[str, bool], ...]:
    """The code cut at the borders of what is shared."""
    if len(slices) == 0:
        return ((code, False),)
    pieces, place = [], 0
    for start, end in sorted((int(a), int(b)) for a, b in zip(*slices, strict=True)):
        start, end = max(start, place), min(end, len(code))
        if end > start:
            pieces += [(code[place:start], False), (code[start:end], True)]
            place = end
    return tuple(piece for piece in (*pieces, (code[place:], False)) if piece[0])


def class_codes(store: Store, assignment: Assignment) -> tuple[dict[str, str], str]:
    """Each submission's own code, and the code that was handed out."""
    release = [str(cell.source) for cell in release_cells(assignment) if cell.cell_type == "code"]
    handed_out = frozenset(" ".join(source.split()) for source in release)
    codes = {}
    for submitted in store.submissions():
        found = read_hand_in(submitted.path, assignment)
        code = own_code(found.cells, handed_out) if found else ""
        if code.strip():
            codes[submitted.id] = code
    return codes, "\n\n".join(release)


def similar_html(title: str, pairs: Sequence[Pair], names: Mapping[str, str], count: int) -> str:
    """The list as a page without a script. names: submission → who it is."""
    intro = (
        "Alike is not copied. Short answers to one question look alike by themselves, and people may work together as "
        "far as the course allows it. Read both before you say anything. This list decides nothing."
    )
    items = [element("li", _pair(pair, names)) for pair in pairs]
    listed = element("ol", *items, class_="mistakes") if items else element("p", "No pair is that much alike.")
    left_out = "What was handed out, and what a third of the class shares, is left out."
    told = element("p", f"{len(pairs)} pairs among {count} submissions. {left_out}", class_="quiet")
    body = element("header", element("h1", safe(f"{one_line(title)}: code that is alike")), told)
    body += element("main", element("p", intro, class_="stamp"), listed)
    body += element("footer", element("p", "For course staff only."))
    return page(
        f"{one_line(title)}: code that is alike", body, style("page.css", "report.css", "class.css", "similar.css")
    )


def _pair(pair: Pair, names: Mapping[str, str]) -> str:
    left, right = (one_line(names.get(one) or one, 120) for one in (pair.left, pair.right))
    shares = " · ".join(
        f"{100 * share:.0f} % of {name}'s code" for share, name in zip(pair.share, (left, right), strict=True)
    )
    columns = element("div", *(element("pre", *map(_piece, side)) for side in pair.marked), class_="sides")
    head = element("p", element("strong", safe(f"{left} and {right}")))
    return (
        head + element("p", safe(shares), class_="quiet") + element("details", element("summary", "Show both"), columns)
    )


def _piece(piece: tuple[str, bool]) -> str:
    return element("mark", safe(piece[0])) if piece[1] else safe(piece[0])
