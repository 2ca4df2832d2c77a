"""What is on disk → one notebook in memory: choosing it, and refusing what would do harm."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import os
import struct
import tracemalloc
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.collect import Caps, collect
from autograder.errors import SubmissionError
from autograder.model import Submission

WANTED = ("softmax", "attention")


def notebook(*sources: str, assignment: str | None = None) -> bytes:
    """A small notebook with these code cells."""
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": source} for source in sources]
    metadata = {"softmark": {"assignment": assignment, "version": "1"}} if assignment else {}
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}).encode()


GOOD = notebook("def softmax(x):\n    return x", "def attention(q):\n    return q", assignment="ps0")


def zipped(files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip with these members, in this order."""
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(buffer, "w", method) as archive:
            for name, content in files.items():
                archive.writestr(zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0)), content, method)
    return buffer.getvalue()


def collected(folder: Path, name: str, content: bytes, caps: Caps | None = None) -> Submission:
    """Write one file and collect it."""
    path = folder / name
    path.write_bytes(content)
    return collect(path, wanted=WANTED, assignment="ps0", notebook="ps0.ipynb", caps=caps)


def refusal(folder: Path, name: str, content: bytes, caps: Caps | None = None) -> str:
    """Collect a file that must be refused; returns the sentence."""
    before = sorted(folder.rglob("*"))
    with pytest.raises(SubmissionError) as caught:
        collected(folder, name, content, caps)
    assert sorted(folder.rglob("*")) == sorted([*before, folder / name]), "nothing is unpacked to disk"
    return str(caught.value)


# ---------------------------------------------------------------------------------------------------------------
# one notebook, however it is wrapped


def test_a_single_notebook_is_taken_as_it_is(tmp_path: Path) -> None:
    """Bytes and SHA-256 are those of the file; there is nothing to note."""
    found = collected(tmp_path, "mine.ipynb", GOOD)
    assert (found.name, found.notebook, found.files, found.notes) == ("mine.ipynb", GOOD, {}, ())
    assert found.sha256 == hashlib.sha256(GOOD).hexdigest()


def test_a_zip_and_its_unpacked_folder_are_the_same_hand_in(tmp_path: Path) -> None:
    """Class exports hold zips, Gradescope unpacks them: both give the same notebook and files."""
    files = {"ps0.ipynb": GOOD, "data/words.txt": b"a b", "__MACOSX/._ps0.ipynb": b"\0\5\x16\7", ".DS_Store": b"x"}
    files |= {".ipynb_checkpoints/ps0-checkpoint.ipynb": GOOD, "__pycache__/x.pyc": b"x"}
    packed = collected(tmp_path, "hand-in.zip", zipped(files))
    folder = tmp_path / "unpacked"
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    unpacked = collect(folder, wanted=WANTED, assignment="ps0")
    for found in (packed, unpacked):
        assert (found.name, found.notebook, found.files) == ("ps0.ipynb", GOOD, {"data/words.txt": b"a b"})
        assert found.notes == ()


def test_a_zip_that_holds_a_folder_is_opened_there(tmp_path: Path) -> None:
    """Files beside the notebook are named as the notebook sees them."""
    found = collected(
        tmp_path, "x.zip", zipped({"ps0/": b"", "ps0/ps0.ipynb": GOOD, "ps0/a/b.csv": b"1", "top.txt": b"2"})
    )
    assert found.files == {"a/b.csv": b"1", "top.txt": b"2"}


def test_a_zip_in_a_folder_is_opened_too(tmp_path: Path) -> None:
    """Whoever uploads a folder with a zip in it has handed in what is in the zip."""
    (tmp_path / "hand-in").mkdir()
    (tmp_path / "hand-in" / "x.zip").write_bytes(zipped({"ps0.ipynb": GOOD}))
    assert collect(tmp_path / "hand-in").notebook == GOOD


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("ps0.ipynb.txt", GOOD, "does not end in .ipynb"),
        ("ps0.ipynb.json", GOOD, "does not end in .ipynb"),
        ("ps0.ipynb.gz", gzip.compress(GOOD), "gzip"),
        ("ps0.ipynb", gzip.compress(GOOD), "gzip"),
    ],
)
def test_a_notebook_under_another_ending_is_known_by_its_content(
    tmp_path: Path, name: str, content: bytes, word: str
) -> None:
    """Odd endings and gzip are graded, and the note names what was odd."""
    found = collected(tmp_path, name, content)
    assert found.notebook == GOOD
    assert [word in note.text for note in found.notes] == [True]


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("ps0.ipynb", b"\n<!DOCTYPE html>\n<html>", "a web page (HTML)"),
        ("ps0.html", b"<html><body>", "a web page (HTML)"),
        ("ps0.ipynb", b"%PDF-1.7 ...", "a PDF"),
        ("ps0.py", b"def softmax(x):\n    return x\n", "a Python script"),
        ("ps0.ipynb", b"", "is empty"),
        ("ps0.ipynb", b" \n", "is empty"),
        ("ps0.docx", zipped({"[Content_Types].xml": b"<x/>", "word/document.xml": b"<x/>"}), "an office document"),
        ("ps0.zip", zipped({"ps0.py": b"x = 1"}), "a Python script"),
        ("ps0.zip", zipped({}), "The hand-in is empty"),
        ("ps0.zip", zipped({"a.py": b"x = 1", "b.py": b"y = 2"}), "None of the 2 files"),
        ("ps0.rar", b"Rar!\x1a\x07", "a RAR archive"),
    ],
)
def test_what_is_no_notebook_is_refused_with_a_way_out(tmp_path: Path, name: str, content: bytes, word: str) -> None:
    """The sentence says what the file is, and which menu item downloads an .ipynb."""
    sentence = refusal(tmp_path, name, content)
    assert word in sentence
    assert "Download .ipynb" in sentence


def test_a_missing_or_odd_path_is_refused(tmp_path: Path) -> None:
    """No file, and a pipe instead of a file, are plain refusals; the pipe does not block."""
    with pytest.raises(SubmissionError, match="no hand-in"):
        collect(tmp_path / "nothing.ipynb")
    os.mkfifo(tmp_path / "pipe.ipynb")
    with pytest.raises(SubmissionError, match="no plain file"):
        collect(tmp_path / "pipe.ipynb")


# ---------------------------------------------------------------------------------------------------------------
# several notebooks

SCRATCH = notebook("x = 1")
OTHER = notebook("def softmax(x):\n    return 2 * x", "def attention(q):\n    raise NotImplementedError")


def test_the_notebook_with_the_questions_is_chosen_not_the_first_by_name(tmp_path: Path) -> None:
    """A scratch notebook that sorts first is not graded; the note says which one was and why."""
    found = collected(tmp_path, "x.zip", zipped({"a_scratch.ipynb": SCRATCH, "z.ipynb": GOOD}))
    assert found.name == "z.ipynb"
    (note,) = found.notes
    assert "'z.ipynb' was graded, because it holds the questions; not graded: 'a_scratch.ipynb'" in note.text
    assert not note.needs_human


@given(order=st.permutations(["a.ipynb", "b.ipynb", "deep/c.ipynb"]))
def test_two_real_candidates_are_chosen_by_content_and_flagged(
    order: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever the names, the one with more answers is graded, and a person is asked to look."""
    folder = tmp_path_factory.mktemp("h")
    contents = dict(zip(order, (SCRATCH, OTHER, GOOD), strict=True))
    found = collected(folder, "x.zip", zipped(contents))
    assert found.notebook == GOOD
    assert [note.needs_human for note in found.notes] == [True]


def test_equal_copies_are_no_rivals(tmp_path: Path) -> None:
    """The same notebook twice needs nobody's decision."""
    found = collected(tmp_path, "x.zip", zipped({"copy.ipynb": GOOD, "ps0.ipynb": GOOD}))
    assert found.name == "ps0.ipynb"
    assert [note.needs_human for note in found.notes] == [False]


def test_a_data_file_in_json_is_no_notebook(tmp_path: Path) -> None:
    """Only an object with cells is taken for a notebook."""
    found = collected(tmp_path, "x.zip", zipped({"a.json": b'{"cells": 3}', "b.json": b"[1]", "ps0.ipynb": GOOD}))
    assert set(found.files) == {"a.json", "b.json"}
    assert found.notes == ()


# ---------------------------------------------------------------------------------------------------------------
# hostile zips


@pytest.mark.parametrize(
    "name",
    [
        "../x.ipynb",
        "a/../../x.ipynb",
        "/etc/x.ipynb",
        "C:/x.ipynb",
        "c:x.ipynb",
        "a\\..\\x.ipynb",
        "\\\\host\\x.ipynb",
        "a//x.ipynb",
        "./x.ipynb",
        "a/./x.ipynb",
        "x\n.ipynb",
        "x\x00.ipynb",
        "a/" * 30 + "x.ipynb",
        "x" * 600,
    ],
)
def test_a_zip_with_a_path_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    """One odd path refuses the whole zip, although a good notebook is in it."""
    assert len(name) < 1000
    harmless = "_" * len(name)
    content = zipped({"ps0.ipynb": GOOD, harmless: b"x"}).replace(harmless.encode(), name.encode())
    assert "points elsewhere" in refusal(tmp_path, "x.zip", content)


@pytest.mark.parametrize(("kind", "label"), [(0o120777, "link"), (0o020666, "device"), (0o010644, "pipe")])
def test_a_zip_with_links_or_devices_is_refused(tmp_path: Path, kind: int, label: str) -> None:
    """Only plain files and folders are unpacked."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("ps0.ipynb", GOOD)
        entry = zipfile.ZipInfo(label)
        entry.create_system, entry.external_attr = 3, kind << 16
        archive.writestr(entry, "/etc/passwd")
    assert "link or a device" in refusal(tmp_path, "x.zip", buffer.getvalue())


def test_a_zip_with_one_path_twice_is_refused(tmp_path: Path) -> None:
    """Which of the two would be graded must not depend on the reader."""
    content = zipped({"ps0.ipynb": GOOD, "ps1.ipynb": OTHER}).replace(b"ps1.ipynb", b"ps0.ipynb")
    assert "twice" in refusal(tmp_path, "x.zip", content)


def test_a_zip_with_a_file_that_is_a_folder_is_refused(tmp_path: Path) -> None:
    """`a` and `a/b` can't both be written."""
    assert "a file and a folder" in refusal(tmp_path, "x.zip", zipped({"ps0.ipynb": GOOD, "a": b"1", "a/b": b"2"}))


def test_an_encrypted_zip_is_refused(tmp_path: Path) -> None:
    """A password can't be guessed; the sentence says so."""
    content = bytearray(zipped({"ps0.ipynb": GOOD}))
    content[6] |= 1
    content[content.rfind(b"PK\1\2") + 8] |= 1
    assert "encrypted" in refusal(tmp_path, "x.zip", bytes(content))


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    """50 MB of zeros pack to 50 kB: refused by the ratio."""
    content = zipped({"ps0.ipynb": GOOD, "zeros": bytes(50 * 2**20)})
    assert len(content) < 2**17
    assert "too much" in refusal(tmp_path, "x.zip", content)


def test_a_bomb_that_lies_about_its_size_is_refused(tmp_path: Path) -> None:
    """A size in the directory that is too small does not get more bytes unpacked."""
    content = bytearray(zipped({"zeros": bytes(3 * 2**20), "ps0.ipynb": GOOD}))
    for magic, offset in ((b"PK\3\4", 22), (b"PK\1\2", 24)):
        struct.pack_into("<I", content, content.find(magic) + offset, 100)
    assert "broken" in refusal(tmp_path, "x.zip", bytes(content))


def test_a_gzip_bomb_is_refused(tmp_path: Path) -> None:
    """The same for gzip: unpacking stops at the cap."""
    bomb = GOOD.replace(b'"outputs": []', b'"outputs": ["' + bytes(80 * 2**20) + b'"]', 1)
    assert "unpacks to more" in refusal(tmp_path, "x.ipynb.gz", gzip.compress(bomb))
    assert "too large" in refusal(tmp_path, "y.ipynb.gz", gzip.compress(bytes(80 * 2**20)))


def test_a_zip_with_a_wrong_checksum_is_refused(tmp_path: Path) -> None:
    """A damaged member is not graded as if it were whole."""
    content = bytearray(zipped({"ps0.ipynb": GOOD}, zipfile.ZIP_STORED))
    content[content.find(b"softmax")] ^= 1
    assert "broken" in refusal(tmp_path, "x.zip", bytes(content))


def test_a_zip_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    """Half an upload is named as such."""
    content = zipped({"ps0.ipynb": GOOD})
    assert "cut off" in refusal(tmp_path, "x.zip", content[: len(content) // 2])


def test_a_zip_with_too_many_entries_is_refused_by_its_end_record(tmp_path: Path) -> None:
    """The count is looked at before any entry is; a directory larger than the count allows is refused as well."""
    many = zipped({f"{i}": b"" for i in range(30)})
    assert "more than 20 files" in refusal(tmp_path, "x.zip", many, Caps(entries=20))
    lying = bytearray(zipped({f"{i:0600}": b"" for i in range(30)}))
    struct.pack_into("<HH", lying, lying.rfind(b"PK\5\6") + 8, 1, 1)
    assert "too many entries" in refusal(tmp_path, "y.zip", bytes(lying), Caps(entries=20))


def test_sizes_are_capped(tmp_path: Path) -> None:
    """A notebook, and all files together, may be just so large."""
    assert "too large" in refusal(tmp_path, "a.ipynb", GOOD + bytes(2000), Caps(notebook=1000))
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "ps0.ipynb").write_bytes(GOOD)
    (folder / "a.bin").write_bytes(bytes(3000))
    with pytest.raises(SubmissionError, match="too large"):
        collect(folder, caps=Caps(total=3000))
    assert collect(folder, caps=Caps(total=3000 + len(GOOD))).notebook == GOOD


@given(content=st.binary(max_size=300), cut=st.integers(0, 400), flip=st.integers(0, 10_000))
def test_no_bytes_make_collecting_crash(
    content: bytes, cut: int, flip: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Random bytes, and good zips with one bit flipped or the end cut off: a hand-in or a refusal, nothing else."""
    folder = tmp_path_factory.mktemp("h")
    damaged = bytearray(zipped({"ps0.ipynb": GOOD, "a.txt": content}))
    damaged[flip % len(damaged)] ^= 1 << flip % 8
    for name, data in (("a.zip", bytes(damaged)), ("b.zip", bytes(damaged[:cut])), ("c.ipynb", content)):
        with contextlib.suppress(SubmissionError):
            assert collected(folder, name, data).sha256 == hashlib.sha256(data).hexdigest()


# ---------------------------------------------------------------------------------------------------------------
# hostile folders


def test_links_pipes_and_odd_names_are_left_out(tmp_path: Path) -> None:
    """Nothing is read through a link or from a pipe, and the student is told what was left out."""
    secret = tmp_path / "secret.txt"
    secret.write_text("hidden")
    folder = tmp_path / "hand-in"
    folder.mkdir()
    (folder / "ps0.ipynb").write_bytes(GOOD)
    (folder / "link.txt").symlink_to(secret)
    (folder / "up").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe")
    (folder / "new\nline").write_text("x")
    found = collect(folder)
    assert found.files == {}
    assert len(found.notes) == 4
    assert sum("a link" in note.text for note in found.notes) == 2


def test_a_notebook_behind_a_link_is_not_read(tmp_path: Path) -> None:
    """A link named like the notebook is no notebook."""
    (tmp_path / "real.ipynb").write_bytes(GOOD)
    folder = tmp_path / "hand-in"
    folder.mkdir()
    (folder / "ps0.ipynb").symlink_to(tmp_path / "real.ipynb")
    with pytest.raises(SubmissionError, match="empty"):
        collect(folder)


def test_depth_and_count_of_folders_are_capped(tmp_path: Path) -> None:
    """Deep and wide trees are refused."""
    deep = tmp_path / "deep"
    (deep / "/".join("d" * 30)).mkdir(parents=True)
    with pytest.raises(SubmissionError, match="levels deep"):
        collect(deep)
    wide = tmp_path / "wide"
    wide.mkdir()
    for number in range(12):
        (wide / str(number)).touch()
    with pytest.raises(SubmissionError, match="more than 10 files"):
        collect(wide, caps=Caps(entries=10))


def test_a_changed_hand_in_does_not_change_what_was_collected(tmp_path: Path) -> None:
    """The copy is private: what happens to the file later is not seen."""
    found = collected(tmp_path, "ps0.ipynb", GOOD)
    (tmp_path / "ps0.ipynb").write_bytes(OTHER)
    assert found.notebook == GOOD


def test_a_folders_hash_follows_its_content(tmp_path: Path) -> None:
    """Equal folders have one SHA-256; another byte or another name gives another one."""
    hashes = set()
    for place, files in enumerate(
        ({"a.txt": b"1"}, {"a.txt": b"1"}, {"a.txt": b"2"}, {"b.txt": b"1"}, {"a.txt": b"", "b.txt": b"1"})
    ):
        folder = tmp_path / str(place)
        folder.mkdir()
        for name, content in {"ps0.ipynb": GOOD, **files}.items():
            (folder / name).write_bytes(content)
        hashes.add(collect(folder).sha256)
    assert len(hashes) == 4


# ---------------------------------------------------------------------------------------------------------------
# large files


def with_outputs(megabytes: int) -> bytes:
    """The good notebook with so many bytes of saved outputs: lines, quotes, brackets, pictures."""
    line = json.dumps({"output_type": "stream", "name": "stdout", "text": ['say "hi"\\ [{ ████\n'] * 1000})
    picture = json.dumps({"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo" * 50_000}, "metadata": {}})
    outputs = ",".join([line, picture] * (megabytes * 10**6 // len(line + picture) + 1))
    return GOOD.replace(b'"outputs": []', f'"outputs": [{outputs}]'.encode(), 1)


@pytest.mark.parametrize("wrapped", ["as it is", "in a folder", "in a zip", "by gzip"])
def test_a_large_notebook_is_never_held_as_a_whole(tmp_path: Path, wrapped: str) -> None:
    """Outputs are passed over while it is read: what is kept is small, and so is what was held meanwhile."""
    content, path = with_outputs(20), tmp_path / "hand-in"
    if wrapped == "in a folder":
        path.mkdir()
        (path / "ps0.ipynb").write_bytes(content)
    else:
        pack = {"in a zip": lambda c: zipped({"ps0.ipynb": c}), "by gzip": lambda c: gzip.compress(c, 1)}
        path.write_bytes(pack.get(wrapped, bytes)(content))
    caps = Caps(ratio=1000)
    tracemalloc.start()
    try:
        found = collect(path, wanted=WANTED, caps=caps)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert json.loads(found.notebook) == json.loads(GOOD)
    assert peak < 8 * 2**20
    assert [note.text.split(" of ")[0] for note in found.notes if note.staff_only] == ["dropped 20 MB"]


def test_a_large_notebook_in_utf_16_is_read_too(tmp_path: Path) -> None:
    """It is converted piece by piece, with a note."""
    text = with_outputs(3).decode()
    found = collected(tmp_path, "ps0.ipynb", text.encode("utf-16"))
    assert json.loads(found.notebook) == json.loads(GOOD)
    assert [note.text for note in found.notes if "UTF-16" in note.text]


def test_a_notebook_that_is_large_without_its_outputs_is_refused(tmp_path: Path) -> None:
    """The sentence says what is too large and what to do."""
    content = GOOD.replace(b'"outputs": []', b'"outputs": [], "x": "' + b"y" * 9 * 2**20 + b'"', 1)
    sentence = refusal(tmp_path, "ps0.ipynb", content)
    assert "even without its saved outputs and pictures" in sentence
    assert "Clear the notebook's outputs" in sentence


def test_brackets_without_end_are_not_passed_over_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each costs a moment, so they have a limit."""
    monkeypatch.setattr("autograder.lean._MOST_MARKS", 10_000)
    content = GOOD.replace(b'"outputs": []', b'"outputs": [' + b"[]," * 10**6 + b"[]]", 1)
    assert "saved outputs are too large" in refusal(tmp_path, "ps0.ipynb", content)


def test_a_notebook_that_breaks_off_inside_an_output_keeps_what_came_before(tmp_path: Path) -> None:
    """Its end is missing, and whoever decodes it finds that."""
    content = with_outputs(3)[:-1000]
    kept = collected(tmp_path, "ps0.ipynb", content).notebook
    assert len(kept) < len(GOOD)
    with pytest.raises(json.JSONDecodeError):
        json.loads(kept)


def test_large_files_beside_the_notebook_are_left_out_with_a_note(tmp_path: Path) -> None:
    """Up to the cap they come along; what is more does not, whichever name sorts first."""
    (tmp_path / "a-large.bin").write_bytes(bytes(2000))
    (tmp_path / "b-small.txt").write_bytes(b"x" * 900)
    (tmp_path / "ps0.ipynb").write_bytes(GOOD)
    found = collect(tmp_path, caps=Caps(loose=1000))
    assert set(found.files) == {"b-small.txt"}
    assert ["'a-large.bin'" in note.text for note in found.notes] == [True]


def test_a_large_file_alone_is_named_for_what_it_is(tmp_path: Path) -> None:
    """A picture beyond the cap is called a picture, not an empty hand-in."""
    sentence = refusal(tmp_path, "photo.png", b"\x89PNG\r\n\x1a\n" + bytes(3000), Caps(loose=1000))
    assert "a picture" in sentence


def test_a_zip_that_few_programs_can_read_is_refused(tmp_path: Path) -> None:
    """Only plain and deflated members are unpacked: other methods can ask for memory before they give a byte."""
    assert "ordinary zip" in refusal(tmp_path, "x.zip", zipped({"ps0.ipynb": GOOD}, zipfile.ZIP_LZMA))
    assert "ordinary zip" in refusal(tmp_path, "y.zip", zipped({"ps0.ipynb": GOOD}, zipfile.ZIP_BZIP2))


def test_data_packed_with_gzip_stays_packed(tmp_path: Path) -> None:
    """The notebook opens it as the student does."""
    (tmp_path / "ps0.ipynb").write_bytes(GOOD)
    packed = gzip.compress(b"a,b\n1,2\n")
    (tmp_path / "data.csv.gz").write_bytes(packed)
    assert collect(tmp_path).files == {"data.csv.gz": packed}


def test_a_damaged_gzip_is_named_as_one(tmp_path: Path) -> None:
    """Half a packed notebook is no notebook."""
    packed = gzip.compress(GOOD)
    assert "damaged gzip" in refusal(tmp_path, "ps0.ipynb.gz", packed[: len(packed) // 2])


def test_a_zip_beside_a_notebook_is_a_loose_file(tmp_path: Path) -> None:
    """So are two zips: none of them is the hand-in."""
    for name in ("a.zip", "b.zip"):
        (tmp_path / name).write_bytes(zipped({"x.txt": b"x"}))
    (tmp_path / "ps0.ipynb").write_bytes(GOOD)
    assert set(collect(tmp_path).files) == {"a.zip", "b.zip"}
