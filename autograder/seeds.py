"""Where drawn inputs come from: the same for every student, and not to be guessed from the public files.

A seed follows from the course's secret, the assignment, the question and the number of the draw, by BLAKE2b. So a
regrade draws the same inputs, adding a draw to one check moves no other, and whoever holds the public source only
can compute none of it.
"""

from __future__ import annotations

import hashlib
import random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

__all__ = ["Draw", "derive"]


def derive(secret: bytes, *parts: str | int) -> int:
    """A 63-bit seed from the secret and the parts, e.g. (assignment, question, check, index)."""
    digest = hashlib.blake2b(key=hashlib.sha256(secret).digest(), digest_size=8)
    for part in parts:
        text = str(part).encode()
        digest.update(len(text).to_bytes(4, "big") + text)
    return int.from_bytes(digest.digest(), "big") >> 1


class Draw(random.Random):
    """A stream of random numbers for one draw of one check: `random.Random`, and tensors.

    Tensors are float64 unless said otherwise, as in the assignments' text.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._tensors: Any = None

    @property
    def generator(self) -> torch.Generator:
        """The CPU generator behind the tensors."""
        import torch

        if self._tensors is None:
            self._tensors = torch.Generator().manual_seed(self.getrandbits(63))
        generator: torch.Generator = self._tensors
        return generator

    def normal(self, *shape: int, scale: float = 1.0, dtype: torch.dtype | None = None) -> torch.Tensor:
        """N(0, scale²) of this shape."""
        import torch

        return torch.randn(*shape, generator=self.generator, dtype=dtype or torch.float64) * scale

    def uniform_tensor(self, low: float, high: float, *shape: int, dtype: torch.dtype | None = None) -> torch.Tensor:
        """Uniform on [low, high)."""
        import torch

        return torch.rand(*shape, generator=self.generator, dtype=dtype or torch.float64) * (high - low) + low

    def integers(self, low: int, high: int, *shape: int) -> torch.Tensor:
        """int64, uniform on {low, …, high − 1}."""
        import torch

        return torch.randint(low, high, shape, generator=self.generator)

    def permutation(self, n: int) -> torch.Tensor:
        """A random order of 0 … n − 1, int64."""
        import torch

        return torch.randperm(n, generator=self.generator)

    def seed_number(self) -> int:
        """A seed to send along with a plan."""
        return self.getrandbits(48)
