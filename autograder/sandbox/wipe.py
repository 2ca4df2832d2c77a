"""Remove what a student left, whatever it is called and however deep it lies; and measure it while it grows.

Everything goes by directory descriptor and single names without following links, so no symlink leads outside.
There is no recursion: a folder inside a folder is first moved up to the top, then emptied in its turn. Names may be
any bytes; big folders are read in portions.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import stat
from pathlib import Path

__all__ = ["measure", "wipe", "wipe_contents", "wipe_owned"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PORTION = 4096
_DEEPEST = 100
_FRESH = (f".{secrets.token_hex(8)}-{number}" for number in itertools.count())


def wipe(path: Path) -> None:
    """Remove the folder and all that is in it. Call it only when nothing of the owner runs any more."""
    with contextlib.suppress(FileNotFoundError):
        wipe_contents(path)
        path.rmdir()


def wipe_contents(path: Path) -> None:
    """Empty the folder, keep it. Raises OSError when something can't be removed."""
    top = os.open(path, _FOLDER)
    try:
        os.fchmod(top, 0o700)
        while names := _portion(top):
            for name in names:
                _remove(top, name)
    finally:
        os.close(top)


def _portion(folder: int) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in itertools.islice(entries, _PORTION)]


def _is_folder(parent: int, name: str) -> bool:
    return stat.S_ISDIR(os.lstat(name, dir_fd=parent).st_mode)


def _remove(top: int, name: str) -> None:
    """Remove one entry of the top folder; folders that lie in it move up to the top and stay for later."""
    if not _is_folder(top, name):
        os.unlink(name, dir_fd=top)
        return
    os.chmod(name, 0o700, dir_fd=top)
    folder = os.open(name, _FOLDER, dir_fd=top)
    try:
        while entries := _portion(folder):
            for entry in entries:
                _lift_or_unlink(top, folder, entry)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=top)


def _lift_or_unlink(top: int, folder: int, entry: str) -> None:
    if _is_folder(folder, entry):
        os.chmod(entry, 0o700, dir_fd=folder)
        os.rename(entry, next(_FRESH), src_dir_fd=folder, dst_dir_fd=top)
    else:
        os.unlink(entry, dir_fd=folder)


def wipe_owned(folder: Path, uid: int) -> None:
    """Remove the entries of a shared folder, such as `/dev/shm`, that belong to this uid."""
    with contextlib.suppress(FileNotFoundError, PermissionError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):
                if entry.stat(follow_symlinks=False).st_uid == uid:
                    _remove_owned(Path(entry.path))


def _remove_owned(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        wipe(path)
    else:
        path.unlink()


class _Tally:
    """Counts folder by folder. bytes: allocated on disk."""

    def __init__(self, most_files: int) -> None:
        self.bytes, self.files, self._most = 0, 0, most_files

    @property
    def full(self) -> bool:
        return self.files > self._most

    def enter(self, name: str | Path, parent: int | None) -> tuple[int, list[str]]:
        """Open a folder and count its entries: its descriptor, and the names of the folders in it."""
        folder = os.open(name, _FOLDER, dir_fd=parent)
        deeper = []
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in itertools.islice(entries, self._most + 1 - self.files):
                self.files += 1
                with contextlib.suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    self.bytes += status.st_blocks * 512
                    if stat.S_ISDIR(status.st_mode):
                        deeper.append(entry.name)
        return folder, deeper


def measure(path: Path, most_files: int) -> tuple[int, int]:
    """Bytes on disk and entries beneath a folder, counted while its owner runs.

    Stops as soon as there are more than `most_files` entries; a tree that is deeper than anybody needs counts as
    too many.
    """
    tally, levels = _Tally(most_files), list[tuple[int, list[str]]]()
    with contextlib.suppress(OSError):
        levels.append(tally.enter(path, None))
    while levels and not tally.full and len(levels) <= _DEEPEST:
        folder, pending = levels[-1]
        if pending:
            with contextlib.suppress(OSError):  # it went away, or became a link
                levels.append(tally.enter(pending.pop(), folder))
        else:
            os.close(levels.pop()[0])
    too_deep = bool(levels)
    for folder, _ in levels:
        os.close(folder)
    return tally.bytes, most_files + 1 if too_deep else tally.files
