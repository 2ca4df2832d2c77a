"""A session over a trusted namespace in this process: for validation sweeps, tests and authors.

It answers like the student's kernel does (same evaluator, same copying to plain data, and what the wire refuses is
refused), without a kernel and without isolation. A call that doesn't end is stopped by the process's alarm, in the main
thread only.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from autograder.checks import clock
from autograder.errors import Interrupted
from autograder.model import Definition, Reply, ReplyKind, Value
from autograder.plan import Plan
from autograder.probe.evaluate import NotDefined, StudentRaised, check, run
from autograder.probe.plain import plain
from autograder.probe.rules import Unsendable
from autograder.probe.wire import encode
from autograder.probe.words import exception_name, type_name

__all__ = ["LocalSession", "answer"]

Serve = Mapping[str, Callable[..., Value]]
_UNSENDABLE = {"not-plain": ReplyKind.NOT_PLAIN, "too-big": ReplyKind.TOO_BIG}


def answer(plan: Plan, namespace: Mapping[str, Any], serve: Serve | None = None) -> Reply:
    """Carry out one plan over trusted code. CourseError, Expired and KeyboardInterrupt pass through."""
    serve = serve or {}
    counts = dict.fromkeys(serve, 0)
    check(plan, serve)
    try:
        result = run(plan, namespace, _counted(serve, counts), snapshot=plain)
    except NotDefined as missing:
        return Reply(ReplyKind.NOT_DEFINED, name=missing.name, step=missing.step)
    except StudentRaised as raised:
        if isinstance(raised.exc, clock.Expired | KeyboardInterrupt | GiveUp | Interrupted):
            raise raised.exc from None
        return _raised(raised)
    except Unsendable as refused:
        return Reply(_UNSENDABLE[refused.kind], name=type_name(refused.what))
    called = {name: count for name, count in counts.items() if count}
    return Reply(ReplyKind.VALUE, value=result.value, changed_inputs=result.changed_inputs, calls=called)


class GiveUp(BaseException):
    """Raised by a callable that a reference was handed, to stop its evaluation for good."""


def _counted(serve: Serve, counts: dict[str, int]) -> Serve:
    def counting(name: str) -> Callable[..., Value]:
        def call(*args: Any, **kwargs: Any) -> Value:
            counts[name] += 1
            return serve[name](*args, **kwargs)

        return call

    return {name: counting(name) for name in serve}


def _raised(raised: StudentRaised) -> Reply:
    function, line = None, None
    trace = raised.exc.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if "/autograder/" not in code.co_filename and "/torch/" not in code.co_filename:
            function, line = code.co_qualname, trace.tb_lineno
        trace = trace.tb_next
    return Reply(
        ReplyKind.RAISED,
        name=exception_name(type(raised.exc).__name__),
        message=str(raised.exc)[:500],
        function=function,
        line=line,
        step=raised.step,
    )


def _sent(reply: Reply) -> Reply:
    """The reply, if its value could be sent: else a sweep would accept what a hand-in is refused for."""
    try:
        encode(reply.value)
    except Unsendable as refused:
        return Reply(_UNSENDABLE[refused.kind], name=type_name(refused.what))
    return reply


class LocalSession:
    """The `Session` protocol over a namespace. seconds: until the pretended deadline."""

    def __init__(self, namespace: Mapping[str, Any], *, seconds: float = 3600.0) -> None:
        self.namespace = namespace
        self.restarts = 0
        self._deadline = time.monotonic() + seconds

    def call(
        self,
        plans: Sequence[Plan],
        *,
        seconds: float,
        served: Serve | None = None,
        forked: bool = True,
        shared: bool = False,
    ) -> list[Reply]:
        replies: list[Reply] = []
        for plan in plans:
            try:
                with clock.limit(seconds):
                    replies.append(_sent(answer(plan, self.namespace, served)))
            except clock.Expired:
                replies.append(Reply(ReplyKind.TIME, step=0, seconds=seconds))
                break
        return replies + [Reply(ReplyKind.TIME)] * (len(plans) - len(replies))

    def part(self) -> None:
        """There is no child here."""

    def restart(self) -> None:
        self.restarts += 1

    def describe(self, names: Sequence[str]) -> dict[str, Definition]:
        wanted = names or [n for n, v in self.namespace.items() if callable(v) and not n.startswith("_")]
        return {name: self._describe(name) for name in wanted}

    def _describe(self, name: str) -> Definition:
        if name not in self.namespace:
            return Definition(name, "missing")
        value = self.namespace[name]
        kind = "class" if isinstance(value, type) else "function" if callable(value) else "value"
        try:
            signature = str(inspect.signature(value)) if callable(value) else None
        except (TypeError, ValueError):
            signature = None
        return Definition(name, kind, signature)

    @property
    def seconds_left(self) -> float:
        return self._deadline - time.monotonic()
