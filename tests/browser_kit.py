"""A Chromium without a screen, spoken to through two pipes in its own debugging protocol.

`CHROMIUM` is None where none is installed; tests that need one are collected only where it is.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
_FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--hide-scrollbars", "--remote-debugging-pipe", "--lang=en-US", "--disable-dev-shm-usage"),
)


class Browser:
    """One tab.

    Attributes:
        said: what the page logged, threw or was refused.
        asked: addresses that it asked for.
    """

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, from_browser
        self._rest, self._number, self._session = b"", 0, ""
        self.said: list[str] = []
        self.asked: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> Any:
        """The answer of the browser to one command; events on the way are noted."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            told = self._next()
            if told.get("id") == self._number:
                assert "error" not in told, told
                return told["result"]
            self._note(told)

    def show(self, page: Path, width: int, height: int, *, dark: bool = False) -> None:
        """Open a file at a size."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=page.as_uri())
        while self.run("document.readyState") != "complete":
            pass
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def run(self, script: str) -> Any:
        """The value of a script in the page."""
        told = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def press(self, *keys: str) -> None:
        """Press keys, as `ArrowLeft`, `Tab`, `Enter`."""
        codes = {"Enter": 13, "Tab": 9, "Escape": 27, "End": 35, "Home": 36, "ArrowLeft": 37,
                 "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}  # fmt: skip
        for key in keys:
            more = {"text": "\r"} if key == "Enter" else {}
            for kind in ("keyDown", "keyUp"):
                self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                          windowsVirtualKeyCode=codes[key], **more)  # fmt: skip

    def picture(self, path: Path, *, whole: bool = True) -> None:
        told = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
            told = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(told["data"]))

    def _next(self) -> Any:
        while b"\0" not in self._rest:
            read = os.read(self._from, 1 << 20)
            assert read, "the browser is gone"
            self._rest += read
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def _note(self, event: Any) -> None:
        method, params = event.get("method"), event.get("params", {})
        if method in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"):
            self.said.append(json.dumps(params))
        if method == "Network.requestWillBeSent":
            self.asked.append(params["request"]["url"])


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A browser with an empty profile in a folder."""
    assert CHROMIUM is not None
    (theirs, to_browser), (from_browser, answers) = os.pipe(), os.pipe()

    def place_pipes() -> None:  # the protocol wants 3 and 4, which may be in use as other ends
        first, second = os.dup(theirs), os.dup(answers)
        os.dup2(first, 3)
        os.dup2(second, 4)

    done = subprocess.Popen(
        [CHROMIUM, *_FLAGS, f"--user-data-dir={folder}"],
        close_fds=False,
        preexec_fn=place_pipes,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs)
    os.close(answers)
    try:
        yield Browser(to_browser, from_browser)
    finally:
        os.close(to_browser)
        done.terminate()
        done.wait(20)
        os.close(from_browser)
