"""Which files lie in the work folder beside a notebook: the course's data, and what was handed in with it."""

from __future__ import annotations

from pathlib import PurePosixPath

from hypothesis import given
from hypothesis import strategies as st

from autograder.pipeline import LOOSE_BYTES, LOOSE_FILES, _work_files

names = st.lists(st.sampled_from(["a", "b", "data", "x" * 300, "ü"]), min_size=1, max_size=3).map("/".join)


@given(loose=st.dictionaries(names, st.binary(max_size=3)), data=st.sampled_from([{}, {"data/a": b"course"}]))
def test_the_files_can_be_written_and_the_courses_come_first(loose: dict[str, bytes], data: dict[str, bytes]) -> None:
    """Whatever was handed in: no file is a folder of another, no name is too long, and no data file is replaced."""
    files, left_out = _work_files(loose, data)
    parents = {str(parent) for name in files for parent in PurePosixPath(name).parents}
    assert not parents & files.keys()
    assert all(len(part.encode()) <= 255 for name in files for part in name.split("/"))
    assert files.items() >= data.items()
    assert set(files) <= {*loose, *data}
    assert not left_out


def test_too_many_and_too_large_files_are_named() -> None:
    """Beyond the limits files are left out and the student can be told which."""
    many = {f"{n:04}": b"" for n in range(LOOSE_FILES + 2)}
    assert _work_files(many, {})[1] == [f"{LOOSE_FILES:04}", f"{LOOSE_FILES + 1:04}"]
    large = {"a": b"x", "b": bytes(LOOSE_BYTES)}
    files, left_out = _work_files(large, {})
    assert set(files) == {"a"}
    assert left_out == ["b"]
