"""Places: the files that a source names; what lies elsewhere, or in a database, is put into files here for the time."""

from __future__ import annotations

import glob
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

from allalike._core.system.addresses import Address, find_database, find_file, is_address, name_database
from allalike.errors import InputError, OptionError
from allalike.readers.formats.failures import unreadable

if TYPE_CHECKING:
    from collections.abc import Callable

    from allalike.readers.formats.spooled import Spooled

__all__ = ["fetch_places", "find_places", "list_near", "local_name", "matching", "name_places"]

_spooled: WeakValueDictionary[object, Spooled] = WeakValueDictionary()  # of files that did not change since


def find_places(source: str | os.PathLike[str], query: str | None = None, table: str | None = None) -> list[Path]:
    """Return the files that a path, a pattern or an address stands for; rows of a database are in one, too.

    >>> [path.name for path in find_places("answers.csv")]
    ['answers.csv']
    """
    if query is not None and table is not None:
        raise OptionError("query and table are both given. Leave one of them out.")
    if not isinstance(source, Path) and is_address(source):
        address = source if isinstance(source, Address) else Address(os.fspath(source))
        if (named := name_database(address[:])) is None:
            found = _hold(address, "files", partial(_fetch, address))
        elif named[0].file:
            found, table = [Path(named[0].file)], table or named[1] or None
        else:
            table = table if query is not None else table or named[1] or None
            return [_hold(address, (query, table), partial(_spool, address, query, table))]
    else:
        found = matching(source if isinstance(source, Path) else Path(local_name(os.fspath(source))))
    kinds = [find_database(path) for path in found]
    if not all(kinds) and (query or table):
        what = "query" if query else "table"
        raise OptionError(f"{what} is for databases, and {found[kinds.index('')]} is none. Leave it out.")
    return [_spool_file(path, kind, query, table) if kind else path for path, kind in zip(found, kinds, strict=True)]


def name_places(source: Any, table: str | None) -> tuple[Any, str | None]:
    """Return a source whose addresses hide their secrets, and hold what was fetched; also the table that one names.

    >>> name_places("https://host/a.csv?sig=abc", None), name_places("sqlite:///crowd.db#answers", None)
    (('https://host/a.csv?sig=***', None), ('crowd.db', 'answers'))
    """
    listed = list(source) if isinstance(source, list | tuple) else [source]
    if not any(map(is_address, listed)):
        return source, table
    files = [find_file(each) if is_address(each) else ("", "") for each in listed]
    named = [
        path or (Address(each) if is_address(each) else each) for each, (path, _) in zip(listed, files, strict=True)
    ]
    told = files[0][1] if len(files) == 1 else ""
    return named if isinstance(source, list | tuple) else named[0], table or told or None


def fetch_places(source: Any, query: str | None, table: str | None) -> None:
    """Bring here what lies elsewhere, for the engines of this machine; it stays as long as its address.

    >>> fetch_places("answers.csv", None, None)
    """
    for name in source if isinstance(source, list | tuple) else [source]:
        if isinstance(name, Address):
            find_places(name, query, table)


def list_near(source: str | os.PathLike[str]) -> list[Path]:
    """Return the files of a source that are on this machine: those of an address if they were fetched.

    >>> [path.name for path in list_near("answers.csv")], list_near("s3://bucket/answers.csv")
    (['answers.csv'], [])
    """
    if isinstance(source, Address):
        return [path for found in source.held.values() for path in (found if isinstance(found, list) else [found])]
    name = source if isinstance(source, Path) else local_name(os.fspath(source))
    return [] if is_address(name) else matching(Path(name))


def local_name(name: str) -> str:
    """Return the path of an address that names a file of this machine, and any other name as it is.

    >>> local_name("sqlite:///crowd.db#answers"), local_name("s3://bucket/a.csv")
    ('crowd.db', 's3://bucket/a.csv')
    """
    if name.startswith("file:"):
        from urllib.request import url2pathname  # with which comes all of HTTP

        return url2pathname(urlsplit(name).path)
    return find_file(name)[0] or name


def _hold(address: Address, key: object, fetch: Callable[[], Any]) -> Any:
    if key not in address.held:
        address.held[key] = fetch()
    return address.held[key]


def _fetch(address: Address) -> list[Path]:
    from allalike.readers.formats.remote_files import fetch_files

    return fetch_files(address)


def _spool(address: Address, query: str | None, table: str | None) -> Spooled:
    from allalike.readers.formats.databases import spool_rows

    return spool_rows(address, query, table)


def _spool_file(path: Path, kind: str, query: str | None, table: str | None) -> Path:
    """Put rows of a database that is a file into another, unless that was done, and it did not change since."""
    state = path.stat()
    key = (os.path.realpath(path), state.st_mtime_ns, state.st_size, query, table)
    found = _spooled.get(key)
    if found is None:
        found = _spooled[key] = _spool(Address(f"{kind}://", os.fspath(path)), query, table)
        found.called = found.called.replace(os.fspath(path), str(path))
    return found


def matching(path: Path) -> list[Path]:
    """Return the file that a path names, or all that match it if it is a pattern.

    >>> matching(Path("answers.csv"))
    [PosixPath('answers.csv')]
    """
    try:
        if path.exists() or not glob.has_magic(str(path)):
            return [path]
    except OSError as error:  # such as a name that is too long
        raise unreadable(path, error) from error
    found = sorted(Path(match) for match in glob.glob(str(path), recursive=True))
    if not found:
        raise InputError(f"No file matches {str(path)!r}.")
    return found
