"""A real headless Chromium, driven over its debugging pipe: no driver, no port, no request to anywhere."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

__all__ = ["Browser", "chromium", "need"]

FLAGS = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update "
    "--disable-sync --hide-scrollbars --remote-debugging-pipe --host-resolver-rules=MAP*~NOTFOUND"
)


def chromium() -> str | None:
    """The path of the browser, if there is one."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def need(found: object, what: str) -> None:
    """Skip where a foreign reader is missing; fail there when the gate demands all of them."""
    if found:
        return
    if os.environ.get("SOFTMARK_REQUIRE_READERS"):
        pytest.fail(f"this has to run here, but needs {what}")
    pytest.skip(f"needs {what}")


# The browser reads orders from descriptor 3 and answers on 4.
_LAUNCH = "import os, sys; r, w, *c = sys.argv[1:]; os.dup2(int(r), 3); os.dup2(int(w), 4); os.execv(c[0], c)"


def _high(descriptor: int) -> int:
    """The descriptor under a number that can't collide with 3 and 4, where the browser looks."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return moved


class Browser:
    """One page. `requests` lists every URL that it asked for, `errors` what it complained about."""

    def __init__(self, profile: Path) -> None:
        path = chromium()
        assert path is not None
        to_read, self._out = map(_high, os.pipe())
        self._in, to_write = map(_high, os.pipe())
        flags = [flag.replace("MAP*~NOTFOUND", "MAP * ~NOTFOUND , EXCLUDE 127.0.0.1") for flag in FLAGS.split()]
        command = [path, *flags, f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _LAUNCH, str(to_read), str(to_write), *command],
            pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._buffer, self._number, self._session = b"", 0, ""
        self.requests: list[str] = []
        self.errors: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        """End the browser that this object started."""
        for end in (self._out, self._in):
            os.close(end)
        self._process.terminate()
        self._process.wait(timeout=20)

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            data = os.read(self._in, 1 << 20)
            assert data, "the browser has gone"
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\0", 1)
        message: dict[str, Any] = json.loads(line)
        self._note(message)
        return message

    def _note(self, message: dict[str, Any]) -> None:
        params = message.get("params", {})
        if message.get("method") == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        if message.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(params["entry"]["text"])
        if message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(params["exceptionDetails"])[:300])

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """One command of the debugging protocol."""
        self._number += 1
        order: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            order["sessionId"] = self._session
        os.write(self._out, json.dumps(order).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("id") == self._number:
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result

    def open(self, url: str) -> None:
        """Go there and wait for the page to be complete."""
        self.call("Page.navigate", url=url)
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression (awaited)."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True, userGesture=True
        )
        assert "exceptionDetails" not in answer, json.dumps(answer["exceptionDetails"])[:500]
        return answer["result"].get("value")

    def until(self, condition: str, seconds: float = 30) -> None:
        """Wait for a condition of the page."""
        end = time.monotonic() + seconds
        while not self.run(condition):
            assert time.monotonic() < end, f"waited {seconds} s for {condition}"
            time.sleep(0.05)

    def key(self, name: str, code: int, text: str = "") -> None:
        """Press a key."""
        for kind in ("keyDown", "keyUp"):
            extra = {"text": text} if text and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code, **extra)

    def size(self, width: int, height: int) -> None:
        """The window's size in CSS pixels."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def picture(self, path: Path) -> None:
        """The whole page as PNG."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def printed(self, path: Path) -> None:
        """The page as it prints."""
        path.write_bytes(base64.b64decode(self.call("Page.printToPDF", printBackground=False)["data"]))
