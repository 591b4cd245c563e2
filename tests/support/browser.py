"""A headless browser for tests of pages; there may be none on this machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

__all__ = ["Opened", "missing", "opened", "started"]

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER_VARIABLE = "SCALATRACE_TEST_BROWSER"
"""Path of another browser of the Chromium family."""


def executable() -> str | None:
    """Path of the browser; None: there is none."""
    given = os.environ.get(BROWSER_VARIABLE)
    return given or next((path for name in NAMES if (path := shutil.which(name))), None)


def missing() -> str:
    """Why pages cannot be opened; "" where they can."""
    if find_spec("playwright") is None:
        return "no playwright: pip install 'scalatrace[browser]'"
    return "" if executable() else "no chromium on this machine: apt-get install chromium"


@dataclass
class Opened:
    """A page in the browser.

    Attributes:
        page: playwright's page.
        messages: of the console, and errors of scripts.
        requests: addresses that the page asked for, without its own file.
    """

    page: Any
    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    @property
    def ready_ms(self) -> float:
        """Time until all sections are drawn."""
        return float(self.page.evaluate("document.documentElement.dataset.ready"))

    def text(self, selector: str) -> str:
        """Text of the first element."""
        return str(self.page.locator(selector).first.inner_text())


@contextmanager
def started() -> Iterator[Any]:
    """Start the browser; playwright's object."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable(), args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(browser: Any, path: Path, width: int = 1300, dark: bool = False) -> Iterator[Opened]:
    """Open a file in a browser of `started`, and wait until it is drawn."""
    page = browser.new_page(
        viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light"
    )
    result = Opened(page)

    def dismiss(dialog: Any) -> None:
        result.messages.append("dialog")
        dialog.dismiss()

    page.on("console", lambda message: result.messages.append(message.text))
    page.on("pageerror", lambda error: result.messages.append(str(error)))
    page.on("request", lambda request: result.requests.append(request.url))
    page.on("dialog", dismiss)
    try:
        page.goto(path.as_uri())
        page.wait_for_function("document.documentElement.dataset.ready", timeout=30_000)
        result.requests = [url for url in result.requests if url not in (path.as_uri(), "data:,")]
        yield result
    finally:
        page.close()
