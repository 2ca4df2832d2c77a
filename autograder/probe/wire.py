"""Values and plans as frames: how the grader and the agent in the student's kernel talk.

    frame = magic · length of the JSON · length of the block · JSON · safetensors block

The JSON carries structure and scalars. null, true, "text" and 12 stand for themselves, an object is a dict; every
array starts with a tag: ["l", …] list, ["t", …] tuple, ["f", "3ff0000000000000"] the eight bytes of a float (so that
NaN, inf and −0.0 survive), ["T", 0] the first tensor of the block. Plans and what may stand in their arguments
(`Ref`, `Leaf`, `Seeded`, `Served`, `Global`) have tags of their own, which only a reader who asks for them accepts.

Whoever reads assumes that the writer lies. Any bytes give a value or a ProtocolError, nothing else, and what a frame
*claims* is checked before memory is given to it. There is no pickle anywhere.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from autograder import plan as plans_module
from autograder.errors import ProtocolError
from autograder.probe import block
from autograder.probe.jsontext import INT_MAX, INT_MIN, measure, parse
from autograder.probe.rules import DTYPES, REPLY, Caps, Unsendable

if TYPE_CHECKING:
    import socket

__all__ = ["PREFIX_BYTES", "decode", "decode_parts", "encode", "lengths", "receive", "send"]

_PREFIX = struct.Struct(">4sIQ")
_MAGIC = b"SMK1"
PREFIX_BYTES = _PREFIX.size


# ── what the fields of plan nodes may be ──────────────────────────────────────────────────────────────────────
def _is(*types: type) -> Callable[[Any], bool]:
    return lambda value: type(value) in types


def _is_path(value: Any) -> bool:
    return type(value) is tuple and all(type(part) in (int, str) for part in value)


def _is_texts(value: Any) -> bool:
    return type(value) is tuple and all(type(part) is str for part in value)


def _is_returns(value: Any) -> bool:
    return type(value) is str or _is_texts(value)


def _is_steps(value: Any) -> bool:
    return type(value) is tuple and all(type(part) in _STEPS for part in value)


def _is_tensor(value: Any) -> bool:
    import torch

    return type(value) is torch.Tensor


def _anything(_value: Any) -> bool:
    return True


_text, _int, _dict, _tuple = _is(str), _is(int), _is(dict), _is(tuple)
_NODES: dict[type, tuple[tuple[str, Callable[[Any], bool]], ...]] = {
    plans_module.Ref: (("name", _text),),
    plans_module.Leaf: (("tensor", _is_tensor), ("name", _text)),
    plans_module.Seeded: (("seed", _int),),
    plans_module.Served: (("name", _text),),
    plans_module.Global: (("name", _text),),
    plans_module.Build: (("out", _text), ("cls", _text), ("args", _tuple), ("kwargs", _dict)),
    plans_module.Load: (("target", _text), ("state", _dict)),
    plans_module.Mode: (("target", _text), ("train", _is(bool))),
    plans_module.Seed: (("seed", _int),),
    plans_module.Call: (
        ("out", _text),
        ("function", _text),
        ("args", _tuple),
        ("kwargs", _dict),
        ("on", _is(str, type(None))),
    ),
    plans_module.Read: (("out", _text), ("name", _text)),
    plans_module.Get: (("out", _text), ("of", _text), ("path", _is_path)),
    plans_module.State: (("out", _text), ("of", _text)),
    plans_module.Gradients: (("out", _text), ("of", _text), ("wrt", _is_texts), ("weights", _anything)),
    plans_module.Plan: (("steps", _is_steps), ("returns", _is_returns), ("function", _text), ("seed", _int)),
}
_TAGS: dict[str, type] = {cls.__name__: cls for cls in _NODES}
_ARGUMENTS = {"Ref", "Leaf", "Seeded", "Served", "Global"}
_STEPS = {cls for name, cls in _TAGS.items() if name not in _ARGUMENTS and name != "Plan"}


# ── writing ───────────────────────────────────────────────────────────────────────────────────────────────────
def encode(value: Any, caps: Caps = REPLY, *, plans: bool = False) -> bytes:
    """The frame of a value of the closed set; with `plans`, plan nodes may stand anywhere in it.

    Raises Unsendable for other types and for what the reader's caps would refuse.
    """
    writer = _Writer(caps, plans)
    tree = writer.node(value, 0)
    text = json.dumps(tree, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    depth, nodes = measure(text, caps.nodes)
    if len(text) > caps.json_bytes or depth > caps.depth or nodes > caps.nodes:
        raise Unsendable("too-big", f"a value of more than {caps.nodes} parts or {caps.json_bytes} bytes of text")
    if len(writer.tensors) > caps.tensors:
        raise Unsendable("too-big", f"{len(writer.tensors)} tensors")
    data = block.dump(writer.tensors)
    if len(text) + len(data) > caps.frame_bytes:
        raise Unsendable("too-big", f"{len(text) + len(data)} bytes")
    return _PREFIX.pack(_MAGIC, len(text), len(data)) + text + data


class _Writer:
    def __init__(self, caps: Caps, plans: bool) -> None:
        self.caps, self.plans = caps, plans
        self.tensors: list[Any] = []

    def node(self, value: Any, depth: int) -> Any:
        """The JSON tree of a value; exact types only, since a subclass may lie about itself."""
        if depth > self.caps.depth:
            raise Unsendable("too-big", f"a value that is nested deeper than {self.caps.depth} levels")
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is int:
            return _sendable_int(value)
        if kind is float:
            return ["f", struct.pack(">d", value).hex()]
        if kind is str:
            return _sendable_text(value)
        if kind is list or kind is tuple:
            return ["l" if kind is list else "t", *(self.node(item, depth + 1) for item in value)]
        if kind is dict:
            return {_key(key): self.node(item, depth + 1) for key, item in value.items()}
        if self.plans and kind in _NODES:
            return [kind.__name__, *(self.node(getattr(value, name), depth + 1) for name, _ in _NODES[kind])]
        return self.tensor(value)

    def tensor(self, value: Any) -> list[Any]:
        import torch

        if type(value) is not torch.Tensor or str(value.dtype).removeprefix("torch.") not in _DTYPE_NAMES:
            raise Unsendable("not-plain", type(value).__name__)
        self.tensors.append(value)
        return ["T", len(self.tensors) - 1]


_DTYPE_NAMES = {name for name, _ in DTYPES.values()}


def _sendable_int(value: int) -> int:
    if not INT_MIN <= value <= INT_MAX:
        raise Unsendable("too-big", "an int of more than 64 bits")
    return value


def _sendable_text(value: str) -> str:
    if not _is_utf8(value):
        raise Unsendable("not-plain", "str that is no valid UTF-8")
    return value


def _key(key: Any) -> str:
    if type(key) is not str:
        raise Unsendable("not-plain", f"dict with keys of type {type(key).__name__}")
    return _sendable_text(key)


def _is_utf8(text: str) -> bool:
    """Whether it can be written as UTF-8: lone surrogates can't. Any character may stand in it, NUL too."""
    try:
        return text.isascii() or bool(text.encode("utf-8"))
    except UnicodeEncodeError:
        return False


# ── reading ───────────────────────────────────────────────────────────────────────────────────────────────────
def lengths(prefix: bytes, caps: Caps = REPLY) -> tuple[int, int]:
    """(bytes of JSON, bytes of block) that follow a prefix of PREFIX_BYTES; refused before a byte of them is read."""
    if len(prefix) != PREFIX_BYTES:
        raise ProtocolError(f"a frame starts with {PREFIX_BYTES} bytes, {len(prefix)} came")
    magic, text, data = _PREFIX.unpack(prefix)
    if magic != _MAGIC:
        raise ProtocolError("this is not the start of a frame")
    if text > caps.json_bytes or text + data > caps.frame_bytes:
        raise ProtocolError(f"a frame claims {text} bytes of JSON and {data} of tensors; more than is read")
    return text, data


def decode(frame: bytes, caps: Caps = REPLY, *, plans: bool = False) -> Any:
    """The value of a whole frame. Raises ProtocolError, and nothing else, for bytes that `encode` doesn't write."""
    text, data = lengths(frame[:PREFIX_BYTES], caps)
    if len(frame) != PREFIX_BYTES + text + data:
        raise ProtocolError(f"a frame of {len(frame)} bytes claims {PREFIX_BYTES + text + data}")
    end = PREFIX_BYTES + text
    return decode_parts(frame[PREFIX_BYTES:end], frame[end:], caps, plans=plans)


def decode_parts(text: bytes, data: bytes, caps: Caps = REPLY, *, plans: bool = False) -> Any:
    """Like `decode`, for a frame that was read in parts: large ones are copied once less."""
    tree = parse(text, json_bytes=caps.json_bytes, depth=caps.depth, nodes=caps.nodes)
    reader = _Reader(block.load(data, caps), plans)
    value = reader.value(tree)
    if not all(reader.used):
        raise ProtocolError("a tensor of the block is never referred to")
    return value


class _Reader:
    def __init__(self, tensors: list[Any], plans: bool) -> None:
        self.tensors, self.plans = tensors, plans
        self.used = [False] * len(tensors)

    def value(self, node: Any) -> Any:
        if node is None or type(node) in (bool, int):
            return node
        if type(node) is str:
            return _read_text(node)
        if type(node) is dict:
            return {_read_text(key): self.value(item) for key, item in node.items()}
        if not node or type(node[0]) is not str:
            raise ProtocolError("an array without a tag")
        return self.tagged(node[0], node[1:])

    def tagged(self, tag: str, rest: list[Any]) -> Any:
        if tag == "l":
            return [self.value(item) for item in rest]
        if tag == "t":
            return tuple([self.value(item) for item in rest])
        if tag == "f":
            return _float(rest)
        if tag == "T":
            return self.tensor(rest)
        if self.plans and tag in _TAGS:
            return self.plan_node(_TAGS[tag], rest)
        raise ProtocolError("an array with an unknown tag")

    def tensor(self, rest: list[Any]) -> Any:
        if len(rest) != 1 or type(rest[0]) is not int or not 0 <= rest[0] < len(self.used):
            raise ProtocolError("a reference to a tensor that is not there")
        if self.used[rest[0]]:
            raise ProtocolError("a tensor is referred to twice")
        self.used[rest[0]] = True
        return self.tensors[rest[0]]

    def plan_node(self, cls: type, rest: list[Any]) -> Any:
        fields = _NODES[cls]
        values = [self.value(item) for item in rest]
        if len(values) != len(fields) or not all(test(v) for (_, test), v in zip(fields, values, strict=True)):
            raise ProtocolError(f"a {cls.__name__} with other fields than it has")
        return cls(*values)


def _read_text(text: str) -> str:
    if not _is_utf8(text):
        raise ProtocolError("text that is no valid UTF-8")
    return text


_HEX = set("0123456789abcdef")


def _float(rest: list[Any]) -> float:
    if len(rest) != 1 or type(rest[0]) is not str or len(rest[0]) != 16 or not _HEX.issuperset(rest[0]):
        raise ProtocolError("a float is 16 hex digits")
    value: float = struct.unpack(">d", bytes.fromhex(rest[0]))[0]
    return value


# ── over a blocking socket (the agent's side; the grader polls) ───────────────────────────────────────────────
def send(sock: socket.socket, value: Any, caps: Caps = REPLY, *, plans: bool = False) -> None:
    """Encode and write one frame."""
    sock.sendall(encode(value, caps, plans=plans))


def receive(sock: socket.socket, caps: Caps = REPLY, *, plans: bool = False) -> Any:
    """Read and decode one frame. Raises EOFError at the end of the stream, ProtocolError for a bad frame."""
    text, data = lengths(_exactly(sock, PREFIX_BYTES), caps)
    return decode_parts(_exactly(sock, text), _exactly(sock, data), caps, plans=plans)


def _exactly(sock: socket.socket, count: int) -> bytes:
    buffer = bytearray()
    while len(buffer) < count:
        chunk = sock.recv(min(count - len(buffer), 2**20))
        if not chunk:
            raise EOFError("the other side closed the connection")
        buffer += chunk
    return bytes(buffer)
