"""Find the files that a source names; remote files and database rows are copied into temporary files.

Most formats are read more than once, and by several threads, so a remote file is copied first. The copy is removed with
the last reference to it.
"""

from __future__ import annotations

import glob
import io
import os
import re
import shlex
import weakref
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote, urlsplit

from allalike._core.lazy_imports import pa
from allalike._core.limits import MAX_FETCHED_BYTES, MAX_FETCHED_FILES
from allalike._core.registry import did_you_mean
from allalike._core.system.addresses import STORES, Address, find_address, reaching
from allalike._core.system.files import work_folder
from allalike._core.system.progress import report
from allalike.errors import InputError, OptionError
from allalike.readers.formats.compression import read_start
from allalike.readers.formats.read_errors import check_names, unreadable

_BLANK = b"\xef\xbb\xbf \t\r\n"
_CHUNK = 1 << 22
_BATCH_BYTES = 1 << 24  # per batch of an Arrow file, because the batches of databases are much smaller


def find_places(source: str | os.PathLike[str], query: str | None = None, table: str | None = None) -> list[Path]:
    """Return the files of a path, a pattern or an address; the rows of a database become one file."""
    if query is not None and table is not None:
        raise OptionError("query= and table= are both given. Omit one of them.")
    named = name_place(source)
    if not isinstance(named, Address):
        return _open_databases(_matching(named), query, table)
    if (query, table) not in named.held:
        rows: list[Path] = [spool_rows(named, query, table)] if named.is_database else []
        named.held[query, table] = rows or _open_databases(_fetch(named), query, table)
    return named.held[query, table]


def name_place(source: Any) -> Any:
    """Return an address as an object that hides its secrets and keeps its fetched files, other sources unchanged."""
    if isinstance(source, list | tuple) and source and isinstance(source[0], str | os.PathLike):
        return [name_place(each) for each in source]
    return (find_address(source) if isinstance(source, str | os.PathLike) else None) or source


def fetch_places(source: Any, query: str | None, table: str | None) -> None:
    """Fetch remote data for a local engine; the copies exist as long as their address."""
    for name in source if isinstance(source, list | tuple) else [source]:
        if isinstance(name, Address):
            find_places(name, query, table)


def local_name(name: str) -> str:
    """Return the path in the address of a local file, and other names unchanged."""
    if name.startswith("file:"):
        from urllib.request import url2pathname  # slow: it imports the HTTP client

        return url2pathname(urlsplit(name).path)
    address = find_address(name)
    return (address.file if address else "") or name


def _matching(name: str | os.PathLike[str]) -> list[Path]:
    """Return the file of a path, or all files that match a pattern."""
    path = name if isinstance(name, Path) else Path(local_name(os.fspath(name)))  # a Path may be a Spooled
    try:
        if path.exists() or not glob.has_magic(str(path)):
            return [path]
    except OSError as error:  # such as a name that is too long
        raise unreadable(path, error) from error
    found = sorted(Path(match) for match in glob.glob(str(path), recursive=True))
    if not found:
        raise InputError(f"No file matches {str(path)!r}. Correct the pattern.")
    return found


def _open_databases(paths: list[Path], query: str | None, table: str | None) -> list[Path]:
    """Return the files, with each database replaced by a file of its rows."""
    found = [find_address(path) for path in paths]
    if None in found and (query or table):
        what, which = "query" if query else "table", paths[found.index(None)]
        raise OptionError(f"{what}= is for databases, and {which} is not a database. Omit {what}=.")
    return [path if each is None else spool_rows(each, query, table) for path, each in zip(paths, found, strict=True)]


def find_system(address: Address) -> tuple[Any, str]:
    """Return the file system of an address, and its path in that file system."""
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
        web = address.scheme in ("http", "https")  # in which ? begins a query
        pattern = not web and glob.has_magic(path)
        folder = path.rstrip("/") if not web and not pattern and system.isdir(path) else None
        paths = sorted(system.glob(path) if pattern else system.find(path) if folder else [path])
        if not 0 < len(paths) <= MAX_FETCHED_FILES:
            raise InputError(
                f"{address} matches {len(paths):,} files, and the limit is 1 to {MAX_FETCHED_FILES:,}. Correct the"
                " address, or join files into larger ones."
            )
        return _copy_all(system, address, paths, folder)


def _copy_all(system: Any, address: Address, paths: Sequence[str], folder: str | None) -> list[Path]:
    """Copy files: those of a folder into one folder, and each other file into a separate folder."""
    place = address.place = SpoolFolder()
    scheme, copies, left = f"{address.scheme}://", [], MAX_FETCHED_BYTES
    for number, path in enumerate(paths):
        last = unquote(urlsplit(path).path) if "://" in path else path
        names = [str(number), last.rpartition("/")[2] or "input"]
        if folder is not None:
            names = path.removeprefix(folder).strip("/").split("/")
        if any(name in ("", "..") or Path(name).name != name for name in names):
            raise InputError(f"{address} has a file whose name is not valid on this system: {path!r}. Rename it.")
        copy = place.path.joinpath("files", *names)
        copy.parent.mkdir(parents=True, exist_ok=True)
        system.info(path)  # because obstore fails again when it closes a file that it could not open
        with system.open(path, "rb") as source, copy.open("wb") as target:
            while part := source.read(_CHUNK):  # the size that the server reports may be wrong
                left -= len(part)
                if left < 0:
                    raise InputError(
                        f"{address} is too large: at most {MAX_FETCHED_BYTES:,} bytes are fetched. Name fewer files, or"
                        " use engine='spark', which reads them in place.",
                        engine="spark",
                    )
                target.write(part)
        if read_start(copy, 100).lstrip().lower().startswith((b"<!doctype html", b"<html")):
            raise InputError(f"{address} is a web page, not a file of answers. Check whether it asks you to sign in.")
        called = str(address) if len(paths) == 1 else scheme + path.removeprefix(scheme).lstrip("/")
        copies.append(Spooled.at(copy, called, place))
    return [place.path / "files"] if folder is not None else [*copies]


# Temporary files for streams, which can be read only once, and for remote data.


class SpoolFolder:
    """A temporary folder that exists as long as this object."""

    def __init__(self) -> None:
        stack = ExitStack()
        self.path = stack.enter_context(work_folder())
        process = os.getpid()
        weakref.finalize(self, lambda: stack.close() if os.getpid() == process else None)  # not in a forked copy


class Spooled(type(Path())):  # type: ignore[misc]
    """A temporary file that is shown in messages under another name."""

    called = "the open file"
    within: SpoolFolder | None = None

    @classmethod
    def at(cls, path: Path, called: str, within: SpoolFolder | None = None) -> Spooled:
        """Return a named temporary file; the folder that it is ``within`` exists as long as this path."""
        made = cls(os.fspath(path))
        made.called, made.within = called, within
        return made

    def __str__(self) -> str:
        return self.called

    def __fspath__(self) -> str:
        return str(super().__str__())


def spool(stream: IO[Any], folder: Path, called: str) -> Spooled:
    """Write a stream to a file with the extension .json or .csv, depending on its content."""
    raw = folder / "input"
    with raw.open("wb") as file:
        while part := stream.read(_CHUNK):
            file.write(part.encode() if isinstance(part, str) else part)
    with raw.open("rb") as file:
        start = file.read(1 << 16).lstrip(_BLANK)
    named = raw.with_suffix(".json" if start.startswith((b"[", b"{")) else ".csv")
    raw.rename(named)
    return Spooled.at(named, called)


def spool_open_file(stream: IO[Any]) -> Path:
    """Return the path of an open file that is at its start, or else a temporary file with the rest of its content."""
    name = getattr(stream, "name", None)
    try:
        untouched = isinstance(name, str) and Path(name).is_file() and stream.tell() == 0
    except (OSError, ValueError):  # such as a text file that is being iterated
        untouched = False
    if untouched:
        return Path(str(name))
    folder = SpoolFolder()
    return Spooled.at(spool(stream, folder.path, "the open file"), "the open file", folder)


def spool_batches(reader: Any, called: str) -> Spooled:
    """Write the batches of a reader to a file, which exists as long as the returned path."""
    check_names(reader.schema.names, called)
    schema = pa.schema([(each.name, _plain(pa.nulls(0, each.type)).type) for each in reader.schema])
    folder = SpoolFolder()
    path, waiting, size = folder.path / "input.arrow", [], 0
    with pa.ipc.new_file(os.fspath(path), schema) as writer:
        for batch in reader:
            waiting.append(pa.record_batch(list(map(_plain, batch.columns)), schema=schema))
            size += batch.nbytes
            if size >= _BATCH_BYTES:
                writer.write_table(pa.Table.from_batches(waiting).combine_chunks())
                waiting, size = [], 0
        writer.write_table(pa.Table.from_batches(waiting, schema).combine_chunks())
    return Spooled.at(path, called, folder)


def _plain(column: Any) -> Any:
    """Decode a dictionary column, because dictionaries may differ between batches, and convert decimals to floats."""
    if pa.types.is_dictionary(column.type):
        values = column.dictionary
        return (values.cast(pa.string()) if pa.types.is_string_view(values.type) else values).take(column.indices)
    return column.storage.cast(pa.float64()) if getattr(column.type, "type_name", "") == "numeric" else column


# Connect to databases by ADBC, and stream the rows of a table or query into a temporary file.

_READING = {  # for read-only access, and the same order of rows each time
    "postgresql": ("SET synchronize_seqscans = off", "SET TRANSACTION READ ONLY"),
    "sqlite": ("PRAGMA trusted_schema = OFF",),  # views must not call functions with side effects
    "duckdb": ("SET lock_configuration = true",),
}
_QUOTED = re.compile(  # comments, quoted texts and quoted names
    r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\$(\w*)\$.*?\$\1\$", re.DOTALL
)
_RECOVERY = "PRAGMA schema_version; PRAGMA wal_checkpoint(TRUNCATE)"
_LISTS = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite!_%' ESCAPE '!'",
    "": "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()",
}


@contextmanager
def connected(address: Address) -> Iterator[Any]:
    """Connect to a database, read-only, in a transaction; errors are one line without secrets.

    SQLite ignores a journal beside the file, because a journal can name other files that SQLite would remove. DuckDB
    opens no other files, because the views of an untrusted file may name some.
    """
    if address.scheme in ("sqlite", "duckdb") and not address.file:
        raise InputError(f"{address} does not name a file. Write {address.scheme}:///crowd.db.")
    with reaching(address):
        before = _check_recovery(address)
        with _connect(address) as connection:
            yield connection
        if _check_recovery(address) != before:
            raise InputError(
                f"{address} was changed while it was read. Run the command again when no other program writes to it."
            )


def _connect(address: Address) -> Any:
    kind = address.scheme if address.file else "postgresql"
    if kind == "duckdb":
        connection = import_module("adbc_driver_manager.dbapi").connect(
            driver=import_module("adbc_driver_duckdb").driver_path(),
            entrypoint="duckdb_adbc_init",
            db_kwargs={"path": address.file, "enable_external_access": "false", "access_mode": "READ_ONLY"},
        )
    else:
        alone = "mode=ro&immutable=1"  # which ignores journals
        place = f"{Path(address.file).absolute().as_uri()}?{alone}" if address.file else address[:]
        connection = import_module(f"adbc_driver_{kind}.dbapi").connect(place)
    for setting in _READING[kind]:
        run_statement(connection, setting)
    return connection


def _check_recovery(address: Address) -> tuple[int, int] | None:
    """Refuse an SQLite file that needs recovery, and return the modification time and size of a database file.

    SQLite empties a finished journal or log, or writes zeros at its start.
    """
    if not address.file:
        return None
    path = Path(address.file).resolve()  # its folder contains the journal
    for left in (Path(f"{path}{end}") for end in ("-journal", "-wal") if address.scheme == "sqlite"):
        with left.open("rb") if left.is_file() else io.BytesIO() as file:
            is_used = file.read(1) not in (b"", b"\0")
        if is_used:
            command = shlex.join(["sqlite3", address.file, _RECOVERY])
            raise InputError(
                f"{address} needs recovery: {left.name} beside it contains changes by a program that was killed or is"
                " still writing. Recovery can remove other files that a journal names. If you trust both files, run:"
                f" {command}. Otherwise remove {left.name}."
            )
    status = path.stat()
    return status.st_mtime_ns, status.st_size


def run_statement(connection: Any, statement: str) -> list[Any]:
    """Run a statement and return its rows, if any."""
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall()) if cursor.description else []


def spool_rows(address: Address, query: str | None = None, table: str | None = None) -> Spooled:
    """Write the rows of a query, a table or the only table into a temporary file."""
    report("reading")
    where = str(address)
    with connected(address) as connection, connection.cursor() as cursor:
        if query is None:
            listed = run_statement(connection, _LISTS.get(address.scheme, _LISTS[""]))
            known = sorted(str(name) for (name,) in listed)
            table = _find_table(known, table, address)
            where = f"{address} ({table})"
            parts = [table] if table in known else table.split(".")  # the schema and the table
            quoted = ".".join('"{}"'.format(part.replace('"', '""')) for part in parts)
            query = f"SELECT * FROM {quoted}"  # nosec B608
        else:
            query = _nest_query(query, address)
        cursor.execute(query)
        return spool_batches(cursor.fetch_record_batch(), where)


def _nest_query(query: str, address: Address) -> str:
    r"""Return a query as a subquery, in which only a SELECT is valid; refuse a text that would end the subquery."""
    bare = _QUOTED.sub(lambda part: (" " if part[0][:2] in ("--", "/*") else "x") * len(part[0]), query)
    bare = bare.rstrip("; \t\r\n")
    depths = accumulate({"(": 1, ")": -1}.get(character, 0) for character in bare)
    if not re.match(r"[\s(]*(select|with)\b", bare, re.IGNORECASE) or ";" in bare or min(depths) < 0:
        example = "SELECT worker, task, label FROM answers"
        raise InputError(
            f"The query of {address} is not a single SELECT, and no other statement is allowed. Write one such as"
            f" query={example!r}."
        )
    return f"SELECT * FROM (\n{query[: len(bare)]}\n) AS answers"  # nosec B608 # the connection is read-only


def _find_table(known: list[str], table: str | None, address: Address) -> str:
    """Return the named table, or the only one."""
    if table in known or (table and "." in table):
        return table
    if not table and len(known) == 1:
        return known[0]
    if not known:
        raise InputError(f"{address} has no tables.")
    listed = f"It has: {', '.join(map(repr, known[:10]))}{' and more' if len(known) > 10 else ''}."
    if table:
        raise InputError(f"{address} has no table {table!r}.{did_you_mean(table, known)} {listed}")
    raise InputError(
        f"{address} has {len(known)} tables. Name the table of answers, such as table={known[0]!r}, or give a query=,"
        f" which can also select gold labels. {listed}"
    )
