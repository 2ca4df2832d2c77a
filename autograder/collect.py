"""A hand-in on disk → `Submission`: one notebook and the loose files beside it, as bytes in memory.

Theory of operation. What arrives is a file, a folder or a zip that a stranger made. It is read once, in pieces, under
caps on entries, bytes and packing ratio that hold *before* anything is unpacked; no link is followed and nothing that
is not a plain file is opened. A zip is copied to a file without a name and unpacked from there, member by member. Of
a large notebook the saved outputs are passed over while it is read, so what is held stays small, however large the
hand-in. A zip with a name that points elsewhere is refused as a whole, because no honest tool makes one. The notebook
is then chosen by what the files hold, not by their endings or their order.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import struct
import tempfile
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

from autograder.errors import SubmissionError
from autograder.lean import LARGE, TooLarge, lean, utf_8, utf_16_of
from autograder.model import Note, Submission

__all__ = ["Caps", "collect"]

Read = Callable[[int], bytes]


@dataclass(frozen=True, slots=True)
class Caps:
    """How large a hand-in may be. Bytes are bytes.

    entries: files and folders · notebook: one notebook with its saved outputs · lean: one without them · notebooks:
    all together without them · loose: all other files together; what is more is left out · total: everything
    unpacked · packed: a zip · ratio: unpacked to packed, looked at from one MiB on · depth: folders inside folders.
    """

    entries: int = 2_000
    notebook: int = 300 * 2**20
    lean: int = 2 * 2**20
    notebooks: int = 12 * 2**20
    loose: int = 16 * 2**20
    total: int = 400 * 2**20
    packed: int = 100 * 2**20
    ratio: int = 200
    depth: int = 20


_HOW_TO = "In Jupyter or Colab choose File → Download → Download .ipynb, and hand that file in."
_CLEAR = "Clear the notebook's outputs, leave data files out, save, and hand it in again."
_MIB = 2**20
_SYSTEM = {"__MACOSX", "__pycache__", "Thumbs.db", "desktop.ini"}
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_GZIP = b"\x1f\x8b"
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
    attachments: bool = False,
) -> Submission:
    """Read a hand-in: an .ipynb, a folder or a zip.

    wanted: names of the functions that the assignment asks for · assignment: its name · notebook: the file name that
    was handed out; all three only help to choose among several notebooks · metadata: passed on ·
    attachments: keep pictures that were put into a large notebook's cells; grading does not need them.
    Raises SubmissionError, with one or two plain sentences for the student, when there is nothing to grade.
    """
    intake = _Intake(caps or (Caps(lean=128 * _MIB, notebooks=128 * _MIB) if attachments else Caps()), attachments)
    try:
        digest = _read(path, intake)
        intake.unwrap()
    finally:
        intake.close()
    name, content, choice = _Chooser(wanted, assignment, notebook).choose(intake.files, intake.too_much)
    loose = {other: data for other, data in intake.files.items() if other != name}
    return Submission(
        name=PurePosixPath(name).name,
        notebook=content,
        sha256=digest,
        files=_beside(name, loose),
        notes=(*intake.notes(), *choice),
        metadata=dict(metadata or {}),
    )


def _read(path: Path, intake: _Intake) -> str:
    """Take in all plain files of the hand-in by their POSIX path; the SHA-256 of what was handed in."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise SubmissionError(f"There is no hand-in at {path.name!r}: {error.strerror}.") from None
    if stat.S_ISDIR(mode):
        walk = _Walk(intake)
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            walk.folder(descriptor, "", 0)
        finally:
            os.close(descriptor)
        return walk.digest()
    if not stat.S_ISREG(mode):
        raise SubmissionError(f"{path.name!r} is no plain file. {_HOW_TO}")
    with _opened(path.name, path=path) as file:
        return intake.take(path.name, file.read)[0]


# ---------------------------------------------------------------------------------------------------------------
# what is kept


class _Intake:
    """What was taken in so far, and how much is still allowed. files: what is kept, by path."""

    def __init__(self, caps: Caps, attachments: bool) -> None:
        self.caps, self._attachments = caps, attachments
        self.files: dict[str, bytes] = {}
        self.left_out: list[tuple[str, str]] = []
        self.too_much: dict[str, bytes] = {}
        self._notes: list[Note] = []
        self._archive: tuple[str, IO[bytes]] | None = None
        self._archives = 0
        self._bytes = self._notebooks = self._loose = 0

    def close(self) -> None:
        if self._archive is not None:
            self._archive[1].close()

    def notes(self) -> Iterator[Note]:
        for name, kind in self.left_out[:5]:
            yield Note(f"{name!r} was left out: it is {kind}; only plain files are read.")
        if self.too_much:
            name = next(iter(self.too_much))
            yield Note(
                f"Not all files next to the notebook were copied for it to open, such as {name[:80]!r}: "
                f"at most {_size(self.caps.loose)} together are."
            )
        yield from self._notes

    def take(self, name: str, read: Read, *, unpack: bool = True) -> tuple[str, int]:
        """Take in one file, piece by piece, and keep of it what the grader needs; its SHA-256 and size.

        unpack: whether a zip may be what was handed in; one inside of another is a loose file.
        """
        source = _Source(name, read, min(self.caps.notebook, self.caps.total - self._bytes))
        head = source.at_most(LARGE)
        if unpack and head.startswith(_ZIP):
            self._archives += 1
        if unpack and head.startswith(_ZIP) and self._archives == 1:
            self._copy(name, source.rest(head))
        elif (unpacked := self._gunzipped(name, head, source)) is not None:
            self._keep_notebook(name, unpacked.at_most(LARGE), unpacked)
            said = f"{name!r} was packed with gzip; it was unpacked. Next time hand in the .ipynb itself."
            self._notes.append(Note(said))
        else:
            self._keep(name, head, source)
        digest = source.finish()
        self._bytes += source.size
        return digest, source.size

    def unwrap(self) -> None:
        """Unpack a hand-in that is one zip, also inside a folder; a zip beside a notebook is a loose file."""
        if self._archive is None:
            return
        name, file = self._archive
        if self._archives == 1 and not any(_notebookish(other, content) for other, content in self.files.items()):
            _unzip(name, file, self)
        else:
            file.seek(0)
            source = _Source(name, file.read, self.caps.packed)
            self._keep(name, source.at_most(LARGE), source)

    def _copy(self, name: str, pieces: Iterable[bytes]) -> None:
        """Put a zip into a file without a name."""
        file = tempfile.TemporaryFile()  # noqa: SIM115
        self._archive = name, file  # from now on `close` closes it
        for piece in pieces:
            file.write(piece)
            if file.tell() > self.caps.packed:
                raise SubmissionError(
                    f"{name!r} is larger than {_size(self.caps.packed)}. Hand in the notebook alone. {_HOW_TO}"
                )

    def _keep(self, name: str, head: bytes, source: _Source) -> None:
        """head: the first bytes, at most `LARGE`, which were read from the source already."""
        if _notebookish(name, head):
            self._keep_notebook(name, head, source)
        else:
            self._keep_loose(name, head, source)

    def _keep_notebook(self, name: str, head: bytes, source: _Source) -> None:
        whole = len(head) < LARGE or _what_is(name, head) is not None
        content = head if whole else self._without_outputs(name, head, source)
        self._notebooks += len(content)
        if self._notebooks > self.caps.notebooks:
            raise SubmissionError(f"The hand-in holds too many large notebooks. Hand in one only. {_HOW_TO}")
        self.files[name] = content

    def _keep_loose(self, name: str, head: bytes, source: _Source) -> None:
        pieces, room = [], self.caps.loose - self._loose
        for piece in source.rest(head):
            pieces.append(piece)
            room -= len(piece)
            if room < 0:
                self.too_much[name] = head[:4096]
                return
        self.files[name] = b"".join(pieces)
        self._loose += len(self.files[name])

    def _without_outputs(self, name: str, head: bytes, source: _Source) -> bytes:
        pieces = source.rest(head)
        if encoding := utf_16_of(head):
            self._notes.append(Note("The file is saved as UTF-16 instead of UTF-8; it was converted."))
            pieces = utf_8(pieces, encoding)
        try:
            content, dropped = lean(pieces, self.caps.lean, attachments=self._attachments)
        except TooLarge as error:
            raise SubmissionError(
                f"{name!r} is too large: {error}. Clear the notebook's outputs, remove large pictures and data from "
                "its cells, save, and hand it in again."
            ) from None
        said = f"dropped {dropped // 1_000_000} MB of saved outputs and pictures of {name!r}"
        self._notes.append(Note(said, staff_only=True))
        return content

    def _gunzipped(self, name: str, head: bytes, source: _Source) -> _Source | None:
        """What a notebook that was packed with gzip unpacks to; None for anything else."""
        if not head.startswith(_GZIP):
            return None
        try:
            peek = zlib.decompressobj(wbits=31).decompress(head, 64 * 1024)
        except zlib.error:
            return None
        if not _notebookish(name.removesuffix(".gz"), peek):
            return None
        return _Source(name, _gunzip(name, source, head, self.caps.ratio), self.caps.notebook, "unpacks to more")


class _Source:
    """A file that is read in pieces: hashed, counted, and never more than `limit` bytes of it."""

    def __init__(self, name: str, read: Read, limit: int, why: str = "") -> None:
        self._name, self._read, self._limit, self._why = name, read, limit, why
        self._sha256 = hashlib.sha256()
        self.size = 0

    def _piece(self, size: int) -> bytes:
        piece = self._read(min(size, _MIB))
        self._sha256.update(piece)
        self.size += len(piece)
        if self.size > self._limit:
            said = (
                f"{self._why} than {_size(self._limit)}."
                if self._why
                else f"is too large: at most {_size(self._limit)} are read."
            )
            raise SubmissionError(f"{self._name!r} {said} {_CLEAR}")
        return piece

    def at_most(self, size: int) -> bytes:
        """The next bytes, as many as there are; in small pieces, whatever a header claims."""
        content = bytearray()
        while len(content) < size and (piece := self._piece(size - len(content))):
            content += piece
        return bytes(content)

    def rest(self, head: bytes) -> Iterator[bytes]:
        """`head`, which was read before, and all that is left."""
        yield head
        while piece := self._piece(_MIB):
            yield piece

    def finish(self) -> str:
        """Read what is left; the SHA-256 of all."""
        while self._piece(_MIB):
            pass
        return self._sha256.hexdigest()


def _gunzip(name: str, source: _Source, head: bytes, ratio: int) -> Read:
    """Reads what a gzip file unpacks to, never more than so many times its packed size."""
    reader = zlib.decompressobj(wbits=31)
    packed = source.rest(head)
    unpacked = 0

    def read(size: int) -> bytes:
        nonlocal unpacked
        piece = b""
        try:
            while not piece and not reader.eof:
                waiting = reader.unconsumed_tail or next(packed, b"")
                if not waiting:
                    raise zlib.error("it ends too early")
                piece = reader.decompress(waiting, size)
        except zlib.error:
            raise SubmissionError(f"{name!r} is a damaged gzip file. Hand in the .ipynb itself. {_HOW_TO}") from None
        unpacked += len(piece)
        if unpacked > max(_MIB, ratio * source.size):
            raise SubmissionError(f"{name!r} unpacks to more than is read. Hand in the .ipynb itself. {_HOW_TO}")
        return piece

    return read


# ---------------------------------------------------------------------------------------------------------------
# folders


class _Walk:
    """Walks by descriptors, so that nothing can be exchanged for a link between looking and opening."""

    def __init__(self, intake: _Intake) -> None:
        self._intake = intake
        self._entries = 0
        self._seen: list[tuple[str, int, str]] = []

    def digest(self) -> str:
        """One SHA-256 for a folder: of its files' paths, sizes and hashes in order."""
        lines = [f"{name}\0{size}\0{digest}\0" for name, size, digest in sorted(self._seen)]
        return hashlib.sha256("".join(lines).encode("utf-8", "surrogatepass")).hexdigest()

    def folder(self, descriptor: int, prefix: str, depth: int) -> None:
        caps = self._intake.caps
        if depth > caps.depth:
            raise SubmissionError(f"The hand-in has folders more than {caps.depth} levels deep. {_HOW_TO}")
        with os.scandir(descriptor) as entries:
            listed = []
            for entry in entries:
                self._entries += 1
                _check_entries(self._entries, caps)
                listed.append(entry.name)
        for name in sorted(listed):
            if not _skipped(name):
                self._entry(descriptor, prefix, name, depth)

    def _leave_out(self, name: str, kind: str) -> None:
        self._intake.left_out.append((name.encode("utf-8", "replace").decode(), kind))

    def _entry(self, descriptor: int, prefix: str, name: str, depth: int) -> None:
        """Take in one entry, or note why it was left out; one that vanishes or can't be opened is left out too."""
        if not name.isprintable():
            self._leave_out(prefix + name, "a file whose name holds signs that can't be shown")
            return
        try:
            mode = os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode):
                self._inner_folder(descriptor, prefix, name, depth)
            elif stat.S_ISREG(mode):
                with _opened(name, dir_fd=descriptor) as file:
                    digest, size = self._intake.take(prefix + name, file.read)
                self._seen.append((prefix + name, size, digest))
            else:
                self._leave_out(prefix + name, "a link" if stat.S_ISLNK(mode) else "a device or a pipe")
        except OSError as error:
            self._leave_out(prefix + name, f"not readable ({error.strerror})")

    def _inner_folder(self, descriptor: int, prefix: str, name: str, depth: int) -> None:
        inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=descriptor)
        try:
            self.folder(inner, f"{prefix}{name}/", depth + 1)
        finally:
            os.close(inner)


def _opened(name: str, *, dir_fd: int | None = None, path: Path | None = None) -> IO[bytes]:
    """A plain file, opened for reading; never through a link, never a pipe that blocks."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (os.O_NOFOLLOW if dir_fd is not None else 0)
    descriptor = os.open(path if path is not None else name, flags, dir_fd=dir_fd)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise SubmissionError(f"{name!r} is no plain file. {_HOW_TO}")
    return os.fdopen(descriptor, "rb")


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
# zip


def _unzip(name: str, file: IO[bytes], intake: _Intake) -> None:
    """Take in the members of a zip by name; refused as a whole if any of them is odd. Nothing is written to disk."""
    size = file.seek(0, os.SEEK_END)
    _refuse_office(name, file)
    _check_directory(name, file, size, intake.caps)
    try:
        with zipfile.ZipFile(file) as archive:
            members = _safe_members(name, archive.infolist(), size, intake.caps)
            for member, path in members:
                with archive.open(member) as stream:
                    intake.take(path, stream.read, unpack=False)
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


def _refuse_office(name: str, file: IO[bytes]) -> None:
    file.seek(0)
    head = file.read(4096)
    if b"[Content_Types].xml" in head or head[30:38] == b"mimetype":
        raise SubmissionError(f"{name!r} is an office document, not a notebook. {_HOW_TO}")


def _check_directory(name: str, file: IO[bytes], size: int, caps: Caps) -> None:
    """Look at the end record before Python builds an object for each entry."""
    file.seek(max(0, size - 65_577))
    packed = file.read()
    end = packed.rfind(b"PK\x05\x06")
    if end < 0 or len(packed) < end + 22:
        raise SubmissionError(f"{name!r} is a zip file that was cut off. Pack it again, or hand in the .ipynb.")
    entries, length = struct.unpack_from("<HI", packed, end + 10)
    if packed[max(0, end - 20) : end].startswith(b"PK\x06\x07") or length > 512 * caps.entries:
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
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise SubmissionError(f"The zip {name!r} is packed in an unusual way. Pack it again as an ordinary zip file.")
    return path


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

    def choose(self, files: Mapping[str, bytes], too_much: Mapping[str, bytes]) -> tuple[str, bytes, tuple[Note, ...]]:
        """Name and bytes of the notebook to grade, and what the student should know about the choice.

        too_much: the first bytes of files that were left out for their size.
        """
        candidates = {name: content for name, content in files.items() if _notebookish(name, content)}
        readable = {n: c for n, c in candidates.items() if _what_is(n, c) is None}
        if not readable:
            raise SubmissionError(_nothing(candidates or {**too_much, **files}))
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
