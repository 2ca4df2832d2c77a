"""The run, step by step as the platform does it; where it is odd, so are we.

What would be posted is returned instead. Codes, keys, scores, cuts and what the log holds are the platform's; the
sentences are our own. The odd places are meant: only a JSON *object* survives, but a missing file and a bare `null`
pass without a code; a number as a test's output loses everything, a list as the output of all passes; a NaN is
noticed only when the payload is written down.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import time
import traceback
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.errors import SubmissionError

if TYPE_CHECKING:
    from autograder.emulator.starters import Starter

__all__ = ["DEFAULT_SECONDS", "Payload", "cut", "emulate"]

DEFAULT_SECONDS = 1200.0
_LONGEST, _HALF, _MARK = 100_000, 49_990, "[...(truncated)...]"
_HEADING = "results.json is not valid JSON. This is what it holds:"
_NOT_POSTED = "The results could not be sent."
_NOT_STARTED = "The autograder could not be run."
_INVALID = "The autograder's results are not valid."


@dataclass(frozen=True, slots=True)
class Payload:
    """What the platform would get. error_code: None, invalid_json, http or autograder.

    After http and autograder the platform gets no exit status and no raw results, and the harness exits 1.
    """

    stdout: str
    results: Any
    elapsed_time: float
    exit_status: int | None = None
    error_code: str | None = None
    raw_results: str | None = None
    error_message: str | None = None

    @property
    def failed(self) -> bool:
        return self.error_code in ("http", "autograder")

    def posted(self) -> dict[str, Any]:
        """The object that would be posted, with the keys of its kind."""
        both = {"stdout": self.stdout, "results": self.results, "elapsed_time": self.elapsed_time}
        if self.failed:
            return both | {"error_code": self.error_code, "error_message": self.error_message}
        return both | {
            "exit_status": self.exit_status,
            "error_code": self.error_code,
            "raw_results": self.raw_results,
        }


def emulate(
    work: Path,
    submission: Path,
    metadata: Mapping[str, Any] | None,
    start: Starter,
    *,
    seconds: float = DEFAULT_SECONDS,
) -> Payload:
    """One run in the folder `work`, which holds `source/` and `run_autograder` already.

    submission: a file, a folder or a zip · metadata: what stands in submission_metadata.json, or None for no file ·
    seconds: the platform's limit. Raises SubmissionError only for a submission that no platform would take.
    """
    _prepare(work, submission, metadata)
    began = time.monotonic()
    try:
        status = _run(work, start, seconds, began)
    except Exception as error:
        return _failure("autograder", traceback.format_exc(), _NOT_STARTED, error, began)
    elapsed = time.monotonic() - began
    try:
        payload = _read(work, status, elapsed)
        json.dumps(payload.posted(), allow_nan=False)
    except Exception as error:
        return _failure("http", "", _NOT_POSTED, error, began)
    finally:
        start.end()
    return payload


def _failure(code: str, stdout: str, text: str, error: Exception, began: float) -> Payload:
    message = f"{type(error).__name__}: {error}"[:1000]
    return Payload(stdout, _zero(text), time.monotonic() - began, error_code=code, error_message=message)


def _zero(text: str) -> dict[str, Any]:
    return {"score": 0, "output": text}


# ── before ────────────────────────────────────────────────────────────────────────────────────────────────────────
def _prepare(work: Path, submission: Path, metadata: Mapping[str, Any] | None) -> None:
    for name in ("submission", "results"):
        folder = work / name
        if folder.is_symlink() or folder.is_file():
            folder.unlink()
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    _deliver(submission, work / "submission")
    path = work / "submission_metadata.json"
    path.unlink(missing_ok=True)
    if metadata is not None:
        path.write_text(json.dumps(metadata), encoding="utf-8")


def _deliver(submission: Path, folder: Path) -> None:
    """The files as the platform puts them: a zip unpacked, a tree kept, all of it readable and ours."""
    if submission.is_dir():
        shutil.copytree(submission, folder, dirs_exist_ok=True, symlinks=True)
    elif zipfile.is_zipfile(submission):
        _unpack(submission, folder)
    elif submission.is_file():
        shutil.copyfile(submission, folder / submission.name)
    else:
        raise SubmissionError(f"There is no hand-in at {submission}.")
    for path in folder.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755 if stat.S_ISDIR(path.stat().st_mode) else 0o644)


def _unpack(archive: Path, folder: Path) -> None:
    with zipfile.ZipFile(archive) as packed:
        for member in packed.infolist():
            parts = Path(member.filename).parts
            if member.filename.startswith("/") or ".." in parts or "\\" in member.filename:
                raise SubmissionError(f"The zip {archive.name} holds the path {member.filename[:80]!r}.")
        packed.extractall(folder)


# ── the run ───────────────────────────────────────────────────────────────────────────────────────────────────────
def _run(work: Path, start: Starter, seconds: float, began: float) -> int:
    with (work / "results" / "stdout").open("wb") as log:
        status, timed_out = start(work, log, seconds)
    if timed_out:
        text = f"The autograder was stopped: it did not end within {seconds:g} seconds."
        over = _zero(text) | {"execution_time": time.monotonic() - began}
        (work / "results" / "results.json").write_text(json.dumps(over), encoding="utf-8")
    return status


# ── after ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def _read(work: Path, status: int, elapsed: float) -> Payload:
    stdout = cut(_text(work / "results" / "stdout").replace("\0", "\ufffd"))
    path = work / "results" / "results.json"
    if not os.path.exists(path):  # noqa: PTH110  (the platform's way: a dangling link is no file)
        return Payload(stdout, None, elapsed, status, raw_results="")
    raw = _text(path, missing_ok=False)
    payload = _parsed(Payload(stdout, None, elapsed, status, raw_results=raw), raw.replace("\0", "\ufffd"))
    if payload.results is not None:
        _cut_outputs(payload.results)
    return replace(payload, raw_results=cut(raw))


def _text(path: Path, missing_ok: bool = True) -> str:
    if missing_ok and not path.is_file():
        return ""
    return path.read_bytes().decode("utf-8", "replace")


def _parsed(payload: Payload, text: str) -> Payload:
    try:
        results = json.loads(text)
    except ValueError:
        return _invalid(payload, text)
    return _invalid(payload, results) if isinstance(results, str) else replace(payload, results=results)


def _invalid(payload: Payload, text: str) -> Payload:
    stdout = f"{payload.stdout}\n{_HEADING}\n\n{text}"
    return replace(payload, stdout=stdout, results=_zero(_INVALID), error_code="invalid_json")


def _cut_outputs(results: Any) -> None:
    """In place, without looking at types: what does not fit raises, and then the platform gets nothing."""
    if results.get("output") is not None:
        results["output"] = cut(results["output"])
    if results.get("tests"):
        for test in results["tests"]:
            if "output" in test and test["output"] is not None:
                test["output"] = cut(test["output"])


def cut(text: str) -> str:
    """At most 99,999 characters of a text longer than 100,000: both ends, and a mark between them."""
    return text if len(text) <= _LONGEST else text[:_HALF] + _MARK + text[-_HALF:]
