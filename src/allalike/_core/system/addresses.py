"""Addresses: names of what lies elsewhere or in a database, with a password or a token that nobody else may see."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from allalike.errors import AllalikeError, InputError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["HIDDEN", "STORES", "Address", "find_database", "find_folder", "hide_in_word", "is_address", "reaching"]

HIDDEN = "***"
STORES = ("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "azure")  # of objects, which obstore knows

_FILES = ("sqlite", "duckdb")  # databases that are files
_DATABASES = ("postgresql", "postgres", *_FILES)
_EXTRAS = {**dict.fromkeys(STORES, "cloud"), "http": "web", "https": "web", **dict.fromkeys(_DATABASES, "sql")}
_EXTRAS["hf"] = "huggingface"
_MARKS = {b"SQLite format 3\0": "sqlite", b"DUCK": "duckdb"}  # the latter at the ninth byte
_ENDINGS = {".duckdb": "duckdb", ".sqlite": "sqlite", ".sqlite3": "sqlite", ".db": "sqlite"}
_MOST_REASON = 300  # characters of what a server says
_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]+"  # of two letters at least, for C: is a disk
# A password may have any mark in it, though it should not; in addresses of the web it does not begin like a port.
_ADDRESS = re.compile(
    rf"(?P<start>(?:{_SCHEME}::)*(?P<scheme>(?P<own>{'|'.join(_DATABASES)})(?=:)|{_SCHEME})://)"
    r"(?:(?P<user>[^:/?#@]*)(?::(?(own)|(?!\d+[/?#]))(?P<password>.*))?@)?"
    r"(?P<place>[^?#]*)(?P<rest>.*)",
    re.DOTALL,
)


class Address(str):
    """A name of what lies elsewhere, or in a database; whoever prints it does not see its password or token.

    A database may have the name of a table after a #. If it is a ``file``, that is its path; whoever gives it by this
    path sees that. What was fetched is ``held``, so that it is fetched once, in a ``place`` that goes with the address.

    >>> address = Address("postgresql://ada:secret@host/crowd?password=secret#answers")
    >>> print(address, [address], address.table, address.startswith("postgresql://ada:secret"))
    postgresql://ada@host/crowd?***#answers ['postgresql://ada@host/crowd?***#answers'] answers True
    >>> print(Address("https://ada@host/a.csv?sig=abc"), Address("sqlite:///crowd.db#answers").file)
    https://***@host/a.csv?*** crowd.db
    """

    scheme: str
    is_database: bool
    database: str
    table: str
    file: str
    held: dict[Any, list[Path]]
    place: Any = None
    _shown: str
    _secrets: list[str]

    def __new__(cls, name: str, path: str | os.PathLike[str] = "") -> Address:
        made = super().__new__(cls, name)
        found = _ADDRESS.fullmatch(name)
        assert found is not None
        user, password, rest = found["user"] or "", found["password"] or "", found["rest"]
        made.scheme, made.held = found["scheme"].lower(), {}
        made.is_database = made.scheme in _DATABASES
        query, _, made.table = rest.partition("#") if made.is_database else (rest, "", "")
        made.database = name.removesuffix(f"#{made.table}")
        made.file = os.fspath(path) or (found["place"].removeprefix("/") if made.scheme in _FILES else "")
        made._secrets = [password, query] if made.is_database else [password, query, user]
        who = f"{user if made.is_database else HIDDEN}@" if user or password else ""
        what = f"{query[:1]}{HIDDEN if query else ''}{'#' if made.table else ''}{made.table}"
        made._shown = str(path) or f"{found['start']}{who}{found['place']}{what}"
        return made

    def __str__(self) -> str:
        return self._shown

    def __repr__(self) -> str:
        return repr(self._shown)

    def scrub(self, text: str) -> str:
        """Return what another program said about it without its secrets.

        >>> Address("https://host/a.csv?sig=abc").scrub("GET https://host/a.csv?sig=abc&x=abc failed: abc")
        'GET https://host/a.csv?***&x=*** failed: ***'
        """
        text = text.replace(self[:], str(self))
        parts = [part for each in self._secrets for part in (each, *re.split(r"[/?#@:&=]", each)) if len(part) > 2]
        for part in sorted({*parts, *map(unquote, parts)}, key=len, reverse=True):
            text = text.replace(part, HIDDEN)
        return re.sub(r"([?&][\w.-]+=)[^&\s'\"]+", rf"\1{HIDDEN}", text)


@contextmanager
def reaching(address: Address, failure: type[AllalikeError] = InputError) -> Iterator[None]:
    """Do something elsewhere; what goes wrong there is said in a line, without secrets.

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
        extra = _EXTRAS.get(address.scheme)
        how = f"Install it with: pip install 'allalike[{extra}]'" if extra else str(error).rstrip(".")
        raise UnsupportedError(f"{address} needs a package. {how}.") from None
    except Exception as error:  # each package has errors of its own, with secrets in what led to them
        cause = error.__cause__ if isinstance(error, FileNotFoundError) else error  # as fsspec has it of the web
        if cause is None or isinstance(cause, FileNotFoundError):
            raise failure(f"There is no {address}.") from None
        lines = [line.strip() for line in address.scrub(str(cause)).splitlines() if line.strip()]
        reason = next(iter(lines), type(cause).__name__)[:_MOST_REASON].rstrip(". ")
        cast = ". Columns have one type here: give a query with CAST(... AS TEXT)" if "Type mismatch" in reason else ""
        raise failure(f"{address} cannot be reached: {reason}{cast}.") from None


def is_address(name: Any) -> bool:
    """Tell whether this names something on another machine, or in a database.

    >>> is_address("s3://bucket/a.csv"), is_address("file:///a.csv"), is_address("C:/a.csv")
    (True, False, False)
    """
    found = _ADDRESS.match(name) if isinstance(name, str) else None
    return found is not None and found["scheme"].lower() not in ("file", "local")


def find_database(name: str | os.PathLike[str]) -> Address | None:
    """Return the address of a database that is named by it, or by a file that is one, or will be by its ending.

    >>> find_database("crowd.duckdb"), find_database("out"), find_database("postgresql://ada:secret@host/crowd")
    ('crowd.duckdb', None, 'postgresql://ada@host/crowd')
    """
    if is_address(name):
        address = name if isinstance(name, Address) else Address(os.fspath(name))
        return address if address.is_database else None
    kind = _find_kind(Path(name))
    return Address(f"{kind}:///{os.fspath(name)}", name) if kind else None


def _find_kind(path: Path) -> str:
    """Tell by its first bytes what kind of database a file is, or by its ending if there is none yet."""
    with suppress(OSError):  # whoever reads it will say why it cannot be
        if not path.is_file():
            return "" if path.exists() else _ENDINGS.get(path.suffix.lower(), "")
        with path.open("rb") as file:
            start = file.read(16)
        return next((kind for mark, kind in _MARKS.items() if mark in (start, start[8:12])), "")
    return ""


def find_folder(name: str | os.PathLike[str]) -> Path:
    """Return the folder of a saved result, and refuse an address, from which none can be loaded.

    >>> find_folder("postgresql://ada:secret@host/crowd")
    Traceback (most recent call last):
    allalike.errors.UnsupportedError: postgresql://ada@host/crowd is no folder. A result is loaded from a folder of this
    machine, and goes on there.
    """
    address = find_database(name) or (Address(os.fspath(name)) if is_address(name) else None)
    if address is not None:
        raise UnsupportedError(
            f"{address} is no folder. A result is loaded from a folder of this machine, and goes on there."
        )
    return Path(name)


def hide_in_word(word: str) -> str:
    """Return a word of a command without the secrets of an address in it.

    >>> hide_in_word("--gold=https://host/a.csv?sig=abc"), hide_in_word("answers.csv")
    ('--gold=https://host/a.csv?***', 'answers.csv')
    """
    found = re.search(rf"{_SCHEME}://", word)
    return word if found is None else word[: found.start()] + str(Address(word[found.start() :]))
