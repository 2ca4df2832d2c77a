"""Builds: same bytes, nothing half-written, a ledger that remembers, a manifest that regrades."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pytest
from exam_helpers import SAMPLER

from exam_bank.assemble import assemble, build, fresh_folder
from exam_bank.bank import Bank, load_bank
from exam_bank.blueprint import load_blueprint
from exam_bank.errors import BankError, BlueprintError
from exam_bank.instantiate import verified
from exam_bank.ledger import read_ledger
from exam_bank.manifest import read_manifest, regrade, verify_files
from exam_bank.model import CHOICE_TYPES, OPEN_TYPES, Exam

LEFT = ("paper.pdf", "solutions.pdf", "key.json", "boxes.json", "practice.html")


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture(scope="module")
def built(bank: Bank, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two versions with seed 7."""
    folder = tmp_path_factory.mktemp("built")
    (folder / "sampler.toml").write_text(SAMPLER)
    build(load_blueprint(folder / "sampler.toml"), bank, 7, 2, folder / "exam")
    return folder / "exam"


def test_a_build_has_all_its_files(built: Path) -> None:
    """Five files a version, one manifest, and nothing beside them."""
    assert set(tree(built)) == {f"v{v}/{name}" for v in (1, 2) for name in LEFT} | {"manifest.json"}
    assert [path.name for path in built.parent.iterdir() if path.name.startswith(".")] == []


def test_the_same_build_gives_the_same_bytes(built: Path, bank: Bank, blueprint: Path, tmp_path: Path) -> None:
    """PDF, HTML, JSON: equal in another folder, on another day; another seed differs."""
    build(load_blueprint(blueprint), bank, 7, 2, tmp_path / "again")
    assert tree(tmp_path / "again") == tree(built)
    build(load_blueprint(blueprint), bank, 8, 1, tmp_path / "other", practice=False)
    assert tree(tmp_path / "other")["v1/paper.pdf"] != tree(built)["v1/paper.pdf"]


def test_more_versions_change_no_earlier_one(built: Path, bank: Bank, blueprint: Path, tmp_path: Path) -> None:
    """Version 1 of a build of one is version 1 of a build of two."""
    build(load_blueprint(blueprint), bank, 7, 1, tmp_path / "one")
    assert tree(tmp_path / "one")["v1/paper.pdf"] == tree(built)["v1/paper.pdf"]


def test_versions_share_no_numbers(bank: Bank, blueprint: Path) -> None:
    """Eight versions, no two with the same parameters of a question that has enough of them."""
    exams = assemble(load_blueprint(blueprint), bank, 3, 8)
    seen = [(i.variant.id, i.variant.params_hash) for e in exams for i in e.items if i.variant.question.generator_path]
    assert len(seen) == len(set(seen))


def answers(exam: Exam, right: bool) -> dict[str, Sequence[str]]:
    """Printed answers to every part."""
    given: dict[str, Sequence[str]] = {}
    for item in exam.items:
        for part in item.variant.parts:
            name = f"{item.label}/{part.spec.key}"
            if part.spec.type in CHOICE_TYPES:
                letters = (
                    [c.text[0] for c in part.choices]
                    if part.spec.type == "true-false"
                    else "ABCDE"[: len(part.choices)]
                )
                given[name] = [x for x, c in zip(letters, part.choices, strict=True) if c.right == right]
            elif part.spec.type == "match":
                given[name] = [
                    "ABCDEF"[part.columns.index(key)] for key in (part.expected if right else part.expected[::-1])
                ]
            else:
                given[name] = part.expected if right else ["99999"] * len(part.expected)
    return given


def test_a_regrade_reads_the_manifest_only(built: Path, bank: Bank, blueprint: Path) -> None:
    """Right answers earn everything, wrong ones nothing, by the manifest alone; open parts wait for a person."""
    manifest = json.loads((built / "manifest.json").read_text())
    for exam in assemble(load_blueprint(blueprint), bank, 7, 2):
        full = regrade(manifest, exam.version, answers(exam, right=True))
        for item in exam.items:
            for part in item.variant.parts:
                wanted = None if part.spec.type in OPEN_TYPES else Fraction(part.spec.points)
                assert full[f"{item.label}/{part.spec.key}"] == wanted
        low = regrade(manifest, exam.version, answers(exam, right=False))
        assert sum(points or 0 for points in low.values()) <= 1  # one pair of a turned match is right
        assert set(regrade(manifest, exam.version, {}).values()) == {None, Fraction(0)}


def test_keys_of_another_version_dont_fit(built: Path, bank: Bank, blueprint: Path) -> None:
    """Versions differ in more than their name."""
    manifest = read_manifest(built)
    first = assemble(load_blueprint(blueprint), bank, 7, 2)[0]
    points = regrade(manifest, 2, answers(first, right=True))
    assert sum(p or 0 for p in points.values()) < sum(
        p or 0 for p in regrade(manifest, 1, answers(first, right=True)).values()
    )


def test_changed_and_missing_files_are_named(bank: Bank, blueprint: Path, tmp_path: Path) -> None:
    """The manifest knows its files."""
    out = tmp_path / "exam"
    build(load_blueprint(blueprint), bank, 7, 1, out, practice=False)
    assert verify_files(out) == []
    (out / "v1" / "key.json").write_text("{}")
    (out / "v1" / "paper.pdf").unlink()
    assert verify_files(out) == ["v1/key.json has changed", "v1/paper.pdf is missing"]


def test_a_failed_build_leaves_everything_as_it_was(bank: Bank, blueprint: Path, tmp_path: Path) -> None:
    """An error in the middle: no new folder, the old one untouched, no line in the ledger."""
    out, ledger = tmp_path / "out" / "exam", tmp_path / "ledger.jsonl"
    blueprint.write_text(blueprint.read_text().replace("[exam]", '[exam]\nrepeat = "free"'))
    build(load_blueprint(blueprint), bank, 7, 1, out, practice=False, ledger=ledger)
    before, lines = tree(out), ledger.read_text()
    broken = (bank.root / "position" / "rope-shift.md").read_text().replace("box: 4cm", "box: 0.5cm")
    folder = tmp_path / "bank"
    for path in bank.root.rglob("*.*"):
        if path.suffix in (".md", ".py"):
            target = folder / path.relative_to(bank.root)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(broken if path.name == "rope-shift.md" else path.read_text())
    for place in (out, tmp_path / "out" / "new"):
        with pytest.raises(BankError, match="Enlarge `box`"):
            build(load_blueprint(blueprint), load_bank(folder), 8, 1, place, ledger=ledger)
    assert tree(out) == before
    assert ledger.read_text() == lines
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["exam"]


def test_a_folder_of_somebody_else_is_not_replaced(tmp_path: Path) -> None:
    """Only earlier builds are."""
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("years of work")
    with pytest.raises(BankError, match="no earlier build"), fresh_folder(tmp_path / "thesis"):
        pass
    assert (tmp_path / "thesis" / "chapter.tex").read_text() == "years of work"


def test_the_ledger_keeps_numbers_from_coming_again(bank: Bank, blueprint: Path, tmp_path: Path) -> None:
    """`params`: fixed questions can't come again; with other ones for them, numbers are new. Same build: no new use."""
    ledger = tmp_path / "ledger.jsonl"
    text = blueprint.read_text()
    # Fixed questions count as used, so the second term asks only for questions with parameters.
    small = tmp_path / "small.toml"
    small.write_text(
        '[exam]\ntitle = "S"\npoints = 7\nminutes = 9\n[[section]]\nid = "A"\ntitle = "A"\nslots = [\n'
        '{points = 4, topics = ["attention/*"]}, {points = 3, topics = ["efficiency/*"]}]\n'
    )
    build(load_blueprint(blueprint), bank, 7, 1, tmp_path / "a", ledger=ledger, practice=False, date="2026-05-01")
    lines = ledger.read_text()
    build(load_blueprint(blueprint), bank, 7, 1, tmp_path / "a", ledger=ledger, practice=False, date="2027-05-01")
    assert ledger.read_text() == lines
    with pytest.raises(BlueprintError, match="taken by the ledger"):
        build(load_blueprint(blueprint), bank, 8, 1, tmp_path / "b", ledger=ledger, practice=False)
    past = {(entry["id"], entry["params_sha256"]) for entry in map(json.loads, lines.splitlines())}
    # The very numbers of the first exam would come again with its seed: the ledger makes them others.
    for exam in assemble(load_blueprint(small), bank, 7, 1, read_ledger(ledger, "another build")):
        assert not past & {(item.variant.id, item.variant.params_hash) for item in exam.items}
    free = tmp_path / "free.toml"
    free.write_text(text.replace("[exam]", '[exam]\nrepeat = "free"'))
    done = build(load_blueprint(free), bank, 8, 1, tmp_path / "b", ledger=ledger, practice=False)
    assert any("earlier uses" in note for note in done.notes)


def test_a_damaged_ledger_is_an_error_with_its_line(bank: Bank, blueprint: Path, tmp_path: Path) -> None:
    """Not a silent start from nothing."""
    ledger = tmp_path / "ledger.jsonl"
    ledger.write_text('{"id": "x", "params_sha256": "y", "build": "z"}\nnot json\n')
    with pytest.raises(BankError, match="no line of a ledger") as caught:
        build(load_blueprint(blueprint), bank, 7, 1, tmp_path / "exam", ledger=ledger)
    assert caught.value.line == 2


def test_gradescope_slots_are_the_same_in_all_versions(bank: Bank, blueprint: Path, tmp_path: Path) -> None:
    """One outline fits every version: questions start at the same place on the same page."""
    blueprint.write_text(blueprint.read_text().replace("[exam]", '[exam]\nlayout = "gradescope"'))
    build(load_blueprint(blueprint), bank, 7, 4, tmp_path / "exam", practice=False)
    places = []
    for version in range(1, 5):
        boxes = json.loads((tmp_path / "exam" / f"v{version}" / "boxes.json").read_text())["boxes"]
        places.append([(b["id"], b["page"], b["x"], b["y"]) for b in boxes if b["kind"] == "question"])
    assert places[0] == places[1] == places[2] == places[3]


def test_keys_are_computed_again_by_verify(built: Path, bank: Bank) -> None:
    """key.json against the second route, number by number."""
    manifest = read_manifest(built)
    for version in manifest["versions"]:
        key = {
            q["label"]: q for q in json.loads((built / f"v{version['version']}" / "key.json").read_text())["questions"]
        }
        for question in version["questions"]:
            second = verified(bank[question["id"]], question["params"])
            for part in key[question["label"]]["parts"]:
                if part["type"] == "numeric" and part["key"] in second:
                    room = max(part["tolerance"]["abs"], part["tolerance"]["rel"] * abs(float(part["answer"][0])), 1e-9)
                    assert abs(float(part["answer"][0]) - float(second[part["key"]])) <= room
