"""The kernel without subshells, heartbeat and network does what a stock one does with a cell."""

from __future__ import annotations

import time

import pytest

from autograder.sandbox import Sandbox

from .student import Raised, Student

pytestmark = pytest.mark.level_a


def test_a_cell_may_await(sandbox: Sandbox) -> None:
    """Coroutines, sleeps and tasks are awaited at the top level of a cell, and what they give stays."""
    with Student(sandbox.spawn()) as student:
        student.run("import asyncio\nasync def double(x):\n    await asyncio.sleep(0.01)\n    return 2 * x")
        assert student.run("a = await double(4)", "a") == 8
        assert student.run("b = sum(await asyncio.gather(double(1), double(2)))", "a + b") == 14
        with pytest.raises(Raised, match="RuntimeError"):
            student.run("asyncio.run(double(1))")
        assert student.run("a = await double(5)", "a") == 10


def test_an_interrupt_ends_what_is_awaited_and_the_kernel_lives_on(sandbox: Sandbox) -> None:
    """SIGINT cancels a cell that awaits for ever, and no other."""
    kernel = sandbox.spawn()
    with Student(kernel) as student:
        student.run("import asyncio\nx = 41")
        student.start("await asyncio.sleep(1000)")
        time.sleep(0.3)
        kernel.interrupt()
        with pytest.raises(Raised, match="CancelledError"):
            student.finish(5)
        assert student.run("x += 1", "x") == 42
