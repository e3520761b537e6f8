"""A real browser, where playwright and Chromium are there; pages that remember what went wrong."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

# Without a graphics card: WebGL in software. Flat canvases that go the same way take a minute for
# a ring of 720 sectors.
_ARGUMENTS = [
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-accelerated-2d-canvas",
]
_NAMES = ("chromium", "chromium-browser", "google-chrome")
# Roles that something can be done with, or that stand for a picture.
_NAMED = {"button", "slider", "checkbox", "textbox", "combobox", "image", "img", "spinbutton"}
_SECONDS = 30.0


@dataclass
class Tab:
    """A page, its messages, and all that it requests."""

    page: Any
    noisy: bool = False
    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def until(self, code: str) -> Any:
        """Value of an expression once it is true; not by its page, which allows no `eval`."""
        end = time.monotonic() + _SECONDS
        while not (value := self.page.evaluate(code)):
            assert time.monotonic() < end, f"{code}: never; messages: {self.messages}"
            self.page.wait_for_timeout(20)
        return value

    def names(self) -> list[tuple[str, str]]:
        """Role and name of every control and picture, as a screen reader has them."""
        tree = self.page.context.new_cdp_session(self.page).send("Accessibility.getFullAXTree")
        nodes = [node for node in tree["nodes"] if not node["ignored"]]
        entries = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes]
        return [(role, name) for role, name in entries if role in _NAMED]

    def is_wider_than_its_window(self) -> bool:
        widths = self.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        return bool(widths[0] > widths[1])


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    name = "playwright.sync_api"
    sync_playwright = pytest.importorskip(name, reason="no playwright").sync_playwright
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        pytest.skip("no Chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=_ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium: Any) -> Iterator[Callable[..., Tab]]:
    """Open an address in a window of its own, which in the end has no messages unless `noisy`.

    `before` is a script that the page begins with, `until` an expression that comes true.
    """
    tabs = []

    def opened(
        address: str, *, before="", until="true", width=640, noisy=False, **options: Any
    ) -> Tab:
        context = chromium.new_context(viewport={"width": width, "height": 480}, **options)
        tabs.append(tab := Tab(context.new_page(), noisy))
        tab.page.on("console", lambda message: tab.messages.append(message.text))
        tab.page.on("pageerror", lambda error: tab.messages.append(str(error)))
        tab.page.on("request", lambda request: tab.requests.append(request.url))
        if before:
            tab.page.add_init_script(before)
        tab.page.goto(address)
        tab.until(until)
        return tab

    yield opened
    for tab in tabs:
        tab.page.context.close()
    assert [tab.messages for tab in tabs if tab.messages and not tab.noisy] == []


@pytest.fixture
def without_webgl() -> str:
    """Script of a browser that has none."""
    return """
    const original = HTMLCanvasElement.prototype.getContext;
    HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
      return kind === "webgl2" ? null : original.call(this, kind, ...rest);
    };
    """
