"""The line to the student's kernel: batches, broken batches, confirmation, the deadline.

All calls of a question travel as one batch, and questions share one forked child: a fork is most of what a batch
costs. Whether an answer of a child that had served other questions is the last word is for the runner to say: a pass
is, anything else is asked for again in a child of the question's own, so that no question pays for what the calls of
another left behind. When the child is killed or dies, checks that had no answer yet go over again, each in a child of
its own. A hang or a crash is held against the student only after the
same check failed again in a replayed kernel, unforked: fork itself can be what hangs. After two confirmed time-outs
of one function its other checks are not tried any more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from autograder.checks import clock
from autograder.checks.desk import Record
from autograder.model import Reply, ReplyKind, Session, Value
from autograder.plan import Plan

__all__ = ["BROKEN", "DEADLINE", "GAVE_UP", "Line"]

Served = Mapping[str, Callable[..., Value]]

#: Kinds of replies after which the child is gone.
BROKEN = frozenset(
    {
        ReplyKind.TIME,
        ReplyKind.MEMORY,
        ReplyKind.PROCESSES,
        ReplyKind.DISK,
        ReplyKind.DIED,
        ReplyKind.PROTOCOL,
    }
)
DEADLINE = Reply(ReplyKind.TIME, message="the run's deadline came first")
GAVE_UP = Reply(ReplyKind.TIME, message="two calls of this function did not end")
_TIMEOUTS = 2
_LEAST_SECONDS = 0.25


class Line:
    """One submission's line. call_seconds: limit of one plan."""

    def __init__(self, session: Session, call_seconds: float) -> None:
        self.session, self.call_seconds = session, call_seconds
        self.timeouts: Counter[str] = Counter()
        self.journeys = 0
        self.final = True  # the last question's answers came from processes that served no other question
        self._stale = False  # an unforked call may have left traces in the kernel
        self._used = False  # the shared child, if there is one, has served a question

    def part(self) -> None:
        """The next question gets a child of its own."""
        self.session.part()
        self._used = False

    def start_anew(self) -> None:
        """The next question gets a fresh kernel, in which nothing was asked before."""
        self._stale, self._used = True, False

    def question(self, checks: Sequence[tuple[Sequence[Record], Served]]) -> None:
        """Fetch the answers to all records, those of one check after the other; `final` tells what they are worth."""
        self.final = not self._used
        records = [record for some, _ in checks for record in some]
        served = {name: function for _, some in checks for name, function in some.items()}
        if not records:
            return
        replies = iter(self._send([r.plan for r in records], served, shared=True))
        answers = [[next(replies) for _ in some] for some, _ in checks]
        struck = next((i for i, some in enumerate(answers) if any(r.kind in BROKEN for r in some)), None)
        for place, (some, own) in enumerate(checks):
            if struck is not None and (place >= struck or not self.final):
                answers[place] = self.ask(some, own, broke=place == struck)
            for record, reply in zip(some, answers[place], strict=True):
                record.reply = reply
        self.final = self.final or struck is not None

    def ask(self, records: Sequence[Record], served: Served, broke: bool = False) -> list[Reply]:
        """One check in a child of its own, then confirmed. broke: it broke a child already."""
        plans = [record.plan for record in records]
        if any(self.timeouts[plan.function] >= _TIMEOUTS for plan in plans):
            return [GAVE_UP] * len(plans)
        if not broke:
            replies = self._send(plans, served)
            if not any(reply.kind in BROKEN for reply in replies) or DEADLINE in replies:
                return replies
            if self._hangs_again(plans, replies):
                return replies
        return self._confirm(plans, served)

    def _hangs_again(self, plans: Sequence[Plan], replies: Sequence[Reply]) -> bool:
        """A function that was seen to hang without a fork needs no second proof: a hang costs a few limits."""
        for plan, reply in zip(plans, replies, strict=True):
            if reply.kind is ReplyKind.TIME and reply.step is not None and self.timeouts[plan.function]:
                self.timeouts[plan.function] += 1
                self._stale = True
                return True
        return False

    def _confirm(self, plans: Sequence[Plan], served: Served) -> list[Reply]:
        """The same in a fresh kernel without a fork."""
        self._stale = True
        replies = self._send(plans, served, forked=False)
        self._stale = True
        for plan, reply in zip(plans, replies, strict=True):
            if reply.kind is ReplyKind.TIME and reply is not DEADLINE and reply.step is not None:
                self.timeouts[plan.function] += 1
        return replies

    def _send(self, plans: Sequence[Plan], served: Served, *, forked: bool = True, shared: bool = False) -> list[Reply]:
        left = self.session.seconds_left
        if left < _LEAST_SECONDS:
            return [DEADLINE] * len(plans)
        with clock.paused():
            if self._stale:
                self.session.restart()
                self._stale = False
            seconds = min(self.call_seconds, max(self.session.seconds_left, _LEAST_SECONDS))
            replies = self.session.call(plans, seconds=seconds, served=served, forked=forked, shared=shared)
        self.journeys += 1
        self._used = shared
        return _without_deadline(replies, cut=seconds < self.call_seconds)

    def probe(self, plan: Plan) -> Reply:
        """One call of a student's function on behalf of the reference; never confirmed."""
        reply = self._send([plan], {}, shared=True)[0]  # there may be hundreds
        self._stale = self._stale or (reply.kind in BROKEN and reply is not DEADLINE)
        return reply


def _without_deadline(replies: Sequence[Reply], cut: bool) -> list[Reply]:
    """Nothing is held against the student when the run's deadline, not the call's limit, ended it.

    cut: the time for a call was shortened. Where even the first broken one was not tried, there was no kernel any more.
    """
    first = next((reply for reply in replies if reply.kind in BROKEN), None)
    if first is None or not (first.step is None or (cut and first.kind is ReplyKind.TIME)):
        return list(replies)
    return [DEADLINE if reply.kind in BROKEN else reply for reply in replies]
