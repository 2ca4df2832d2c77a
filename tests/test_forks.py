"""Work in forks: the same results in the same order, errors that arrive, and nobody left behind."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autograder.errors import CourseError
from autograder.forks import Forks


def added(state: list[int], item: int) -> tuple[int, int]:
    """Answers with its process, and changes the state that it was given."""
    state.append(item)
    return os.getpid(), sum(state)


def over(state: int, item: int) -> float:
    return state / item


def die(state: None, item: int) -> int:
    if item == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def sleep(state: None, item: int) -> None:
    time.sleep(600)


@pytest.mark.parametrize("at_once", [1, 3])
def test_forks_answer_in_order_and_keep_their_state_to_themselves(at_once: int) -> None:
    """What a fork does to the state is seen by that fork alone; with one job all is done here."""
    mine = [100]
    with Forks(mine, 2) as forks:
        found = list(forks.map(added, range(9), at_once=at_once))
    assert mine == [100]
    assert os.getpid() not in {pid for pid, _ in found}
    for pid in {pid for pid, _ in found}:
        sums = [total for one, total in found if one == pid]
        assert sums == sorted(sums)
    with Forks(mine) as forks:
        assert list(forks.map(added, [1, 2])) == [(os.getpid(), 101), (os.getpid(), 103)]
    assert mine == [100, 1, 2]


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_of_the_work_arrives(jobs: int) -> None:
    """As what it is, from here and from a fork."""
    with Forks(1, jobs) as forks, pytest.raises(ZeroDivisionError):
        list(forks.map(over, [1, 0]))


def test_a_fork_that_is_killed_is_named() -> None:
    """The kernel may end one when memory is short: the way out is said, and the rest ends too."""
    with pytest.raises(CourseError, match="--jobs: a process was ended from outside"), Forks(None, 2) as forks:
        list(forks.map(die, range(4)))
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_fork_outlives_its_parent(how: signal.Signals) -> None:
    """Whoever stops the parent, or kills it, stops the forks at once, whatever they are at."""
    script = (
        "import os, signal, sys\n"
        "from autograder.forks import Forks\n"
        "from tests.test_forks import sleep\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))\n"
        "with Forks(None, 2) as forks:\n"
        "    answers = forks.map(sleep, range(9))\n"
        "    print(flush=True)\n"
        "    next(answers)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=Path(__file__).parents[1]
    )
    with parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        forks = wait_for_children(parent.pid, 2)
        started = time.monotonic()
        parent.send_signal(how)
        parent.wait(60)
        while any(map(runs, forks)) and time.monotonic() - started < 60:
            time.sleep(0.05)
        assert not any(map(runs, forks))


def wait_for_children(pid: int, number: int) -> list[int]:
    for _ in range(1200):
        found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if len(found) == number:
            return [int(child) for child in found]
        time.sleep(0.05)
    raise AssertionError(f"{number} children did not come")


def runs(pid: int) -> bool:
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
