"""What a cell showed, as nbformat outputs, bounded while it streams.

Nothing in here decides a verdict: a student's kernel may claim any output. Fields of unexpected types are ignored.
"""

from __future__ import annotations

from typing import Any

from nbformat import NotebookNode

from autograder.cells import new_output

__all__ = ["CUT", "Outputs"]

CUT = "\n[output cut here]\n"
_MIME_LIMITS = {
    "text/plain": 100_000,
    "text/html": 200_000,
    "text/markdown": 100_000,
    "text/latex": 100_000,
    "image/png": 2_000_000,
    "image/jpeg": 2_000_000,
    "image/svg+xml": 500_000,
}
_MAX_DISPLAYS = 50


class Outputs:
    """Collects the outputs of one cell. text_limit: characters of stream text that are kept."""

    def __init__(self, text_limit: int) -> None:
        self.nodes: list[NotebookNode] = []
        self._room = text_limit
        self._displays = 0
        self._clear_next = False

    def take(self, kind: str, content: dict[str, Any]) -> None:
        """One iopub message that belongs to this cell."""
        if kind == "stream":
            self._stream(content)
        elif kind in ("display_data", "execute_result"):
            self._display(kind, content)
        elif kind == "error":
            self._error(content)
        elif kind == "clear_output":
            self._clear_next = True
            if content.get("wait") is not True:
                self._clear()

    def _clear(self) -> None:
        if self._clear_next:
            self.nodes.clear()
            self._clear_next = False

    def _stream(self, content: dict[str, Any]) -> None:
        name, text = content.get("name"), content.get("text")
        if name not in ("stdout", "stderr") or not isinstance(text, str) or not text:
            return
        self._clear()
        if self._room <= 0:
            return
        if len(text) > self._room:
            text = text[: self._room] + CUT
            self._room = 0
        else:
            self._room -= len(text)
        last = self.nodes[-1] if self.nodes else None
        if last is not None and last.output_type == "stream" and last.name == name:
            last.text += text
        else:
            self.nodes.append(new_output("stream", name=name, text=text))

    def _display(self, kind: str, content: dict[str, Any]) -> None:
        data = content.get("data")
        if not isinstance(data, dict) or self._displays >= _MAX_DISPLAYS:
            return
        kept = {
            mime: value
            for mime, limit in _MIME_LIMITS.items()
            if isinstance(value := data.get(mime), str) and len(value) <= limit
        }
        if not kept:
            return
        self._clear()
        self._displays += 1
        count = content.get("execution_count")
        extra = {"execution_count": count if type(count) is int else None} if kind == "execute_result" else {}
        self.nodes.append(new_output(kind, data=kept, **extra))

    def _error(self, content: dict[str, Any]) -> None:
        lines = content.get("traceback")
        text = [line for line in lines if isinstance(line, str)] if isinstance(lines, list) else []
        self._clear()
        self.nodes.append(
            new_output(
                "error",
                ename=_short(content.get("ename"), 200),
                evalue=_short(content.get("evalue"), 2_000),
                traceback=_tail("\n".join(text), 20_000).split("\n"),
            )
        )

    def say(self, text: str) -> None:
        """A line of the grader's own below what the cell showed."""
        self.nodes.append(new_output("stream", name="stderr", text=f"[grader] {text}\n"))


def _short(value: object, limit: int) -> str:
    text = value if isinstance(value, str) else ""
    return text if len(text) <= limit else text[:limit] + "…"


def _tail(text: str, limit: int) -> str:
    """The end of a traceback says what happened, so the start is what goes."""
    return text if len(text) <= limit else CUT + text[-limit:]
