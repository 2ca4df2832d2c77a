"""A hand-in on disk → `Submission`: one notebook and the loose files beside it, as bytes in memory.

Theory of operation. What arrives is a file, a folder or a zip that a stranger made. It is read once, into a private
copy, with caps on entries, bytes and packing ratio that hold *before* anything is unpacked; no link is followed,
nothing that is not a plain file is opened, nothing is written. A zip with a name that points elsewhere is refused
as a whole, because no honest tool makes one. The notebook is then chosen by what the files hold, not by their
endings or their order.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from autograder.errors import SubmissionError
from autograder.model import Note, Submission

__all__ = ["Caps", "collect"]


@dataclass(frozen=True, slots=True)
class Caps:
    """How large a hand-in may be. Bytes are bytes.

    entries: files and folders · notebook: one notebook · total: everything unpacked · packed: a zip or gzip file ·
    gunzipped: what a gzip file unpacks to ·
    ratio: unpacked to packed, looked at from one MiB on · depth: folders inside folders.
    """

    entries: int = 2_000
    notebook: int = 300 * 2**20
    total: int = 400 * 2**20
    packed: int = 100 * 2**20
    gunzipped: int = 16 * 2**20
    ratio: int = 200
    depth: int = 20


_HOW_TO = "In Jupyter or Colab choose File → Download → Download .ipynb, and hand that file in."
_MIB = 2**20
_SYSTEM = {"__MACOSX", "__pycache__", "Thumbs.db", "desktop.ini"}
_KINDS = {
    b"%PDF": "a PDF",
    b"PK\x03\x04": "a packed file (a zip or an office document)",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"\xd0\xcf\x11\xe0": "an office document",
    b"Rar!": "a RAR archive",
    b"7z\xbc\xaf": "a 7-Zip archive",
}


def collect(
    path: Path,
    *,
    wanted: Sequence[str] = (),
    assignment: str | None = None,
    notebook: str | None = None,
    caps: Caps | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Submission:
    """Read a hand-in: an .ipynb, a folder or a zip.

    wanted: names of the functions that the assignment asks for · assignment: its name · notebook: the file name that
    was handed out; all three only help to choose among several notebooks · metadata: passed on.
    Raises SubmissionError, with one or two plain sentences for the student, when there is nothing to grade.
    """
    caps = caps or Caps()
    files, digest, notes = _read(path, caps)
    files, more = _unwrap(files, caps)
    chooser = _Chooser(wanted, assignment, notebook)
    name, content, choice = chooser.choose(files)
    loose = {other: data for other, data in files.items() if other != name}
    return Submission(
        name=PurePosixPath(name).name,
        notebook=content,
        sha256=digest,
        files=_beside(name, loose),
        notes=(*notes, *more, *choice),
        metadata=dict(metadata or {}),
    )


def _read(path: Path, caps: Caps) -> tuple[dict[str, bytes], str, tuple[Note, ...]]:
    """All plain files of the hand-in by their POSIX path, and the SHA-256 of what was handed in."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise SubmissionError(f"There is no hand-in at {path.name!r}: {error.strerror}.") from None
    if stat.S_ISDIR(mode):
        files, notes = _read_folder(path, caps)
        return files, _digest(files), notes
    if not stat.S_ISREG(mode):
        raise SubmissionError(f"{path.name!r} is no plain file. {_HOW_TO}")
    content = _read_file(path.name, caps.notebook, dir_fd=None, path=path)
    return {path.name: content}, hashlib.sha256(content).hexdigest(), ()


def _digest(files: Mapping[str, bytes]) -> str:
    """One SHA-256 for a folder: of its files' paths, sizes and bytes in order."""
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(f"{name}\0{len(files[name])}\0".encode("utf-8", "surrogatepass"))
        digest.update(files[name])
    return digest.hexdigest()


# ---------------------------------------------------------------------------------------------------------------
# folders


def _read_folder(path: Path, caps: Caps) -> tuple[dict[str, bytes], tuple[Note, ...]]:
    """Walk by descriptors, so that nothing can be exchanged for a link between looking and opening."""
    walk = _Walk(caps)
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        walk.folder(descriptor, "", 0)
    finally:
        os.close(descriptor)
    notes = [Note(f"{name!r} was left out: it is {kind}; only plain files are read.") for name, kind in walk.left_out]
    return walk.files, tuple(notes[:5])


class _Walk:
    """The state of one walk: what was read, what was left out, and how much is still allowed."""

    def __init__(self, caps: Caps) -> None:
        self.caps = caps
        self.files: dict[str, bytes] = {}
        self.left_out: list[tuple[str, str]] = []
        self.entries = 0
        self.bytes = 0

    def folder(self, descriptor: int, prefix: str, depth: int) -> None:
        if depth > self.caps.depth:
            raise SubmissionError(f"The hand-in has folders more than {self.caps.depth} levels deep. {_HOW_TO}")
        with os.scandir(descriptor) as entries:
            listed = []
            for entry in entries:
                self.entries += 1
                _check_entries(self.entries, self.caps)
                listed.append(entry.name)
        for name in sorted(listed):
            if not _skipped(name):
                self.entry(descriptor, prefix, name, depth)

    def leave_out(self, name: str, kind: str) -> None:
        self.left_out.append((name.encode("utf-8", "replace").decode(), kind))

    def entry(self, descriptor: int, prefix: str, name: str, depth: int) -> None:
        """Read one entry, or note why it was left out; one that vanishes or can't be opened is left out too."""
        if not name.isprintable():
            self.leave_out(prefix + name, "a file whose name holds signs that can't be shown")
            return
        try:
            mode = os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode):
                self.inner_folder(descriptor, prefix, name, depth)
            elif stat.S_ISREG(mode):
                limit = min(self.caps.notebook, self.caps.total - self.bytes)
                self.files[prefix + name] = content = _read_file(name, limit, dir_fd=descriptor)
                self.bytes += len(content)
            else:
                self.leave_out(prefix + name, "a link" if stat.S_ISLNK(mode) else "a device or a pipe")
        except OSError as error:
            self.leave_out(prefix + name, f"not readable ({error.strerror})")

    def inner_folder(self, descriptor: int, prefix: str, name: str, depth: int) -> None:
        inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=descriptor)
        try:
            self.folder(inner, f"{prefix}{name}/", depth + 1)
        finally:
            os.close(inner)


def _read_file(name: str, limit: int, *, dir_fd: int | None, path: Path | None = None) -> bytes:
    """A plain file's bytes; never more than the limit, never through a link, never from a pipe that blocks."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (os.O_NOFOLLOW if dir_fd is not None else 0)
    descriptor = os.open(path if path is not None else name, flags, dir_fd=dir_fd)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise SubmissionError(f"{name!r} is no plain file. {_HOW_TO}")
        content = file.read(limit + 1)
    if len(content) > limit:
        raise SubmissionError(
            f"{name!r} is too large: at most {_size(limit)} are read. "
            "Clear the notebook's outputs, leave data files out, save, and hand it in again."
        )
    return content


def _size(count: int) -> str:
    return f"{count // _MIB} MiB" if count >= _MIB else f"{max(count, 0)} bytes"


def _check_entries(count: int, caps: Caps) -> None:
    if count > caps.entries:
        raise SubmissionError(
            f"The hand-in holds more than {caps.entries} files. Hand in the notebook alone. {_HOW_TO}"
        )


def _skipped(name: str) -> bool:
    """Files of systems and editors, and hidden ones: `._x`, `.ipynb_checkpoints`, `__MACOSX`."""
    return name.startswith(".") or name in _SYSTEM


# ---------------------------------------------------------------------------------------------------------------
# zip and gzip


def _unwrap(files: dict[str, bytes], caps: Caps) -> tuple[dict[str, bytes], tuple[Note, ...]]:
    """Unpack a hand-in that is one zip (also inside a folder), and notebooks that were packed with gzip."""
    zips = [name for name, content in files.items() if content.startswith((b"PK\x03\x04", b"PK\x05\x06"))]
    notes: list[Note] = []
    if len(zips) == 1 and not any(_notebookish(name, content) for name, content in files.items()):
        name = zips[0]
        packed = files[name]
        if _office(packed):
            raise SubmissionError(f"{name!r} is an office document, not a notebook. {_HOW_TO}")
        files = {other: content for other, content in files.items() if other != name} | _unzip(name, packed, caps)
    unpacked = {}
    for name, content in files.items():
        if content.startswith(b"\x1f\x8b"):
            content = _gunzip(name, content, caps)
            if _notebookish(name, content):
                notes.append(
                    Note(f"{name!r} was packed with gzip; it was unpacked. Next time hand in the .ipynb itself.")
                )
        unpacked[name] = content
    return unpacked, tuple(notes)


def _office(content: bytes) -> bool:
    return b"[Content_Types].xml" in content[:4096] or content[30:38] == b"mimetype"


def _unzip(name: str, packed: bytes, caps: Caps) -> dict[str, bytes]:
    """Members of a zip by name; refused as a whole if any of them is odd. Nothing is written to disk."""
    if len(packed) > caps.packed:
        raise SubmissionError(f"{name!r} is larger than {_size(caps.packed)}. Hand in the notebook alone. {_HOW_TO}")
    _check_directory(name, packed, caps)
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            members = _safe_members(name, archive.infolist(), len(packed), caps)
            return _extract(name, archive, members, caps)
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        struct.error,
        ValueError,
        OverflowError,
    ) as error:
        raise SubmissionError(
            f"{name!r} is a broken zip file ({error}). Pack it again, or hand in the .ipynb."
        ) from None


def _check_directory(name: str, packed: bytes, caps: Caps) -> None:
    """Look at the end record before Python builds an object for each entry."""
    end = packed.rfind(b"PK\x05\x06", max(0, len(packed) - 65_557))
    if end < 0 or len(packed) < end + 22:
        raise SubmissionError(f"{name!r} is a zip file that was cut off. Pack it again, or hand in the .ipynb.")
    entries, size = struct.unpack_from("<HI", packed, end + 10)
    if packed[max(0, end - 20) : end].startswith(b"PK\x06\x07") or size > 512 * caps.entries:
        raise SubmissionError(f"{name!r} is a zip file with too many entries. Hand in the notebook alone. {_HOW_TO}")
    _check_entries(entries, caps)


def _safe_members(
    name: str, members: Sequence[zipfile.ZipInfo], packed: int, caps: Caps
) -> list[tuple[zipfile.ZipInfo, str]]:
    """The plain files of a zip with checked names. Raises SubmissionError before anything is unpacked."""
    _check_entries(len(members), caps)
    total = sum(member.file_size for member in members)
    if total > caps.total or (total > _MIB and total > caps.ratio * packed):
        raise SubmissionError(
            f"{name!r} unpacks to {_size(total)}, which is too much. Hand in the notebook alone. {_HOW_TO}"
        )
    found = [(member, _safe_path(name, member)) for member in members]
    _no_doubles(name, [(path, member.is_dir()) for member, path in found])
    return [(m, p) for m, p in found if not m.is_dir() and not any(_skipped(part) for part in p.split("/"))]


def _no_doubles(name: str, paths: Sequence[tuple[str, bool]]) -> None:
    """No path twice, and no file that is a folder of another one."""
    seen: set[str] = set()
    for path, _ in paths:
        key = unicodedata.normalize("NFC", path)
        if key in seen:
            raise SubmissionError(f"The zip {name!r} holds {path[:80]!r} twice. Pack it again.")
        seen.add(key)
    parents = {str(parent) for path, _ in paths for parent in PurePosixPath(path).parents}
    for path, is_folder in paths:
        if path in parents and not is_folder:
            raise SubmissionError(f"In the zip {name!r}, {path[:80]!r} is a file and a folder. Pack it again.")


def _safe_path(name: str, member: zipfile.ZipInfo) -> str:
    """The member's path, if it is a plain file or folder below the zip's own root."""
    raw = member.orig_filename
    path = raw.rstrip("/")
    kind = stat.S_IFMT(member.external_attr >> 16)
    odd = (
        not path
        or "\\" in raw
        or any(ord(c) < 32 or ord(c) == 127 for c in raw)
        or raw.startswith("/")
        or re.match(r"[A-Za-z]:", raw) is not None
        or any(part in ("", ".", "..") for part in path.split("/"))
        or len(path) > 500
        or path.count("/") > 20
    )
    if odd:
        raise SubmissionError(f"The zip {name!r} holds the path {raw[:80]!r}, which points elsewhere. Pack it again.")
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise SubmissionError(f"In the zip {name!r}, {path[:80]!r} is a link or a device. Pack plain files only.")
    if member.flag_bits & 0x1:
        raise SubmissionError(f"The zip {name!r} is encrypted. Pack it without a password.")
    return path


def _extract(
    name: str, archive: zipfile.ZipFile, members: Sequence[tuple[zipfile.ZipInfo, str]], caps: Caps
) -> dict[str, bytes]:
    """Read the members; what they unpack to is counted, not believed. A wrong checksum raises BadZipFile."""
    files: dict[str, bytes] = {}
    left = caps.total
    for member, path in members:
        limit = min(left, caps.notebook)
        with archive.open(member) as stream:
            content = _at_most(limit, stream.read)
        if len(content) > limit:
            raise SubmissionError(f"In the zip {name!r}, {path!r} unpacks to more than {_size(limit)}.")
        left -= len(content)
        files[path] = content
    return files


def _at_most(limit: int, read: Callable[[int], bytes]) -> bytes:
    """What `read` gives until its end, or one byte more than the limit; in small pieces, whatever a header claims."""
    content = bytearray()
    while len(content) <= limit and (piece := read(min(_MIB, limit + 1 - len(content)))):
        content += piece
    return bytes(content)


def _gunzip(name: str, packed: bytes, caps: Caps) -> bytes:
    """Unpack gzip, up to the caps; what is no gzip after all stays as it is."""
    limit = min(caps.gunzipped, max(_MIB, caps.ratio * len(packed)))
    reader = zlib.decompressobj(wbits=31)
    rest = [packed]

    def read(size: int) -> bytes:
        piece = reader.decompress(rest[0], size)
        rest[0] = reader.unconsumed_tail
        return piece

    try:
        content = _at_most(limit, read)
    except zlib.error:
        return packed
    if len(content) > limit:
        raise SubmissionError(f"{name!r} unpacks to more than {_size(limit)}. Hand in the .ipynb itself. {_HOW_TO}")
    return content if reader.eof else packed


# ---------------------------------------------------------------------------------------------------------------
# choosing


def _text(content: bytes, limit: int | None = None) -> str:
    """The text of a file for looking at it; never fails."""
    head = content if limit is None else content[:limit]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return head.decode("utf-16", "replace")
    return head.decode("utf-8-sig", "replace")


def _notebookish(name: str, content: bytes) -> bool:
    """Whether a file is meant as a notebook: by its name, or a JSON object that holds cells."""
    if PurePosixPath(name).suffix.lower() == ".ipynb":
        return True
    head = _text(content, 512).lstrip()
    if not head.startswith("{"):
        return False
    sample = _text(content[:_MIB]) + _text(content[-_MIB:])
    return re.search(r'"(cells|worksheets)"\s*:\s*\[', sample) is not None and '"cell_type"' in sample


def _what_is(name: str, content: bytes) -> str | None:
    """The kind of a file that is surely no notebook, with its article; None if it may be one."""
    if not content.strip():
        return "empty"
    for magic, kind in _KINDS.items():
        if content.startswith(magic):
            return kind
    head = _text(content, 4096).lstrip().lower()
    if re.match(r"<(!doctype|html|head|\?xml|!--|body)", head):
        return "a web page (HTML)"
    return None


class _Chooser:
    """Chooses the notebook by what it holds."""

    def __init__(self, wanted: Sequence[str], assignment: str | None, notebook: str | None) -> None:
        self.wanted, self.assignment, self.notebook = wanted, assignment, notebook

    def choose(self, files: Mapping[str, bytes]) -> tuple[str, bytes, tuple[Note, ...]]:
        """Name and bytes of the notebook to grade, and what the student should know about the choice."""
        candidates = {name: content for name, content in files.items() if _notebookish(name, content)}
        readable = {n: c for n, c in candidates.items() if _what_is(n, c) is None}
        if not readable:
            raise SubmissionError(_nothing(candidates or files))
        # A single one is not looked into: it may be large, for all that it saved.
        ranked = sorted(readable, key=lambda n: self._rank(n, readable[n])) if len(readable) > 1 else list(readable)
        best = ranked[0]
        notes = [*_about_the_name(best), *self._about_the_others(best, ranked[1:], readable)]
        return best, readable[best], tuple(notes)

    def _rank(self, name: str, content: bytes) -> tuple[Any, ...]:
        """Smaller is better: more answers, more asked functions, the right assignment, the expected name, the path."""
        text = _text(content)
        return (
            -self._answered(text),
            -len(self._held(text)),
            not self._names_assignment(text),
            PurePosixPath(name).name != self.notebook,
            name.count("/"),
            name,
        )

    def _held(self, text: str) -> list[str]:
        """Which of the wanted functions are defined in the notebook's text."""
        return [w for w in self.wanted if re.search(rf"\b(?:def|class)\s+{re.escape(w)}\b|\b{re.escape(w)}\s*=", text)]

    def _answered(self, text: str) -> int:
        """How many of them are more than a stub, roughly: definitions minus stubs, never below 0."""
        return max(0, len(self._held(text)) - text.count("raise NotImplementedError"))

    def _names_assignment(self, text: str) -> bool:
        return self.assignment is not None and (
            re.search(rf'"assignment"\s*:\s*"{re.escape(self.assignment)}"', text) is not None
        )

    def _real(self, text: str) -> bool:
        return bool(self._held(text)) or self._names_assignment(text) or not (self.wanted or self.assignment)

    def _about_the_others(self, best: str, others: Sequence[str], readable: Mapping[str, bytes]) -> Iterator[Note]:
        if not others:
            return
        rivals = [o for o in others if self._real(_text(readable[o])) and readable[o] != readable[best]]
        listed = ", ".join(repr(o) for o in others[:5]) + (", …" if len(others) > 5 else "")
        if rivals:
            yield Note(
                f"The hand-in holds several notebooks for this assignment. {best!r} was graded, because it holds the "
                f"most answers; not graded: {listed}. Hand in one notebook only.",
                needs_human=True,
            )
        else:
            why = "it holds the questions" if self._real(_text(readable[best])) else "none holds the questions"
            yield Note(
                f"The hand-in holds several notebooks. {best!r} was graded, because {why}; not graded: {listed}."
            )


def _about_the_name(name: str) -> Iterator[Note]:
    if not name.lower().endswith((".ipynb", ".gz")):
        yield Note(f"{PurePosixPath(name).name!r} does not end in .ipynb; it holds a notebook and was graded as one.")


def _nothing(files: Mapping[str, bytes]) -> str:
    """The sentence for a hand-in without a notebook."""
    if not files:
        return f"The hand-in is empty. {_HOW_TO}"
    if len(files) > 1:
        return f"None of the {len(files)} files in the hand-in is a notebook. {_HOW_TO}"
    name, content = next(iter(files.items()))
    kind = _what_is(name, content)
    short = PurePosixPath(name).name
    if kind == "empty":
        return f"The file {short!r} is empty. Save the notebook and download it again. {_HOW_TO}"
    if kind is None:
        endings = {".py": "a Python script", ".r": "an R script", ".md": "a text file", ".txt": "a text file"}
        kind = endings.get(PurePosixPath(name).suffix.lower(), "no notebook")
    return f"The file {short!r} is {kind}, but a notebook (.ipynb) is expected. {_HOW_TO}"


def _beside(notebook: str, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The loose files by their path as seen from the notebook's folder; those outside it keep theirs."""
    folder = str(PurePosixPath(notebook).parent)
    prefix = "" if folder == "." else folder + "/"
    inside = {name.removeprefix(prefix): content for name, content in files.items() if name.startswith(prefix)}
    outside = {name: content for name, content in files.items() if not name.startswith(prefix)}
    return outside | inside
