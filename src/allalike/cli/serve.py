"""The command `allalike serve`."""

from __future__ import annotations

import os
import shlex
import sys
import webbrowser
from pathlib import Path

import click

from allalike._core.system.addresses import hide_in_word
from allalike.cli.console import echo
from allalike.errors import UnsupportedError

_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")


@click.command
@click.argument("source", required=False, metavar="[DIR|FILE]")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port to listen on (default: any free port).")
@click.option("--open/--no-browser", "browse", default=None, help="Open a browser (default: on a desktop).")
@click.option("--max-size", default="200MB", help="Maximum size of all uploads.", show_default=True)
def serve(source: str | None, port: int, browse: bool | None, max_size: str) -> None:
    """Run allalike, or show a saved result, in the browser.

    DIR is an output folder of 'allalike discover', whose report is shown (and written if it is missing). FILE is a
    file of answers. Without either, upload a file on the page.

    The page is available on this computer only, at an address with a random token. Ctrl-C stops the server and deletes
    the uploaded files and the results of the page.
    """
    from allalike._core.system.files import ending_asked, work_folder
    from allalike._core.system.memory import parse_size
    from allalike.serve.server import Server
    from allalike.serve.session import Session

    if source is not None and "://" in source:
        shown = shlex.quote(hide_in_word(source))
        raise UnsupportedError(
            f"serve cannot open the address {shown}, only local files and folders. Run: allalike discover {shown}"
            " -o out, and then: allalike serve out"
        )
    limit = parse_size(max_size, "--max-size")
    path = None if source is None else Path(source)
    with ending_asked() as asked, work_folder() as folder:
        session = Session(folder, limit=limit)
        with Server(session, port) as server:
            if path is not None and path.is_dir():
                session.show(path)
            elif path is not None:
                session.take(path)
            echo(f"The page is at {server.address}\nIt is available on this computer only. Press Ctrl-C to stop.")
            seen = os.name == "nt" or sys.platform == "darwin" or any(map(os.environ.get, _DISPLAYS))
            if browse or (browse is None and seen and sys.stdout.isatty()):
                webbrowser.open(server.address)
            while not asked.wait(1):  # an unlimited wait may block signals
                pass
