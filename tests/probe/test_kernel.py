"""The agent inside a real IPython kernel: cell ids, lines, output, and the event loop that serves both sides."""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from autograder.model import Limits, ReplyKind
from autograder.plan import call
from autograder.probe.client import ProbeClient

SCRIPT = """
import sys
import torch
from ipykernel.kernelapp import IPKernelApp
app = IPKernelApp.instance(connection_file=sys.argv[2], transport="ipc", ip=sys.argv[2] + "-ipc")
app.initialize([])
from autograder.probe.agent import install
install(int(sys.argv[1]), app)
app.start()
"""
CELLS = {
    "cell-a": "import torch\ndef softmax(x):\n    return x.softmax(-1)",
    "cell-b": """
import sys, logging
logging.basicConfig(stream=sys.stdout)
from IPython.display import display
def loud(x):
    print("hidden", x)
    logging.error("hidden")
    display({"text/plain": "hidden"}, raw=True)
    return 1
class GPT:
    def forward(self): return 1
""",
    "cell-c": "# the same cell\ndef broken(x):\n    y = x\n    return y / 0",
}


class Notebook:
    """A kernel process, its channels and its probe."""

    def __init__(self, folder: Path) -> None:
        from jupyter_client.blocking import BlockingKernelClient

        mine, theirs = socket.socketpair()
        file = folder / "connection.json"
        self.process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(theirs.fileno()), str(file)],
            pass_fds=[theirs.fileno()],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "OMP_NUM_THREADS": "1", "IPYTHONDIR": str(folder)},
        )
        theirs.close()
        self.probe = ProbeClient(mine, Limits(), alive=self.process.poll)
        self.sock = mine
        while not file.exists() or not file.read_text().endswith("}"):
            assert self.process.poll() is None, "the kernel did not start"
            time.sleep(0.02)
        self.channels: Any = BlockingKernelClient(connection_file=str(file))
        self.channels.load_connection_file()
        self.channels.start_channels()
        self.channels.wait_for_ready(timeout=30)

    def run(self, code: str, cell_id: str) -> str:
        content = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": False,
        }
        message = self.channels.session.msg("execute_request", content, metadata={"cellId": cell_id})
        self.channels.shell_channel.send(message)
        while True:
            reply = self.channels.get_shell_msg(timeout=20)
            if reply["parent_header"].get("msg_id") == message["header"]["msg_id"]:
                return str(reply["content"]["status"])

    def shown(self) -> str:
        """All that the kernel has published so far."""
        texts = []
        with contextlib.suppress(queue.Empty):
            while True:
                texts.append(str(self.channels.get_iopub_msg(timeout=0.4)["content"]))
        return "".join(texts)

    def close(self) -> None:
        self.channels.stop_channels()
        self.process.kill()
        self.process.wait()
        self.sock.close()


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    one = Notebook(tmp_path_factory.mktemp("k"))
    for cell_id, source in CELLS.items():
        assert one.run(source, cell_id) == "ok"
    yield one
    one.close()


def test_calls_are_answered_between_cells(notebook: Notebook) -> None:
    """The kernel serves cells and hidden calls in turn from one event loop."""
    x = torch.randn(3, 4)
    for _ in range(2):
        [reply] = notebook.probe.call([call("softmax", x)], seconds=10)
        assert torch.equal(reply.value, x.softmax(-1))
        assert notebook.run("n = 1", "cell-d") == "ok"


def test_an_exception_is_told_by_its_cell_and_line(notebook: Notebook) -> None:
    """Lines are counted in the cell, and the cell is named by its id."""
    [reply] = notebook.probe.call([call("broken", 1)], seconds=10)
    assert (reply.name, reply.function, reply.line, reply.cell) == ("ZeroDivisionError", "broken", 4, "cell-c")


def test_definitions_are_told_with_their_cells(notebook: Notebook) -> None:
    """All names of the notebook, none of IPython's."""
    found = notebook.probe.describe()
    cells = {name: d.cell for name, d in found.items() if d.kind in ("function", "class")}
    assert {"softmax": "cell-a", "loud": "cell-b", "GPT": "cell-b", "broken": "cell-c"}.items() <= cells.items()
    assert not {"In", "Out", "get_ipython", "exit", "quit", "torch", "open"} & set(found)


@pytest.mark.parametrize("forked", [True, False])
def test_nothing_that_a_hidden_call_shows_gets_out(notebook: Notebook, forked: bool) -> None:
    """Prints, log records and displays of a hidden call reach no channel; those of later cells do."""
    notebook.shown()
    [reply] = notebook.probe.call([call("loud", 3)], seconds=10, forked=forked)
    assert reply.value == 1
    assert "hidden" not in notebook.shown()
    assert notebook.run("print('loud and ' + 'clear')", "cell-e") == "ok"
    assert "loud and clear" in notebook.shown()


def test_a_crash_in_a_call_leaves_the_kernel_as_it_was(notebook: Notebook) -> None:
    """A segmentation fault in a call is that call's own; cells go on."""
    assert notebook.run("def crash():\n    import ctypes\n    ctypes.string_at(0)", "cell-f") == "ok"
    [reply] = notebook.probe.call([call("crash")], seconds=10)
    assert (reply.kind, reply.signal) == (ReplyKind.DIED, 11)
    assert notebook.run("softmax(torch.ones(2))", "cell-g") == "ok"
    assert not notebook.probe.broken
