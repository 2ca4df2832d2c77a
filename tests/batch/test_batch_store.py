"""What is recorded stays recorded, whoever is killed when."""

from __future__ import annotations

import contextlib
import os
import random
import re
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from test_batch_gradebook import KEY, F, P, fill, report_of, student

from autograder.batch.store import Store, Submitted
from autograder.errors import CourseError, GraderFault
from autograder.service import report_to_json

ROOT = Path(__file__).resolve().parent.parent.parent


def test_a_result_comes_back_bit_for_bit(tmp_path: Path) -> None:
    """Report, kind and key; and done means recorded under this very key and these very bytes."""
    with fill(tmp_path, [(student(1), report_of(P, F, P, mistakes=["m"]))]) as store:
        (recorded,) = store.results()
        assert recorded.report == report_of(P, F, P, mistakes=["m"])
        assert recorded.key == KEY
        one = store.submission("1001")
        assert one is not None
        assert store.is_done(one, KEY)
        for name in ("assignment", "course", "grader", "seed"):
            assert not store.is_done(one, replace(KEY, **{name: "other"}))
        assert not store.is_done(replace(one, sha256="other"), KEY)


def test_the_latest_result_counts_and_none_is_doubled(tmp_path: Path) -> None:
    """Recording again under one key replaces; under a new key the new one is current and the old one stays."""
    with fill(tmp_path, [(student(1), report_of(P, F, F))]) as store:
        one = store.submission("1001")
        assert one is not None
        store.record(one, KEY, report_to_json(report_of(P, P, F)), "graded", "a" * 16)
        assert [r.report.earned for r in store.results()] == [report_of(P, P, F).earned]
        store.record(one, replace(KEY, course="new"), report_to_json(report_of(P, P, P)), "graded", "b" * 16)
        assert [r.report.earned for r in store.results()] == [2]
        assert store.is_done(one, KEY)


def test_two_coordinators_never_share_a_folder(tmp_path: Path) -> None:
    """The second is told who the first is; when the first ends, the folder is free."""
    with Store(tmp_path, make=True):
        with pytest.raises(CourseError, match=f"process {os.getpid()}"):
            Store(tmp_path, make=True)
        Store(tmp_path).close()  # reading is always possible
    Store(tmp_path, make=True).close()


def test_a_folder_without_results_is_said(tmp_path: Path) -> None:
    """Reading never makes a store; a file that is no database is refused with its path."""
    with pytest.raises(CourseError, match="no results of a class here"):
        Store(tmp_path)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "class.sqlite").write_bytes(b"this is no database at all" * 100)
    with pytest.raises(CourseError, match="can't be read"):
        Store(tmp_path)


@pytest.mark.parametrize("recorded", [True, False])
def test_what_a_crash_left_is_finished_or_swept(recorded: bool, tmp_path: Path) -> None:
    """Files of a recorded result go to their place at the next start; files of an unrecorded attempt go away."""
    with fill(tmp_path, [(student(1), report_of(P, P, P))]) as store:
        token = next(iter(store.results())).token if recorded else "f" * 16
        made = store.attempt("1001", token)
        made.mkdir(parents=True)
        (made / "results.json").write_text("new")
        store.repair()
        assert not made.exists()
        place = store.files_of("1001") / "results.json"
        assert place.exists() == recorded


def test_a_full_disk_keeps_what_was_there(tmp_path: Path) -> None:
    """When the file can't grow, the transaction fails in clear words and every earlier row is intact."""
    fill(tmp_path, [(student(n), report_of(P, P, P)) for n in range(3)]).close()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            store = Store(tmp_path, make=True)
            size = (tmp_path / "class.sqlite").stat().st_size
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
            one = Submitted(student(9), tmp_path, "sha")
            blob = "".join(chr(random.randrange(32, 1000)) for _ in range(100_000))
            try:
                for number in range(50):
                    store.record(replace(one, sha256=str(number)), KEY, blob, "graded", "0" * 16)
            except GraderFault as error:
                code = 0 if "was recorded before is intact" in str(error) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with Store(tmp_path) as store:
        assert [one.report.earned for one in store.results()] == [2, 2, 2]


def test_what_the_docs_say_deletes_a_student(tmp_path: Path) -> None:
    """After the statements of docs/privacy.md no byte of name, id or address is left in the file."""
    fill(tmp_path, [(student(n), report_of(P, F, P)) for n in range(3)]).close()
    page = (ROOT / "docs/privacy.md").read_text()
    statements = re.search(r'sqlite3 DIR/class.sqlite "([^"]+)"', page)
    assert statements is not None
    assert b"First1 Last1" in (tmp_path / "class.sqlite").read_bytes()
    with contextlib.closing(sqlite3.connect(tmp_path / "class.sqlite", isolation_level=None)) as database:
        database.executescript(statements[1].replace("ID", "1001"))
    left = (tmp_path / "class.sqlite").read_bytes()
    assert not any(word in left for word in (b"First1 Last1", b"00000001", b"s1@example.edu"))
    with Store(tmp_path) as store:
        assert [one.submission for one in store.results()] == ["1000", "1002"]


WRITER = """
import sys
from pathlib import Path
sys.path[:0] = [{root!r}, {root!r} + "/tests/batch"]
from test_batch_gradebook import KEY, P, report_of, student
from autograder.batch.store import Store, Submitted
from autograder.service import report_to_json
text = report_to_json(report_of(P, P, P))
with Store(Path({folder!r}), make=True) as store:
    store.repair()
    for number in range(10_000):
        one = Submitted(student(number), Path("x"), "sha")
        if store.is_done(one, KEY):
            continue
        token = f"{{number:016x}}"
        made = store.attempt(one.id, token)
        made.mkdir(parents=True, exist_ok=True)
        (made / "results.json").write_text(token)
        store.record(one, KEY, text, "graded", token)
        print(number, flush=True)
"""


@pytest.mark.parametrize("kills", [4, pytest.param(100, marks=pytest.mark.slow)])
def test_a_killed_writer_tears_loses_and_doubles_nothing(kills: int, tmp_path: Path) -> None:
    """kill -9 at random moments: each acknowledged row is there, the numbers have no gap, each has its files."""
    code = WRITER.format(root=str(ROOT), folder=str(tmp_path))
    acknowledged: list[int] = []
    for _ in range(kills):
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            acknowledged.append(int(process.stdout.readline()))
            time.sleep(random.uniform(0, 0.25))
            process.kill()
            acknowledged += [
                int(line) for line in process.stdout.read().split("\n") if line.endswith(tuple("0123456789"))
            ]
    assert len(acknowledged) == len(set(acknowledged))
    with Store(tmp_path, make=True) as store:
        store.repair()
        store.register(iter(Submitted(student(n), Path("x"), "sha") for n in range(max(acknowledged) + 2)))
        found = [recorded.submission for recorded in store.results()]
        assert set(found) >= {str(1000 + number) for number in acknowledged}
        assert found == [str(1000 + number) for number in range(len(found))]
        for recorded in store.results():
            assert (store.files_of(recorded.submission) / "results.json").read_text() == recorded.token
        assert list((tmp_path / "submissions/.attempts").iterdir()) == []
