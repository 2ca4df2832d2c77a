"""IMS QTI 2.1: one item file a part, valid by 1EdTech's schema *and* with rules that set SCORE.

A key without a rule scores 0 for everybody, so each item carries its own conditions. Numbers are compared by
`and(gte, lte)`, because an engine that was measured treats `equal` with a tolerance as exact.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from fractions import Fraction
from html import escape

from exam_bank.export.items import LmsItem, archive, decimal, shares, split_cells
from exam_bank.model import OPEN_TYPES, Figure
from exam_bank.printed import parse
from exam_bank.render.html import data_uri

__all__ = ["item_xml", "write"]

_NS = "http://www.imsglobal.org/xsd/imsqti_v2p1"
_XSD = "http://www.imsglobal.org/xsd/qti/qtiv2p1/imsqti_v2p1.xsd"


def write(title: str, items: Sequence[LmsItem]) -> bytes:
    """The package: manifest, items, figures."""
    files: dict[str, str | bytes] = {}
    resources = []
    for item in items:
        xml, figures = item_xml(item)
        files[f"items/{item.id}.xml"] = xml
        for name, figure in figures.items():
            files[f"items/{name}"] = figure.svg
        listed = "".join(f'<file href="items/{name}"/>' for name in sorted(figures))
        resources.append(
            f'<resource identifier="{item.id}" type="imsqti_item_xmlv2p1" href="items/{item.id}.xml"><file href="items/{item.id}.xml"/>{listed}</resource>'
        )
    files["imsmanifest.xml"] = f"""<?xml version="1.0" encoding="UTF-8"?>
<manifest xmlns="http://www.imsglobal.org/xsd/imscp_v1p1" identifier="{_identity(title, items)}"><metadata><schema>QTIv2.1 Package</schema><schemaversion>1.0.0</schemaversion></metadata><organizations/><resources>{"".join(resources)}</resources></manifest>
"""
    return archive(files)


def _identity(title: str, items: Sequence[LmsItem]) -> str:
    return "m" + hashlib.sha256("\x1f".join([title, *(item.id for item in items)]).encode()).hexdigest()[:16]


def item_xml(item: LmsItem) -> tuple[str, dict[str, Figure]]:
    """One item, and the figures that it names by file."""
    kind = item.part.spec.type
    declarations, body, processing = _KINDS[kind](item) if kind not in OPEN_TYPES else _essay(item)
    text = item.text()
    figures: dict[str, Figure] = {}
    for figure in item.figures.values():
        name = f"{hashlib.sha256(figure.svg.encode()).hexdigest()[:16]}.svg"
        text = text.replace(data_uri(figure), name)
        figures[name] = figure
    xml = f"""<?xml version="1.0" encoding="UTF-8"?>
<assessmentItem xmlns="{_NS}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="{_NS} {_XSD}" identifier="{item.id}" title="{escape(item.title)}" adaptive="false" timeDependent="false">{declarations}<outcomeDeclaration identifier="SCORE" cardinality="single" baseType="float"><defaultValue><value>0</value></defaultValue></outcomeDeclaration><outcomeDeclaration identifier="MAXSCORE" cardinality="single" baseType="float"><defaultValue><value>{decimal(item.points)}</value></defaultValue></outcomeDeclaration><itemBody>{_valid(text)}{body}</itemBody>{processing}</assessmentItem>
"""
    return xml, figures


def _valid(html: str) -> str:
    """HTML that QTI lacks, in its own words."""
    return html.replace("<s>", "<span>").replace("</s>", "</span>")


def _inline(item: LmsItem, source: str) -> str:
    return _valid(item.html(source, inline=True))


Made = tuple[str, str, str]


def _declaration(name: str, kind: str, values: Sequence[str], cardinality: str = "single", mapping: str = "") -> str:
    correct = "".join(f"<value>{escape(value)}</value>" for value in values)
    return (
        f'<responseDeclaration identifier="{name}" cardinality="{cardinality}" baseType="{kind}">'
        f"<correctResponse>{correct}</correctResponse>{mapping}</responseDeclaration>"
    )


def _set(points: Fraction) -> str:
    return f'<setOutcomeValue identifier="SCORE"><baseValue baseType="float">{decimal(points)}</baseValue></setOutcomeValue>'


def _add(points: Fraction) -> str:
    return (
        '<setOutcomeValue identifier="SCORE"><sum><variable identifier="SCORE"/>'
        f'<baseValue baseType="float">{decimal(points)}</baseValue></sum></setOutcomeValue>'
    )


def _when(test: str, then: str) -> str:
    return f"<responseCondition><responseIf>{test}{then}</responseIf></responseCondition>"


def _processing(*rules: str) -> str:
    return f"<responseProcessing>{''.join(rules)}</responseProcessing>"


_MAPPED = '<setOutcomeValue identifier="SCORE"><mapResponse identifier="RESPONSE"/></setOutcomeValue>'


def _choices(item: LmsItem) -> Made:
    part = item.part
    right = [choice for choice in part.choices if choice.right]
    multiple = part.spec.type == "multi"
    mapping = ""
    if multiple and part.spec.credit == "each":
        each = shares(item.points, len(right))
        worth = {choice.index: share for choice, share in zip(right, each, strict=True)}
        entries = "".join(
            f'<mapEntry mapKey="c{choice.index}" mappedValue="{decimal(worth.get(choice.index, -each[0]))}"/>'
            for choice in part.choices
        )
        mapping = f'<mapping lowerBound="0" defaultValue="0">{entries}</mapping>'
    declared = _declaration(
        "RESPONSE",
        "identifier",
        [f"c{choice.index}" for choice in right],
        "multiple" if multiple else "single",
        mapping,
    )
    listed = "".join(
        f'<simpleChoice identifier="c{c.index}">{_inline(item, c.text)}</simpleChoice>' for c in part.choices
    )
    body = f'<choiceInteraction responseIdentifier="RESPONSE" shuffle="false" maxChoices="{0 if multiple else 1}">{listed}</choiceInteraction>'
    if mapping:
        return (
            declared,
            body,
            _processing(_when('<not><isNull><variable identifier="RESPONSE"/></isNull></not>', _MAPPED)),
        )
    same = '<match><variable identifier="RESPONSE"/><correct identifier="RESPONSE"/></match>'
    return declared, body, _processing(_when(same, _set(item.points)))


def _between(name: str, key: str, item: LmsItem) -> tuple[str, str, str]:
    """(base type, key, test) of one blank."""
    number, tolerance = parse(key), item.part.spec.tolerance
    if number is None or tolerance is None:
        test = f'<stringMatch caseSensitive="false"><variable identifier="{name}"/><baseValue baseType="string">{escape(key)}</baseValue></stringMatch>'
        return "string", key, test
    value = float(number)
    room = tolerance.around(value) + abs(value) * 1e-9
    low, high = f"{value - room:.12g}", f"{value + room:.12g}"
    test = (
        f'<and><gte><variable identifier="{name}"/><baseValue baseType="float">{low}</baseValue></gte>'
        f'<lte><variable identifier="{name}"/><baseValue baseType="float">{high}</baseValue></lte></and>'
    )
    return "float", f"{value:.12g}", test


def _entry(name: str) -> str:
    return f'<textEntryInteraction responseIdentifier="{name}" expectedLength="12"/>'


def _numeric(item: LmsItem) -> Made:
    kind, key, test = _between("RESPONSE", item.part.expected[0], item)
    unit = f" {escape(item.part.spec.unit)}" if item.part.spec.unit else ""
    return (
        _declaration("RESPONSE", kind, [key]),
        f"<p>{_entry('RESPONSE')}{unit}</p>",
        _processing(_when(test, _set(item.points))),
    )


def _cells(item: LmsItem) -> Made:
    """Vector: all components together; table: a share for each cell."""
    declared, lines, tests = [], [], []
    for i, cell in enumerate(split_cells(item), start=1):
        name = f"RESPONSE{i}"
        kind, key, test = _between(name, cell.key, item)
        declared.append(_declaration(name, kind, [key]))
        lines.append(f"<p>{_inline(item, cell.label)}: {_entry(name)}</p>")
        tests.append((test, cell.points))
    if item.part.spec.type == "numeric-vector":
        rules = [_when(f"<and>{''.join(test for test, _ in tests)}</and>", _set(item.points))]
    else:
        rules = [_when(test, _add(points)) for test, points in tests]
        # Engines round each sum, to three decimals for example: nine ninths must still be the whole.
        rules.append(_when(f"<and>{''.join(test for test, _ in tests)}</and>", _set(item.points)))
    return "".join(declared), "".join(lines), _processing(*rules)


def _short(item: LmsItem) -> Made:
    part = item.part
    case = "true" if part.spec.case == "exact" else "false"
    entries = "".join(
        f'<mapEntry mapKey="{escape(text)}" mappedValue="{decimal(item.points)}" caseSensitive="{case}"/>'
        for text in part.expected
    )
    declared = _declaration(
        "RESPONSE", "string", [part.expected[0]], mapping=f'<mapping defaultValue="0">{entries}</mapping>'
    )
    answered = '<not><isNull><variable identifier="RESPONSE"/></isNull></not>'
    return declared, f"<p>{_entry('RESPONSE')}</p>", _processing(_when(answered, _MAPPED))


def _match(item: LmsItem) -> Made:
    part = item.part
    pairs = [f"r{i} c{part.columns.index(key)}" for i, key in enumerate(part.expected)]
    each = shares(item.points, len(pairs))
    entries = "".join(
        f'<mapEntry mapKey="{pair}" mappedValue="{decimal(share)}"/>' for pair, share in zip(pairs, each, strict=True)
    )
    declared = _declaration(
        "RESPONSE", "directedPair", pairs, "multiple", f'<mapping lowerBound="0" defaultValue="0">{entries}</mapping>'
    )
    left = "".join(
        f'<simpleAssociableChoice identifier="r{i}" matchMax="1">{_inline(item, row)}</simpleAssociableChoice>'
        for i, row in enumerate(part.rows)
    )
    right = "".join(
        f'<simpleAssociableChoice identifier="c{i}" matchMax="{len(pairs)}">{_inline(item, column)}</simpleAssociableChoice>'
        for i, column in enumerate(part.columns)
    )
    body = (
        f'<matchInteraction responseIdentifier="RESPONSE" shuffle="false" maxAssociations="{len(pairs)}">'
        f"<simpleMatchSet>{left}</simpleMatchSet><simpleMatchSet>{right}</simpleMatchSet></matchInteraction>"
    )
    return declared, body, _processing(_when('<not><isNull><variable identifier="RESPONSE"/></isNull></not>', _MAPPED))


def _essay(item: LmsItem) -> Made:
    lines = "".join(f"<li>{line.points}: {_inline(item, line.text)}</li>" for line in item.part.spec.rubric or ())
    rubric = f'<rubricBlock view="scorer"><div>{_valid(item.html(item.part.expected[0]))}</div><ul>{lines}</ul></rubricBlock>'
    declared = '<responseDeclaration identifier="RESPONSE" cardinality="single" baseType="string"/>'
    return declared, f'<extendedTextInteraction responseIdentifier="RESPONSE" expectedLines="8"/>{rubric}', ""


_KINDS = {
    "true-false": _choices, "single": _choices, "multi": _choices, "numeric": _numeric, "numeric-vector": _cells,
    "table": _cells, "match": _match, "short": _short,
}  # fmt: skip
