"""Whatever a student's function returned, copied into plain data, or the reason why that can't be.

It runs in the student's process, so it is a convenience and no guard: the reader of the wire assumes that it lies.
Types are compared exactly (`type(x) is …`) and nothing of an unknown object is called, so that `__eq__`, `__len__`,
`__array__` and their kin never run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from autograder.probe.rules import DTYPES, REPLY, Caps, Unsendable

__all__ = ["plain"]

_DTYPE_NAMES = {name for name, _ in DTYPES.values()}
_RESERVED_DEPTH = 6  # levels of JSON that a message may need around a value
_SUBCLASSES = {("collections", "OrderedDict"), ("collections", "defaultdict"), ("collections", "Counter")}


def plain(value: Any, caps: Caps = REPLY, *, convert: bool = False) -> Any:
    """A copy of `value` in the closed set: later changes of the original don't show.

    Tensors are detached, brought to the CPU and made contiguous; a Parameter becomes a tensor, a torch.Size a tuple,
    a numpy scalar the number that it is; OrderedDict, defaultdict and Counter are dicts.
    convert: also take numpy arrays, as tensors. Raises Unsendable.
    """
    return _Copier(caps, convert).copy(value)


class _Copier:
    def __init__(self, caps: Caps, convert: bool) -> None:
        self.caps, self.convert = caps, convert
        self.bytes_left, self.nodes_left = caps.frame_bytes, caps.nodes
        self.path: list[int] = []  # ids of the containers that we are inside of

    def copy(self, value: Any) -> Any:
        self.nodes_left -= 1
        if self.nodes_left < 0:
            raise Unsendable("too-big", f"more than {self.caps.nodes} values")
        kind = type(value)
        if value is None or kind in (bool, int, float):
            return value
        if kind is str:
            return self.text(value)
        if kind in (list, tuple, dict):
            return self.container(value, kind)
        return self.other(value, kind)

    def text(self, value: str) -> str:
        if len(value) > self.caps.json_bytes:
            raise Unsendable("too-big", f"str of {len(value)} characters")
        return value

    def container(self, value: Any, kind: type) -> Any:
        if id(value) in self.path:
            raise Unsendable("not-plain", f"{kind.__name__} that contains itself")
        if len(self.path) > self.caps.depth - _RESERVED_DEPTH:
            raise Unsendable("too-big", "nested too deeply")
        if len(value) > self.nodes_left:
            raise Unsendable("too-big", f"{kind.__name__} of {len(value)} values")
        self.path.append(id(value))
        items: Iterable[Any] = value.items() if kind is dict else value
        copied = {self.key(k): self.copy(v) for k, v in items} if kind is dict else kind(self.copy(v) for v in items)
        self.path.pop()
        return copied

    def key(self, key: Any) -> str:
        if type(key) is not str:
            raise Unsendable("not-plain", "dict with keys that are no str")
        return self.text(key)

    def other(self, value: Any, kind: type) -> Any:
        import torch

        if kind is torch.Tensor or kind is torch.nn.Parameter:
            return self.tensor(value)
        if kind is torch.Size:
            return tuple(int(size) for size in value)
        return self.relative(value, kind)

    def relative(self, value: Any, kind: type) -> Any:
        """Types that are plain in all but name."""
        import numpy as np
        import torch

        if kind is np.ndarray and self.convert:
            if str(value.dtype) not in _DTYPE_NAMES:
                raise Unsendable("not-plain", "numpy.ndarray of another dtype")
            self.pay(value.size, value.dtype.itemsize)
            return torch.from_numpy(np.array(value, order="C"))
        if isinstance(value, (np.bool_, np.integer, np.floating, np.str_)) and kind.__module__ == "numpy":
            return self.copy(value.item())
        if (kind.__module__, kind.__name__) in _SUBCLASSES:
            return self.container(dict(value), dict)
        raise Unsendable("not-plain", _name(kind))

    def tensor(self, value: Any) -> Any:
        import torch

        if value.layout is not torch.strided or value.is_nested or value.is_quantized or value.device.type == "meta":
            raise Unsendable("not-plain", "torch.Tensor that is sparse, nested, quantised or has no values")
        if str(value.dtype).removeprefix("torch.") not in _DTYPE_NAMES:
            raise Unsendable("not-plain", f"torch.Tensor of {value.dtype}")
        if value.dim() > self.caps.dims or _volume(value.shape) > self.caps.elements:
            raise Unsendable("too-big", "torch.Tensor with too many elements or dimensions")
        self.pay(value.numel(), value.element_size())
        dense = value.detach().cpu().resolve_conj().resolve_neg()
        return dense.clone(memory_format=torch.contiguous_format)

    def pay(self, elements: int, size: int) -> None:
        self.bytes_left -= elements * size
        if self.bytes_left < 0:
            raise Unsendable("too-big", f"more than {self.caps.frame_bytes} bytes")


def _volume(shape: Iterable[int]) -> int:
    volume = 1
    for size in shape:
        volume *= max(int(size), 1)
    return volume


def _name(kind: type) -> str:
    """`numpy.ndarray`, `set`: as a student would write it."""
    name, module = str(kind.__qualname__)[:100], str(kind.__module__)[:100]
    return name if module == "builtins" else f"{module}.{name}"
