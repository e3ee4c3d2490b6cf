"""Find the files that a source names; remote files and rows of databases are copied into temporary files.

Most formats are read more than once, and by several threads, so a remote file is copied first. The copy is removed when
nothing refers to it any more.
"""

from __future__ import annotations

import glob
import os
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from allalike._core.limits import MAX_FETCHED_BYTES, MAX_FETCHED_FILES
from allalike._core.system.addresses import STORES, Address, find_address, reaching
from allalike._core.system.progress import report
from allalike.errors import InputError, OptionError
from allalike.readers.formats.compression import read_start
from allalike.readers.formats.failures import unreadable
from allalike.readers.formats.spooled import Spooled, SpoolFolder

if TYPE_CHECKING:
    from collections.abc import Sequence

_CHUNK = 1 << 22


def find_places(source: str | os.PathLike[str], query: str | None = None, table: str | None = None) -> list[Path]:
    """Return the files of a path, a pattern or an address; rows of a database are put into one."""
    if query is not None and table is not None:
        raise OptionError("query= and table= are both given. Leave one of them out.")
    named = name_place(source)
    if not isinstance(named, Address):
        return _open_databases(_matching(named), query, table)
    if (query, table) not in named.held:
        found = [_spool(named, query, table)] if named.is_database else _open_databases(_fetch(named), query, table)
        named.held[query, table] = found
    return named.held[query, table]


def name_place(source: Any) -> Any:
    """Return an address, which hides its secrets and holds what was fetched, or else the source itself.

    >>> name_place("https://host/a.csv?sig=abc"), name_place(["crowd.db", "file:///a.csv"]), name_place({"t1": "x"})
    ('https://host/a.csv?***', ['crowd.db', 'file:///a.csv'], {'t1': 'x'})
    """
    if isinstance(source, list | tuple) and source and isinstance(source[0], str | os.PathLike):
        return [name_place(each) for each in source]
    return (find_address(source) if isinstance(source, str | os.PathLike) else None) or source


def fetch_places(source: Any, query: str | None, table: str | None) -> None:
    """Fetch remote data for an engine of this machine; they stay as long as their address."""
    for name in source if isinstance(source, list | tuple) else [source]:
        if isinstance(name, Address):
            find_places(name, query, table)


def list_near(source: str | os.PathLike[str]) -> list[Path]:
    """Return the files of a source that are on this machine: those of an address if they were fetched."""
    named = name_place(source)
    if isinstance(named, Address):
        return [path for found in named.held.values() for path in found]
    return _matching(named)


def local_name(name: str) -> str:
    """Return the path of an address of a local file, and any other name as it is.

    >>> local_name("sqlite:///crowd.db"), local_name("s3://bucket/a.csv")
    ('crowd.db', 's3://bucket/a.csv')
    """
    if name.startswith("file:"):
        from urllib.request import url2pathname  # which imports all of HTTP

        return url2pathname(urlsplit(name).path)
    address = find_address(name)
    return (address.file if address else "") or name


def _matching(name: str | os.PathLike[str]) -> list[Path]:
    """Return the file that a path names, or all that match a pattern."""
    path = name if isinstance(name, Path) else Path(local_name(os.fspath(name)))  # the former may be a Spooled
    try:
        if path.exists() or not glob.has_magic(str(path)):
            return [path]
    except OSError as error:  # such as a name that is too long
        raise unreadable(path, error) from error
    found = sorted(Path(match) for match in glob.glob(str(path), recursive=True))
    if not found:
        raise InputError(f"No file matches {str(path)!r}.")
    return found


def _open_databases(paths: list[Path], query: str | None, table: str | None) -> list[Path]:
    """Return files, and for databases among them their rows."""
    found = [find_address(path) for path in paths]
    if None in found and (query or table):
        what, which = "query" if query else "table", paths[found.index(None)]
        raise OptionError(f"{what}= is for databases, and {which} is none. Leave it out.")
    return [path if each is None else _spool(each, query, table) for path, each in zip(paths, found, strict=True)]


def _spool(database: Address, query: str | None, table: str | None) -> Path:
    from allalike.readers.formats.databases import spool_rows  # which files do not need

    return spool_rows(database, query, table)


def find_system(address: Address) -> tuple[Any, str]:
    """Return the file system of an address, and the path there."""
    from fsspec.core import url_to_fs

    if find_spec(STORES.get(address.scheme, "fsspec")) is None:  # then one package serves all stores
        import_module("obstore.fsspec").register(address.scheme)
    system, path = url_to_fs(address[:])
    return system, str(path)


def _fetch(address: Address) -> list[Path]:
    """Copy the file, the folder, or all files that match a pattern, and return the copies."""
    report("reading")
    with reaching(address):
        system, path = find_system(address)
        web = address.scheme in ("http", "https")  # where a ? begins a query
        pattern = not web and glob.has_magic(path)
        folder = path.rstrip("/") if not web and not pattern and system.isdir(path) else None
        paths = sorted(system.glob(path) if pattern else system.find(path) if folder else [path])
        if not 0 < len(paths) <= MAX_FETCHED_FILES:
            raise InputError(
                f"{address} stands for {len(paths):,} files, and at least one and at most {MAX_FETCHED_FILES:,} are"
                " fetched. Correct the address, or join files into larger ones."
            )
        return _copy_all(system, address, paths, folder)


def _copy_all(system: Any, address: Address, paths: Sequence[str], folder: str | None) -> list[Path]:
    """Copy files: those of a folder into a folder, others each into one of its own."""
    place = address.place = SpoolFolder()
    scheme, copies, left = f"{address.scheme}://", [], MAX_FETCHED_BYTES
    for number, path in enumerate(paths):
        last = unquote(urlsplit(path).path) if "://" in path else path
        names = [str(number), last.rpartition("/")[2] or "input"]
        if folder is not None:
            names = path.removeprefix(folder).strip("/").split("/")
        if any(name in ("", "..") or Path(name).name != name for name in names):
            raise InputError(f"{address} has a file whose name cannot be that of a file here: {path!r}. Rename it.")
        copy = place.path.joinpath("files", *names)
        copy.parent.mkdir(parents=True, exist_ok=True)
        left = _copy(system, address, path, copy, left)
        if read_start(copy, 100).lstrip().lower().startswith((b"<!doctype html", b"<html")):
            raise InputError(f"{address} is a page of the web, and no file of answers. Perhaps it asks you to sign in.")
        called = str(address) if len(paths) == 1 else scheme + path.removeprefix(scheme).lstrip("/")
        copies.append(Spooled.at(copy, called, place))
    return [place.path / "files"] if folder is not None else [*copies]


def _copy(system: Any, address: Address, path: str, copy: Path, left: int) -> int:
    """Copy a file, whatever the server says of its size, and return how many bytes are left to be fetched."""
    system.info(path)  # for obstore complains when it closes what it could not open
    with system.open(path, "rb") as source, copy.open("wb") as target:
        while part := source.read(_CHUNK):
            left -= len(part)
            if left < 0:
                raise InputError(
                    f"{address} has more bytes than are fetched: at most {MAX_FETCHED_BYTES:,}. Name fewer files, or"
                    " have Spark read them where they are.",
                    engine="spark",
                )
            target.write(part)
    return left
