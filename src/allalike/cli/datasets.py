"""The commands `allalike datasets list` and `allalike datasets fetch`."""

from __future__ import annotations

import click

from allalike._core.text_format import count
from allalike.cli.console import echo, progress_and_notes, rows, visible

_COUNTS = ("workers", "tasks", "answers")


@click.group
def datasets() -> None:
    """List and fetch public data sets."""


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
    echo(rows([("name", "domain", *_COUNTS, "fetched", "content"), *lines], indent=""))


@datasets.command(no_args_is_help=True)
@click.argument("names", nargs=-1, required=True)
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
def fetch(names: tuple[str, ...], quiet: bool) -> None:
    """Download and check data sets; print folder, citation and licence."""
    from allalike.datasets import source_of
    from allalike.datasets.downloads import fetch_source

    for source in {source.name: source for source in map(source_of, names)}.values():
        with progress_and_notes({"quiet": quiet}):
            folder = fetch_source(source)
        if not quiet:
            size = f"{count(len(source.files), 'file')}, {source.size / 1e6:,.2f} MB"
            echo(f"{source.name}: {size}, in {visible(folder)}\n{source.citation}\nLicence: {source.licence}")
