"""ipykernel's application, for a process that was forked and locked down: no files, no network.

The connection comes as a value, not as a file. Output of processes that student code forks reaches the kernel over
a path socket; the stock thread would look up a TCP address, which the filter refuses.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import logging
import os
import signal
import socket
import sys
import threading
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import zmq
from ipykernel import iostream, ipkernel
from ipykernel.compiler import XCachingCompiler, get_tmp_directory
from ipykernel.iostream import IOPubThread
from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelapp import IPKernelApp
from traitlets import DottedObjectName, Type
from traitlets.config import Config
from zmq.eventloop.zmqstream import ZMQStream

from autograder.sandbox import colab

__all__ = ["Install", "SandboxedKernelApp", "preload", "run", "warm_up"]

#: what installs the agent in the kernel: `install(its end of the socketpair, the application)`
Install = Callable[[socket.socket, Any], object]


#: names of the modules that every kernel begins with; to list them there would copy the pages of 2,000 names
_PRESENT: set[str] = set()
#: of each end of a long traceback
_FRAMES = 8
#: what a kernel would import at its start, or for the first cell
_MODULES = (
    "IPython.core.completer",
    "IPython.core.completerlib",
    "IPython.core.debugger",
    "IPython.core.magics",
    "IPython.core.oinspect",
    "IPython.extensions.storemagic",
    "IPython.utils.wildcard",
    "faulthandler",
    "ipykernel.displayhook",
    "ipykernel.ipkernel",
    "ipykernel.zmqshell",
    "tornado.platform.asyncio",
    "tornado.queues",
)


def preload() -> None:
    """Import what kernels import at their start, without the debugger, which takes longer than all the rest."""
    present = sys.modules.pop("debugpy", None)
    sys.modules["debugpy"] = None  # type: ignore[assignment]
    try:
        importlib.import_module("ipykernel.debugger")
    finally:
        del sys.modules["debugpy"]
        if present is not None:
            sys.modules["debugpy"] = present
    for name in _MODULES:
        importlib.import_module(name)


def warm_up(*, for_many: bool) -> None:
    """Pay once, in the zygote, for what the first use in each kernel would cost: a figure, and a traceback.

    The first figure looks for the machine's fonts; the first traceback of a process compiles the highlighter.
    for_many: several hand-ins will come, so that what a right one doesn't need is worth its time, too.
    """
    if for_many:
        _raise_once()
    os.environ["MPLBACKEND"] = "Agg"
    with contextlib.suppress(ImportError):  # notebooks may use it where it is installed
        from matplotlib import pyplot

        pyplot.switch_backend("Agg")
        if for_many:
            pyplot.close(pyplot.subplots()[0])
    _PRESENT.update(sys.modules)


def _raise_once() -> None:
    from IPython.core.ultratb import AutoFormattedTB

    formatter: Any = AutoFormattedTB(mode="Context", tb_offset=0)  # type: ignore[no-untyped-call]
    try:
        exec(compile("1 / 0", "<warm-up>", "exec"), {})
    except ZeroDivisionError:
        formatter.structured_traceback(*sys.exc_info())


class _PathIOPubThread(IOPubThread):
    """Receives the output of forked children over `ipc` at this address."""

    def __init__(self, pub_socket: Any, address: str, session: Any) -> None:
        self._address = address
        super().__init__(pub_socket, pipe=True, session=session)  # type: ignore[no-untyped-call]

    def _setup_pipe_in(self) -> None:
        self._pipe_uuid = os.urandom(16)
        pipe = self.socket.context.socket(zmq.PULL)
        pipe.linger = 0
        pipe.bind(self._address)
        self._pipe_in = ZMQStream(pipe, self.io_loop)
        self._pipe_in.on_recv(self._handle_pipe_msg)

    def _setup_pipe_out(self) -> tuple[zmq.Context[Any], Any]:
        context: zmq.Context[Any] = zmq.Context()  # a fork can't use its parent's
        pipe = context.socket(zmq.PUSH)
        pipe.linger = 3000
        pipe.connect(self._address)
        return context, pipe


class OutStream(iostream.OutStream):
    """Standard output as messages. Under the stock class's name, which libraries look for."""

    def flush(self) -> None:
        """Twice a cell, and mostly nothing waits: then the other thread need not wake and answer."""
        if self._buffers:
            super().flush()  # type: ignore[no-untyped-call]


class _NoShellThread:
    """Stands where the thread of the shell channel would be, which `await` in a cell asks for its parent."""

    parent_thread = threading.main_thread()

    def __bool__(self) -> bool:
        return False


class _Compiler(XCachingCompiler):
    """Names cells for tracebacks as the stock class does, by a checksum that is not computed in Python byte by byte."""

    #: a cell, the flags that it was parsed under, and its tree, until it is asked for
    parsed: tuple[str, int, ast.AST] | None = None

    def get_code_name(self, raw_code: str, code: str, number: int) -> str:
        return f"{get_tmp_directory()}/{zlib.crc32(raw_code.encode())}.py"

    def ast_parse(self, source: str, filename: str = "<unknown>", symbol: str = "exec") -> Any:
        kept, self.parsed = self.parsed, None
        if kept is not None and kept[:2] == (source, self.flags) and symbol == "exec":
            return kept[2]
        return super().ast_parse(source, filename, symbol)

    def is_plain(self, source: str) -> bool:
        """Whether it is Python as it stands, and draws no warning: then the tree is kept for who asks for it next."""
        try:
            with warnings.catch_warnings(record=True) as drawn:  # an error would reach threads of the student's, too
                warnings.simplefilter("always")
                tree = super().ast_parse(source)
        except Exception:  # whatever it is will be told when the cell runs
            return False
        if not drawn:
            self.parsed = source, self.flags, tree
        return not drawn


class _Kernel(IPythonKernel):
    """A kernel without subshells, which an interrupt wakes while it awaits something."""

    compiler_class = Type(_Compiler)

    def __init__(self, **more: Any) -> None:
        """Without a list of all modules' files, for a debugger that isn't there.

        To look at a module writes its reference count, which copies its page: a quarter of a kernel's page faults.
        """
        whole: Any = ipkernel
        stock, whole.sys = whole.sys, SimpleNamespace(modules={})
        try:
            super().__init__(**more)  # type: ignore[no-untyped-call]
        finally:
            whole.sys = stock

    @property
    def _supports_kernel_subshells(self) -> bool:
        return False

    def _publish_execute_input(self, *_: Any) -> None:
        """Not told: the grader knows what it sent."""

    def _publish_status(self, status: str, *more: Any, **named: Any) -> None:
        """The end of a request is told, and not its beginning: nobody waits for that."""
        if status != "busy":
            super()._publish_status(status, *more, **named)  # type: ignore[no-untyped-call]

    @contextlib.contextmanager
    def _cancel_on_sigint(self, future: Any) -> Iterator[None]:
        """The stock handler's callback waits for the next event, which may never come: make one."""
        with super()._cancel_on_sigint(future):
            stock: Any = signal.getsignal(signal.SIGINT)
            loop: Any = self.io_loop

            def cancel(*arguments: Any) -> None:
                stock(*arguments)
                loop.asyncio_loop.call_soon_threadsafe(lambda: None)

            signal.signal(signal.SIGINT, cancel)
            yield


class SandboxedKernelApp(IPKernelApp):
    """A kernel whose connection is given and never written down.

    connection: as in a Jupyter connection file, transport `ipc` · when_listening: called once all sockets are bound.
    """

    kernel_class = Type(_Kernel)
    outstream_class = DottedObjectName(f"{__name__}.OutStream")
    connection: Mapping[str, Any] = {}
    when_listening: Callable[[], None] = staticmethod(lambda: None)

    def parse_command_line(self, argv: Any = None) -> None:
        """There is none."""

    def _configure_logging(self) -> None:
        """One handler. The stock way, `dictConfig`, touches the loggers of all packages, which copies their pages."""
        log = logging.getLogger(type(self).__name__)
        log.setLevel(int(self.log_level))  # type: ignore[call-overload]
        log.addHandler(logging.StreamHandler())
        self._logging_configured = True

    def load_config_file(self, *arguments: Any, **more: Any) -> None:
        """None is read: neither the machine's nor one that a student made."""

    def init_path(self) -> None:
        """The student's folder comes last, so that a file named after a module shadows nothing."""
        here = ("", str(Path.cwd()))
        sys.path[:] = [*(entry for entry in sys.path if entry not in here), ""]

    def init_code(self) -> None:
        """There is none to run at the start; what the shell has by itself is no variable of the student's."""
        shell: Any = self.shell
        shell.user_ns_hidden.update(shell.user_ns)
        shell._sys_modules_keys = _PRESENT

    def init_connection_file(self) -> None:
        load: Callable[[Any], None] = self.load_connection_info
        load(dict(self.connection))

    def write_connection_file(self, **kwargs: Any) -> None:
        self.when_listening()

    def log_connection_info(self) -> None:
        self._ports = {name: self.connection[f"{name}_port"] for name in ("shell", "iopub", "stdin", "hb", "control")}

    def init_control(self, context: Any) -> None:
        """Without subshells: a thread between the socket and the cells, and a hop through it for every message."""
        super().init_control(context)  # type: ignore[no-untyped-call]
        self.shell_channel_thread.io_loop.close()
        self.shell_channel_thread = None

    def init_heartbeat(self) -> None:
        """None: the zygote knows when a kernel dies."""

    def init_iopub(self, context: Any) -> None:
        self.iopub_socket = context.socket(zmq.XPUB)
        self.iopub_socket.linger = 1000
        self.iopub_port = self._bind_socket(self.iopub_socket, self.iopub_port)  # type: ignore[no-untyped-call]
        self.configure_tornado_logger()  # type: ignore[no-untyped-call]
        self.iopub_thread = _PathIOPubThread(self.iopub_socket, f"ipc://{self.ip}-io", self.session)
        self.iopub_thread.start()  # type: ignore[no-untyped-call]
        self.iopub_socket = self.iopub_thread.background_socket


def _reset(_line: str) -> None:
    """`%reset` at the top of a notebook would take the course's own cell along, which runs before everything."""
    sys.stdout.write("%reset is left out while a notebook is graded\n")


def _read_cells_once(shell: Any) -> None:
    """A cell is transformed twice, token by token, and compiled twice more, to see whether it awaits something.

    That is a third of its cost. What is Python already holds nothing to transform.
    """
    transform, compiles_to_coroutine = shell.transform_cell, shell.should_run_async
    manager = shell.input_transformer_manager
    by_tokens, stock = manager.do_token_transforms, list(manager.token_transformers)
    known: dict[str, str] = {}

    def do_token_transforms(lines: list[str]) -> list[str]:
        plain = manager.token_transformers == stock and shell.compile.is_plain("".join(lines))
        return lines if plain else list(by_tokens(lines))

    def transform_cell(source: str) -> str:
        if source in known:
            return known.pop(source)
        known.clear()
        known[source] = transform(source)
        return known[source]

    def should_run_async(source: str, *, transformed_cell: str | None = None, **more: Any) -> bool:
        code = transformed_cell or source
        if "async" not in code and "await" not in code:
            return False
        known.clear()  # run at once, without a second look
        return bool(compiles_to_coroutine(source, transformed_cell=transformed_cell, **more))

    manager.do_token_transforms = do_token_transforms
    shell.transform_cell, shell.should_run_async = transform_cell, should_run_async


def _short_traceback(shell: Any, kind: Any, value: Any, trace: Any, tb_offset: int | None = None) -> Any:
    """Endless recursion without its thousand frames, whose formatting takes longer than the recursion."""
    frames = []
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    if len(frames) > 2 * _FRAMES:
        frames[_FRAMES - 1].tb_next = frames[-_FRAMES]
    value = value.with_traceback(frames[0] if frames else None)
    return shell.showtraceback((kind, value, value.__traceback__), tb_offset=tb_offset)


def run(
    connection: Mapping[str, Any],
    probe: socket.socket | None,
    install: Install | None,
    when_listening: Callable[[], None],
) -> None:
    """Serve the kernel until it is asked to shut down. History is off: nothing of a call is kept in a database."""
    app: Any = SandboxedKernelApp.instance(config=Config({"HistoryManager": {"enabled": False}}))
    app.connection, app.when_listening = connection, when_listening
    colab.install()
    app.initialize([])
    app.kernel.shell_channel_thread = _NoShellThread()
    # By default `exit()` and `quit()` stop the kernel a tenth of a second later, in the middle of whatever runs then.
    app.shell.ask_exit = lambda: sys.stdout.write("exit() does not end the notebook while it is graded\n")
    app.shell.register_magic_function(_reset, "line", "reset")
    app.shell.set_custom_exc((RecursionError,), _short_traceback)
    _read_cells_once(app.shell)
    if probe is not None and install is not None:
        install(probe, app)
    app.start()
    app.close()
