"""Exports are read by somebody else's reader, and scored by somebody else's engine where one exists."""

from __future__ import annotations

import functools
import http.server
import io
import json
import re
import shutil
import subprocess
import threading
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from exam_browser import Browser, chromium, need
from lxml import etree

from exam_bank.bank import Bank, load_bank
from exam_bank.export import FORMATS, export
from exam_bank.export.items import LmsItem, items_of, split_cells
from exam_bank.instantiate import instantiate
from exam_bank.lint_rendered import read_back
from exam_bank.model import CHOICE_TYPES, OPEN_TYPES, Question
from exam_bank.render.tree import Store

HERE = Path(__file__).parent
MODULES = HERE / "js" / "node_modules"
IMS = {"q": "http://www.imsglobal.org/xsd/ims_qtiasiv1p2"}


@pytest.fixture(scope="module", params=["test bank", pytest.param("whole bank", marks=pytest.mark.slow)])
def questions(request: pytest.FixtureRequest, bank: Bank) -> tuple[Question, ...]:
    """One question a type; at night all that are shipped."""
    return bank.questions if request.param == "test bank" else load_bank().questions


@pytest.fixture(scope="module")
def items(questions: tuple[Question, ...], store: Store) -> list[LmsItem]:
    """One item for each part: every type is there (the shipped bank asks for no essay)."""
    found = items_of([(f"A{i}", [instantiate(q, 7, 1)]) for i, q in enumerate(questions, start=1)], store)
    assert {item.part.spec.type for item in found} | {"essay"} == {
        "true-false", "single", "multi", "numeric", "numeric-vector", "table", "match", "short", "code", "derivation", "essay",
    }  # fmt: skip
    return found


def made(name: str, items: Sequence[LmsItem]) -> bytes:
    return FORMATS[name][1]("Sampler", items)


@pytest.mark.parametrize("name", FORMATS)
def test_the_same_items_give_the_same_bytes(name: str, questions: tuple[Question, ...], items: list[LmsItem]) -> None:
    """Zip files too: fixed times, sorted names; a store of its own changes nothing."""
    again = items_of([(f"A{i}", [instantiate(q, 7, 1)]) for i, q in enumerate(questions, start=1)], Store())
    assert made(name, again) == made(name, items)


def test_our_own_reader_gets_every_choice_back(items: list[LmsItem]) -> None:
    r"""Q033: choices with `\frac`, `<`, `%`, an underscore and a backtick come back as they went in."""
    texts = " ".join(choice.text for item in items for choice in item.part.choices)
    assert all(sign in texts for sign in (r"\frac", "%", "`"))
    assert [sentence for item in items for sentence in read_back(item)] == []


# ---------------------------------------------------------------------------------------------- QTI 2.1


@functools.lru_cache(maxsize=1)
def schema() -> etree.XMLSchema:
    """1EdTech's schema, with its imports found beside it."""
    return etree.XMLSchema(etree.parse(str(HERE / "data" / "qti21" / "qtiv2p1" / "imsqti_v2p1.xsd")))


def qti_items(items: Sequence[LmsItem]) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(made("qti21", items))) as package:
        return {
            Path(n).stem: package.read(n) for n in package.namelist() if n.startswith("items/") and n.endswith(".xml")
        }


def test_qti21_is_valid_by_the_official_schema(items: list[LmsItem]) -> None:
    """Every item; and an item with an unknown element is not (negative control)."""
    for name, data in qti_items(items).items():
        schema().assertValid(etree.fromstring(data))
        assert not schema().validate(etree.fromstring(data.replace(b"<itemBody>", b"<itemBody><blink/>"))), name


def test_qti21_lists_every_file_in_its_manifest(items: list[LmsItem]) -> None:
    """The manifest and the zip name the same files."""
    with zipfile.ZipFile(io.BytesIO(made("qti21", items))) as package:
        tree = ET.fromstring(package.read("imsmanifest.xml"))
        listed = {node.get("href") for node in tree.iter("{http://www.imsglobal.org/xsd/imscp_v1p1}file")}
        assert listed == set(package.namelist()) - {"imsmanifest.xml"}


@pytest.fixture(scope="module")
def engine(items: list[LmsItem], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Citolab's player in Chromium, on our items as Citolab's converter upgrades them."""
    script = MODULES / "@citolab" / "qti-components" / "cdn" / "index.global.js"
    need(chromium() is not None and script.exists(), "Chromium and `make readers`")
    folder = tmp_path_factory.mktemp("engine")
    (folder / "in.zip").write_bytes(made("qti21", items))
    convert = shutil.which("qti-convert") or str(Path(__import__("sys").executable).with_name("qti-convert"))
    subprocess.run([convert, "upgrade", "-q", str(folder / "in.zip"), str(folder / "out.zip")], check=True)
    with zipfile.ZipFile(folder / "out.zip") as package:
        package.extractall(folder)
    shutil.copy(script, folder / "qti.js")
    shutil.copy(HERE / "js" / "engine.html", folder)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        browser = Browser(tmp_path_factory.mktemp("profile"))
        browser.open(f"http://127.0.0.1:{server.server_port}/engine.html")
        yield browser
        browser.close()
        server.shutdown()
        thread.join()


ROUNDED = 0.0006  # the engine keeps three decimals of every sum


def scored(engine: Browser, item: LmsItem, answers: list[tuple[str, object]]) -> float:
    value = engine.run(f"score('items/{item.id}.xml', {json.dumps(answers)})")
    assert isinstance(value, (int, float)), value
    return float(value)


def single(value: object) -> list[tuple[str, object]]:
    return [("RESPONSE", value)]


@pytest.mark.browser
def test_the_engine_scores_choices(engine: Browser, items: list[LmsItem]) -> None:
    """The right choice is full, each wrong one 0; of `each` half the rights are half, a wrong one takes one off."""
    for item in items:
        part = item.part
        right = [f"c{c.index}" for c in part.choices if c.right]
        wrong = [f"c{c.index}" for c in part.choices if not c.right]
        if part.spec.type in ("single", "true-false"):
            assert scored(engine, item, single(right[0])) == part.spec.points
            assert [scored(engine, item, single(each)) for each in wrong] == [0] * len(wrong)
        elif part.spec.type == "multi":
            assert scored(engine, item, single(right)) == part.spec.points
            assert scored(engine, item, single(right[:1])) == pytest.approx(part.spec.points / len(right), abs=ROUNDED)
            assert scored(engine, item, single([right[0], wrong[0]])) == 0
            assert scored(engine, item, single(wrong)) == 0


@pytest.mark.browser
def test_the_engine_scores_numbers_on_both_sides_of_the_tolerance(engine: Browser, items: list[LmsItem]) -> None:
    """Inside full, outside 0; vectors need all components, tables pay by cell."""
    for item in items:
        part = item.part
        if part.spec.tolerance is None:
            continue
        keys = [float(key) for key in part.expected]
        rooms = [part.spec.tolerance.around(key) for key in keys]
        names = ["RESPONSE"] if part.spec.type == "numeric" else [f"RESPONSE{i + 1}" for i in range(len(keys))]
        exact: list[tuple[str, object]] = [(n, str(k)) for n, k in zip(names, keys, strict=True)]
        inside: list[tuple[str, object]] = [(n, str(k + 0.98 * r)) for n, k, r in zip(names, keys, rooms, strict=True)]
        below: list[tuple[str, object]] = [(n, str(k - 0.98 * r)) for n, k, r in zip(names, keys, rooms, strict=True)]
        outside: list[tuple[str, object]] = [
            (names[0], str(keys[0] + 1.02 * rooms[0] + max(0.001, 1e-8 * abs(keys[0])))),
            *exact[1:],
        ]
        assert [scored(engine, item, each) for each in (exact, inside, below)] == [part.spec.points] * 3
        left = part.spec.points * (len(keys) - 1) / len(keys) if part.spec.type == "table" else 0
        assert scored(engine, item, outside) == pytest.approx(left, abs=len(keys) * ROUNDED)


@pytest.mark.browser
def test_the_engine_scores_words_and_pairs(engine: Browser, items: list[LmsItem]) -> None:
    """Accepted spellings are full in any case; matches pay by pair; open items stay at 0 for a person."""
    for item in items:
        part = item.part
        if part.spec.type == "short":
            assert scored(engine, item, single(part.expected[0].upper())) == part.spec.points
            assert scored(engine, item, single("something else")) == 0
        elif part.spec.type == "match":
            pairs = [f"r{i} c{part.columns.index(key)}" for i, key in enumerate(part.expected)]
            assert scored(engine, item, single(pairs)) == part.spec.points
            assert scored(engine, item, single(pairs[:1])) == pytest.approx(part.spec.points / len(pairs), abs=ROUNDED)
            assert scored(engine, item, single([f"r0 c{part.columns.index(part.expected[1])}"])) == 0
        elif part.spec.type in OPEN_TYPES:
            assert scored(engine, item, single("an essay")) == 0


# ---------------------------------------------------------------------------------------------- Canvas QTI 1.2


def canvas_items(package: bytes) -> list[dict[str, object]]:
    """What Canvas would take from a package, by the rules that text2qti follows too."""
    with zipfile.ZipFile(io.BytesIO(package)) as files:
        name = next(n for n in files.namelist() if n.count("/") and n.endswith(".xml") and not n.endswith("meta.xml"))
        tree = ET.fromstring(files.read(name))
    found = []
    for item in tree.iterfind(".//q:item", IMS):
        fields = {
            f.findtext("q:fieldlabel", "", IMS): f.findtext("q:fieldentry", "", IMS)
            for f in item.iterfind(".//q:qtimetadatafield", IMS)
        }
        idents = [label.get("ident") for label in item.iterfind(".//q:response_label", IMS)]
        full = [c for c in item.iterfind(".//q:respcondition", IMS) if c.findtext("q:setvar", "", IMS) == "100"]
        negated = {node.text for c in full for node in c.iterfind(".//q:not/q:varequal", IMS)}
        equal = {node.text for c in full for node in c.iterfind(".//q:varequal", IMS)} - negated
        bounds = [
            float(node.text or "nan")
            for c in full
            for tag in ("vargte", "varlte")
            for node in c.iterfind(f".//q:{tag}", IMS)
        ]
        kind = fields["question_type"]
        right: object = (
            [i for i, ident in enumerate(idents) if ident in equal]
            if idents != ["answer1"]
            else sorted(filter(None, equal))
        )
        found.append({"type": kind, "points": float(fields["points_possible"]), "right": bounds if bounds else right})
    return found


def text2qti_source(item: LmsItem) -> str:
    """The same item in text2qti's notation, with numbers for texts."""
    part, points = item.part, item.points
    lines = [f"Points: {float(points):g}", f"1. Question {item.id}"]
    if part.spec.type == "multi":
        lines += [f"[{'*' if c.right else ' '}] choice {i}" for i, c in enumerate(part.choices)]
    elif part.choices:
        names = [c.text if part.spec.type == "true-false" else f"choice {i}" for i, c in enumerate(part.choices)]
        lines += [f"{'*' if c.right else ''}{chr(97 + i)}) {names[i]}" for i, c in enumerate(part.choices)]
    elif part.spec.type == "numeric":
        assert part.spec.tolerance is not None
        lines.append(f"= {part.expected[0]} +- {part.spec.tolerance.around(float(part.expected[0])):g}")
    elif part.spec.type == "short":
        lines += [f"* {text}" for text in part.expected]
    else:
        lines.append("____")
    return "\n".join(lines) + "\n"


def test_canvas_qti_agrees_with_text2qti(items: list[LmsItem], tmp_path: Path) -> None:
    """Types, points and right answers of each item are those that text2qti writes for the same question."""
    from text2qti.config import Config
    from text2qti.qti import QTI
    from text2qti.quiz import Quiz

    for item in items:
        if item.part.spec.type in ("match", "numeric-vector", "table"):
            continue
        config = Config()
        config["pandoc_mathml"] = False
        quiz = Quiz(text2qti_source(item), config=config, source_name="x")
        path = tmp_path / "theirs.zip"
        QTI(quiz).save(path)
        theirs, ours = canvas_items(path.read_bytes()), canvas_items(made("canvas-qti12", [item]))
        assert len(theirs) == len(ours) == 1
        for name in ("type", "points"):
            assert ours[0][name] == theirs[0][name], item.title
        if item.part.spec.type == "numeric":
            # For an exact key text2qti writes no bounds or equal ones.
            assert ours[0]["right"] == pytest.approx(_bounds(item), rel=1e-6)
        else:
            assert ours[0]["right"] == theirs[0]["right"], item.title


def _bounds(item: LmsItem) -> list[float]:
    assert item.part.spec.tolerance is not None
    key = float(item.part.expected[0])
    room = item.part.spec.tolerance.around(key)
    return [key - room, key + room]


def test_canvas_gets_a_group_where_a_place_has_variants(bank: Bank, store: Store) -> None:
    """Three variants of one place: one section, one selected, equal points."""
    variants = [instantiate(bank["gqa-kv-bytes"], 7, number) for number in (1, 2, 3)]
    with zipfile.ZipFile(io.BytesIO(made("canvas-qti12", items_of([("A1", variants)], store)))) as files:
        name = next(n for n in files.namelist() if n.count("/") and n.endswith(".xml") and not n.endswith("meta.xml"))
        tree = ET.fromstring(files.read(name))
        meta = next(n for n in files.namelist() if n.endswith("meta.xml"))
        assert b"<points_possible>3</points_possible>" in files.read(meta)  # not three times three
    groups = [s for s in tree.iterfind(".//q:section", IMS) if s.find("q:selection_ordering", IMS) is not None]
    assert len(groups) == 2
    for group, points in zip(groups, ("2", "1"), strict=True):
        assert group.findtext(".//q:selection_number", "", IMS) == "1"
        assert len(group.findall("q:item", IMS)) == 3
        assert points in {node.text for node in group.iterfind(".//q:points_per_item", IMS)}


def test_many_items_are_split_between_groups(bank: Bank, store: Store) -> None:
    """No file holds more than is asked for, no item is lost, and the variants of a part stay in one file."""
    variants = [[instantiate(question, 7, number) for number in (1, 2, 3)] for question in bank.questions]
    listed = items_of([(f"A{i}", each) for i, each in enumerate(variants, start=1)], store)
    files = export("json", "Sampler", listed, most=7)
    assert [name for name, _, _ in files] == [f"questions-{i}.json" for i in range(1, len(files) + 1)]
    assert len(files) > 2
    assert max(count for _, count, _ in files) <= 7
    read = [[entry["id"] for entry in json.loads(data)["items"]] for _, _, data in files]
    assert [name for ids in read for name in ids] == [item.id for item in listed]
    group = {item.id: item.group for item in listed}
    homes = [{group[name] for name in ids} for ids in read]
    assert sum(map(len, homes)) == len({item.group for item in listed})
    assert export("json", "Sampler", listed, most=1000) == [
        ("questions.json", len(listed), FORMATS["json"][1]("Sampler", listed))
    ]


# ---------------------------------------------------------------------------------------------- Moodle


def test_moodle_xml_is_read_by_moodle_xml_parser(items: list[LmsItem]) -> None:
    """Single and multi choices with fractions; cloze gaps with keys and tolerances."""
    from moodle_xml_parser.parser import parse_string

    read = parse_string(made("moodle", items).decode())
    found = {question.name: question for group in read.values() for question in group}
    for item in items:
        question = found.get(f"{item.title} [{item.id}]")
        kind = item.part.spec.type
        if kind in ("single", "multi"):
            assert question is not None
            rights = [choice.right for choice in item.part.choices]
            assert [option.score_fraction > 0 for option in question.options] == rights
            assert question.single == (kind == "single")
            assert sum(o.score_fraction for o in question.options if o.score_fraction > 0) == pytest.approx(
                100, abs=0.01
            )
        elif kind in ("numeric-vector", "table"):
            assert question is not None
            gaps = [gap for gap in question.gaps if gap.sub_type != "UNKNOWN"]  # the braces of TeX are no gaps
            assert len(gaps) == len(item.part.expected)
            for gap, key in zip(gaps, item.part.expected, strict=True):
                assert gap.options[0].answer.startswith(f"{float(key):.10g}")


def test_moodle_xml_has_the_elements_that_moodle_tools_writes(items: list[LmsItem]) -> None:
    """Our elements of each question type are among those in the templates of moodle-tools."""
    import moodle_tools

    templates = Path(str(moodle_tools.__file__)).parent / "questions" / "templates"
    names = {
        "multichoice": "multiple_choice", "truefalse": "true_false", "numerical": "numerical",
        "shortanswer": "shortanswer", "matching": "matching", "essay": "essay", "cloze": "cloze",
    }  # fmt: skip

    def elements(name: str) -> set[str]:
        return set(re.findall(r"<([a-z]+)[ >/]", (templates / f"{name}.xml.j2").read_text(encoding="utf-8")))

    ours = {
        str(q.get("type")): {node.tag for node in q.iter()}
        for q in ET.fromstring(made("moodle", items)).iterfind("question")
    }
    for kind, name in names.items():
        assert ours[kind] - {"idnumber", "hidden"} <= elements("question") | elements(name) | {"question", "text"}, kind


def test_moodle_fractions_are_of_its_list(items: list[LmsItem]) -> None:
    """Moodle takes only fractions of a fixed list."""
    listed = {"100", "90", "83.33333", "80", "75", "70", "66.66667", "60", "50", "40", "33.33333", "30", "25", "20", "16.66667", "14.28571", "12.5", "11.11111", "10", "5", "0"}  # fmt: skip
    fractions = {
        str(node.get("fraction")).removeprefix("-")
        for node in ET.fromstring(made("moodle", items)).iter("answer")
        if node.get("fraction")
    }
    assert fractions <= listed


# ---------------------------------------------------------------------------------------------- GIFT


def test_gift_is_read_by_gift_pegjs(items: list[LmsItem], tmp_path: Path) -> None:
    """Every question, its type, its right answers and its TeX come back."""
    node = shutil.which("node")
    need(node is not None and MODULES.exists(), "node and `make readers`")
    assert node is not None
    (tmp_path / "q.gift").write_bytes(made("gift", items))
    done = subprocess.run(
        [node, str(HERE / "js" / "gift.mjs"), str(tmp_path / "q.gift")], capture_output=True, check=True, text=True
    )
    read = {str(question["title"]): question for question in json.loads(done.stdout)}
    kinds = {
        "true-false": "TF",
        "single": "MC",
        "multi": "MC",
        "numeric": "Numerical",
        "short": "Short",
        "match": "Matching",
    }
    for item in items:
        kind = item.part.spec.type
        names = [cell.id for cell in split_cells(item)] if kind in ("numeric-vector", "table") else [item.id]
        for name in names:
            question = read[f"{item.title} [{name}]"]
            assert question["type"] == kinds.get(kind, "Numerical" if len(names) > 1 else "Essay")
            assert question["stem"]["text"].startswith(item.text("tex")[:200])
        question = read[f"{item.title} [{names[0]}]"]
        if kind in ("single", "multi"):
            rights = [c["isCorrect"] or (c["weight"] or 0) > 0 for c in question["choices"]]
            assert rights == [choice.right for choice in item.part.choices]
            texts = [c["text"]["text"] for c in question["choices"]]
            assert texts == [item.html(c.text, "tex", inline=True) for c in item.part.choices]
        elif kind == "true-false":
            assert question["isTrue"] == (item.part.right_letters == "T")
        elif kind == "numeric":
            assert question["choices"]["number"] == float(item.part.expected[0])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_plain_gift_is_read_by_pygiftparser(items: list[LmsItem]) -> None:
    """Items without braces in their choices: title and number of answers."""
    from pygiftparser import parser

    plain = [
        i
        for i in items
        if i.part.spec.type == "single" and not any("\\" in c.text or "$" in c.text for c in i.part.choices)
    ]
    assert plain
    read = parser.parseFile(io.StringIO(made("gift", plain).decode()))
    assert len(read) == len(plain)
    for question, item in zip(read, plain, strict=True):
        assert question.title.startswith(item.title.split(":")[0])
        assert len(question.answers.answers) == len(item.part.choices)


def test_json_holds_everything(items: list[LmsItem]) -> None:
    """Keys, texts and figures of each item."""
    read = json.loads(made("json", items))
    assert [entry["id"] for entry in read["items"]] == [item.id for item in items]
    for entry, item in zip(read["items"], items, strict=True):
        assert entry["part"]["expected"] == list(item.part.expected)
        assert [c["right"] for c in entry["part"]["choices"]] == [c.right for c in item.part.choices]
        assert (item.part.spec.type in CHOICE_TYPES) == bool(entry["part"]["choices"])


def test_student_parts_hold_no_explanations(items: list[LmsItem]) -> None:
    """Q025: in QTI 2.1 model answers are in blocks for scorers only; in Moodle and Canvas in feedback elements only."""
    for data in qti_items(items).values():
        body = re.sub(rb'<rubricBlock view="scorer">.*?</rubricBlock>', b"", data, flags=re.DOTALL)
        assert b"adds the angles" not in body
        assert b"Rotations form a group" not in body
    quiz = ET.fromstring(made("moodle", items))
    assert not any(
        "Rotations form a group" in (node.text or "") for node in quiz.iterfind("question/questiontext/text")
    )


def test_a_missing_reader_is_a_failure_in_the_gate_and_a_skip_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """What can't run there has not been proven."""
    need(True, "nothing")
    monkeypatch.setenv("SOFTMARK_REQUIRE_READERS", "1")
    with pytest.raises(pytest.fail.Exception, match="needs node"):
        need(None, "node")
    monkeypatch.delenv("SOFTMARK_REQUIRE_READERS")
    with pytest.raises(pytest.skip.Exception, match="needs node"):
        need(None, "node")
