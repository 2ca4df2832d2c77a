"""The commands: exit status, JSON where a program may read it, one message for files that can't be used."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from exam_helpers import BANK, Plant
from typer.testing import CliRunner

from exam_bank.cli import app

RUN = CliRunner()


def run(*words: object) -> tuple[int, str]:
    done = RUN.invoke(app, [str(word) for word in words])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def test_list_shows_what_is_asked_for() -> None:
    """By topic and by type, as text and as JSON."""
    code, text = run("list", "--bank", BANK)
    assert code == 0
    assert "8 questions, 4 with parameters" in text
    assert "1 questions" in run("list", "--bank", BANK, "--topic", "block/*")[1]
    found = json.loads(run("list", "--bank", BANK, "--type", "match", "--json")[1])
    assert [head["id"] for head in found] == ["model-match"]


def test_lint_ends_with_0_1_or_2(plant: Plant, tmp_path: Path) -> None:
    """Clean, findings, bad usage."""
    assert run("lint", BANK / "families", "--seeds", 5, "--rendered", 0) == (0, "0 findings\n")
    folder = plant(
        "- {key: a, type: single, points: 2}", "::: {.part key=a}\n- [x] A\n- [x] B\n:::\n::: solution\nA.\n:::"
    )
    code, text = run("lint", folder, "--seeds", 3, "--rendered", 0, "--json")
    assert code == 1
    assert [finding["rule"] for finding in json.loads(text)] == ["Q014"]
    assert run("lint", tmp_path / "nowhere")[0] == 2


def test_preview_writes_a_page_and_a_paper(tmp_path: Path) -> None:
    """By id and by file."""
    for name in ("greedy-tree", BANK / "decoding" / "greedy-tree.md"):
        code, _ = run("preview", name, "--bank", BANK, "--out", tmp_path / "p")
        assert code == 0
    assert (tmp_path / "p" / "preview.pdf").read_bytes().startswith(b"%PDF")
    assert "Greedy decoding" in (tmp_path / "p" / "preview.html").read_text()


def test_build_export_verify_regrade_and_analyze_in_a_row(blueprint: Path, tmp_path: Path) -> None:
    """A term in five commands."""
    out = tmp_path / "exam"
    code, text = run(
        "build", "--bank", BANK, "--blueprint", blueprint, "--seed", 7, "--versions", 2, "--out", out, "--json"
    )
    assert code == 0
    assert json.loads(text)["versions"] == 2
    assert run("verify", out) == (0, "all files are as built\n")
    code, text = run("export", "--bank", BANK, "--blueprint", blueprint, "--seed", 7, "--out", tmp_path / "lms")
    assert code == 0
    assert sorted(path.name for path in (tmp_path / "lms").iterdir()) == [
        "canvas-qti12.zip", "moodle.xml", "qti21.zip", "questions.gift", "questions.json",
    ]  # fmt: skip
    key = json.loads((out / "v1" / "key.json").read_text())
    ratio = key["questions"][1]["parts"][1]["answer"]
    (tmp_path / "r.json").write_text(json.dumps({"ana": {"version": 1, "answers": {"A2/ratio": ratio}}}))
    code, text = run("regrade", out / "manifest.json", tmp_path / "r.json")
    assert json.loads(text)["ana"]["A2/ratio"] == "1"
    (tmp_path / "s.csv").write_text("A2/ratio,A1/why\n1,1\n0,0\n1,0\n")
    code, text = run(
        "analyze", tmp_path / "s.csv", "--manifest", out / "manifest.json", "--out", tmp_path / "report.html"
    )
    assert code == 0
    assert "3 students, alpha" in text
    assert "Item analysis" in (tmp_path / "report.html").read_text()
    (out / "v1" / "key.json").write_text("{}")
    assert run("verify", out)[0] == 1


def test_the_whole_bank_can_be_exported(tmp_path: Path) -> None:
    """All reviewed questions, with variants."""
    code, _ = run("export", "--bank", BANK, "--whole-bank", "--versions", 2, "--to", "json", "--out", tmp_path)
    assert code == 0
    items = json.loads((tmp_path / "questions.json").read_text())["items"]
    assert len({item["question"]["id"] for item in items}) == 8
    assert sum(item["question"]["id"] == "gqa-kv-bytes" for item in items) == 4


@pytest.mark.parametrize(
    "words",
    [
        ("build", "--bank", BANK, "--seed", 1, "--out", "OUT"),  # the default blueprint needs a larger bank
        ("build", "--bank", BANK, "--blueprint", "nowhere.toml", "--seed", 1, "--out", "OUT"),
        ("preview", "no-such-question", "--bank", BANK, "--out", "OUT"),
        ("export", "--bank", "nowhere", "--out", "OUT"),
        ("analyze", "nowhere.csv", "--manifest", "nowhere.json", "--out", "OUT"),
        ("regrade", "nowhere.json", "nowhere.json"),
        ("verify", "nowhere"),
    ],
)
def test_bad_input_ends_in_one_message_and_writes_nothing(words: tuple[object, ...], tmp_path: Path) -> None:
    """Status 2, `error:` with the file or slot, no traceback, no folder."""
    code, text = run(*(tmp_path / "out" if word == "OUT" else word for word in words))
    assert code == 2
    assert text.startswith("error: ")
    assert "Traceback" not in text
    assert not (tmp_path / "out").exists()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [("build", "--seed", 1), ("preview", "gqa-kv-bytes"), ("export",)])
def test_broken_tex_is_an_error_with_file_and_line(words: tuple[object, ...], tmp_path: Path) -> None:
    """Each command that would print it says where it stands, why, and what to do; nothing is written."""
    folder = tmp_path / "bank"
    shutil.copytree(BANK / "efficiency", folder)
    path = folder / "gqa-kv-bytes.md"
    lines = path.read_text().splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith("A decoder has"))
    lines[place + 1] += r" (Find $\argmax_y p$.)"
    path.write_text("\n".join(lines) + "\n")
    plan = tmp_path / "plan.toml"
    plan.write_text(ONE)
    extra = () if words[0] == "preview" else ("--blueprint", plan)
    code, text = run(*words, "--bank", folder, *extra, "--out", tmp_path / "out")
    assert code == 2
    assert text.startswith(f"error: {path}:{place + 2} · gqa-kv-bytes: the formula $")
    assert "argmax" in text
    assert "`lint` shows all such places" in text
    assert sorted(each.name for each in tmp_path.iterdir()) == ["bank", "plan.toml"]


ONE = (
    '[exam]\ntitle = "S"\npoints = 3\nminutes = 5\n[[section]]\nid = "A"\ntitle = "A"\n'
    'slots = [{points = 3, topics = ["efficiency/*"]}]\n'
)


@pytest.mark.parametrize(
    ("file", "old", "new", "told"),
    [
        ("gqa-kv-bytes.md", "topic:", "topik:", "gqa-kv-bytes.md:5 · topik: this key is not known. Check its spelling"),
        ("gqa-kv-bytes.md", "A decoder has", "A \u6ce8 has", "gqa-kv-bytes.md · A1: the fonts of the papers have no sign for"),
        ("gqa-kv-bytes.md", "A decoder has", "A \x07 has", "the character U+0007 can't be printed. Take it out."),
        ("gqa-kv-bytes.md", "A decoder has", "<% if %>", "before the solution: the template is wrong: Expected an"),
        ("gqa-kv-bytes.md", "A decoder has", "Word.\n\n" * 90, "gqa-kv-bytes.md · A1: the question is longer than a page"),
        ("gqa_kv_bytes.py", "def generate(rng):", "def generate(rng:", "can't be imported: SyntaxError: "),
        ("gqa_kv_bytes.py", "def generate(rng):", "def generate(rng):\n    exit(3)", "`generate` raised SystemExit in line"),
    ],
)  # fmt: skip
def test_a_fault_in_a_question_is_told_with_its_place(file: str, old: str, new: str, told: str, tmp_path: Path) -> None:
    """File, line or key, reason, way out; nothing half-written."""
    shutil.copytree(BANK / "efficiency", tmp_path / "bank")
    path = tmp_path / "bank" / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    (tmp_path / "plan.toml").write_text(ONE)
    code, said = run(
        "build", "--seed", 1, "--bank", path.parent, "--blueprint", tmp_path / "plan.toml", "--out", tmp_path / "out"
    )
    assert code == 2
    assert said.startswith(f"error: {path.parent}")
    assert told in said
    assert len(said.splitlines()) == 1
    assert sorted(each.name for each in tmp_path.iterdir()) == ["bank", "plan.toml"]


def test_a_manifest_or_answers_that_cant_be_used_are_named(tmp_path: Path) -> None:
    """A damaged manifest, a part that no version has, a version that wasn't built: no points are made up."""
    bare = tmp_path / "bare.json"
    bare.write_text('{"format": 1}')
    for command in (("analyze", bare, "--manifest", bare), ("verify", bare), ("regrade", bare, bare)):
        code, said = run(*command)
        assert (code, said.startswith(f"error: {bare}: is damaged")) == (2, True)
    (tmp_path / "plan.toml").write_text(ONE)
    out = tmp_path / "out"
    run("build", "--seed", 1, "--bank", BANK, "--blueprint", tmp_path / "plan.toml", "--out", out, "--no-practice")
    answers = tmp_path / "answers.json"
    for version, name, told in ((1, "Z9/x", "has no part 'Z9/x'"), (7, "A1/ratio", "has no version 7")):
        answers.write_text(json.dumps({"ana": {"version": version, "answers": {name: ["1"]}}}))
        code, said = run("regrade", out, answers)
        assert code == 2
        assert said.startswith(f"error: {answers} · ana: ")
        assert told in said


def test_a_blueprint_that_cant_be_met_is_named(blueprint: Path, tmp_path: Path) -> None:
    """File, slot, what it needs, what the bank has."""
    blueprint.write_text(blueprint.read_text().replace("families/*", "moe/*"))
    code, text = run("build", "--bank", BANK, "--blueprint", blueprint, "--seed", 1, "--out", tmp_path / "out")
    assert code == 2
    assert text.startswith(f"error: {blueprint} · B1: slot B1 needs 1 question of moe/*")
    assert "the bank has 0" in text
