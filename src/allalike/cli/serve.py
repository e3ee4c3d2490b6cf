"""The command `allalike serve`."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import click

from allalike._core.system.addresses import hide_in_word
from allalike.cli.console import echo
from allalike.errors import UnsupportedError


@click.command
@click.argument("source", required=False, metavar="[DIR|FILE]")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Where it listens. By default any free port.")
@click.option(
    "--open/--no-browser", "browse", default=None, help="Open a browser, or not. By default where there is a desktop."
)
@click.option("--max-size", default="200MB", help="How much may be handed in.", show_default=True)
def serve(source: str | None, port: int, browse: bool | None, max_size: str) -> None:
    """Look at a result, or find one, in a browser.

    DIR is a folder that 'allalike discover' wrote: its report is shown. If it has none, the answers that it keeps are
    solved again for it. FILE is a file of answers: the page shows how it was read, and finds the truths in it. Without
    either, a file can be dropped on the page.

    The page is on this computer only, and its address has a token that nobody else knows. It is there until Ctrl-C.
    Files that were handed in, and results that were found on the page, are removed then.
    """
    from allalike._core.system.files import ending_asked, work_folder
    from allalike._core.system.memory import parse_size
    from allalike.serve.desk import Desk
    from allalike.serve.server import Server

    if source is not None and "://" in source:
        shown = shlex.quote(hide_in_word(source))
        raise UnsupportedError(
            f"{shown} is an address, and serve shows files and folders of this machine. Run: allalike discover {shown}"
            " -o out, and then: allalike serve out"
        )
    limit = parse_size(max_size, "--max-size")
    path = None if source is None else Path(source)
    with ending_asked() as asked, work_folder() as folder:
        desk = Desk(folder, limit=limit)
        with Server(desk, port) as server:
            if path is not None and path.is_dir():
                desk.show(path)
            elif path is not None:
                desk.take(path)
            echo(f"The page is at {server.address}\nIt is for this computer only. Ctrl-C ends it.")
            if _has_desktop() if browse is None else browse:
                _open(server.address)
            while not asked.wait(1):  # where a wait without limit hears no signal
                pass


def _has_desktop() -> bool:
    """Tell whether somebody sits before this program who would see a browser open."""
    seen = os.name == "nt" or sys.platform == "darwin" or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
    return bool(seen and sys.stdout.isatty())


def _open(address: str) -> None:
    import webbrowser

    if not webbrowser.open(address):
        echo("No browser could be opened; open the page yourself.", err=True)
