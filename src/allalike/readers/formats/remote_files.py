"""Remote files: what lies behind an address of fsspec, copied here for the time being, within limits.

All formats are read from files of this machine: most look at a file more than once, and several threads at once. So a
file is copied first, some bytes at a time, into a folder that is removed when nobody reads from it any more.
"""

from __future__ import annotations

import os
import re
import shutil
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from allalike._core.limits import MAX_FETCHED_BYTES, MAX_FETCHED_FILES
from allalike._core.system.addresses import find_scheme
from allalike._core.system.progress import report
from allalike.errors import AllalikeError, InputError, UnsupportedError
from allalike.readers.formats.spooled import Spooled, SpoolFolder

if TYPE_CHECKING:
    from collections.abc import Callable

    from allalike._core.system.addresses import Address

__all__ = ["far_errors", "fetch_files", "find_system"]

_WEB = ("http", "https")
_STORES = ("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "azure")  # which obstore knows
_EXTRAS = {**dict.fromkeys(_STORES, "cloud"), **dict.fromkeys(_WEB, "web"), "hf": "hf"}
_CHUNK = 1 << 22
_MOST_REASON = 300  # characters of what a server says


def fetch_files(address: Address) -> list[Path]:
    """Copy the file, the folder, or all files that match a pattern, to this machine, and return where they are.

    >>> import fsspec
    >>> from allalike._core.system.addresses import Address
    >>> with fsspec.open("memory://crowd/answers.csv", "wb") as file:
    ...     _ = file.write(b"worker,task,label")
    >>> [path] = fetch_files(Address("memory://crowd/*.csv"))
    >>> str(path), path.name, path.read_text()
    ('memory://crowd/answers.csv', 'answers.csv', 'worker,task,label')
    """
    report("reading")
    found: list[Path] = far_errors(address, partial(_fetch, address))
    return found


def far_errors(address: Address, work: Callable[[], Any], failure: type[AllalikeError] = InputError) -> Any:
    """Do something elsewhere; what goes wrong there is said in a line, without secrets.

    >>> from allalike._core.system.addresses import Address
    >>> far_errors(Address("s3://bucket/a.csv"), lambda: open("nowhere"))
    Traceback (most recent call last):
    allalike.errors.InputError: There is no s3://bucket/a.csv.
    """
    try:
        return work()
    except AllalikeError:
        raise
    except FileNotFoundError as error:
        if (cause := error.__cause__) is not None and not isinstance(cause, FileNotFoundError):  # as fsspec has it
            raise _unreached(address, cause, failure) from None
        raise failure(f"There is no {address}.") from None
    except ImportError as error:
        raise _missing(address, error) from None
    except Exception as error:  # each system behind fsspec has errors of its own, with secrets in what led to them
        raise _unreached(address, error, failure) from None


def _unreached(address: Address, error: BaseException, failure: type[AllalikeError]) -> AllalikeError:
    lines = [line.strip() for line in address.scrub(str(error)).splitlines() if line.strip()]
    reason = next(iter(lines), type(error).__name__)[:_MOST_REASON].rstrip(". ")
    return failure(f"{address} cannot be reached: {reason}.")


def find_system(address: Address) -> tuple[Any, str]:
    """Return the file system of an address, and the path there.

    >>> from allalike._core.system.addresses import Address
    >>> system, path = find_system(Address("memory://crowd/answers.csv"))
    >>> path
    '/crowd/answers.csv'
    """
    from fsspec.core import url_to_fs

    try:
        found = url_to_fs(address[:])
    except ImportError:  # then there is no package for this store alone
        if (scheme := find_scheme(address)) not in _STORES:
            raise
        from obstore.fsspec import register

        register(scheme)
        found = url_to_fs(address[:])
    return found[0], str(found[1])


def _missing(address: Address, error: ImportError) -> UnsupportedError:
    scheme = find_scheme(address)
    if scheme not in _EXTRAS:
        return UnsupportedError(f"{address} needs a package: {str(error).rstrip('.')}.")
    return UnsupportedError(f"{address} needs a package. Install it with: pip install 'allalike[{_EXTRAS[scheme]}]'.")


def _fetch(address: Address) -> list[Path]:
    try:
        system, path = find_system(address)
    except ValueError as error:
        if "rotocol" not in str(error):
            raise
        raise InputError(
            f"{address} begins with {find_scheme(address)}://, which is not known. Give a file, or an address with s3,"
            " gs, az, https, hf, postgresql, sqlite, duckdb, or another that fsspec knows."
        ) from None
    web = find_scheme(address) in _WEB
    if "*" in urlsplit(path).path if web else re.search(r"[*?\[]", path):
        return _copy_all(system, address, sorted(system.glob(path)), None)
    if not web and system.isdir(path):
        return _copy_all(system, address, sorted(system.find(path)), path)
    return _copy_all(system, address, [path], None)


def _copy_all(system: Any, address: Address, paths: list[str], folder: str | None) -> list[Path]:
    """Copy files: those of a folder into one, and others side by side, each in a folder of its own."""
    if not paths:
        raise InputError(f"{'No file matches' if folder is None else 'There is no file in'} {address}.")
    if len(paths) > MAX_FETCHED_FILES:
        raise InputError(
            f"{address} stands for {len(paths):,} files, and at most {MAX_FETCHED_FILES:,} are fetched. Name fewer, or"
            " join them into larger ones."
        )
    inner = [
        [str(number), _last_name(path)] if folder is None else _inner_names(path, folder, address)
        for number, path in enumerate(paths)
    ]
    sizes = [system.info(path).get("size") or 0 for path in paths]
    place = SpoolFolder()
    near = place.path / "files"
    _check_room(address, sum(sizes), shutil.disk_usage(place.path).free)
    left = MAX_FETCHED_BYTES
    copies: list[Path] = []
    for path, names in zip(paths, inner, strict=True):
        copy = near.joinpath(*names)
        copy.parent.mkdir(parents=True, exist_ok=True)
        left -= _copy(system, address, path, copy, left)
        copies.append(Spooled.at(copy, _call(address, path, alone=len(paths) == 1), place))
    address.place = place  # which stays as long as the address does
    return copies if folder is None else [near]


def _copy(system: Any, address: Address, path: str, copy: Path, most: int) -> int:
    """Copy a file, whatever the server says of its size, and return how many bytes it has."""
    done = 0
    with system.open(path, "rb") as source, copy.open("wb") as target:
        while part := source.read(_CHUNK):
            done += len(part)
            if done > most:
                raise _too_large(address, f"more than {done:,}", MAX_FETCHED_BYTES)
            target.write(part)
    return done


def _check_room(address: Address, size: int, free: int) -> None:
    if size > min(MAX_FETCHED_BYTES, free):
        raise _too_large(address, f"{size:,}", min(MAX_FETCHED_BYTES, free))


def _too_large(address: Address, size: str, most: int) -> InputError:
    return InputError(
        f"{address} has {size} bytes, and {most:,} can be fetched here: at most {MAX_FETCHED_BYTES:,}, and what is free"
        " on the disk for temporary files (TMPDIR). Name fewer files, or have Spark read them where they are.",
        engine="spark",
    )


def _call(address: Address, path: str, *, alone: bool) -> str:
    """Return what people call a file: the address, or where it is one of many, its own."""
    if alone and not re.search(r"[*?\[]", address):
        return str(address)
    return f"{find_scheme(address)}://{path.removeprefix(f'{find_scheme(address)}://').lstrip('/')}"


def _last_name(path: str) -> str:
    """Return the name of a file, without what stands behind it in an address of the web, and never a way elsewhere.

    >>> _last_name("https://host/a%20b.csv?sig=1"), _last_name("bucket/.."), _last_name("https://host/")
    ('a b.csv', 'input', 'input')
    """
    name = PurePosixPath(unquote(urlsplit(path).path) if "://" in path else path).name
    return name if _is_plain(name) else "input"


def _inner_names(path: str, folder: str, address: Address) -> list[str]:
    names = path.removeprefix(folder.rstrip("/")).strip("/").split("/")
    if not all(map(_is_plain, names)):
        raise InputError(f"{address} has a file whose name cannot be that of a file here: {path!r}. Rename it.")
    return names


def _is_plain(name: str) -> bool:
    return name not in ("", ".", "..") and not set(name) & set("\\/:\0") and os.path.basename(name) == name  # noqa: PTH119
