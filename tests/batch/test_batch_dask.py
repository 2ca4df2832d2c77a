"""A real Dask scheduler with two workers on loopback: the same code, the same promise."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_batch_run import essence, results, run

from autograder.batch.executors import open_pool
from autograder.errors import CourseError
from tests.batch.made_class import make, write_folder

pytest.importorskip("distributed")
pytestmark = [pytest.mark.level_a, pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[int]]]:
    """Scheduler and two workers as their own processes, started by exec; address and the workers' pids."""
    environment = {**os.environ, "DASK_DISTRIBUTED__ADMIN__LOW_LEVEL_LOG_LENGTH": "0", "OMP_NUM_THREADS": "1"}
    base = [sys.executable, "-W", "ignore", "-m"]
    common = {"stderr": subprocess.PIPE, "text": True, "env": environment, "cwd": tmp_path}
    scheduler = subprocess.Popen(
        [*base, "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"],
        **common,  # type: ignore[call-overload]
    )
    started = [scheduler]
    try:
        address = _address(scheduler)
        for number in range(2):
            options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--name", f"w{number}", "--memory-limit", "0"]
            started.append(
                subprocess.Popen(
                    [*base, "distributed.cli.dask_worker", address, *options],
                    cwd=tmp_path,
                    env=environment,
                    stderr=subprocess.DEVNULL,
                )
            )
        yield address.replace("tcp://", "dask://"), [worker.pid for worker in started[1:]]
    finally:
        for process in reversed(started):
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
            process.wait()
        assert scheduler.stderr is not None
        scheduler.stderr.close()


def _address(scheduler: subprocess.Popen[str]) -> str:
    """The scheduler says where it listens; afterwards its log is read so that it never blocks."""
    assert scheduler.stderr is not None
    for line in scheduler.stderr:
        if found := re.search(r"Scheduler at:\s*(tcp://\S+)", line):
            threading.Thread(target=lambda: [None for _ in scheduler.stderr or ()], daemon=True).start()
            return found[1]
    raise AssertionError("the scheduler ended")


def test_one_of_two_workers_is_killed_and_every_submission_is_recorded_once(
    cluster: tuple[str, list[int]], tmp_path: Path
) -> None:
    """The class is complete, nothing is set aside for the dead worker, results are those of a local run."""
    address, workers = cluster
    folder = write_folder(tmp_path / "class", make(25))
    done: list[int] = []

    def watch(progress: object) -> None:
        done.append(progress.done)  # type: ignore[attr-defined]
        if len(workers) == 2 and done[-1] >= 6:
            os.kill(workers.pop(), signal.SIGKILL)

    with open_pool(address) as pool:
        deadline = time.monotonic() + 60
        while pool.slots() < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        progress = run(folder, tmp_path / "out", pool, watch=watch)
    assert len(workers) == 1
    assert (progress.done, progress.set_aside) == (25, [])
    with open_pool("local", 2) as pool:
        run(folder, tmp_path / "local", pool)
    far, near = results(tmp_path / "out"), results(tmp_path / "local")
    assert len(far) == 25
    assert {name: essence(one) for name, one in far.items()} == {name: essence(one) for name, one in near.items()}


SBATCH = """#!/bin/sh
# Stands in for Slurm: the job is copied, as Slurm does, and runs here and now.
for script; do :; done
cp "$script" "$0.$$.sh"
setsid sh "$0.$$.sh" >> "$0.log" 2>&1 &
echo $! >> "$0.pids"
echo "Submitted batch job $!"
"""


@pytest.mark.filterwarnings("ignore")  # the scheduler lives in this process, and its warnings are not ours
def test_jobs_that_slurm_would_start_grade_a_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in for `sbatch` that starts the job script at once: two jobs come up, the results are those of a
    local run, and no worker stays when the run ends."""
    pytest.importorskip("dask_jobqueue")
    for name, text in (("sbatch", SBATCH), ("scancel", "#!/bin/sh\nkill -- -$1 2>/dev/null; exit 0\n")):
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    import dask
    import dask_jobqueue  # noqa: F401  its defaults come first

    slurm = {
        "cores": 1,
        "processes": 1,
        "memory": "2GB",
        "scheduler-options": {"host": "127.0.0.1", "dashboard": False},
    }
    folder = write_folder(tmp_path / "class", make(6))
    settings = {"jobqueue.slurm": {**dask.config.get("jobqueue.slurm"), **slurm}}
    with dask.config.set(settings), open_pool("slurm", 2) as pool:
        progress = run(folder, tmp_path / "out", pool)
    assert (progress.done, progress.set_aside) == (6, [])
    jobs = [int(line) for line in (tmp_path / "bin/sbatch.pids").read_text().split()]
    assert len(jobs) == 2
    with open_pool("local", 2) as pool:
        run(folder, tmp_path / "local", pool)
    far, near = results(tmp_path / "out"), results(tmp_path / "local")
    assert {name: essence(one) for name, one in far.items()} == {name: essence(one) for name, one in near.items()}
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{job}").exists() for job in jobs) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not any(Path(f"/proc/{job}").exists() for job in jobs)


def test_without_slurm_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing takes jobs, nobody waits for workers that never come."""
    pytest.importorskip("dask_jobqueue")
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(CourseError, match="no `sbatch` here"), open_pool("slurm"):
        pass
