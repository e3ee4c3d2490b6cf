"""Addresses of remote files and databases, printed without passwords and tokens."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from allalike._credentials import ADDRESS, HIDDEN, hide_secrets, show_address
from allalike.errors import AllalikeError, InputError, UnsupportedError

_AZURE = ("az", "abfs", "abfss", "adl", "azure")
STORES = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", **dict.fromkeys(_AZURE, "adlfs")}  # of objects

_FILES = ("sqlite", "duckdb")  # databases that are files
_EXTRAS = {"http": "web", "https": "web", "hf": "huggingface", **dict.fromkeys(STORES, "cloud")}
_ENDINGS = {".duckdb": "duckdb", ".sqlite": "sqlite", ".sqlite3": "sqlite", ".db": "sqlite"}
_MOST_REASON = 300  # characters of a server's message


class Address(str):
    """The address of a remote file or a database, printed without its password or token.

    ``file`` is the path of a file database. Fetched files are listed in ``held``, in the temporary folder ``place``.

    >>> address = Address("postgresql://ada:secret@host/crowd?password=secret")
    >>> print(address, [address], address.startswith("postgresql://ada:secret"))
    postgresql://ada@host/crowd?*** ['postgresql://ada@host/crowd?***'] True
    """

    def __new__(cls, name: str, path: str | os.PathLike[str] = "") -> Address:
        return super().__new__(cls, name)

    def __init__(self, name: str, path: str | os.PathLike[str] = "") -> None:
        found = ADDRESS.fullmatch(name)
        assert found is not None
        self.scheme, self.is_database = found["scheme"].lower(), found["own"] is not None
        self.file = os.fspath(path) or (found["place"].removeprefix("/") if self.scheme in _FILES else "")
        self.held: dict[Any, list[Path]] = {}
        self.place: Any = None
        self._secrets = [found["password"] or "", found["rest"], "" if self.is_database else found["user"] or ""]
        self._shown = str(path) or show_address(name)

    def __str__(self) -> str:
        return self._shown

    def __repr__(self) -> str:
        return repr(self._shown)

    def scrub(self, text: str) -> str:
        """Remove the secrets of this address from another program's message.

        >>> Address("https://host/a.csv?sig=abc").scrub("GET https://host/a.csv?sig=abc&x=abc failed: abc")
        'GET https://host/a.csv?***&x=*** failed: ***'
        """
        text = text.replace(self[:], str(self))
        parts = [part for each in self._secrets for part in (each, *re.split(r"[/?#@:&=]", each)) if len(part) > 2]
        for part in sorted({*parts, *map(unquote, parts)}, key=len, reverse=True):
            text = text.replace(part, HIDDEN)
        return re.sub(r"([?&][\w.-]+=)[^&\s'\"]+", rf"\1{HIDDEN}", text)


@contextmanager
def reaching(address: Address) -> Iterator[None]:
    """Convert connection errors to one line without secrets.

    >>> with reaching(Address("s3://bucket/a.csv")):
    ...     raise ValueError("no bucket")
    Traceback (most recent call last):
    allalike.errors.InputError: s3://bucket/a.csv cannot be reached: no bucket.
    """
    try:
        yield
    except AllalikeError:
        raise
    except ImportError as error:
        extra = "sql" if address.is_database else _EXTRAS.get(address.scheme)
        how = f"Install it with: pip install 'allalike[{extra}]'" if extra else str(error).rstrip(".")
        raise UnsupportedError(f"{address} needs a package. {how}.") from None
    except Exception as error:  # each package has its own errors, whose causes may contain secrets
        cause = error.__cause__ if isinstance(error, FileNotFoundError) else error  # fsspec's error for web addresses
        if cause is None or isinstance(cause, FileNotFoundError):
            raise InputError(f"There is no {address}.") from None
        lines = [line.strip() for line in address.scrub(str(cause)).splitlines() if line.strip()]
        reason = next(iter(lines), type(cause).__name__)[:_MOST_REASON].rstrip(". ")
        cast = ". A column must have one type: use a query with CAST(... AS TEXT)" if "Type mismatch" in reason else ""
        verb = "reports" if address.is_database else "cannot be reached"
        raise InputError(f"{address} {verb}: {reason}{cast}.") from None


def find_address(name: str | os.PathLike[str]) -> Address | None:
    """Return the address of a remote file or a database, also for a database's path; None for other local files.

    >>> find_address("crowd.duckdb"), find_address("s3://bucket/a.csv"), find_address("postgresql://ada:secret@host/b")
    ('crowd.duckdb', 's3://bucket/a.csv', 'postgresql://ada@host/b')
    >>> find_address("answers.csv"), find_address("file:///a.csv"), find_address("C:/a.csv")
    (None, None, None)
    """
    if isinstance(name, Address):
        return name
    text, kind = os.fspath(name), _ENDINGS.get(Path(name).suffix.lower())
    if (found := ADDRESS.match(text)) is not None:
        return None if found["scheme"].lower() in ("file", "local") else Address(text)
    return Address(f"{kind}:///{text}", name) if kind and not Path(name).is_dir() else None


def find_folder(name: str | os.PathLike[str]) -> Path:
    """Return the folder of a saved result, or raise an error for an address."""
    if (address := find_address(name)) is not None:
        raise UnsupportedError(f"{address} is not a local folder. Copy the result to this machine and load it there.")
    return Path(name)


def hide_in_word(word: str) -> str:
    """Remove the secrets of an address from a word of a command.

    >>> hide_in_word("--gold=https://host/a.csv?sig=abc"), hide_in_word("answers.csv")
    ('--gold=https://host/a.csv?***', 'answers.csv')
    """
    found = re.search(r"[A-Za-z][A-Za-z0-9+.-]+://", word)
    return hide_secrets(word if found is None else word[: found.start()] + show_address(word[found.start() :]))
