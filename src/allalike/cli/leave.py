"""Leave: whether files may be opened that a saved result names, of which nobody knows whose it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from allalike.cli.console import ask, can_ask, echo, visible

if TYPE_CHECKING:
    import os

__all__ = ["get_leave"]


def get_leave(folder: str | os.PathLike[str]) -> bool:
    """Ask for leave at a terminal if it is needed; without it, say what would be opened and with which command.

    >>> get_leave("nowhere")
    False
    """
    from allalike.api.inputs.outside import refuse_outside
    from allalike.api.load import find_strange

    strange = find_strange(folder)
    if not strange:
        return False
    refused = refuse_outside(Path(folder), strange)
    if not can_ask():
        raise refused
    echo("\n".join(map(visible, [refused.args[0], *refused.lines])), err=True)
    if not ask("Open them?"):
        raise click.Abort
    return True
