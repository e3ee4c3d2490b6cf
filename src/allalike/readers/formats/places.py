"""Places: the files that a source names; what lies elsewhere, or in a database, is put into files here for the time.

All formats are read from files of this machine: most look at a file more than once, and several threads at once. So a
file elsewhere, behind any address that fsspec knows, is copied first, some bytes at a time, into a folder that is
removed when nobody reads from it any more.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit
from weakref import WeakValueDictionary

from allalike._core.limits import MAX_FETCHED_BYTES, MAX_FETCHED_FILES
from allalike._core.system.addresses import (
    STORES,
    Address,
    find_database,
    find_file,
    find_scheme,
    is_address,
    name_database,
    reaching,
)
from allalike._core.system.progress import report
from allalike.errors import InputError, OptionError
from allalike.readers.formats.failures import unreadable
from allalike.readers.formats.spooled import Spooled, SpoolFolder

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["fetch_places", "find_places", "find_system", "list_near", "local_name", "matching", "name_places"]

_CHUNK = 1 << 22
_spooled: WeakValueDictionary[object, Spooled] = WeakValueDictionary()  # of databases that did not change since


def find_places(source: str | os.PathLike[str], query: str | None = None, table: str | None = None) -> list[Path]:
    """Return the files that a path, a pattern or an address stands for; rows of a database are in one, too.

    >>> [path.name for path in find_places("answers.csv")]
    ['answers.csv']
    """
    if query is not None and table is not None:
        raise OptionError("query= and table= are both given. Leave one of them out.")
    if isinstance(source, Path) or not is_address(source):
        found = matching(source if isinstance(source, Path) else Path(local_name(os.fspath(source))))
    else:
        address = source if isinstance(source, Address) else Address(os.fspath(source))
        named, told = name_database(address[:]) or (None, "")
        table = table if query is not None else table or told or None
        if named is not None and not named.file:
            return [_spool(address, query, table, address.held, (query, table))]
        if named is None and "files" not in address.held:
            address.held["files"] = _fetch(address)
        found = address.held["files"] if named is None else [Path(named.file)]
    kinds = [find_database(path) for path in found]
    if not all(kinds) and (query or table):
        what = "query" if query else "table"
        raise OptionError(f"{what}= is for databases, and {found[kinds.index('')]} is none. Leave it out.")
    return [_spool_file(path, kind, query, table) if kind else path for path, kind in zip(found, kinds, strict=True)]


def name_places(source: Any, table: str | None) -> tuple[Any, str | None]:
    """Return a source whose addresses hide their secrets, and hold what was fetched; also the table that one names.

    >>> name_places("https://host/a.csv?sig=abc", None), name_places("sqlite:///crowd.db#answers", None)
    (('https://host/a.csv?sig=***', None), ('crowd.db', 'answers'))
    """
    listed = source if isinstance(source, list | tuple) else [source]
    if not listed or not isinstance(listed[0], str | os.PathLike) or not any(map(is_address, listed)):
        return source, table
    named = [(find_file(each)[0] or Address(each)) if is_address(each) else each for each in listed]
    told = find_file(os.fspath(listed[0]))[1] if len(listed) == 1 else ""
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


def matching(path: Path) -> list[Path]:
    """Return the file that a path names, or all that match it if it is a pattern.

    >>> [path.name for path in matching(Path("answers.csv"))]
    ['answers.csv']
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


def _spool_file(path: Path, kind: str, query: str | None, table: str | None) -> Path:
    """Put rows of a database that is a file into another, unless that was done, and it did not change since."""
    state = path.stat()
    key = (os.path.realpath(path), state.st_mtime_ns, state.st_size, query, table)
    found = _spool(Address(f"{kind}://", os.fspath(path)), query, table, _spooled, key)
    found.called = found.called.replace(os.fspath(path), str(path))
    return found


def _spool(address: Address, query: str | None, table: str | None, held: Any, key: object) -> Spooled:
    from allalike.readers.formats.databases import spool_rows

    found: Spooled | None = held.get(key)
    if found is None:
        found = held[key] = spool_rows(address, query, table)
    return found


def find_system(address: Address) -> tuple[Any, str]:
    """Return the file system of an address, and the path there.

    >>> find_system(Address("memory://crowd/answers.csv"))[1]
    '/crowd/answers.csv'
    """
    from fsspec.core import url_to_fs

    try:
        found = url_to_fs(address[:])
    except ImportError:  # then there is no package for this store alone
        if find_scheme(address) not in STORES:
            raise
        import_module("obstore.fsspec").register(find_scheme(address))
        found = url_to_fs(address[:])
    return found[0], str(found[1])


def _fetch(address: Address) -> list[Path]:
    """Copy the file, the folder, or all files that match a pattern, to this machine, and return where they are."""
    report("reading")
    web = find_scheme(address) in ("http", "https")
    with reaching(address):
        system, path = find_system(address)
        pattern = "*" in urlsplit(path).path if web else re.search(r"[*?\[]", path)
        folder = path.rstrip("/") if not pattern and not web and system.isdir(path) else None
        paths = sorted(system.glob(path) if pattern else system.find(path) if folder else [path])
        if not 0 < len(paths) <= MAX_FETCHED_FILES:
            raise InputError(
                f"{address} stands for {len(paths):,} files, and at least one and at most {MAX_FETCHED_FILES:,} are"
                " fetched. Correct the address, or join files into larger ones."
            )
        return _copy_all(system, address, paths, folder)


def _copy_all(system: Any, address: Address, paths: Sequence[str], folder: str | None) -> list[Path]:
    """Copy files: those of a folder into one, and others side by side, each in a folder of its own."""
    inner = [
        [str(number), _last_name(path)] if folder is None else path.removeprefix(folder).strip("/").split("/")
        for number, path in enumerate(paths)
    ]
    if odd := next((names for names in inner if not all(map(_is_plain, names))), None):
        name = "/".join(odd)
        raise InputError(f"{address} has a file whose name cannot be that of a file here: {name!r}. Rename it.")
    place = address.place = SpoolFolder()
    near = place.path / "files"
    left = min(MAX_FETCHED_BYTES, shutil.disk_usage(place.path).free)
    _check_room(address, sum(system.info(path).get("size") or 0 for path in paths), left)
    scheme, copies = f"{find_scheme(address)}://", []
    for path, names in zip(paths, inner, strict=True):
        copy = near.joinpath(*names)
        copy.parent.mkdir(parents=True, exist_ok=True)
        left -= _copy(system, address, path, copy, left)
        called = str(address) if len(paths) == 1 else scheme + path.removeprefix(scheme).lstrip("/")
        copies.append(Spooled.at(copy, called, place))
    return [near] if folder is not None else [*copies]


def _copy(system: Any, address: Address, path: str, copy: Path, most: int) -> int:
    """Copy a file, whatever the server says of its size, and return how many bytes it has."""
    done = 0
    with system.open(path, "rb") as source, copy.open("wb") as target:
        while part := source.read(_CHUNK):
            done += len(part)
            _check_room(address, done, most)
            target.write(part)
    return done


def _check_room(address: Address, size: int, most: int) -> None:
    if size > most:
        raise InputError(
            f"{address} has {size:,} bytes or more, and {most:,} can be fetched: at most {MAX_FETCHED_BYTES:,}, and"
            " what is free on the disk for temporary files (TMPDIR). Name fewer files, or have Spark read them where"
            " they are.",
            engine="spark",
        )


def _last_name(path: str) -> str:
    """Return the name of a file, without what stands behind it in an address of the web, and never a way elsewhere.

    >>> _last_name("https://host/a%20b.csv?sig=1"), _last_name("bucket/.."), _last_name("https://host/")
    ('a b.csv', 'input', 'input')
    """
    name = PurePosixPath(unquote(urlsplit(path).path) if "://" in path else path).name
    return name if _is_plain(name) else "input"


def _is_plain(name: str) -> bool:
    return name not in ("", ".", "..") and not set(name) & set("\\/:\0")
