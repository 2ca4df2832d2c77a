"""Where text goes: results to stdout, everything else to stderr."""

from __future__ import annotations

from rich.console import Console

__all__ = ["stderr", "stdout"]

stdout = Console(highlight=False)
stderr = Console(stderr=True, highlight=False)
