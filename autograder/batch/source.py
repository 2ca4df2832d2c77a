"""What a platform hands over, as a stream of hand-ins: Gradescope, Canvas, Moodle, or a folder of notebooks.

A source is a folder or a zip. Which kind it is shows in what it holds: `submission_metadata.yml` makes it Gradescope's
export, names with `_assignsubmission_file` Moodle's, names such as `lovelaceada_17_4711_hw1.ipynb` Canvas', and
everything else is a folder in which each notebook, zip or sub-folder is one hand-in. Names of people never become
paths. Of a zip nothing is unpacked before its directory was checked as a whole; a member with a name that points
elsewhere is left out and named, so that one student's odd file name can't stop the class.
"""

from __future__ import annotations

import re
import shutil
import stat
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import IO, Protocol

from autograder.batch.export import METADATA, Block, blocks, hand_in
from autograder.batch.people import HandIn, Person, slug
from autograder.errors import CourseError

__all__ = ["Source", "open_source"]

_MOODLE = re.compile(r"(?P<name>.+?)_(?P<lms>\d+)_assignsubmission_file(_(?P<file>.*))?$", re.DOTALL)
_CANVAS = re.compile(r"(?P<name>[^_]+)_(?P<late>LATE_)?(?P<lms>\d+)_(?P<file_id>\d+)_(?P<file>.+)$", re.DOTALL)
_MOST_MEMBERS = 2_000_000
_MOST_BYTES = 200 * 2**30
_IGNORED = {"__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini"}
_NOTEBOOKS = {".ipynb", ".zip", ".gz", ".json", ".txt", ".pdf", ".py", ".html", ".tar", ".rar", ".7z", ""}


class _Tree(Protocol):
    """A folder or a zip: names below a root, each with `/`, and their bytes."""

    where: Path
    notes: list[str]

    def tops(self) -> list[str]:
        """First parts of all names, sorted; folders end in `/`."""

    def below(self, folder: str) -> _Tree:
        """The tree under a first part."""

    def open(self, name: str) -> IO[bytes]: ...

    def fetch(self, names: Sequence[str], to: Path) -> Path:
        """The files and folders of these first parts, as one path to grade; copied to `to` only when needed."""

    def close(self) -> None: ...


class _Folder:
    def __init__(self, where: Path) -> None:
        self.where = where
        self.notes: list[str] = []

    def tops(self) -> list[str]:
        entries = (p for p in self.where.iterdir() if not _ignored(p.name) and not p.is_symlink())
        return sorted(p.name + "/" * p.is_dir() for p in entries)

    def below(self, folder: str) -> _Folder:
        return _Folder(self.where / folder)

    def open(self, name: str) -> IO[bytes]:
        return (self.where / name).open("rb")

    def fetch(self, names: Sequence[str], to: Path) -> Path:
        if len(names) == 1:
            return self.where / names[0]
        shutil.rmtree(to, ignore_errors=True)
        to.mkdir(parents=True)
        for name in _latest(names, self.notes):
            shutil.copyfile(self.where / name, to / _moodle_or_canvas_file(name), follow_symlinks=False)
        return to

    def close(self) -> None:
        pass


class _Zip:
    """A zip whose directory was read and checked once. members: full name → entry, odd ones left out."""

    def __init__(self, where: Path, archive: zipfile.ZipFile, prefix: str = "", tree: _Zip | None = None) -> None:
        self.where, self.archive, self.prefix = where, archive, prefix
        self.notes: list[str] = tree.notes if tree else []
        self.members: dict[str, zipfile.ZipInfo] = tree.members if tree else _checked(archive, where, self.notes)
        self.children: dict[str, set[str]] = tree.children if tree else _children(self.members)

    def tops(self) -> list[str]:
        return sorted(name for name in self.children.get(self.prefix, ()) if not _ignored(name.rstrip("/")))

    def below(self, folder: str) -> _Zip:
        return _Zip(self.where, self.archive, f"{self.prefix}{folder.rstrip('/')}/", self)

    def open(self, name: str) -> IO[bytes]:
        return self.archive.open(self.members[self.prefix + name])

    def fetch(self, names: Sequence[str], to: Path) -> Path:
        shutil.rmtree(to, ignore_errors=True)
        to.mkdir(parents=True)
        several = len(names) > 1
        for name in _latest(names, self.notes):
            inside = name if not name.endswith("/") else ""
            for full in self._files(self.prefix + name):
                rest = full[len(self.prefix + name) :] if not inside else _moodle_or_canvas_file(inside)
                self._unpack(full, to / rest)
        single = names[0] if not several and not names[0].endswith("/") else None
        return to / _moodle_or_canvas_file(single) if single else to

    def _files(self, name: str) -> Iterator[str]:
        if not name.endswith("/"):
            yield name
            return
        for child in sorted(self.children.get(name, ())):
            yield from self._files(name + child)

    def _unpack(self, full: str, target: Path) -> None:
        member = self.members[full]
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with self.archive.open(member) as stream, target.open("xb") as file:
                left = member.file_size
                while block := stream.read(min(1 << 20, left + 1)):
                    left -= len(block)
                    if left < 0:
                        raise zipfile.BadZipFile("it unpacks to more than it says")
                    file.write(block)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            target.unlink(missing_ok=True)
            self.notes.append(f"{full!r} can't be unpacked: {error}")
        except FileExistsError:
            self.notes.append(f"{full!r} is there twice; the first was taken")

    def close(self) -> None:
        self.archive.close()


def _checked(archive: zipfile.ZipFile, where: Path, notes: list[str]) -> dict[str, zipfile.ZipInfo]:
    infos = archive.infolist()
    total = sum(info.file_size for info in infos)
    if len(infos) > _MOST_MEMBERS or total > _MOST_BYTES:
        raise CourseError(f"this zip holds {len(infos)} files of {total} bytes, which is too much", where=where)
    members: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        if info.is_dir():
            continue
        if _is_odd(info) or info.filename in members:
            notes.append(f"{info.orig_filename[:120]!r} was left out: its name points elsewhere or is there twice")
        else:
            members[info.filename] = info
    return members


def _is_odd(info: zipfile.ZipInfo) -> bool:
    """A name that is no plain relative path, a link or device, or an encrypted member."""
    raw = info.orig_filename
    kind = stat.S_IFMT(info.external_attr >> 16)
    return (
        "\\" in raw
        or any(ord(c) < 32 or ord(c) == 127 for c in raw)
        or raw.startswith("/")
        or any(re.match("[A-Za-z]:", part) for part in raw.split("/"))
        or any(part in ("", ".", "..") or len(part.encode()) > 250 for part in raw.split("/"))
        or len(raw) > 1000
        or kind not in (0, stat.S_IFREG)
        or bool(info.flag_bits & 1)
    )


def _children(members: dict[str, zipfile.ZipInfo]) -> dict[str, set[str]]:
    """Folder (with `/`, the root is empty) → names directly in it."""
    children: dict[str, set[str]] = {}
    for name in members:
        parts = name.split("/")
        for depth in range(len(parts)):
            parent = "".join(part + "/" for part in parts[:depth])
            children.setdefault(parent, set()).add(parts[depth] + "/" * (depth < len(parts) - 1))
    return children


def _ignored(name: str) -> bool:
    return name in _IGNORED or name.startswith("._")


def _latest(names: Sequence[str], notes: list[str]) -> list[str]:
    """Without those that a later one of the same student and the same name replaces."""
    last = {_moodle_or_canvas_file(name): name for name in names}
    for name in names:
        if (kept := last[_moodle_or_canvas_file(name)]) != name:
            notes.append(f"{name[:120]!r} was left out: {kept[:120]!r} is of the same name, and later")
    return list(last.values())


def _moodle_or_canvas_file(name: str) -> str:
    """What the student called the file, without the platform's prefix."""
    found = _MOODLE.fullmatch(name) or _CANVAS.fullmatch(name)
    file = (found and found["file"]) or name
    return re.sub(r"-\d+(?=\.ipynb$)", "", file) if found else file


# ── sources ───────────────────────────────────────────────────────────────────────────────────────────────────
class Source:
    """A class. kind: gradescope, canvas, moodle or folder · notes: what was left out, for staff."""

    def __init__(self, kind: str, tree: _Tree, root: _Tree) -> None:
        self.kind, self._tree, self._root = kind, tree, root
        self._groups: dict[str, list[str]] = {}

    @property
    def where(self) -> Path:
        return self._root.where

    @property
    def notes(self) -> list[str]:
        return self._root.notes

    def __iter__(self) -> Iterator[HandIn]:
        """All active submissions, in the source's order. Raises CourseError for what can't be read."""
        readers = {"gradescope": self._gradescope, "canvas": self._canvas, "moodle": self._moodle}
        yield from readers.get(self.kind, self._folder)()

    def fetch(self, id: str, to: Path) -> Path:
        """The path to grade. `to`: a folder for a copy, used only when it can't be graded where it is.

        A submission without files gives a path that does not exist, which the grader refuses in words for the student.
        """
        names = self._groups.get(id)
        return self._tree.fetch(names, to) if names else to / "nothing-was-handed-in"

    def exported(self) -> Iterator[Block]:
        """Blocks of Gradescope's file with the results that it had recorded."""
        if self.kind != "gradescope":
            raise CourseError("only an export of Gradescope holds earlier scores", where=self.where)
        with closing(self._tree.open(METADATA)) as stream:
            yield from blocks(stream, self.where / METADATA, results=True)

    def close(self) -> None:
        self._root.close()

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _gradescope(self) -> Iterator[HandIn]:
        folders = {name.rstrip("/"): name for name in self._tree.tops() if name.endswith("/")}
        with closing(self._tree.open(METADATA)) as stream:
            for block in blocks(stream, self.where / METADATA):
                found = hand_in(block, self.where / METADATA)
                if block.key in folders:
                    self._groups[found.id] = [folders[block.key]]
                    yield found
                else:
                    yield replace(found, notes=(f"the export holds no folder {block.key}",))

    def _moodle(self) -> Iterator[HandIn]:
        yield from self._grouped(_MOODLE, "moodle")

    def _canvas(self) -> Iterator[HandIn]:
        yield from self._grouped(_CANVAS, "canvas")

    def _grouped(self, pattern: re.Pattern[str], prefix: str) -> Iterator[HandIn]:
        """One hand-in a person, made of all files that carry the platform's number."""
        people: dict[str, tuple[Person, bool]] = {}
        for name in self._tree.tops():
            found = pattern.fullmatch(name.rstrip("/"))
            if found is None:
                self.notes.append(f"{name[:120]!r} was left out: its name is not one of {prefix}'s")
                continue
            key, late = f"{prefix}-{found['lms']}", bool(found.groupdict().get("late"))
            self._groups.setdefault(key, []).append(name)
            people[key] = (Person(found["name"], lms=found["lms"]), late or (key in people and people[key][1]))
        for key, (person, late) in people.items():
            yield HandIn(key, (person,), late=late if prefix == "canvas" else None)

    def _folder(self) -> Iterator[HandIn]:
        for name in self._tree.tops():
            plain = name.rstrip("/")
            stem = plain if name.endswith("/") else PurePosixPath(plain).stem
            if not name.endswith("/") and PurePosixPath(plain).suffix.lower() not in _NOTEBOOKS:
                self.notes.append(f"{plain[:120]!r} was left out: it is no notebook, zip or folder")
                continue
            key = slug(stem)
            notes: tuple[str, ...] = ()
            if key in self._groups:
                notes = (f"{plain[:120]!r} has the name of another hand-in; both are graded",)
                key = slug(plain) if slug(plain) not in self._groups else slug(name)
            self._groups[key] = [name]
            yield HandIn(key, (Person(stem),), notes=notes)


def open_source(path: Path) -> Source:
    """Find out what this is. Raises CourseError when it can't be read or holds no hand-in at all."""
    root = _open_tree(path)
    try:
        tree = _down(root)
        names = tree.tops()
        if not names:
            raise CourseError("there is nothing in it: no submissions to grade", where=path)
        return Source(_kind(names), tree, root)
    except BaseException:
        root.close()
        raise


def _open_tree(path: Path) -> _Tree:
    try:
        if path.is_dir():
            list(path.iterdir())
            return _Folder(path)
        if not path.exists():
            raise CourseError("there is no such folder or zip", where=path)
        return _Zip(path, zipfile.ZipFile(path))
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise CourseError(
            f"this is no zip that can be read ({error}); download it again, or give the unpacked folder", where=path
        ) from None
    except OSError as error:
        raise CourseError(f"this can't be read: {error.strerror}", where=path) from None


def _down(tree: _Tree) -> _Tree:
    """The folder that holds the submissions: exports come wrapped in one more folder."""
    for _ in range(3):
        names = tree.tops()
        if len(names) != 1 or not names[0].endswith("/") or _MOODLE.fullmatch(names[0][:-1]):
            return tree
        inner = tree.below(names[0])
        if not _holds_a_class(inner.tops()):
            return tree
        tree = inner
    return tree


def _holds_a_class(names: Sequence[str]) -> bool:
    """Rather than one hand-in: a platform's names, several notebooks or zips, or again a single folder."""
    packed = sum(PurePosixPath(name).suffix.lower() in (".ipynb", ".zip") for name in names)
    return _kind(names) != "folder" or packed > 1 or (len(names) == 1 and names[0].endswith("/"))


def _kind(names: Sequence[str]) -> str:
    plain = [name.rstrip("/") for name in names]
    if METADATA in plain:
        return "gradescope"
    if any(_MOODLE.fullmatch(name) for name in plain):
        return "moodle"
    return "canvas" if plain and all(_CANVAS.fullmatch(name) for name in plain) else "folder"
