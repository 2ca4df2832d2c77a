"""A student at a kernel: sends code over the shell channel and reads the value of an expression back."""

from __future__ import annotations

import ast
from typing import Any

import zmq
from jupyter_client.session import Session

from autograder.sandbox import Kernel


class Raised(Exception):
    """The cell raised; the text is the kernel's."""


class Student:
    """Talks to one kernel; use as a context manager."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._session = Session(key=kernel.connection["key"].encode())
        self._context = zmq.Context()
        self._shell = self._context.socket(zmq.DEALER)
        self._shell.linger = 0
        self._shell.connect(f"ipc://{kernel.connection['ip']}-{kernel.connection['shell_port']}")

    def start(self, code: str, value: str = "None") -> None:
        """Send the cell and don't wait."""
        content = {"code": code, "silent": False, "store_history": False, "allow_stdin": False}
        content |= {"user_expressions": {"value": f"repr({value})"}, "stop_on_error": False}
        self._session.send(self._shell, "execute_request", content)

    def finish(self, seconds: float = 20.0) -> Any:
        """The literal value of the expression, once the cell is done."""
        assert self._shell.poll(seconds * 1000), f"no reply within {seconds} s: {self.kernel.raw_output()!r}"
        _, message = self._session.recv(self._shell)
        content = message["content"]
        if content["status"] != "ok":
            raise Raised(f"{content.get('ename')}: {content.get('evalue')}")
        answer = content["user_expressions"]["value"]
        if answer["status"] != "ok":
            raise Raised(f"{answer['ename']}: {answer['evalue']}")
        return ast.literal_eval(ast.literal_eval(answer["data"]["text/plain"]))

    def run(self, code: str, value: str = "None", seconds: float = 20.0) -> Any:
        """Run a cell and give the value of an expression after it. Raises `Raised` as the student's code does."""
        self.start(code, value)
        return self.finish(seconds)

    def __enter__(self) -> Student:
        return self

    def __exit__(self, *_: object) -> None:
        self._shell.close()
        self._context.term()
