"""Files: how they are to be read, where they do not say it themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict

from allalike._core.options import Options, choice, option
from allalike.errors import OptionError
from allalike.readers.formats.encodings import find_name

__all__ = ["FileOptions", "Files"]


class FileOptions(TypedDict, total=False):
    """The options of `Files`, for the signatures of functions that take them."""

    tool: str | None
    tag: str | None
    worker_from: str | None
    encoding: str | None
    decimal: str
    only: tuple[str, ...]
    skip: tuple[str, ...]
    layout: str | None


def _check_encoding(value: Any, name: str) -> str | None:
    """Return the name of an encoding of text, as Python knows it."""
    if value is None:
        return None
    try:
        return find_name(value)
    except (LookupError, TypeError, ValueError) as error:
        raise OptionError(
            f"{name} is {value!r}. Name one such as utf-8, latin-1, cp1252, utf-16 or shift_jis."
        ) from error


@dataclass(frozen=True, kw_only=True)
class Files(Options):
    """How files are to be read, where they do not say it themselves.

    Parameters
    ----------
    tool
        The name of the tool that wrote them, from `allalike formats`; by default it is recognised by their content.
    tag
        Which of several questions to read, where an export has them side by side, such as a control of Label Studio.
    worker_from
        ``filename`` where each worker has a file.
    encoding
        How characters are written; by default UTF-8, or what their bytes tell.
    decimal
        What stands before the fraction of a number: a point or a comma.
    only, skip
        Which columns of a matrix are answers, and which are not: names, and patterns such as ``Q*``.
    layout
        How masks lie in a folder: ``tasks/workers`` for one folder per task, ``workers/tasks`` for one per worker.

    >>> Files(decimal=",").encoding is None
    True
    """

    tool: str | None = None
    tag: str | None = None
    worker_from: str | None = choice(None, "filename")
    encoding: str | None = option(None, _check_encoding)
    decimal: str = choice(".", ",")
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    layout: str | None = choice(None, "tasks/workers", "workers/tasks")
