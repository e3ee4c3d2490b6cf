"""The hook of the site: pages that are made when it is built, and links that hold in the repository and on the site.

`mkdocs.yml` names a folder where all pages of it go (`domains/`); they are put there. Files of the root are added, and
every page of `docs` is rewritten as `prose.py` says.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File, Files

from allalike import DOMAINS, METHODS
from allalike.cli.schemas import SCHEMAS, make_schema
from allalike.result.summary import name_schema
from commands import command_pages
from prose import HOMES, adapt, relink
from reference import list_tools, reference_pages
from textbook import domain_pages, engine_pages, link_rows, method_pages, rule_pages

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

__all__ = ["make_pages", "on_config", "on_files", "on_page_markdown"]

# Pages that list all of a kind, which links lead to: its folder, and its names.
_LISTS = {
    "science/METHODS.md": ("../methods", list(METHODS)),
    "labels/LABELS.md": ("../domains", list(DOMAINS)),
}
# Tables name everything, and explain little.
_TABLES = {
    "evidence/LEADERBOARD.md",
    "evidence/REPRODUCTION.md",
    "evidence/BENCHMARKS.md",
    "CHANGELOG.md",
}


def make_pages() -> dict[str, str]:
    """Return all pages that are made of the code, by their place."""
    makers = (domain_pages, method_pages, rule_pages, engine_pages, reference_pages, command_pages)
    return {place: text for make in makers for place, text in make().items()}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages of each folder where the navigation names it."""
    pages = make_pages()
    config.extra["made"] = pages
    config.nav = _fill(config.nav, list(pages))
    return config


def _fill(nav: Any, places: list[str]) -> Any:
    if isinstance(nav, dict):
        return {title: _fill(below, places) for title, below in nav.items()}
    if isinstance(nav, list):
        return [one for entry in nav for one in _entries(entry, places)]
    return nav


def _entries(entry: Any, places: list[str]) -> list[Any]:
    if isinstance(entry, str) and entry.endswith("/"):
        return [place for place in places if place.startswith(entry)]
    return [_fill(entry, places)]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and schemas that are made, and the files of the root, of which the README is the front page."""
    for place, text in config.extra["made"].items():
        files.append(File.generated(config, place, content=text))
    for command in SCHEMAS:
        place = f"schemas/{name_schema(command).removeprefix('allalike/').replace('/', '-')}.json"
        files.append(File.generated(config, place, content=json.dumps(make_schema(command), indent=2)))
    root = Path(config.config_file_path).parent
    for source, home in HOMES.items():
        if found := files.get_file_from_path(source.removeprefix("docs/")):
            files.remove(found)
        files.append(File.generated(config, home, content=(root / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrite links and what Python-Markdown reads in another way than GitHub; weigh pages for the search."""
    sources = {home: source for source, home in HOMES.items()}
    place = page.file.src_uri
    page.meta["search"] = {"boost": 2 if place in config.extra["made"] else 0.5 if place in _TABLES else 1}
    if place in config.extra["made"]:
        return adapt(markdown)
    if place == "guide/TOOLS.md":
        markdown += list_tools()
    if place in _LISTS:
        markdown = link_rows(markdown, *_LISTS[place])
    return adapt(relink(markdown, sources.get(place, f"docs/{place}")))
