"""The wipe removes anything a student can make and nothing else."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.sandbox.wipe import measure, wipe, wipe_owned

_NAMES = st.binary(min_size=1, max_size=40).filter(
    lambda n: b"/" not in n and b"\0" not in n and n not in (b".", b"..")
)
_TREES = st.recursive(
    st.one_of(st.binary(max_size=10), st.just("link")),
    lambda inner: st.dictionaries(_NAMES, inner, max_size=4),
    max_leaves=20,
)


def _plant(path: bytes, tree: object, target: bytes) -> int:
    """Make the tree; returns its number of entries."""
    if isinstance(tree, dict):
        Path(os.fsdecode(path)).mkdir()
        return 1 + sum(_plant(path + b"/" + name, inner, target) for name, inner in tree.items())
    if tree == "link":
        Path(os.fsdecode(path)).symlink_to(os.fsdecode(target))
    else:
        assert isinstance(tree, bytes)
        Path(os.fsdecode(path)).write_bytes(tree)
    return 1


@given(tree=st.dictionaries(_NAMES, _TREES, max_size=5))
@settings(deadline=None, max_examples=60)
def test_any_tree_goes_and_nothing_behind_its_links(tree: dict[bytes, object]) -> None:
    """Names may be any bytes; links are removed, never followed; the count agrees with what was planted."""
    with tempfile.TemporaryDirectory() as place:
        outside = Path(place, "outside")
        outside.mkdir()
        (outside / "kept").write_text("kept")
        root = Path(place, "root")
        entries = _plant(os.fsencode(root), tree, os.fsencode(outside))
        assert measure(root, 10_000)[1] == entries - 1
        wipe(root)
        assert not root.exists()
        assert (outside / "kept").read_text() == "kept"


@pytest.fixture
def quick() -> Iterator[Path]:
    """A temporary folder in memory where there is one: ten thousand folders take a disk's time."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        yield Path(folder)


def test_ten_thousand_levels(quick: Path) -> None:
    """Depth costs neither stack nor descriptors nor path length; measuring gives up early and says too many."""
    root = quick / "root"
    root.mkdir()
    folder = os.open(root, os.O_RDONLY)
    for _ in range(10_000):
        os.mkdir("d", dir_fd=folder)
        deeper = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = deeper
    os.close(folder)
    assert measure(root, 500)[1] > 500
    wipe(root)
    assert not root.exists()


def test_a_broad_folder_of_folders(quick: Path) -> None:
    """More entries than one portion, each with entries of its own."""
    root = quick / "root"
    for number in range(5000):
        (root / f"{number % 50}" / f"{number}").mkdir(parents=True)
    assert measure(root, 100)[1] == 101
    wipe(root)
    assert not root.exists()


def test_closed_folders_open(tmp_path: Path) -> None:
    """Modes that shut their owner out don't hinder the wipe."""
    (tmp_path / "root/a/b").mkdir(parents=True)
    (tmp_path / "root/a/b/file").touch()
    for name in ("root/a/b", "root/a", "root"):
        (tmp_path / name).chmod(0)
    wipe(tmp_path / "root")
    assert not (tmp_path / "root").exists()


def test_wiping_nothing_is_fine(tmp_path: Path) -> None:
    """A folder that does not exist is a folder that is wiped."""
    wipe(tmp_path / "absent")
    wipe_owned(tmp_path / "absent", 1234)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="changing owners needs root")
def test_only_the_uids_own_entries_go(tmp_path: Path) -> None:
    """In a shared folder others' entries stay, whatever they are called."""
    for name, uid in (("mine", 23456), ("other", 23457)):
        (tmp_path / name / "deeper").mkdir(parents=True)
        os.chown(tmp_path / name, uid, uid)
    (tmp_path / "link").symlink_to(tmp_path / "other")
    os.chown(tmp_path / "link", 23456, -1, follow_symlinks=False)
    wipe_owned(tmp_path, 23456)
    assert [path.name for path in tmp_path.iterdir()] == ["other"]
