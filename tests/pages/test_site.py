"""The documentation site: complete pages made of docstrings, links that lead somewhere, and nothing from elsewhere."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import click
import pytest

from allalike.cli.app import app
from commands import command_pages
from gaps import find_gaps
from running.chromium import WIDTHS, keep_picture, serious_problems, started, watched
from textbook import domain_pages, engine_pages, method_pages, rule_pages

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).parents[2]
SHOWN = ("index", "QUESTIONS", "methods/ds", "domains/ordinal", "rules/kemeny", "classes/Result", "commands/discover")
LOOKS = [("desktop", "light"), ("phone", "dark")]


def textbook() -> dict[str, str]:
    return {**domain_pages(), **method_pages(), **rule_pages(), **engine_pages()}


def test_every_page_has_a_formula_says_when_it_works_and_when_it_fails_and_has_an_example() -> None:
    assert find_gaps() == {}


def test_the_page_of_a_command_has_all_its_options() -> None:
    def told(command: click.Command) -> Iterator[str]:
        yield from (
            name for one in command.params if isinstance(one, click.Option) and not one.hidden for name in one.opts
        )
        for below in command.commands.values() if isinstance(command, click.Group) else ():
            yield from told(below)

    pages = command_pages()
    for name, command in app.commands.items():
        page = pages[f"commands/{name}.md"]
        assert [option for option in told(command) if option not in page] == []


@pytest.mark.long
@pytest.mark.timeout(300)
def test_every_example_of_the_pages_runs_as_it_is_shown() -> None:
    said: list[str] = []
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    for place, page in textbook().items():
        for example in re.findall(r"```pycon\n(.*?)```", page, flags=re.DOTALL):
            runner.run(parser.get_doctest(example, {}, place, None, 0), out=said.append)
    assert "".join(said) == ""
    assert runner.tries > 200


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site, in which any warning is an error: of links, of anchors, of pages that no menu has."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return folder


class Links(HTMLParser):
    """What a page links to, what it loads, and where in it a link can lead."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors = {""}
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag has."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") not in ("canonical", "next", "prev"):
            self.loads.append(given["href"])
        elif "src" in given:
            self.loads.append(given["src"])


@pytest.mark.long
@pytest.mark.timeout(300)
def test_every_link_of_the_site_leads_somewhere_and_nothing_comes_from_elsewhere(site: Path) -> None:
    pages = {page: Links(page) for page in site.rglob("*.html")}
    lost = []
    for page, found in pages.items():
        assert not [load for load in found.loads if urlsplit(load).netloc]
        for link in [*found.links, *found.loads]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            target = target / "index.html" if target.is_dir() else target
            anchors = pages[target].anchors if target in pages else {unquote(parts.fragment)}
            if not target.exists() or unquote(parts.fragment) not in anchors:
                lost.append(f"{page.relative_to(site)}: {link}")
    assert [link for link in lost if not link.startswith("404.html")] == []
    assert len(pages) > 130


class Quiet(SimpleHTTPRequestHandler):
    """A server of files that says nothing."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name of the base)
        """Say nothing."""


@pytest.fixture(scope="module")
def served(site: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started() as running:
        yield running


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("width", "theme"), LOOKS)
def test_pages_fit_the_screen_and_are_accessible(browser: Browser, served: str, width: str, theme: str) -> None:
    for name in SHOWN:
        with watched(browser, WIDTHS[width], theme) as (page, asked):
            page.goto(f"{served}/{name}.html")
            page.wait_for_load_state("networkidle")
            keep_picture(page, f"site-{name.replace('/', '-')}-{width}-{theme}")
            assert page.evaluate("document.documentElement.scrollWidth") == WIDTHS[width], name
            assert not serious_problems(page), name
        assert not [url for url in asked if not url.startswith(served)]
