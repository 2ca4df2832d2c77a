"""A stand-in for the student's kernel: a forked process with an event loop, the real agent, and names from a source."""

from __future__ import annotations

import faulthandler
import os
import signal
import socket
import warnings
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
import torch

from autograder.model import Limits, Reason
from autograder.probe.client import ProbeClient

torch.set_num_threads(1)


class Kernel:
    """One forked stand-in; `status` is what a sandbox would tell."""

    def __init__(self, run: Callable[[socket.socket], NoReturn]) -> None:
        self.grader, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid = os.fork()
        if self.pid == 0:
            try:
                self.grader.close()
                run(theirs)
            finally:
                os._exit(9)
        theirs.close()
        self._status: int | None = None

    def status(self) -> int | None:
        if self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._status = status if pid else None
        return self._status

    def client(self, *, watch: Callable[[], Reason | None] = lambda: None, limits: Limits | None = None) -> ProbeClient:
        return ProbeClient(self.grader, limits or Limits(), alive=self.status, watch=watch)

    def close(self) -> None:
        if self.status() is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        self.grader.close()


def run_agent(sock: socket.socket, source: str) -> NoReturn:
    """What the kernel does: define the names of one cell, then serve requests."""
    import asyncio

    from tornado.ioloop import IOLoop

    from autograder.probe.agent import install

    faulthandler.disable()  # pytest's own, which would tell of every planned crash
    warnings.resetwarnings()  # pytest's are errors; a kernel's are not
    warnings.simplefilter("ignore")
    asyncio.set_event_loop(asyncio.new_event_loop())
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source, "/cells/one.py", "exec", dont_inherit=True), names)
    agent = install(sock, SimpleNamespace(kernel=SimpleNamespace(shell=SimpleNamespace(user_ns=names))))
    agent.cells["/cells/one.py"] = "cell-1"
    IOLoop.current().start()
    os._exit(0)


@pytest.fixture
def kernel() -> Iterator[Callable[[str], Kernel]]:
    """`kernel(source)`: a stand-in whose one cell was `source`."""
    started: list[Kernel] = []

    def start(source: str) -> Kernel:
        started.append(Kernel(lambda sock: run_agent(sock, source)))
        return started[-1]

    yield start
    for one in started:
        one.close()


@pytest.fixture
def client(kernel: Callable[[str], Kernel]) -> Callable[[str], ProbeClient]:
    """`client(source)`: a grader's client of such a kernel."""
    return lambda source: kernel(source).client()


@pytest.fixture
def hostile() -> Iterator[Callable[[Callable[[socket.socket], Any]], Kernel]]:
    """`hostile(behaviour)`: a process that has the student's end of the socket, and no agent."""
    started: list[Kernel] = []

    def start(behaviour: Callable[[socket.socket], Any]) -> Kernel:
        def run(sock: socket.socket) -> NoReturn:
            behaviour(sock)
            signal.pause()
            os._exit(0)

        started.append(Kernel(run))
        return started[-1]

    yield start
    for one in started:
        one.close()
