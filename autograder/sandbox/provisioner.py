"""Stock Jupyter clients can start our kernels: the sandbox as a kernel provisioner.

`write_kernelspec` makes a kernelspec whose metadata name this provisioner, which the package registers as an entry
point. The spec's `argv` is `false`: a client that does not look at the metadata gets a kernel that dies at once,
never one outside the sandbox.

The kernels of one process share a zygote. The grader gives its own (`ZygoteProvisioner.zygote = …`); elsewhere one
is launched with the first kernel, and lives as long as any kernel does.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any, ClassVar

from jupyter_client.provisioning.provisioner_base import KernelProvisionerBase
from traitlets import Unicode

from autograder.model import Level, Limits
from autograder.sandbox.box import Kernel, Sandbox
from autograder.sandbox.zygote import Zygote

__all__ = ["KERNEL_NAME", "ZygoteProvisioner", "write_kernelspec"]

KERNEL_NAME = "softmark"
_PROVISIONER = "softmark-zygote"


def write_kernelspec(folder: Path, require: Level = Level.C) -> Path:
    """Write `<folder>/softmark/kernel.json`; the folder then goes into Jupyter's search path for kernelspecs."""
    spec = {
        "argv": ["false", "{connection_file}"],
        "display_name": "Python in the Softmark sandbox",
        "language": "python",
        "interrupt_mode": "signal",
        "metadata": {
            "kernel_provisioner": {"provisioner_name": _PROVISIONER, "config": {"require_isolation": str(require)}}
        },
    }
    path = folder / KERNEL_NAME / "kernel.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(spec, indent=1) + "\n")
    return path


class ZygoteProvisioner(KernelProvisionerBase):
    """One kernel in one sandbox. require_isolation: the least level, from the kernelspec's configuration."""

    require_isolation = Unicode("C", config=True)

    #: the process-wide zygote, and whether it was launched here
    zygote: ClassVar[Zygote | None] = None
    _launched: ClassVar[bool] = False
    _in_use: ClassVar[int] = 0

    _sandbox: Sandbox | None = None
    _kernel: Kernel | None = None

    @property
    def has_process(self) -> bool:
        return self._kernel is not None

    async def poll(self) -> int | None:
        """None while it lives, else the exit code, negative for a signal."""
        if self._kernel is None:
            return 0
        status = self._kernel.status()
        return None if status is None else os.waitstatus_to_exitcode(status)

    async def wait(self) -> int | None:
        """Until the zygote has reaped the kernel; no polling."""
        if self._kernel is None:
            return 0
        while (code := await self.poll()) is None:
            await _readable(self._kernel.status_fileno())
        self._forget_kernel()
        return code

    def _forget_kernel(self) -> None:
        if self._kernel is not None:
            self._kernel.close()
        self._kernel = None

    async def send_signal(self, signum: int) -> None:
        if self._kernel is None:
            return
        if signum == signal.SIGINT:
            self._kernel.interrupt()
        elif signum in (signal.SIGTERM, signal.SIGKILL):
            await self.kill()

    async def kill(self, restart: bool = False) -> None:
        """All of the submission's processes, not only the kernel."""
        if self._sandbox is not None:
            self._sandbox.kill()

    async def terminate(self, restart: bool = False) -> None:
        await self.kill(restart)

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> Any:
        """Spawn a kernel; the command of the spec is never run."""
        if self._sandbox is None:
            self._sandbox = Sandbox(self._acquire(), Limits(), require=Level(self.require_isolation))
        else:
            self._sandbox.kill()
        self._kernel = self._sandbox.spawn()
        connection: Any = {**self._kernel.connection, "key": self._kernel.connection["key"].encode()}
        self.connection_info = connection
        return connection

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        return await super().pre_launch(cmd=["false"], **kwargs)

    async def cleanup(self, restart: bool = False) -> None:
        """Kill, wipe and verify, unless the kernel is about to start again."""
        if restart or self._sandbox is None:
            return
        sandbox, self._sandbox = self._sandbox, None
        self._forget_kernel()
        try:
            sandbox.close()
        finally:
            self._release()

    @classmethod
    def _acquire(cls) -> Zygote:
        if ZygoteProvisioner.zygote is None:
            ZygoteProvisioner.zygote, ZygoteProvisioner._launched = Zygote.launch(agent=False), True
        ZygoteProvisioner._in_use += 1
        return ZygoteProvisioner.zygote

    @classmethod
    def _release(cls) -> None:
        ZygoteProvisioner._in_use -= 1
        if ZygoteProvisioner._launched and not ZygoteProvisioner._in_use and ZygoteProvisioner.zygote:
            ZygoteProvisioner.zygote.close()
            ZygoteProvisioner.zygote, ZygoteProvisioner._launched = None, False


async def _readable(descriptor: int) -> None:
    loop, seen = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(descriptor, seen.set)
    try:
        await seen.wait()
    finally:
        loop.remove_reader(descriptor)
