"""Where grading happens, behind `concurrent.futures.Executor`: here, on a Dask cluster, or through Slurm.

There is no scheduler of our own. Locally a pool of threads waits for as many grader processes; the threads do next to
nothing, so they are no bottleneck, and a grader process that dies takes nothing with it. On an existing Dask cluster
the same function runs in Dask's workers, and Dask starts a task anew when a worker dies. Slurm is Dask again, with
workers that `dask-jobqueue` asks Slurm for.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from autograder.batch import work
from autograder.errors import CourseError
from autograder.forks import cores

__all__ = ["Pool", "open_pool"]

#: A task is given up after more deaths of workers than this, on clusters that we start.
_ALLOWED_DEATHS = 1


@dataclass(frozen=True)
class Pool:
    """An executor, and how many submissions it grades at the same time (asked anew, since clusters grow)."""

    executor: Executor
    slots: Callable[[], int]
    name: str


@contextmanager
def open_pool(where: str = "local", jobs: int | None = None) -> Iterator[Pool]:
    """Open the executor that `where` names: `local`, `dask://HOST:PORT` (or `tcp://`, `tls://`), or `slurm`.

    jobs: grader processes here, or workers to ask Slurm for; None is one a core here. Raises CourseError.
    """
    if where == "local":
        with _local(jobs or cores()) as pool:
            yield pool
    elif where.startswith(("dask://", "tcp://", "tls://")):
        with _dask(where.replace("dask://", "tcp://", 1)) as pool:
            yield pool
    elif where == "slurm":
        with _slurm(jobs or 4) as pool:
            yield pool
    else:
        raise CourseError(f"{where!r} is no executor: local, dask://HOST:PORT or slurm", key="--executor")


@contextmanager
def _local(jobs: int) -> Iterator[Pool]:
    executor = ThreadPoolExecutor(jobs, thread_name_prefix="grader")
    try:
        yield Pool(executor, lambda: jobs, f"{jobs} grader process{'es' if jobs != 1 else ''} here")
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        work.stop_all()
        executor.shutdown(wait=True)


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise CourseError("this needs Dask: install softmark[cluster] on all machines", key="--executor") from None
    return distributed


@contextmanager
def _dask(address: str) -> Iterator[Pool]:
    distributed = _distributed()
    try:
        client = distributed.Client(address, timeout=10, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise CourseError(f"no Dask scheduler answers at {address}: {error}", key="--executor") from error
    with _client(client) as pool:
        yield pool


@contextmanager
def _slurm(jobs: int) -> Iterator[Pool]:
    distributed = _distributed()
    try:
        import dask
        from dask_jobqueue import SLURMCluster  # type: ignore[attr-defined, unused-ignore]
    except ImportError:
        raise CourseError("this needs dask-jobqueue: install softmark[cluster]", key="--executor") from None
    if shutil.which("sbatch") is None:
        raise CourseError("there is no `sbatch` here: start this where Slurm takes jobs", key="--executor")
    with dask.config.set({"distributed.scheduler.allowed-failures": _ALLOWED_DEATHS}):
        try:
            cluster: Any = SLURMCluster()  # partition, account, walltime: from dask-jobqueue's own configuration file
        except (ValueError, TypeError) as error:
            raise CourseError(f"the section jobqueue.slurm of Dask's configuration: {error}") from error
        with cluster:
            cluster.scale(jobs)
            with _client(distributed.Client(cluster, set_as_default=False)) as pool:
                yield pool


@contextmanager
def _client(client: Any) -> Iterator[Pool]:
    """A connected client as a pool; afterwards the grader processes on the workers are ended."""
    try:
        executor = client.get_executor(pure=False)

        def slots() -> int:
            return max(1, sum(int(threads) for threads in client.nthreads().values()))

        yield Pool(executor, slots, f"Dask at {client.scheduler.address}")
    finally:
        with suppress(Exception):  # the cluster may be gone already
            client.run(work.stop_all, on_error="ignore")
        client.close(timeout=5)
