"""Tensors as one safetensors block, whose header is read under our own rules before safetensors sees it.

safetensors is a careful parser, but it takes what we can't use: 100 000 dimensions of one, 8-bit floats, bool bytes
that are neither 0 nor 1. So the header has to be the plain one that `dump` writes: tensors "0", "1", … that fill the
data without holes, each of a known dtype, with a shape that gives exactly its bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from autograder.errors import ProtocolError
from autograder.probe.jsontext import parse
from autograder.probe.rules import DTYPES, Caps

if TYPE_CHECKING:
    import torch

__all__ = ["dump", "load"]

_FIELDS = {"dtype", "shape", "data_offsets"}
_PREFIX = 8
_HEADER_OF_A_TENSOR = 256  # bytes of header that one tensor of ours can need


def dump(tensors: Sequence[torch.Tensor]) -> bytes:
    """The block of these tensors, in order; no tensors, no bytes.

    Tensors are dense, on the CPU and of a known dtype (`plain.plain` sees to that).
    """
    if not tensors:
        return b""
    from safetensors import TensorSpec, serialize

    # By hand, for `safetensors.torch.save` takes a dozen times longer for small tensors. `dense` keeps the memory.
    dense = [tensor.detach().contiguous() for tensor in tensors]
    specs = {
        str(i): TensorSpec(
            dtype=str(t.dtype).removeprefix("torch."), shape=list(t.shape), data_ptr=t.data_ptr(), data_len=t.nbytes
        )
        for i, t in enumerate(dense)
    }
    return bytes(serialize(specs))


def load(block: bytes, caps: Caps) -> list[torch.Tensor]:
    """The tensors of a block. Raises ProtocolError for anything that `dump` doesn't write."""
    if not block:
        return []
    header, data_start = _header(block, caps)
    _check_layout(header, len(block) - data_start, caps)
    _check_bools(header, block, data_start)
    from safetensors import deserialize

    try:
        found = dict(deserialize(block))  # type: ignore[no-untyped-call]
        return [_tensor(**found[str(i)]) for i in range(len(header))]
    except Exception as error:  # a parser of hostile bytes: whatever it raises means the same
        raise ProtocolError(f"the tensor block can't be read: {type(error).__name__}") from error


def _tensor(dtype: str, shape: list[int], data: bytearray) -> torch.Tensor:
    import torch

    kind = getattr(torch, DTYPES[dtype][0])
    return torch.frombuffer(data, dtype=kind).reshape(shape) if data else torch.empty(shape, dtype=kind)


def _header(block: bytes, caps: Caps) -> tuple[dict[str, Any], int]:
    if len(block) < _PREFIX:
        raise ProtocolError(f"the tensor block has {len(block)} bytes, too few for a header")
    length = int.from_bytes(block[:_PREFIX], "little")
    if length > min(len(block) - _PREFIX, caps.tensors * _HEADER_OF_A_TENSOR):
        raise ProtocolError(f"the tensor header claims {length} bytes of a block of {len(block)}")
    end = _PREFIX + length
    header = parse(block[_PREFIX:end].rstrip(b" "), json_bytes=length, depth=3, nodes=24 * caps.tensors)
    if type(header) is not dict or not 0 < len(header) <= caps.tensors:
        raise ProtocolError("the tensor header is no object, or names no tensor, or too many")
    return header, end


def _check_layout(header: dict[str, Any], data_bytes: int, caps: Caps) -> None:
    names = {str(i) for i in range(len(header))}
    spans = []
    for name, entry in header.items():
        if name not in names:
            raise ProtocolError(f"unknown tensor name {name[:20]!r}")
        spans.append(_span(entry, caps))
    position = 0
    for begin, end in sorted(spans):
        if begin != position:
            raise ProtocolError("tensors overlap, or leave a hole")
        position = end
    if position != data_bytes:
        raise ProtocolError(f"tensors fill {position} of {data_bytes} bytes")


def _span(entry: Any, caps: Caps) -> tuple[int, int]:
    """Begin and end of one tensor's bytes, after its dtype and shape were found to give exactly that length."""
    if type(entry) is not dict or entry.keys() != _FIELDS:
        raise ProtocolError("a tensor needs exactly dtype, shape and data_offsets")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if type(dtype) is not str or dtype not in DTYPES:
        raise ProtocolError("a tensor's dtype is not on the list")
    if not _naturals(shape) or len(shape) > caps.dims or not _naturals(offsets) or len(offsets) != 2:
        raise ProtocolError("a tensor's shape or offsets are no short lists of natural numbers")
    elements = volume = 1
    for size in shape:
        elements *= size
        volume *= max(size, 1)
        if volume > caps.elements:
            raise ProtocolError("a tensor claims too many elements")
    begin, end = offsets
    if end - begin != elements * DTYPES[dtype][1]:
        raise ProtocolError(f"a tensor of {elements} elements of {dtype} claims {end - begin} bytes")
    return begin, end


def _naturals(value: Any) -> bool:
    return type(value) is list and all(type(item) is int and item >= 0 for item in value)


def _check_bools(header: dict[str, Any], block: bytes, start: int) -> None:
    for entry in header.values():
        if entry["dtype"] == "BOOL":
            begin, end = entry["data_offsets"]
            if block[start + begin : start + end].translate(None, b"\0\1"):
                raise ProtocolError("a bool tensor holds bytes other than 0 and 1")
