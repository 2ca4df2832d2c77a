"""What Gradescope gets: the autograder zip, or the context of an image.

Both hold the same `source/` folder, and both are installed by the same `docker/setup.sh`, so they can't drift:

    source/   run_autograder · setup.sh · requirements-3.*.lock · softmark-….whl · package.json · results.fallback.json
              course/assignments/NAME/ · course/reference/NAME/ · course/reference/.secret

The zip is the content of `source/`, with `setup.env` for what an image gets as build arguments. Two packages of one
course are equal byte for byte. `probe` makes a second, tiny autograder that asks the platform what it is.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path

from autograder import __version__, score
from autograder.assignment import SECRET_FILE
from autograder.errors import CourseError
from autograder.gradescope import FALLBACK, PACKAGE
from autograder.model import Report
from autograder.pipeline import Course
from autograder.report.gradescope import to_json

__all__ = [
    "Interpreter",
    "fallback",
    "package_files",
    "probe_files",
    "wheel",
    "write_context",
    "write_source",
    "write_zip",
]

Files = dict[str, bytes]

_EPOCH = (1980, 1, 1, 0, 0, 0)
_SCRIPTS = ("run_autograder", "setup.sh")
_LEFT_OUT = ("__pycache__", ".ipynb_checkpoints", ".DS_Store")


@dataclass(frozen=True, slots=True)
class Interpreter:
    """Where `setup.sh` finds Python and torch in the zip route. python_url: a tarball with a relocatable CPython in a
    folder `python/` · python_sha256: its sum · torch_index_url: an index of CPU wheels."""

    python_url: str
    python_sha256: str
    torch_index_url: str

    def env(self) -> bytes:
        """`setup.env`. Raises CourseError for a value that a shell would not take as it stands."""
        values = {
            "PYTHON_URL": self.python_url,
            "PYTHON_SHA256": self.python_sha256,
            "TORCH_INDEX_URL": self.torch_index_url,
        }
        for name, value in values.items():
            if not re.fullmatch(r"[A-Za-z0-9:/._~%+=@,-]+", value):
                raise CourseError(f"{value!r} is no address or sum that can be written down", key=name)
        if not re.fullmatch(r"[0-9a-f]{64}", self.python_sha256):
            raise CourseError("64 hexadecimal digits are expected", key="PYTHON_SHA256")
        return "".join(f"{name}={value}\n" for name, value in values.items()).encode()


# ── what goes in ──────────────────────────────────────────────────────────────────────────────────────────────────
def package_files(course: Course) -> Files:
    """`source/` as path → bytes, for the zip and for the image."""
    assignment = course.assignment
    root = assignment.folder.parent.parent
    files = {name: _unix(path.read_bytes()) for name, path in _docker_files() if name != "Dockerfile"}
    files |= _tree(assignment.folder, f"course/assignments/{assignment.name}")
    files |= _tree(assignment.reference, f"course/reference/{assignment.name}")
    files[f"course/reference/{SECRET_FILE}"] = _secret(root)
    name, content = wheel()
    files[name] = content
    about = {"assignment": assignment.name, "version": assignment.version, "softmark": __version__}
    files[PACKAGE] = json.dumps(about, indent=1).encode() + b"\n"
    files[FALLBACK] = fallback(course)
    return dict(sorted(files.items()))


def fallback(course: Course) -> bytes:
    """The "not finished" results.json: every check undecided and its points open, the total the declared one."""
    assignment = course.assignment
    return to_json(
        Report(
            assignment=assignment.name,
            title=assignment.title,
            version=assignment.version,
            total=assignment.total,
            outcomes=score.fill(course.checks.specs, ()),
            submission="",
            sha256="",
            questions=assignment.questions,
            written_points=assignment.written_points,
            complete=False,
            grader_version=__version__,
            visibility=assignment.visibility,
        )
    )


def _docker_folder() -> Path:
    folder = Path(__file__).resolve().parent.parent / "docker"
    if not (folder / "setup.sh").is_file():
        raise CourseError("the folder `docker` is missing: packages are made from a clone of the project", where=folder)
    return folder


def _docker_files() -> Iterator[tuple[str, Path]]:
    folder = _docker_folder()
    for name in ("Dockerfile", *_SCRIPTS):
        yield name, folder / name
    for path in sorted(folder.glob("requirements-3.*.lock")):
        yield path.name, path


def _unix(content: bytes) -> bytes:
    return content.replace(b"\r\n", b"\n")


def _tree(folder: Path, prefix: str) -> Files:
    """All plain files below a folder. A link could bring in anything, so it is refused."""
    files = {}
    for path in sorted(folder.rglob("*")):
        if any(part in _LEFT_OUT for part in path.relative_to(folder).parts):
            continue
        if path.is_symlink():
            raise CourseError("a package can't hold a link", where=path)
        if path.is_file():
            files[f"{prefix}/{path.relative_to(folder).as_posix()}"] = path.read_bytes()
    return files


def _secret(root: Path) -> bytes:
    path = root / "reference" / SECRET_FILE
    try:
        return path.read_bytes()
    except OSError as error:
        raise CourseError(f"the course's secret can't be read: {error.strerror}", where=path) from error


# ── our own wheel ─────────────────────────────────────────────────────────────────────────────────────────────────
def wheel() -> tuple[str, bytes]:
    """(file name, content) of a wheel of this package as it runs now. No build tool, no network, no time stamps."""
    installed = distribution("softmark")
    about = f"softmark-{installed.version}.dist-info"
    files = _tree(Path(__file__).resolve().parent, "autograder")
    files[f"{about}/METADATA"] = (installed.read_text("METADATA") or installed.read_text("PKG-INFO") or "").encode()
    files[f"{about}/entry_points.txt"] = (installed.read_text("entry_points.txt") or "").encode()
    files[f"{about}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: softmark\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[f"{about}/RECORD"] = _record(files, f"{about}/RECORD")
    return f"softmark-{installed.version}-py3-none-any.whl", _zip(files)


def _record(files: Mapping[str, bytes], own: str) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        writer.writerow([name, f"sha256={digest}", len(content)])
    writer.writerow([own, "", ""])
    return text.getvalue().encode()


# ── where it goes ─────────────────────────────────────────────────────────────────────────────────────────────────
def write_zip(files: Mapping[str, bytes], out: Path, interpreter: Interpreter | None = None) -> None:
    """The autograder zip: scripts at its root, mode 0755. interpreter: what `setup.sh` needs to know."""
    more = {"setup.env": interpreter.env()} if interpreter else {}
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = out.with_name(f".{out.name}.tmp")
    temporary.write_bytes(_zip({**files, **more}))
    temporary.chmod(0o600)  # it holds the reference and the secret
    temporary.replace(out)


def write_context(files: Mapping[str, bytes], folder: Path) -> None:
    """The image's context: Dockerfile, setup.sh and locks at the top, `source/` below. Replaces an earlier one."""
    if folder.exists() and not (folder / "Dockerfile").is_file() and any(folder.iterdir()):
        raise CourseError("this folder is not empty and no earlier image context: name another", where=folder)
    write_source(files, folder / "source")
    for name, path in _docker_files():
        if name != "run_autograder":
            (folder / name).write_bytes(_unix(path.read_bytes()))


def write_source(files: Mapping[str, bytes], folder: Path) -> None:
    """`source/` as a folder of mode 0700; what was there before goes."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    folder.chmod(0o700)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o755 if name in _SCRIPTS else 0o600)


def _zip(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if name in _SCRIPTS else 0o100644) << 16
            entry.create_system = 3
            archive.writestr(entry, content)
    return buffer.getvalue()


# ── the probe autograder ──────────────────────────────────────────────────────────────────────────────────────────
def probe_files() -> Files:
    """A tiny autograder of its own: names of the environment's variables, kernel, limits, seccomp. Never a value."""
    return {name: _unix((_docker_folder() / "probe" / name).read_bytes()) for name in _SCRIPTS}
