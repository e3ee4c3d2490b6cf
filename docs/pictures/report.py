"""The picture of a report: the first screen of that of `allalike demo`, as a browser shows it.

`make pictures` draws it with Chromium, where that is installed (``chromium``, or CHROMIUM=path), and leaves the earlier
picture as it is elsewhere. Colours are few, so that a palette of 64 makes the file small.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
from pathlib import Path

from allalike.cli import main

__all__ = ["PICTURE", "draw", "find_browser"]

PICTURE = Path(__file__).with_suffix(".png")
_WIDTH, _HEIGHT = 1200, 800
_COLOURS = 64


def find_browser() -> str | None:
    """Return the path of Chromium, or None where it is missing."""
    named = os.environ.get("CHROMIUM")
    return named or next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)


def draw(page: Path, browser: str) -> bytes:
    """Return the first screen of a page as a PNG."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        opened = chromium.new_page(viewport={"width": _WIDTH, "height": _HEIGHT}, color_scheme="light")
        opened.goto(page.as_uri())
        seen = opened.screenshot()
        chromium.close()
    small = io.BytesIO()
    Image.open(io.BytesIO(seen)).convert("RGB").quantize(_COLOURS).save(small, "PNG", optimize=True)
    return small.getvalue()


def _make_page(folder: str) -> Path:
    """Write the report of the demo."""
    try:
        main(["demo", "-o", folder])
    except SystemExit as done:
        if done.code:
            raise
    return Path(folder, "report.html")


if __name__ == "__main__":
    program = find_browser()
    if program is None:
        sys.stdout.write(f"{PICTURE.name} stays as it is: Chromium is not here (chromium, or CHROMIUM=path).\n")
        sys.exit(0)
    with tempfile.TemporaryDirectory() as folder:
        PICTURE.write_bytes(draw(_make_page(folder), program))
