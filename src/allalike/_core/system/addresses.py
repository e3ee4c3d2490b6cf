"""Addresses: names of what lies elsewhere or in a database, with a password or a token that nobody else may see."""

from __future__ import annotations

import re
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlencode

from allalike.errors import AllalikeError, InputError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "HIDDEN",
    "STORES",
    "Address",
    "find_database",
    "find_file",
    "find_scheme",
    "hide_in_word",
    "is_address",
    "name_database",
    "reaching",
    "split_table",
]

HIDDEN = "***"
_DATABASES = ("postgresql", "postgres", "sqlite", "duckdb")

STORES = ("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "azure")  # of objects, which obstore knows
_EXTRAS = {**dict.fromkeys(STORES, "cloud"), "http": "web", "https": "web", "hf": "hf"}
_MOST_REASON = 300  # characters of what a server says
_FILES = ("sqlite", "duckdb")  # databases that are files
_MARKS = {b"SQLite format 3\0": "sqlite", b"DUCK": "duckdb"}  # the latter at the ninth byte
_ENDINGS = {".duckdb": "duckdb", ".sqlite": "sqlite", ".sqlite3": "sqlite"}
_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]+"  # of two letters at least, for C: is a disk
_ADDRESS = re.compile(rf"(?:{_SCHEME}::)*({_SCHEME})://")
_LINK = re.compile(rf"::(?={_SCHEME}://)")
_PLAIN = ("sslmode", "host", "port", "dbname", "user", "options", "connect_timeout")  # of a database, and no secrets


class Address(str):
    """A name of what lies on another machine; whoever prints it does not see its password or token.

    What was fetched from there is ``held``, so that it is fetched once.

    >>> address = Address("postgresql://ada:secret@host/crowd?sslmode=require&password=secret")
    >>> print(address, [address], address.startswith("postgresql://ada:secret"))
    postgresql://ada@host/crowd?sslmode=require ['postgresql://ada@host/crowd?sslmode=require'] True
    >>> print(Address("https://host/a.csv?sig=abc"))
    https://host/a.csv?sig=***
    """

    held: dict[Any, Any]
    place: Any = None  # where that lies
    file: str  # the path of a database that is one

    def __new__(cls, name: str, file: str = "") -> Address:
        made = super().__new__(cls, name)
        made.held, made.file = {}, file
        return made

    def __str__(self) -> str:
        if self.file:
            return self.file
        return "::".join(_hide(link)[0] for link in _LINK.split(self[:]))

    def __repr__(self) -> str:
        return repr(str(self))

    def scrub(self, text: str) -> str:
        """Return what another program said about it without its secrets.

        >>> Address("https://host/a.csv?sig=abc").scrub("GET https://host/a.csv?sig=abc&x=abc failed: abc")
        'GET https://host/a.csv?sig=***&x=*** failed: ***'
        """
        text = text.replace(self[:], str(self))
        secrets = {secret for link in _LINK.split(self[:]) for secret in _hide(link)[1] if secret}
        for secret in sorted(secrets, key=len, reverse=True):
            text = text.replace(secret, HIDDEN)
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
        scheme = find_scheme(address)
        extra = "sql" if scheme in _DATABASES else _EXTRAS.get(scheme)
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
    return isinstance(name, str) and find_scheme(name) not in ("", "file", "local")


def find_scheme(name: str) -> str:
    """Return how an address begins, or nothing.

    >>> find_scheme("simplecache::S3://bucket/a.csv"), find_scheme("answers.csv")
    ('s3', '')
    """
    found = _ADDRESS.match(name)
    return found[1].lower() if found else ""


def split_table(address: str, *, own: bool = True) -> tuple[str, str]:
    """Return the address of a database, and the table, or the beginning of its tables' names, that it names after a #.

    >>> split_table("postgresql://ada:x#y@host/crowd#answers")
    ('postgresql://ada:x#y@host/crowd', 'answers')
    """
    start = _user_end(address.partition("://")[2], own=own) + len(address.partition("://")[0]) + 3
    rest, _, table = address[start:].partition("#")
    return address[:start] + rest, table


def find_file(address: str) -> tuple[str, str]:
    """Return the path of a database that is a file, and the table that is named after a #; nothing of other addresses.

    As others write them, too, the path begins after three slashes.

    >>> find_file("sqlite:///crowd.db"), find_file("duckdb:////data/crowd.duckdb#answers"), find_file("s3://crowd.db")
    (('crowd.db', ''), ('/data/crowd.duckdb', 'answers'), ('', ''))
    """
    if find_scheme(address) not in _FILES:
        return "", ""
    path, _, table = address.partition("://")[2].removeprefix("/").partition("#")
    return path, table


def find_database(path: Path) -> str:
    """Tell what kind of database a file is, or nothing.

    >>> find_database(Path("nowhere.db"))
    ''
    """
    start = b""
    with suppress(OSError):  # whoever reads it will say why it cannot be
        if path.is_file():
            with path.open("rb") as file:
                start = file.read(16)
    return next((kind for mark, kind in _MARKS.items() if mark in (start, start[8:12])), "")


def name_database(name: str) -> tuple[Address, str] | None:
    """Return the address of a database that is named by it, or by a file with such an ending; nothing of all else.

    A file has been told from the table, or the beginning of tables' names, that may stand after a #.

    >>> name_database("crowd.duckdb"), name_database("out"), name_database("postgresql://ada:secret@host/crowd")
    (('crowd.duckdb', ''), None, ('postgresql://ada@host/crowd', ''))
    """
    scheme, (path, table) = find_scheme(name), find_file(name)
    if scheme in _DATABASES:
        return (Address(f"{scheme}:///{path}", path), table) if path else (Address(name), split_table(name)[1])
    kind = "" if scheme else _ENDINGS.get(Path(name).suffix.lower(), "")
    return (Address(f"{kind}:///{name}", name), "") if kind and not Path(name).is_dir() else None


def hide_in_word(word: str) -> str:
    """Return a word of a command without the secrets of an address in it.

    >>> hide_in_word("--gold=https://host/a.csv?sig=abc"), hide_in_word("answers.csv")
    ('--gold=https://host/a.csv?sig=***', 'answers.csv')
    """
    found = re.search(rf"{_SCHEME}://", word.lstrip("-"))
    if found is None:
        return word
    start = len(word) - len(word.lstrip("-")) + found.start()
    return word[:start] + str(Address(word[start:]))


def _user_end(rest: str, *, own: bool) -> int:
    """Return where the user and password of an address end; a password may have a slash in it, though it should not."""
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    cut = ":" in authority and (
        own or not authority.rpartition(":")[2].isdecimal()
    )  # what looks like a port may be one
    return (rest if cut else authority).rfind("@") + 1


def _hide(address: str) -> tuple[str, list[str]]:
    """Return an address without its secrets, and these."""
    scheme = address.partition("://")[0]
    own = scheme.rpartition("::")[2].lower() in _DATABASES
    rest, table = split_table(address, own=own)
    rest = rest[len(scheme) + 3 :]
    end = _user_end(rest, own=own)
    (user, _, password), (place, _, query) = rest[:end].removesuffix("@").partition(":"), rest[end:].partition("?")
    pieces = [piece for piece in re.split(r"[/?#@:]", password) if len(piece) > 2]  # which others may quote alone
    secrets = [password, unquote(password), *pieces, *([] if own else [user])]
    shown = f"{user}@" if end and own else f"{HIDDEN}@" if end else ""
    pairs = parse_qsl(query, keep_blank_values=True)
    secrets += [written for name, value in pairs if not (own and name in _PLAIN) for written in (value, unquote(value))]
    if own:
        query = urlencode([(name, value) for name, value in pairs if name in _PLAIN], safe="/,-=")
        table = f"#{table}" if table else ""
    else:
        secrets += [table, *(part.partition("=")[2] for part in query.split("&"))]
        named = all(value for _, value in pairs) and pairs
        query = "&".join(f"{name}={HIDDEN}" for name, _ in pairs) if named else HIDDEN if query else ""
        table = f"#{HIDDEN}" if table else ""
    return f"{scheme}://{shown}{place}{'?' if query else ''}{query}{table}", secrets
