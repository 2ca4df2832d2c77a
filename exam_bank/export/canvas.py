"""IMS QTI 1.2 as Canvas reads it: one assessment, one item a part, groups where a place has several variants.

SCORE runs from 0 to 100, the points stand in the metadata. Canvas has no item with several numbers, so each component
of a vector or table becomes a numerical item. Figures go along as data URIs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from fractions import Fraction
from html import escape
from itertools import groupby

from exam_bank.export.items import Cell, LmsItem, archive, decimal, shares, split_cells
from exam_bank.model import OPEN_TYPES
from exam_bank.printed import parse

__all__ = ["write"]

_KINDS = {
    "true-false": "true_false_question",
    "single": "multiple_choice_question",
    "multi": "multiple_answers_question",
    "numeric": "numerical_question",
    "short": "short_answer_question",
    "match": "matching_question",
}
_QTI = "http://www.imsglobal.org/xsd/ims_qtiasiv1p2"


def write(title: str, items: Sequence[LmsItem]) -> bytes:
    """The package."""
    identity = "g" + hashlib.sha256("\x1f".join([title, *(item.id for item in items)]).encode()).hexdigest()[:31]
    sections = "".join(_group(list(group)) for _, group in groupby(items, key=lambda item: item.group))
    points = sum(next(group).points for _, group in groupby(items, key=lambda item: item.group))
    questions = f"""<?xml version="1.0" encoding="UTF-8"?>
<questestinterop xmlns="{_QTI}"><assessment ident="{identity}" title="{escape(title)}"><qtimetadata>{_field("cc_maxattempts", "1")}</qtimetadata><section ident="root_section">{sections}</section></assessment></questestinterop>
"""
    meta = f"""<?xml version="1.0" encoding="UTF-8"?>
<quiz xmlns="http://canvas.instructure.com/xsd/cccv1p0" identifier="{identity}"><title>{escape(title)}</title><description></description><shuffle_answers>false</shuffle_answers><scoring_policy>keep_highest</scoring_policy><quiz_type>assignment</quiz_type><points_possible>{decimal(points)}</points_possible></quiz>
"""
    manifest = f"""<?xml version="1.0" encoding="UTF-8"?>
<manifest identifier="{identity}_manifest" xmlns="http://www.imsglobal.org/xsd/imsccv1p1/imscp_v1p1" xmlns:imsmd="http://www.imsglobal.org/xsd/imsmd_v1p2"><metadata><schema>IMS Content</schema><schemaversion>1.1.3</schemaversion></metadata><organizations/><resources><resource identifier="{identity}" type="imsqti_xmlv1p2"><file href="{identity}/{identity}.xml"/><dependency identifierref="{identity}_meta"/></resource><resource identifier="{identity}_meta" type="associatedcontent/imscc_xmlv1p1/learning-application-resource" href="{identity}/assessment_meta.xml"><file href="{identity}/assessment_meta.xml"/></resource></resources></manifest>
"""
    return archive(
        {
            "imsmanifest.xml": manifest,
            f"{identity}/{identity}.xml": questions,
            f"{identity}/assessment_meta.xml": meta,
        }
    )


def _field(label: str, entry: str) -> str:
    return (
        f"<qtimetadatafield><fieldlabel>{label}</fieldlabel><fieldentry>{escape(entry)}</fieldentry></qtimetadatafield>"
    )


def _group(items: Sequence[LmsItem]) -> str:
    """One item, or a group from which each student gets one."""
    written = [_written(item) for item in items]
    if len(items) == 1:
        return "".join(xml for xml, _ in written[0])
    sections = []
    for i in range(min(len(each) for each in written)):
        points = decimal(written[0][i][1])
        body = "".join(each[i][0] for each in written)
        name = f"{items[0].group}-{i + 1}" if len(written[0]) > 1 else items[0].group
        sections.append(
            f'<section ident="{name}" title="{escape(name)}"><selection_ordering><selection><selection_number>1</selection_number>'
            f"<selection_extension><points_per_item>{points}</points_per_item></selection_extension></selection></selection_ordering>{body}</section>"
        )
    return "".join(sections)


def _written(item: LmsItem) -> list[tuple[str, Fraction]]:
    kind = item.part.spec.type
    if kind in ("numeric-vector", "table"):
        return [(_cell(item, cell), cell.points) for cell in split_cells(item)]
    body = _BODIES.get(kind, _essay)(item)
    canvas = _KINDS.get(kind, "essay_question")
    return [
        (
            _item(item.id, item.title, canvas, item.points, _answer_ids(item), item.text(), *body, item.explanation()),
            item.points,
        )
    ]


def _item(
    ident: str,
    title: str,
    kind: str,
    points: Fraction,
    answers: Sequence[str],
    text: str,
    response: str,
    processing: str,
    explanation: str,
) -> str:
    meta = "".join(
        [
            _field("question_type", kind),
            _field("points_possible", decimal(points)),
            _field("original_answer_ids", ",".join(answers)),
            _field("assessment_question_identifierref", f"{ident}q"),
        ]
    )
    outcome = '<outcomes><decvar maxvalue="100" minvalue="0" varname="SCORE" vartype="Decimal"/></outcomes>'
    return (
        f'<item ident="{ident}" title="{escape(title)}"><itemmetadata><qtimetadata>{meta}</qtimetadata></itemmetadata>'
        f"<presentation>{_html(f'<div>{text}</div>')}{response}</presentation>"
        f"<resprocessing>{outcome}{processing}</resprocessing>"
        f'<itemfeedback ident="general_fb"><flow_mat>{_html(explanation)}</flow_mat></itemfeedback></item>'
    )


def _html(html: str) -> str:
    return f'<material><mattext texttype="text/html">{escape(html, quote=False)}</mattext></material>'


def _answer_ids(item: LmsItem) -> list[str]:
    if item.part.choices:
        return [_choice_id(item, choice.index) for choice in item.part.choices]
    return [f"{item.id}a{i + 1}" for i in range(len(item.part.expected))] if item.part.spec.type == "short" else []


def _choice_id(item: LmsItem, index: int) -> str:
    """Numbers, as Canvas' own exports have them."""
    return str(1000 + int(item.id[1:7], 16) % 9_000_000 * 10 + index)


_FULL = '<setvar action="Set" varname="SCORE">100</setvar>'
_ALWAYS = '<respcondition continue="Yes"><conditionvar><other/></conditionvar><displayfeedback feedbacktype="Response" linkrefid="general_fb"/></respcondition>'


def _condition(inner: str) -> str:
    return f'{_ALWAYS}<respcondition continue="No"><conditionvar>{inner}</conditionvar>{_FULL}</respcondition>'


def _choices(item: LmsItem) -> tuple[str, str]:
    multiple = item.part.spec.type == "multi"
    labels = "".join(
        f'<response_label ident="{_choice_id(item, choice.index)}">{_html(item.html(choice.text, inline=True))}</response_label>'
        for choice in item.part.choices
    )
    cardinality = "Multiple" if multiple else "Single"
    response = f'<response_lid ident="response1" rcardinality="{cardinality}"><render_choice>{labels}</render_choice></response_lid>'
    tests = []
    for choice in item.part.choices:
        test = f'<varequal respident="response1">{_choice_id(item, choice.index)}</varequal>'
        if choice.right:
            tests.append(test)
        elif multiple:
            tests.append(f"<not>{test}</not>")
    return response, _condition(f"<and>{''.join(tests)}</and>" if multiple else tests[0])


def _blank() -> str:
    return '<response_str ident="response1" rcardinality="Single"><render_fib><response_label ident="answer1"/></render_fib></response_str>'


def _number(item: LmsItem, key: str) -> tuple[str, str]:
    """Right: the key itself, or anything between the bounds."""
    number = parse(key)
    tolerance = item.part.spec.tolerance
    if number is None or tolerance is None:
        tests = f'<varequal respident="response1">{escape(key)}</varequal>'
    else:
        value, room = float(number), tolerance.around(float(number))
        low, high = decimal(value - room), decimal(value + room)
        tests = (
            f'<or><varequal respident="response1">{decimal(value)}</varequal><and><vargte respident="response1">{low}</vargte>'
            f'<varlte respident="response1">{high}</varlte></and></or>'
        )
    return _blank(), _condition(tests)


def _numeric(item: LmsItem) -> tuple[str, str]:
    return _number(item, item.part.expected[0])


def _cell(item: LmsItem, cell: Cell) -> str:
    label = item.html(cell.label, inline=True)
    body = _number(item, cell.key)
    kind = "numerical_question" if item.part.spec.tolerance else "short_answer_question"
    text = f"{item.text()}<p>Give the value for {label}.</p>"
    return _item(
        cell.id, f"{item.title}: {cell.id[len(item.id) + 1 :]}", kind, cell.points, [], text, *body, item.explanation()
    )


def _short(item: LmsItem) -> tuple[str, str]:
    tests = "".join(f'<varequal respident="response1">{escape(text)}</varequal>' for text in item.part.expected)
    return (
        _blank(),
        f'{_ALWAYS}<respcondition continue="No"><conditionvar>{tests}</conditionvar>{_FULL}</respcondition>',
    )


def _match(item: LmsItem) -> tuple[str, str]:
    part = item.part
    ids = [str(2000 + int(item.id[1:7], 16) % 900_000 * 100 + i) for i in range(len(part.columns))]
    labels = "".join(
        f'<response_label ident="{ident}">{_html(item.html(column, inline=True))}</response_label>'
        for ident, column in zip(ids, part.columns, strict=True)
    )
    percents = shares(Fraction(100), len(part.rows))
    responses, conditions = [], [_ALWAYS]
    for i, (row, key, percent) in enumerate(zip(part.rows, part.expected, percents, strict=True)):
        ident = f"response_{item.id}r{i + 1}"
        responses.append(
            f'<response_lid ident="{ident}">{_html(item.html(row, inline=True))}<render_choice>{labels}</render_choice></response_lid>'
        )
        conditions.append(
            f'<respcondition><conditionvar><varequal respident="{ident}">{ids[part.columns.index(key)]}</varequal></conditionvar>'
            f'<setvar varname="SCORE" action="Add">{decimal(percent)}</setvar></respcondition>'
        )
    return "".join(responses), "".join(conditions)


def _essay(item: LmsItem) -> tuple[str, str]:
    assert item.part.spec.type in OPEN_TYPES
    return _blank(), f'{_ALWAYS}<respcondition continue="No"><conditionvar><other/></conditionvar></respcondition>'


_BODIES = {
    "true-false": _choices,
    "single": _choices,
    "multi": _choices,
    "numeric": _numeric,
    "short": _short,
    "match": _match,
}
