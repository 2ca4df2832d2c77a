"""A fingerprint of a plan: equal for equal steps and values, so that outputs on the same inputs are computed once."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, cast

from autograder.plan import Plan

__all__ = ["digest", "fingerprint"]


def digest(plan: Plan, *context: str) -> bytes:
    """16 bytes that stand for the plan and the context that it runs in. TypeError for what can't be sent."""
    state = hashlib.blake2b(digest_size=16)
    for part in context:
        _text(state, part)
    _feed(state, plan)
    return state.digest()


def fingerprint(value: Any) -> bytes:
    """16 bytes that stand for a plain value."""
    state = hashlib.blake2b(digest_size=16)
    _feed(state, value)
    return state.digest()


def _text(state: Any, text: str) -> None:
    if not isinstance(text, str):
        raise TypeError(f"the key {text!r} can't be sent: keys of a dict are text")
    data = text.encode("utf-8", "surrogatepass")
    state.update(b"s%d:" % len(data) + data)


def _feed(state: Any, value: Any) -> None:
    kind = type(value)
    if kind is int or kind is float or kind is bool or value is None:
        state.update(b"%s=%s;" % (kind.__name__.encode(), repr(value).encode()))
    elif isinstance(value, str):
        _text(state, value)
    elif isinstance(value, list | tuple):
        state.update(b"%s%d:" % (type(value).__name__.encode(), len(value)))
        for item in value:
            _feed(state, item)
    elif isinstance(value, Mapping):
        state.update(b"d%d:" % len(value))
        for key, item in value.items():
            _text(state, key)
            _feed(state, item)
    elif hasattr(value, "untyped_storage"):
        _tensor(state, value)
    elif is_dataclass(value):
        _text(state, kind.__name__)
        for name in _fields(cast("Hashable", kind)):
            _feed(state, getattr(value, name))
    else:
        raise TypeError(
            f"a {kind.__name__} can't be sent: tensors, numbers, text, lists, tuples, dicts with text as keys"
        )


@cache
def _fields(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def _tensor(state: Any, tensor: Any) -> None:
    import torch

    dense = tensor.detach().contiguous()
    state.update(b"t%d:%s" % (_dtype_number(dense.dtype), repr(tuple(dense.shape)).encode()))
    if dense.numel():
        flat = dense.reshape(-1)
        state.update((flat.view(torch.uint8) if dense.dtype is torch.bfloat16 else flat).numpy().data)


_DTYPES: list[Any] = []


def _dtype_number(dtype: Any) -> int:
    """A number for each dtype met; its text would take longer than the tensor's bytes."""
    if dtype not in _DTYPES:
        _DTYPES.append(dtype)
    return _DTYPES.index(dtype)
