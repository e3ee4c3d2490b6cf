"""The commands `allalike datasets`: public data sets, and where their files are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from allalike._core.words import count
from allalike.cli.console import WIDTH, echo, progress_and_notes, rows, visible

if TYPE_CHECKING:
    from allalike.datasets import DataSource

_COUNTS = ("workers", "tasks", "answers")
_MAX_FILES = 12  # that are shown; some sources have thousands


@click.group
def datasets() -> None:
    """List, show and fetch public data sets."""


@datasets.command("list")
def list_() -> None:
    """List the data sets, one line each."""
    from allalike.datasets import DATASETS, source_of
    from allalike.datasets.downloads import find_folder

    sources = {name: source_of(name) for name in DATASETS}
    here = {source.name: find_folder(source) is not None for source in set(sources.values())}
    lines = [
        (name, each.datasets[name]["domain"], *(each.datasets[name].get(size) for size in _COUNTS), *rest)
        for name, each in sources.items()
        for rest in [("yes" if here[each.name] else "", each.datasets[name]["summary"])]
    ]
    echo(rows([("name", "domain", *_COUNTS, "here", "content"), *lines], indent=""))


@datasets.command
@click.argument("name")
def show(name: str) -> None:
    """Show who made a data set, under which licence, and where its files are."""
    from allalike.datasets import DATASETS, source_of
    from allalike.datasets.downloads import find_folder, folders, how_to_get

    source = source_of(name)
    get = how_to_get(source) if source.public else f"Your own copy belongs in {folders(source)[0]}."
    facts = {
        "source": source.name,
        "domain": source.domain,
        "citation": source.citation,
        "licence": source.licence,
        "published": f"github.com/{source.repo}, commit {source.commit}" if source.public else "no",
        "folder": find_folder(source) or f"not here. {get}",
        "note": source.note,
    }
    for head, text in facts.items():
        echo(click.wrap_text(str(text), WIDTH + 20, f"{head:<11}", " " * 11))
    inside = {each: source.datasets[each] for each in DATASETS if source_of(each) is source}
    lines = [(each, about["domain"], *map(about.get, _COUNTS), about["summary"]) for each, about in inside.items()]
    echo("\n" + rows([("data set", "domain", *_COUNTS, "content"), *lines], indent=""))
    files = [(source.path(file), file.bytes or "") for file in source.files[:_MAX_FILES]]
    more = len(source.files) - len(files)
    echo("\n" + rows([(describe_files(source), "bytes"), *files], indent=""))
    echo(f"and {more:,} more" if more else "")


@datasets.command(no_args_is_help=True)
@click.argument("names", nargs=-1, required=True)
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
def fetch(names: tuple[str, ...], quiet: bool) -> None:
    """Download data sets, unless they are here, and check them."""
    from allalike.datasets import source_of
    from allalike.datasets.downloads import fetch_source

    for source in {source.name: source for source in map(source_of, names)}.values():
        with progress_and_notes({"quiet": quiet}):
            folder = fetch_source(source)
        if not quiet:
            echo(f"{source.name}: {describe_files(source)}, in {visible(folder)}")


@datasets.command
@click.argument("name")
def path(name: str) -> None:
    """Print the folder with the files of a data set."""
    from allalike.datasets import path as find

    echo(str(find(name)))


def describe_files(source: DataSource) -> str:
    """Return the number of files, and their size if they are published."""
    files = count(len(source.files), "file")
    size = f"{source.size / 1e6:,.1f} MB" if source.size >= 1e6 else f"{source.size / 1e3:,.1f} kB"
    return f"{files}, {size}" if source.public else files
