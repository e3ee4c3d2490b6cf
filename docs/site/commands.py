"""Pages of the program: each command with its options, as `--help` has them."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import click

from allalike.cli.app import app

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["command_pages"]


def command_pages() -> dict[str, str]:
    """Return a page for each command, and one that lists them."""
    rows = [f"| [allalike {name}]({name}.md) | {_text(one).partition('.')[0]}. |" for name, one in app.commands.items()]
    table = "\n".join(["| command | purpose |", "| --- | --- |", *rows])
    pages = {
        f"commands/{name}.md": "\n\n".join(_describe(f"allalike {name}", one)) for name, one in app.commands.items()
    }
    return {"commands/index.md": f"# The program\n\n{_text(app)}\n\n{table}\n", **pages}


def _describe(path: str, command: click.Command, level: str = "#") -> Iterator[str]:
    context = click.Context(command, info_name=path)
    yield f"{level} {path}"
    yield f"```text\n{command.get_usage(context).removeprefix('Usage: ')}\n```"
    yield _text(command)
    records = [record for option in command.params if (record := option.get_help_record(context))]
    rows = [f"| `{names}` | {_cell(meaning)} |" for names, meaning in records if meaning]
    yield "\n".join(["| option | meaning |", "| --- | --- |", *rows]) if rows else ""
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from _describe(f"{path} {name}", below, level + "#")


def _text(command: click.Command) -> str:
    """Return what a command says of itself; lines that click leaves as they are are a block."""
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    return "\n\n".join(f"```text\n{one[2:]}\n```" if one.startswith("\b\n") else one for one in paragraphs)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").replace("*", "\\*").split())
