"""Random values of the closed set, and an equality that sees every bit. Written apart from the code under test."""

from __future__ import annotations

import struct
from dataclasses import fields, is_dataclass
from typing import Any

import torch
from hypothesis import strategies as st

from autograder import plan as p

DTYPES = (
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
)


def identical(a: Any, b: Any) -> bool:
    """Same types, same structure, same order of keys, same bits."""
    if type(a) is not type(b):
        return False
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and raw(a) == raw(b)
    if isinstance(a, float):
        return struct.pack("<d", a) == struct.pack("<d", b)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(identical, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(identical(a[key], b[key]) for key in a)
    if is_dataclass(a):
        return all(identical(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    return bool(a == b)


def raw(tensor: torch.Tensor) -> bytes:
    return bytes(tensor.detach().contiguous().reshape(-1).view(torch.uint8).tolist())


@st.composite
def tensors(draw: st.DrawFn, dtypes: tuple[torch.dtype, ...] = DTYPES) -> torch.Tensor:
    """Any bits of any dtype: NaNs with payloads, denormals, −0.0; also views, empty and 0-dimensional ones."""
    dtype = draw(st.sampled_from(dtypes))
    shape = draw(st.lists(st.integers(0, 3), max_size=4))
    count = 1
    for size in shape:
        count *= size
    if dtype is torch.bool:
        flat = torch.tensor(draw(st.lists(st.booleans(), min_size=count, max_size=count)), dtype=dtype)
    else:
        size = count * torch.empty(0, dtype=dtype).element_size()
        data = bytearray(draw(st.binary(min_size=size, max_size=size)))
        flat = torch.frombuffer(data, dtype=dtype) if data else torch.empty(0, dtype=dtype)
    tensor = flat.reshape(shape)
    return tensor.transpose(0, -1) if len(shape) > 1 and draw(st.booleans()) else tensor


texts = st.text(st.characters(codec="utf-8"), max_size=12)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=True)
    | st.builds(lambda b: struct.unpack("<d", b)[0], st.binary(min_size=8, max_size=8))
    | texts
)
values = st.recursive(
    scalars | tensors(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.lists(inner, max_size=4).map(tuple) | st.dictionaries(texts, inner, max_size=4)
    ),
    max_leaves=12,
)
names = st.sampled_from(["x", "y", "cell", "softmax"])
arguments = st.recursive(
    scalars
    | tensors()
    | st.builds(p.Ref, names)
    | st.builds(p.Leaf, tensors((torch.float32, torch.float64)), names)
    | st.builds(p.Seeded, st.integers(0, 2**60))
    | st.builds(p.Served, names)
    | st.builds(p.Global, names),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
args = st.lists(arguments, max_size=3).map(tuple)
kwargs = st.dictionaries(names, arguments, max_size=2)
steps = (
    st.builds(p.Build, names, names, args, kwargs)
    | st.builds(p.Load, names, st.dictionaries(texts, tensors(), max_size=2))
    | st.builds(p.Mode, names, st.booleans())
    | st.builds(p.Seed, st.integers(0, 2**60))
    | st.builds(p.Call, names, names, args, kwargs, st.none() | names)
    | st.builds(p.Read, names, names)
    | st.builds(p.Get, names, names, st.lists(st.integers(-5, 5) | texts, max_size=3).map(tuple))
    | st.builds(p.State, names, names)
    | st.builds(p.Gradients, names, names, st.lists(names, max_size=2).map(tuple), st.none() | tensors())
)
plans = st.builds(
    p.Plan,
    st.lists(steps, max_size=4).map(tuple),
    names | st.lists(names, max_size=3).map(tuple),
    names,
    st.integers(0, 2**60),
)
