"""The fork server: what a kernel inherits from it and what not, and how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from autograder.sandbox import processes, sweep

_HARNESS = Path(__file__).with_name("harness.py")
_LINUX = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) if sys.platform == "linux" else (0,)
_CLEAN = {"OMP_NUM_THREADS": "1", "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}


def _run(scenario: str, **more: Any) -> Any:
    """Run a scenario in a fresh grader process."""
    command = [sys.executable, "-I", str(_HARNESS), scenario]
    done = subprocess.run(command, env=_CLEAN, capture_output=True, text=True, timeout=120, check=False, **more)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.level_a
def test_no_secret_is_in_a_kernels_memory() -> None:
    """What the grader learns after the fork is nowhere in a kernel; its start-up environment is the clean one."""
    seen = _run("memory")
    assert seen["hits"] == 0
    assert seen["control"] > 0, "the search finds what is there"
    assert seen["names"] == sorted(_CLEAN)


@pytest.mark.level_a
def test_a_kernel_holds_the_agent_and_nothing_hidden() -> None:
    """Of ours only values, sandbox and the agent's side of the probe are loaded; no check, no client, no reference."""
    seen = _run("modules")
    assert seen["loaded"] is False
    assert "autograder.probe.agent" in seen["ours"]
    allowed = ("autograder.sandbox", "autograder.probe", "autograder.model", "autograder.errors", "autograder.plan")
    assert [name for name in seen["ours"] if not name.startswith(allowed)] == ["autograder"]
    assert "autograder.probe.client" not in seen["ours"]


@pytest.mark.level_a
def test_a_zygote_imports_what_a_course_asks_for() -> None:
    """Later kernels hold it without an import of their own; a module that isn't there is said."""
    seen = _run("preloaded")
    assert (seen["before"], seen["after"]) == (False, True)
    assert seen["wrong"] == "ModuleNotFoundError: No module named 'no_such_module'"


@pytest.mark.skipif(_LINUX < (6, 1), reason="MADV_COLLAPSE came with Linux 6.1")
def test_memory_is_gathered_in_huge_pages() -> None:
    """64 MiB of small objects lie in huge pages afterwards, most of them, and hold what they held."""
    seen = _run("huge")
    assert seen["same"]
    assert seen["before"] < 16
    assert seen["after"] >= 48


def test_a_second_thread_refuses_the_fork() -> None:
    """A zygote is only forked from a process with one thread."""
    assert _run("thread")["refused"].startswith("GraderFault: the zygote must be forked from a process with one thread")


@pytest.mark.level_a
def test_kernels_draw_different_numbers_unless_seeded() -> None:
    """Kernels of one zygote don't share their random streams; with a seed they repeat."""
    seen = _run("streams")
    columns = list(zip(*seen["fresh"], strict=True))
    assert all(len(set(column)) == 3 for column in columns)
    assert seen["seeded"][0] == seen["seeded"][1]


@pytest.mark.level_a
def test_the_agent_answers_through_the_sandbox() -> None:
    """A function that a notebook defined can be called over the probe."""
    assert _run("agent") == {"kind": "value", "value": 42}


@pytest.mark.level_a
def test_a_killed_grader_takes_everything_with_it() -> None:
    """After kill -9 of the grader its zygote, kernel and strays are gone; the next one wipes the folder."""
    command = [sys.executable, "-I", str(_HARNESS), "wait_to_be_killed"]
    with subprocess.Popen(command, env=_CLEAN, stdout=subprocess.PIPE, text=True) as grader:
        assert grader.stdout is not None
        seen = json.loads(grader.stdout.readline())
        assert len(processes.of_uid(seen["uid"])) == 2
        grader.send_signal(signal.SIGKILL)
        grader.wait()
    deadline = time.monotonic() + 5
    while (left := _left(seen)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert left == []
    assert sweep() >= 1
    assert not Path(f"/tmp/softmark-0/w{seen['uid']}").exists()


def _left(seen: dict[str, Any]) -> list[int]:
    alive = [process.pid for process in processes.of_uid(seen["uid"]) if not process.dead]
    return alive + [pid for pid in seen["pids"] if (process := processes.read(pid)) and not process.dead]


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming a plain user needs root")
@pytest.mark.level_a
def test_a_plain_user_gets_level_c_and_all_layers_but_the_uid() -> None:
    """Without root the run is level C, says why, and still has limits, file rules and the filter; it cleans up."""
    seen = _run("plain_user", user=12345, group=12345, extra_groups=[])
    assert "uid" in seen["refused"]
    assert seen["level"] == "C"
    assert seen["layers"] == ["rlimits", "no_new_privs", "seccomp", "no-network", "landlock"]
    assert (seen["alive"], seen["strays"], seen["processes"]) == ([], 3, 4)
    assert (seen["again"], seen["left"]) == (2, False)


@pytest.mark.level_a
@pytest.mark.slow
def test_whatever_a_cell_started_is_gone_a_second_after_its_limit() -> None:
    """Loops, deaf ones, C code, fork bombs, daemons and threads: one second, the grace period included. A cell that
    heard the interrupt leaves its kernel alive, and nothing else."""
    for name, end in _run("ends").items():
        assert end["status"].startswith("limit:"), (name, end)
        assert end["over"] <= 1.0 * float(os.environ.get("SOFTMARK_PATIENCE", "1")), (name, end)
        assert end["left"] <= (name in ("a loop", "a loop in C")), (name, end)


@pytest.mark.level_a
@pytest.mark.slow
def test_a_kernel_is_quick() -> None:
    """Set-up, start, first reply, kill and wipe stay far below half a second together."""
    seen = _run("speed")
    assert sum(seen.values()) < 500, seen
