"""Stock Jupyter clients start kernels through the sandbox, and never outside it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client import KernelManager
from jupyter_client.kernelspec import KernelSpecManager

from autograder.model import Level
from autograder.sandbox import Zygote, processes
from autograder.sandbox.provisioner import KERNEL_NAME, ZygoteProvisioner, write_kernelspec

pytestmark = [pytest.mark.level_a, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


@pytest.fixture
def manager(tmp_path: Path, shared_zygote: Zygote) -> Iterator[KernelManager]:
    """A stock manager that finds our kernelspec."""
    write_kernelspec(tmp_path, Level.A)
    specs = KernelSpecManager(kernel_dirs=[str(tmp_path)])
    ZygoteProvisioner.zygote = shared_zygote
    manager = KernelManager(
        kernel_name=KERNEL_NAME,
        kernel_spec_manager=specs,
        transport="ipc",
        connection_file=str(tmp_path / "connection.json"),
    )
    yield manager
    if manager.has_kernel:
        manager.shutdown_kernel(now=True)
    manager.context.destroy(linger=0)
    ZygoteProvisioner.zygote = None


def _execute(manager: KernelManager, code: str) -> list[dict[str, Any]]:
    """The contents of the messages that a cell published."""
    client, seen = manager.client(), list[dict[str, Any]]()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=30)
        reply = client.execute_interactive(
            code, output_hook=lambda message: seen.append(message["content"]), timeout=30
        )
        assert reply["content"]["status"] == "ok"
    finally:
        client.stop_channels()
    return seen


def _text(contents: list[dict[str, Any]]) -> str:
    return "".join(content.get("text", "") for content in contents)


def test_a_stock_manager_starts_runs_and_shuts_down(manager: KernelManager) -> None:
    """`1 + 1` is 2, under a uid of the sandbox's, and the uid is clean afterwards."""
    manager.start_kernel()
    assert manager.is_alive()
    contents = _execute(manager, "1 + 1")
    assert {"text/plain": "2"} in [content.get("data") for content in contents]
    uid = int(_text(_execute(manager, "import os; print(os.getuid())")))
    assert 20_000 <= uid < 40_000
    manager.shutdown_kernel()
    assert processes.of_uid(uid) == []


def test_output_of_forked_children_arrives(manager: KernelManager) -> None:
    """What a child of the kernel prints reaches the client without a network socket."""
    manager.start_kernel()
    code = """
import os, time
if os.fork() == 0:
    print("from the child", flush=True)
    os._exit(0)
os.wait()
time.sleep(0.2)
"""
    assert "from the child" in _text(_execute(manager, code))


def test_a_restart_gives_a_fresh_kernel(manager: KernelManager) -> None:
    """After a restart names and files of before are gone."""
    manager.start_kernel()
    _execute(manager, "x = 1; open('left', 'w').close()")
    manager.restart_kernel(now=True)
    assert _text(_execute(manager, "import os; print('x' in globals(), os.listdir('.'))")).strip() == "False []"


def test_a_client_that_ignores_the_provisioner_gets_no_kernel(tmp_path: Path) -> None:
    """The spec's command runs nothing, so no notebook can slip out of the sandbox."""
    spec = json.loads(write_kernelspec(tmp_path).read_text())
    assert spec["argv"][0] == "false"
    assert spec["metadata"]["kernel_provisioner"]["provisioner_name"] == "softmark-zygote"
