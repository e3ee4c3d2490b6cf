"""The commands `allalike datasets`: which public data there are, and where they lie."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from allalike._core.words import count
from allalike.cli.console import bar_after_a_second, echo, rows, visible
from allalike.cli.lists import echo_json
from allalike.cli.options import option

if TYPE_CHECKING:
    from collections.abc import Iterable

    from allalike.datasets import DataSource

_COUNTS = ("workers", "tasks", "answers")
_MAX_SHOWN_FILES = 12  # some sources have thousands


@click.group
def datasets() -> None:
    """List, show and fetch public data sets."""


@datasets.command("list")
@option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def list_(as_json: bool) -> None:
    """List the data sets, one line each."""
    from allalike.datasets import DATASETS, source_of
    from allalike.datasets.downloads import find_folder

    sources = {name: source_of(name) for name in DATASETS}
    here = {source.name: find_folder(source) is not None for source in set(sources.values())}
    listed = [
        {**_dataset(name, source), "source": source.name, "here": here[source.name]} for name, source in sources.items()
    ]
    if as_json:
        echo_json("datasets", {"datasets": listed})
        return
    lines = [
        (facts["name"], facts["domain"], *_counts(facts), "yes" if facts["here"] else "", facts["summary"])
        for facts in listed
    ]
    echo(rows([("name", "domain", *_right(_COUNTS), "here", "what was asked"), *lines], indent=""))


@datasets.command
@click.argument("name")
@option("--json", "as_json", is_flag=True, help="Print everything as JSON, with all files.")
def show(name: str, as_json: bool) -> None:
    """Show who made a data set, under which licence, and where its files lie."""
    from allalike.datasets import source_of

    source = source_of(name)
    if as_json:
        echo_json("datasets", _facts(source))
    else:
        echo(_text(source))


@datasets.command(no_args_is_help=True)
@click.argument("names", nargs=-1, required=True)
@option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
def fetch(names: tuple[str, ...], quiet: bool) -> None:
    """Download data sets, unless they are here, and check them."""
    from allalike.datasets import source_of
    from allalike.datasets.downloads import fetch_source

    for source in {source.name: source for source in map(source_of, names)}.values():
        with bar_after_a_second(quiet=quiet):
            folder = fetch_source(source)
        if not quiet:
            echo(f"{source.name}: {_amount(source)}, in {visible(folder)}")


@datasets.command
@click.argument("name")
def path(name: str) -> None:
    """Print the folder with the files of a data set."""
    from allalike.datasets import path as find

    echo(str(find(name)))


def _dataset(name: str, source: DataSource) -> dict[str, Any]:
    """Say what the catalogue knows of a data set."""
    facts = source.datasets[name]
    return {"name": name, "summary": facts["summary"], **facts}


def _facts(source: DataSource) -> dict[str, Any]:
    """Say all that is known of a source."""
    from allalike.datasets import DATASETS, source_of
    from allalike.datasets.downloads import archive_url, file_url, find_folder

    folder = find_folder(source)
    urls = [{"url": file_url(source, file)} if source.public else {} for file in source.files]
    return {
        **asdict(source),
        "files": [{**asdict(file), **url} for file, url in zip(source.files, urls, strict=True)],
        "datasets": [_dataset(name, source) for name in DATASETS if source_of(name) is source],
        **({"archive": archive_url(source)} if source.sha256 else {}),
        "folder": None if folder is None else str(folder),
    }


def _text(source: DataSource) -> str:
    from allalike.datasets.downloads import folders, how_to_get

    facts = _facts(source)
    get = how_to_get(source) if source.public else f"Your own copy belongs in {folders(source)[0]}."
    heads = {
        "source": source.name,
        "domain": source.domain,
        "citation": source.citation,
        "licence": source.licence,
        "published": f"github.com/{source.repo}, commit {source.commit}" if source.public else "no",
        "folder": facts["folder"] or f"not here. {get}",
        "note": source.note,
    }
    inside = [(each["name"], each["domain"], *_counts(each), each["summary"]) for each in facts["datasets"]]
    sizes = [file.bytes or ("" if source.sha256 else "any") for file in source.files[:_MAX_SHOWN_FILES]]
    shown = [(size, source.path(file)) for size, file in zip(_right(sizes), source.files, strict=False)]
    more = len(source.files) - len(shown)
    return "\n".join(
        [
            *(_paragraph(head, text) for head, text in heads.items()),
            "",
            rows([("data set", "domain", *_right(_COUNTS), "what was asked"), *inside], indent=""),
            "",
            f"{_amount(source)}:",
            rows(shown),
            *([f"  and {more:,} more (--json lists them)"] if more else []),
        ]
    )


def _paragraph(head: str, text: str) -> str:
    return click.wrap_text(text, 100, f"{head:<11}", " " * 11)


def _counts(facts: dict[str, Any]) -> list[str]:
    return _right(facts.get(count, "") for count in _COUNTS)


def _right(values: Iterable[Any]) -> list[str]:
    """Set numbers and their heads to the right.

    >>> _right(["tasks", 12345])
    ['  tasks', ' 12,345']
    """
    return [(f"{value:,}" if isinstance(value, int) else value).rjust(7) for value in values]


def _amount(source: DataSource) -> str:
    files = count(len(source.files), "file")
    size = f"{source.size / 1e6:,.1f} MB" if source.size >= 1e6 else f"{source.size / 1e3:,.1f} kB"
    return f"{files}, {size}" if source.public else files
