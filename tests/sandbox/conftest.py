"""One launched zygote for all sandbox tests, and sandboxes at the best level."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from autograder.model import Level, Limits
from autograder.sandbox import Sandbox, Zygote


@pytest.fixture(scope="session")
def shared_zygote() -> Iterator[Zygote]:
    with Zygote.launch(agent=False) as zygote:
        yield zygote


@pytest.fixture
def zygote(shared_zygote: Zygote) -> Iterator[Zygote]:
    """The shared one, with all layers put back afterwards."""
    yield shared_zygote
    shared_zygote.removed = ()


@pytest.fixture
def make(zygote: Zygote) -> Iterator[Callable[..., Sandbox]]:
    """Make sandboxes that are closed, and so verified to be gone, at the end of the test."""
    with ExitStack() as stack:

        def make_one(limits: Limits | None = None, require: Level = Level.A, **more: Any) -> Sandbox:
            return stack.enter_context(Sandbox(zygote, limits or Limits(), require=require, **more))

        yield make_one


@pytest.fixture
def sandbox(make: Callable[..., Sandbox]) -> Sandbox:
    return make()
