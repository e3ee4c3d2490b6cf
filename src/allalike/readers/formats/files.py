"""Files: how they are to be read, where they do not say it themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from allalike._core.options import Options, choice, flag, option
from allalike.errors import OptionError
from allalike.readers.formats.encodings import find_name

BOOKS = (".xlsx", ".xlsm")
MANIFEST = "manifest.csv"  # of a folder of masks


def _check_encoding(value: Any, name: str) -> str:
    """Return the name of an encoding of text, as Python knows it."""
    try:
        return find_name(value)
    except (LookupError, TypeError, ValueError) as error:
        raise OptionError(
            f"{name} is {value!r}. Name one such as utf-8, latin-1, cp1252, utf-16 or shift_jis."
        ) from error


@dataclass(frozen=True, kw_only=True)
class Files(Options):
    """How files are to be read; the parameters are those of `allalike.read`.

    ``golden`` is for exports whose tool marks gold labels: what is marked is no answer then, but known.
    """

    tool: str | None = None
    tag: str | None = None
    worker_from: str | None = choice(None, "filename")
    encoding: str | None = option(None, _check_encoding)
    decimal: str = choice(".", ",")
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    layout: str | None = choice(None, "tasks/workers", "workers/tasks")
    query: str | None = None
    table: str | None = None
    golden: bool = flag(False)
