"""A real browser for tests of pages: the system's Chromium, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

MISSING = "Chromium is not here (chromium, or CHROMIUM=path): pages were not tried in a browser."
WIDTHS = {"desktop": 1200, "phone": 390}


@contextmanager
def started() -> Iterator[Browser]:
    """Start the browser; skip where it is missing, or fail if ALLALIKE_BROWSER is required."""
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if path is None:
        if os.environ.get("ALLALIKE_BROWSER") == "required":
            pytest.fail(MISSING)
        pytest.skip(MISSING)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def opened(browser: Browser, path: Path, *, width: int = WIDTHS["desktop"], theme: str = "light") -> Iterator[Page]:
    """Open a page from disk; whatever it says on the console, and whatever it asks a network for, is a failure."""
    with watched(browser, width, theme) as (page, asked):
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.dataset.ready") == "yes"
        yield page
    assert [url for url in asked if not url.startswith("blob:")] == [path.as_uri()]


@contextmanager
def visited(browser: Browser, address: str, *, width: int = WIDTHS["desktop"], theme: str = "light") -> Iterator[Page]:
    """Open a page of a server; whatever it says on the console, and whatever it asks of others, is a failure."""
    with watched(browser, width, theme) as (page, asked):
        page.set_default_timeout(60_000)  # for what another process does
        page.goto(address)
        page.wait_for_selector("html[data-ready=yes]")
        yield page
    assert not [url for url in asked if not url.startswith((address, "blob:", "data:"))]


@contextmanager
def watched(browser: Browser, width: int, theme: str) -> Iterator[tuple[Page, list[str]]]:
    """Make a page, and a list of what it asks for; whatever it says on the console is a failure."""
    context = browser.new_context(
        viewport={"width": width, "height": 850},
        color_scheme="dark" if theme == "dark" else "light",
        accept_downloads=True,
    )
    page = context.new_page()
    page.set_default_timeout(10_000)
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(f"dialog: {dialog.message}"))
    page.on("request", lambda request: asked.append(request.url))
    yield page, asked
    assert not said
    context.close()


def serious_problems(page: Page) -> list[Any]:
    """List what keeps some people from using the page."""
    from axe_playwright_python.sync_playwright import Axe

    rules = {"runOnly": ["wcag2a", "wcag2aa"], "resultTypes": ["violations"], "elementRef": False, "iframes": False}
    found = Axe().run(page, options=rules).response["violations"]
    return [(each["id"], each["nodes"][0]["html"]) for each in found if each["impact"] in ("serious", "critical")]


def keep_picture(page: Page, name: str) -> None:
    """Keep a picture of the page where ALLALIKE_SCREENSHOTS names a folder for them."""
    if folder := os.environ.get("ALLALIKE_SCREENSHOTS"):
        page.screenshot(path=Path(folder, f"{name}.png"), full_page=not page.locator("dialog[open]").count())
