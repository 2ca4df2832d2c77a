"""Random streams that stay the same for ever: SHA-256 of the names, read in blocks.

key = SHA-256(names joined by U+001F); block i = SHA-256(key + i as 8 bytes, big-endian); bits come from the top.
Each element of an exam has a stream under a name of its own, (seed, version, question, element), so that adding a
question or a part moves no other, and two lists of one length are shuffled independently.
`random.Random` promises stability for `random()` only, not for `shuffle` and `sample`; so it is not used here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

__all__ = ["Draw", "DrawsExhaustedError"]

Item = TypeVar("Item")

MOST_DRAWS = 200_000


class DrawsExhaustedError(RuntimeError):
    """A generator drew more numbers than any sane question needs: its rejection loop doesn't end."""


class Draw:
    """A stream of random numbers under a name."""

    def __init__(self, *names: str | int) -> None:
        self.names = names
        self._key = hashlib.sha256("\x1f".join(str(name) for name in names).encode()).digest()
        self._block = 0
        self._bits = 0
        self._held = 0
        self.draws = 0

    def _take(self, count: int) -> int:
        """The next `count` bits of the stream as a number."""
        while self._held < count:
            block = hashlib.sha256(self._key + self._block.to_bytes(8, "big")).digest()
            self._bits = (self._bits << 256) | int.from_bytes(block, "big")
            self._held += 256
            self._block += 1
        self._held -= count
        value = self._bits >> self._held
        self._bits &= (1 << self._held) - 1
        return value

    def below(self, n: int) -> int:
        """Uniform on 0 … n − 1; without bias, by rejection."""
        if n < 1:
            raise ValueError(f"below({n}): n must be at least 1")
        width = (n - 1).bit_length()
        while True:
            self.draws += 1
            if self.draws > MOST_DRAWS:
                raise DrawsExhaustedError(f"more than {MOST_DRAWS} draws in one stream")
            value = self._take(width)
            if value < n:
                return value

    def randint(self, low: int, high: int) -> int:
        """Uniform on low … high, both included."""
        return low + self.below(high - low + 1)

    def choice(self, items: Sequence[Item]) -> Item:
        """One of the items."""
        return items[self.below(len(items))]

    def shuffle(self, items: list[Item]) -> None:
        """Fisher-Yates in place, from the last index."""
        for i in range(len(items) - 1, 0, -1):
            j = self.below(i + 1)
            items[i], items[j] = items[j], items[i]

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """A shuffled copy."""
        copy = list(items)
        self.shuffle(copy)
        return copy

    def sample(self, items: Sequence[Item], count: int) -> list[Item]:
        """`count` different places of the sequence, in random order."""
        if not 0 <= count <= len(items):
            raise ValueError(f"sample of {count} from {len(items)} items")
        return self.shuffled(items)[:count]
