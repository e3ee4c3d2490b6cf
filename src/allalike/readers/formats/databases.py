"""Databases: connections by ADBC, and the rows of a table or query, streamed into a file for the time being."""

from __future__ import annotations

from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allalike._core.registry import did_you_mean
from allalike._core.system.addresses import Address, reaching
from allalike._core.system.progress import report
from allalike.errors import AllalikeError, InputError
from allalike.readers.formats.arrow_streams import spool_batches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allalike.readers.formats.spooled import Spooled

__all__ = ["connected", "list_tables", "quote", "run_statement", "spool_rows"]

_READING = {  # so that nothing is written, and rows come in the same order each time
    "postgresql": ("SET synchronize_seqscans = off", "SET TRANSACTION READ ONLY"),
    "sqlite": ("PRAGMA query_only = ON",),
}
_LISTS = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite!_%' ESCAPE '!'",
    "": "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()",
}


@contextmanager
def connected(address: Address, *, write: bool = False, failure: type[AllalikeError] = InputError) -> Iterator[Any]:
    """Connect to a database; what it refuses is an error in one line, without secrets.

    A query that only reads can change nothing, and with DuckDB not open other files either, which the views of a
    stranger's file may name. A transaction begins at once, and whoever writes ends it.

    >>> with connected(Address("sqlite:///nowhere.db")) as connection:
    ...     pass
    Traceback (most recent call last):
    allalike.errors.InputError: There is no sqlite:///nowhere.db.
    """
    if address.scheme in ("sqlite", "duckdb") and not address.file:
        raise failure(f"{address} names no file. Write {address.scheme}:///crowd.db.")
    with reaching(address, failure):
        if address.file and not write:
            Path(address.file).stat()
        with _connect(address, write=write) as connection:
            yield connection


def _connect(address: Address, *, write: bool) -> Any:
    if address.scheme == "duckdb":
        mode = {} if write else {"access_mode": "READ_ONLY"}
        return import_module("adbc_driver_manager.dbapi").connect(
            driver=import_module("adbc_driver_duckdb").driver_path(),
            entrypoint="duckdb_adbc_init",
            db_kwargs={"path": address.file, "enable_external_access": "false", **mode},
        )
    kind, place = "postgresql", address[:]
    if address.file:  # which is opened to be written, so that what a killed program began is undone
        kind, place = "sqlite", f"{Path(address.file).absolute().as_uri()}?mode={'rwc' if write else 'rw'}"
    connection = import_module(f"adbc_driver_{kind}.dbapi").connect(place)
    for setting in () if write else _READING[kind]:
        run_statement(connection, setting)
    return connection


def run_statement(connection: Any, statement: str) -> list[Any]:
    """Run a statement, and return its rows, if it has any.

    >>> with connected(Address("duckdb:///:memory:"), write=True) as connection:
    ...     run_statement(connection, "SELECT 1 + 1"), list_tables(connection, Address("duckdb:///:memory:"))
    ([(2,)], [])
    """
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall()) if cursor.description else []


def list_tables(connection: Any, address: Address) -> list[str]:
    """List the tables and views of a database, in order."""
    return sorted(str(name) for (name,) in run_statement(connection, _LISTS.get(address.scheme, _LISTS[""])))


def quote(name: str) -> str:
    """Write the name of a table so that any is one.

    >>> quote("my answers")
    '"my answers"'
    """
    return '"' + name.replace('"', '""') + '"'


def spool_rows(address: Address, query: str | None = None, table: str | None = None) -> Spooled:
    """Put the rows of a table, or of a query, into a file; without either, those of the only table.

    >>> import sqlite3, tempfile, pathlib, pyarrow as pa
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "crowd.db").as_posix()
    ...     with sqlite3.connect(path) as crowd:
    ...         _ = crowd.execute("CREATE TABLE answers AS SELECT 'ada' AS worker, 1 AS task, 'x' AS label")
    ...     crowd.close()
    ...     spooled = spool_rows(Address(f"sqlite:///{path}"))
    >>> pa.ipc.open_file(spooled).read_all().to_pylist()
    [{'worker': 'ada', 'task': 1, 'label': 'x'}]
    """
    report("reading")
    where = str(address)
    with connected(address) as connection, connection.cursor() as cursor:
        if query is None:
            known = list_tables(connection, address)
            table = _find_table(known, table, address)
            where = f"{address} ({table})"
            parts = [table] if table in known else table.split(".")  # the schema and the table
            query = f"SELECT * FROM {'.'.join(map(quote, parts))}"  # nosec B608 # each is quoted
        cursor.execute(query)
        reader = cursor.fetch_record_batch()
        if not reader.schema.names:
            raise InputError(f"The query of {address} gives no rows. Give one that begins with SELECT.")
        return spool_batches(reader, where)


def _find_table(known: list[str], table: str | None, address: Address) -> str:
    """Return the table that is named, or the only one."""
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
        f"{address} has {len(known)} tables. Name that of the answers, such as table={known[0]!r}, or give a query=,"
        f" which may have known truths beside them. {listed}"
    )
