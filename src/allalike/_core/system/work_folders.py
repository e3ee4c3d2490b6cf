"""Work folders: what a program keeps while it runs, for its user alone; what a killed one left goes with the next."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from allalike._core.system.claims import claim_folder, draw_name, find_abandoned
from allalike._core.system.moves import remove_tree
from allalike._core.system.signals import signals_deferred

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["make_work_folder", "work_folder"]

_PREFIX = "allalike-"


def make_work_folder(parent: str | os.PathLike[str] | None = None) -> tuple[Path, IO[bytes] | None]:
    """Make a folder, in that of the system by default, and claim it; those that nobody uses any more are removed.

    >>> made, claim = make_work_folder()
    >>> made.name.startswith("allalike-")
    True
    >>> claim.close()
    >>> other, claim = make_work_folder()
    >>> made.exists(), claim.close(), remove_tree(other)
    (False, None, None)
    """
    place = Path(os.path.realpath(parent or tempfile.gettempdir()))
    for left in find_abandoned(place, _PREFIX):
        remove_tree(left)
    made = place / draw_name(place, _PREFIX)
    made.mkdir(mode=0o700)
    return made, claim_folder(made)


@contextmanager
def work_folder() -> Iterator[Path]:
    """Give a work folder, and remove it in the end.

    >>> with work_folder() as folder:
    ...     folder.is_dir()
    True
    >>> folder.exists()
    False
    """
    folder, claim = make_work_folder()
    try:
        yield folder
    finally:
        with signals_deferred():
            if claim is not None:
                claim.close()  # first, for on Windows a file that is open cannot be removed
            remove_tree(folder)
