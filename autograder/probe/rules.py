"""What may cross the border, in numbers and names: the caps, the dtypes, and the refusal to send."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["DTYPES", "REPLY", "REQUEST", "Caps", "Unsendable", "reply_caps"]

#: safetensors' name of a dtype → (torch's name, bytes of an element): the closed set.
DTYPES: dict[str, tuple[str, int]] = {
    "BOOL": ("bool", 1),
    "U8": ("uint8", 1),
    "I8": ("int8", 1),
    "I16": ("int16", 2),
    "I32": ("int32", 4),
    "I64": ("int64", 8),
    "F16": ("float16", 2),
    "BF16": ("bfloat16", 2),
    "F32": ("float32", 4),
    "F64": ("float64", 8),
}


@dataclass(frozen=True, slots=True)
class Caps:
    """Largest frame that is read or written; all of it is checked before anything is allocated.

    frame_bytes: JSON and tensors together · json_bytes: the JSON head · depth, nodes: of that JSON ·
    tensors: how many · elements: of one tensor, an empty dimension counted as 1 · dims: of one tensor.
    """

    frame_bytes: int = 64 * 2**20
    json_bytes: int = 2**20
    depth: int = 32
    nodes: int = 100_000
    tensors: int = 1_000
    elements: int = 64 * 2**20
    dims: int = 8


#: What the student's side may send.
REPLY = Caps()
#: The place "between two batches" that a child reports which stays after its batch.
IDLE = 2**32 - 1
#: What the grader sends: whole batches of plans, weights among them.
REQUEST = Caps(frame_bytes=512 * 2**20, json_bytes=16 * 2**20, depth=48, nodes=1_000_000, tensors=100_000)


def reply_caps(frame_bytes: int) -> Caps:
    """The caps of a reply whose frame may have this many bytes."""
    return replace(REPLY, frame_bytes=frame_bytes)


class Unsendable(Exception):
    """The value is not one of the closed set ("not-plain"), or larger than the caps ("too-big").

    what: the type that was met, or the size, in words.
    """

    def __init__(self, kind: str, what: str) -> None:
        super().__init__(f"{kind}: {what}")
        self.kind, self.what = kind, what
