"""Reading what platforms hand over."""

from __future__ import annotations

import time
import zipfile
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.batch.export import METADATA, blocks, hand_in, read_results
from autograder.batch.people import digest_of, slug
from autograder.batch.source import open_source
from autograder.errors import CourseError

EXAMPLE = """\
submission_400000123:
  :submitters:
  - :name: Rosa Okafor
    :sid: '00471122'
    :email: r.okafor@example.edu
  - :name: Tove Lindqvist
    :sid: '00471123'
    :email: t.lindqvist@example.edu
  :created_at: 2026-03-05 02:58:07.412903000 Z
  :score: 18.0
  :status: processed
  :results:
    score: 18.0
    tests:
    - name: 'RoPE: rotation preserves vector norms'
      score: 5.0
      number: '1.1'
      output: "submission_1:\\n  :score: 3"
      max_score: 5.0
    output: Notebook ran.
  :history:
  - :submitters: []
    :created_at: 2026-03-04 01:02:19.551200000 Z
    :score: 13.0
    :status: processed
    :results:
      score: 13.0
      tests: []
    :id: 400000077
  - :submitters: []
    :created_at: 2026-03-02 23:11:40.000123000 Z
    :score: 0.0
    :status: failed
    :results:
      output: The run ended without a result.
    :id: 400000050
submission_400000200:
  :submitters:
  - :name: Idris Bramwell
    :sid:
    :email: i.bramwell@example.edu
  :created_at: 2026-03-04 17:00:00.000000000 Z
  :score: 0.0
  :status: unprocessed
  :results:
  :history: []
"""


def read(text: str) -> list:  # type: ignore[type-arg]
    return [hand_in(block, "x") for block in blocks(text.encode().splitlines(keepends=True), "x")]


def test_heads_are_read_and_results_are_not() -> None:
    """Names, SIDs as text, a missing SID, the time, the score, and how many attempts there were."""
    group, single = read(EXAMPLE)
    assert [(p.name, p.sid) for p in group.people] == [("Rosa Okafor", "00471122"), ("Tove Lindqvist", "00471123")]
    assert (group.id, group.score, group.status, group.attempts) == ("400000123", 18.0, "processed", 3)
    assert group.created == "2026-03-05T02:58:07.412903+00:00"
    assert single.people[0].sid is None
    assert single.attempts == 1


def test_results_are_read_when_they_are_asked_for() -> None:
    """`:results` comes back as the platform wrote it; none is None."""
    first, second = blocks(EXAMPLE.encode().splitlines(keepends=True), "x", results=True)
    results = read_results(first, "x")
    assert results is not None
    assert results["tests"][0]["output"] == "submission_1:\n  :score: 3"
    assert read_results(second, "x") is None


@given(st.lists(st.tuples(st.text(max_size=30), st.text(max_size=12), st.integers(0, 4)), max_size=6))
@settings(deadline=None, max_examples=60)
def test_streaming_agrees_with_a_whole_parser(people: list[tuple[str, str, int]]) -> None:
    """Whatever names and outputs hold, cutting the file gives what parsing all of it gives."""
    data = {
        f"submission_{n}": {
            ":submitters": [{":name": name, ":sid": sid, ":email": None}],
            ":score": 1.5,
            ":results": {"output": name, "tests": [{"name": sid, "score": 1.0, "max_score": 2.0}]},
            ":history": [{":submitters": [], ":id": k} for k in range(earlier)],
        }
        for n, (name, sid, earlier) in enumerate(people)
    }
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True)
    lines = text.encode().splitlines(keepends=True)
    whole = yaml.safe_load(text)
    found = list(blocks(lines, "x", results=True))
    assert [block.key for block in found] == list(whole)
    for block in found:
        one, head = whole[block.key], hand_in(block, "x")
        assert [p.name for p in head.people] == [one[":submitters"][0][":name"]]
        assert (head.people[0].sid or "") == one[":submitters"][0][":sid"]
        assert head.attempts == len(one[":history"]) + 1
        assert read_results(block, "x") == one[":results"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("123.pdf:\n  :original_filename: a.pdf\n", "PDF assignment"),
        ("submission_1: !ruby/object:X\n  :a: 1\n", "submission_<id>"),
        ("submission_1:\n  :submitters: !!python/object/apply:os.system [ls]\n", "tag"),
        ("submission_1:\n  :a: &x [1]\n  :b: *x\n", "alias"),
        ("submission_1:\n  :a: " + "[" * 60 + "]" * 60 + "\n", "nested"),
        ("submission_1:\n  :a: [1\n", "can't be read"),
        ("- a\n", "no submission"),
        ("hello\n", "expected"),
    ],
)
def test_what_is_no_export_is_refused_in_words(text: str, words: str) -> None:
    """PDF assignments, tags, aliases, deep nesting and broken YAML each get their own sentence."""
    with pytest.raises(CourseError, match=words):
        read(text)


def test_six_hundred_heads_are_quick() -> None:
    """600 submissions with 12 MB of results take about a second or less (processor time, with room for noise)."""
    tests = "".join(f"    - name: check {n}\n      output: '{'x' * 400}'\n      score: 1.0\n" for n in range(45))
    block = EXAMPLE.partition("    tests:\n")[0] + "    tests:\n" + tests
    text = "".join(block.replace("400000123", str(n)) for n in range(600)).encode()
    lines = text.splitlines(keepends=True)
    assert len(text) > 12_000_000
    started = time.process_time()
    assert sum(1 for b in blocks(lines, "x") if hand_in(b, "x").people) == 600
    assert time.process_time() - started < 2.0


# ── folders and zips ──────────────────────────────────────────────────────────────────────────────────────────
def pack(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return path


def spread(path: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    return path


BOOK = b'{"cells": []}'
GRADESCOPE = {
    f"assignment_1_export/{METADATA}": EXAMPLE.encode(),
    "assignment_1_export/submission_400000123/sub/a b.ipynb": BOOK,
    "__MACOSX/._x": b"",
}
MOODLE = {
    "Ada Lovelace_101_assignsubmission_file_/hw.ipynb": BOOK,
    "Ada Lovelace_101_assignsubmission_file_/data.csv": b"1",
    "Bob_B_102_assignsubmission_file_hw.ipynb": BOOK,
}
CANVAS = {
    "lovelaceada_17_4711_hw1-2.ipynb": BOOK,
    "lovelaceada_17_4712_helper.py": b"x = 1",
    "bobb_LATE_18_4713_hw1.ipynb": BOOK,
}
FOLDER = {"ada.ipynb": BOOK, "bob/hw.ipynb": BOOK, "bob/extra.txt": b"", "cy.zip": b"PK", "photo.png": b"x"}


@pytest.mark.parametrize("packed", [True, False], ids=["zip", "folder"])
@pytest.mark.parametrize(
    ("files", "kind", "expected"),
    [
        (GRADESCOPE, "gradescope", {"400000123": ["sub/a b.ipynb"], "400000200": []}),
        (MOODLE, "moodle", {"moodle-101": ["data.csv", "hw.ipynb"], "moodle-102": ["hw.ipynb"]}),
        (CANVAS, "canvas", {"canvas-17": ["helper.py", "hw1.ipynb"], "canvas-18": ["hw1.ipynb"]}),
        (FOLDER, "folder", {"ada": ["ada.ipynb"], "bob": ["extra.txt", "hw.ipynb"], "cy": ["cy.zip"]}),
    ],
    ids=["gradescope", "moodle", "canvas", "notebooks"],
)
def test_each_platform_is_recognised(
    files: dict[str, bytes], kind: str, expected: dict[str, list[str]], packed: bool, tmp_path: Path
) -> None:
    """One hand-in a person, with their files under the names they gave them, from a zip and from a folder."""
    path = pack(tmp_path / "c.zip", files) if packed else spread(tmp_path / "c", files)
    with open_source(path) as source:
        assert source.kind == kind
        found = {}
        for one in source:
            place = source.fetch(one.id, tmp_path / "copies" / one.id)
            held = [place] if place.is_file() else [p for p in place.rglob("*") if p.is_file()]
            base = place.parent if place.is_file() else place
            found[one.id] = sorted(p.relative_to(base).as_posix() for p in held)
    if kind == "canvas" and not packed:
        expected = {**expected, "canvas-18": ["bobb_LATE_18_4713_hw1.ipynb"]}  # a single file stays where it is
    if kind == "moodle" and not packed:
        expected = {**expected, "moodle-102": ["Bob_B_102_assignsubmission_file_hw.ipynb"]}
    assert found == expected


@pytest.mark.parametrize("packed", [True, False], ids=["zip", "folder"])
def test_two_hand_ins_of_one_name_stop_nobody(packed: bool, tmp_path: Path) -> None:
    """In a folder both are graded, and staff are told; Canvas' second file of one name replaces the first, with a
    note."""
    files = {"ada.ipynb": BOOK, "ada.zip": b"PK", "ada/hw.ipynb": BOOK, "Ada.ipynb": BOOK, "bob.ipynb": BOOK}
    with open_source(pack(tmp_path / "f.zip", files) if packed else spread(tmp_path / "f", files)) as source:
        found = list(source)
    assert len({one.id.lower() if one.id != "Ada" else "A" for one in found}) == 5
    assert sum("both are graded" in note for one in found for note in one.notes) == 2
    files = {"ada_17_4711_hw1.ipynb": b"first", "ada_17_4713_hw1-1.ipynb": b"second", "ada_17_4712_x.py": b""}
    with open_source(pack(tmp_path / "c.zip", files) if packed else spread(tmp_path / "c", files)) as source:
        (one,) = source
        place = source.fetch(one.id, tmp_path / "copies" / one.id)
        assert (place / "hw1.ipynb").read_bytes() == b"second"
        assert sorted(p.name for p in place.iterdir()) == ["hw1.ipynb", "x.py"]
        assert ["4711" in note for note in source.notes] == [True]


def test_names_of_people_never_become_paths(tmp_path: Path) -> None:
    """Moodle's and Canvas' ids come from numbers; the name stays a value."""
    with open_source(
        pack(tmp_path / "c.zip", {"../../Ev il_7_assignsubmission_file_x.ipynb": BOOK, **MOODLE})
    ) as source:
        assert {one.id for one in source} == {"moodle-101", "moodle-102"}
        assert "points elsewhere" in source.notes[0]


@pytest.mark.parametrize("name", ["../x", "/x", "a\\b.ipynb", "C:/x", "a//b", "a/./b"])
def test_a_member_that_points_elsewhere_is_left_out_and_named(name: str, tmp_path: Path) -> None:
    """Nothing is written outside the copy, the class goes on, and staff read which file it was."""
    files = {**GRADESCOPE, f"assignment_1_export/submission_400000123/{name}": b"evil"}
    with open_source(pack(tmp_path / "c.zip", files)) as source:
        ids = [one.id for one in source]
        place = source.fetch(ids[0], tmp_path / "deep" / "copies" / ids[0])
        assert sorted(p.name for p in place.rglob("*") if p.is_file()) == ["a b.ipynb"]
        assert len(source.notes) == 1
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda p: p / "nowhere", "no such folder"),
        (lambda p: spread(p / "f", {"x.zip": b"not a zip"}) / "x.zip", "no zip that can be read"),
        (lambda p: spread(p / "e", {".DS_Store": b""}), "nothing in it"),
        (lambda p: pack(p / "e.zip", {"__MACOSX/._a": b""}), "nothing in it"),
    ],
    ids=["missing", "broken", "empty-folder", "empty-zip"],
)
def test_what_can_not_be_read_is_said(make, words: str, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """Each way not to be a class has its own words."""
    with pytest.raises(CourseError, match=words):
        open_source(make(tmp_path))


@given(st.text(min_size=1, max_size=80), st.text(min_size=1, max_size=80))
@settings(deadline=None, max_examples=200)
def test_a_slug_is_a_plain_name_and_keeps_differences(a: str, b: str) -> None:
    """No slash, no dot in front, no empty name; two names that differ have two slugs."""
    for name in (a, b):
        made = slug(name)
        assert made
        assert "/" not in made
        assert not made.startswith(".")
        assert len(made) < 80
    assert (slug(a) == slug(b)) == (a == b)


def test_a_digest_sees_names_and_bytes_and_follows_no_link(tmp_path: Path) -> None:
    """Another byte, another name or another file changes it; a fifo or a link is not opened."""
    import os

    spread(tmp_path / "a", {"x": b"1", "y/z": b"2"})
    first = digest_of(tmp_path / "a")
    (tmp_path / "a/y/z").write_bytes(b"3")
    second = digest_of(tmp_path / "a")
    (tmp_path / "a/y/z").rename(tmp_path / "a/y/w")
    third = digest_of(tmp_path / "a")
    os.mkfifo(tmp_path / "a/pipe")
    (tmp_path / "a/link").symlink_to("/dev/zero")
    assert len({first, second, third, digest_of(tmp_path / "a")}) == 4
