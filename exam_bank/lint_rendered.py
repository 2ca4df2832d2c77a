"""The rules that need pandoc, for some variants of each question, all in one batch."""

from __future__ import annotations

import io
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as ET

from exam_bank.errors import BankError
from exam_bank.export import canvas, moodle, qti21
from exam_bank.export.items import LmsItem, items_of
from exam_bank.lint import Finding
from exam_bank.model import Exam, ExamSection, Item, Variant
from exam_bank.render.paper import render_exam
from exam_bank.render.texts import texts
from exam_bank.render.tree import Store, nodes, plain

__all__ = ["read_back", "rendered_findings"]

TOGETHER = 40  # questions in one document: setting them one by one takes ten times as long


def rendered_findings(variants: Sequence[Variant], store: Store | None = None) -> list[Finding]:
    """Q005, Q013, Q022 and Q032 on these variants."""
    shelf = store or Store()
    shelf.prepare(source for variant in variants for source in texts(variant))
    findings = [finding for variant in variants for finding in _findings(variant, shelf)]
    broken = {finding.question for finding in findings}
    sound = [variant for variant in variants if variant.id not in broken]
    for start in range(0, len(sound), TOGETHER):
        findings += _set(sound[start : start + TOGETHER], shelf)
    return findings + [finding for variant in sound for finding in _exported(variant, shelf)]


def _set(variants: Sequence[Variant], store: Store) -> list[Finding]:
    """Q024: the questions on paper, with their answers in the boxes; one by one only where something is wrong."""
    items = tuple(Item(f"A{i}", variant) for i, variant in enumerate(variants, start=1))
    section = ExamSection("A", "Questions", items)
    try:
        render_exam(Exam("Questions", 1, 0, 1, "us-letter", "plain", "", (section,)), store)
    except BankError as fault:
        if len(variants) > 1:
            return [finding for variant in variants for finding in _set([variant], store)]
        (variant,) = variants
        return [Finding(fault.rule, variant.id, _seed(variant), str(fault), str(variant.question.path))]
    return []


def _exported(variant: Variant, store: Store) -> Iterator[Finding]:
    """Q033: choices come back from the exports as they went in."""
    for item in items_of([("A1", [variant])], store):
        for sentence in read_back(item):
            yield Finding("Q033", variant.id, _seed(variant), sentence, str(variant.question.path))


def read_back(item: LmsItem) -> Iterator[str]:
    """Read the item from Moodle XML, Canvas' QTI and QTI 2.1; one sentence for each difference."""
    if item.part.choices and not item.part.right_letters:
        return  # Q014 has said so
    try:
        yield from _differences(item)
    except ET.ParseError as fault:
        yield f"part {item.part.spec.key}: the exports are no XML ({fault}): is there a control character in a text?"


def _differences(item: LmsItem) -> Iterator[str]:
    wanted = [item.html(choice.text, inline=True) for choice in item.part.choices]
    spelled = [item.html(choice.text, "tex", inline=True) for choice in item.part.choices]
    quiz = ET.fromstring(moodle.write("x", [item]))
    if item.part.spec.type in ("single", "multi"):
        found = [node.text or "" for node in quiz.iterfind("question/answer/text")]
        if found != spelled:
            yield f"Moodle XML gives {found} for {spelled}."
    with zipfile.ZipFile(io.BytesIO(canvas.write("x", [item]))) as package:
        name = next(each for each in package.namelist() if each.count("/") and not each.endswith("meta.xml"))
        tree = ET.fromstring(package.read(name))
    spaces = {"q": "http://www.imsglobal.org/xsd/ims_qtiasiv1p2"}
    if wanted:
        found = [node.text or "" for node in tree.iterfind(".//q:response_label//q:mattext", spaces)]
        if found != wanted:
            yield f"Canvas QTI gives {found} for {wanted}."
    ET.fromstring(qti21.item_xml(item)[0])


def _seed(variant: Variant) -> int:
    return variant.seed if isinstance(variant.seed, int) else 0


def _findings(variant: Variant, store: Store) -> Iterator[Finding]:
    seed = _seed(variant)
    place = str(variant.question.path)
    for source in texts(variant):
        for fault in store.faults.get(source, []):
            yield Finding(fault.rule, variant.id, seed, fault.reason, place)
    for rule, sentence in [*_figures(variant, store), *_equal(variant, store)]:
        yield Finding(rule, variant.id, seed, sentence, place)


def _figures(variant: Variant, store: Store) -> Iterator[tuple[str, str]]:
    used = set()
    for source in texts(variant):
        for node in nodes(store.pieces[source]):
            target = node["c"][2][0] if node["t"] == "Image" else ""
            if target.startswith("figure:"):
                used.add(target.removeprefix("figure:"))
    for name in sorted(used - set(variant.figures)):
        yield "Q022", f"the figure {name!r} isn't among the generator's {sorted(variant.figures)}."
    for name, figure in sorted(variant.figures.items()):
        if len(figure.alt.split()) < 3:
            yield "Q022", f"the figure {name!r} has no words: its alt text is {figure.alt!r}."
        if name not in used:
            yield "Q022", f"the figure {name!r} is drawn but not shown: add `![](figure:{name})`."


def _equal(variant: Variant, store: Store) -> Iterator[tuple[str, str]]:
    """Choices that look alike once they are set."""
    for part in variant.parts:
        shown = [_look(choice.text, store) for choice in part.choices]
        double = [text for text, count in Counter(shown).items() if count > 1]
        if double:
            yield "Q013", f"part {part.spec.key}: two choices look alike as printed: {double[0]!r}."


def _look(source: str, store: Store) -> str:
    """The choice in words: formulas spoken, everything else plain."""
    words = []
    for node in nodes(store.pieces[source]):
        if node["t"] == "Math":
            made = store.formula(node)
            words.append(made.words or made.tex)
        elif node["t"] in ("Str", "Code", "CodeBlock"):
            words.append(node["c"] if node["t"] == "Str" else plain([node]))
    return " ".join(words).casefold()
