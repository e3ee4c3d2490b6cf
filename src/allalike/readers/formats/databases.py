"""Databases: connections by ADBC, and the rows of a table or query, streamed into a file of Arrow for the time being.

So a query runs once, all that is read afterwards is of one moment, and nothing but a batch is ever in memory.
"""

from __future__ import annotations

import uuid
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allalike._core.late import pa
from allalike._core.registry import did_you_mean
from allalike._core.system.addresses import Address, find_scheme, reaching, split_table
from allalike._core.system.progress import report
from allalike.errors import AllalikeError, InputError
from allalike.readers.formats.failures import check_names
from allalike.readers.formats.spooled import spool_batches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allalike.readers.formats.spooled import Spooled

__all__ = ["connected", "list_tables", "plain_reader", "quote", "run_statement", "spool_rows"]

_LISTS = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite!_%' ESCAPE '!'",
    "": "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()",
}
_LIKELY = ("answers", "annotations", "labels", "judgments", "ratings", "votes")  # names of the table that is meant


@contextmanager
def connected(address: Address, *, write: bool = False, failure: type[AllalikeError] = InputError) -> Iterator[Any]:
    """Connect to a database; what it refuses is an error in one line, without secrets.

    A query that only reads can change nothing, and with DuckDB not open other files either, which the views of a
    stranger's file may name. A transaction begins at once, and whoever writes ends it.

    >>> with connected(Address("sqlite://", "nowhere.db")) as connection:
    ...     pass
    Traceback (most recent call last):
    allalike.errors.InputError: There is no nowhere.db.
    """
    opener = {"sqlite": _open_sqlite, "duckdb": _open_duckdb}.get(find_scheme(address), _open_postgresql)
    with reaching(address, failure):
        if address.file and not write:
            Path(address.file).stat()
        with opener(address, write) as connection:
            yield connection


def _open_postgresql(address: Address, write: bool) -> Any:
    connection = import_module("adbc_driver_postgresql.dbapi").connect(split_table(address[:])[0])
    for setting in () if write else ("synchronize_seqscans = off", "TRANSACTION READ ONLY"):  # the same order each time
        run_statement(connection, f"SET {setting}")
    return connection


def _open_sqlite(address: Address, write: bool) -> Any:
    uri = f"{Path(address.file).absolute().as_uri()}?mode={'rwc' if write else 'ro'}"
    return import_module("adbc_driver_sqlite.dbapi").connect(uri)


def _open_duckdb(address: Address, write: bool) -> Any:
    options = {"path": address.file, "enable_external_access": "false"}
    return import_module("adbc_driver_manager.dbapi").connect(
        driver=import_module("adbc_driver_duckdb").driver_path(),
        entrypoint="duckdb_adbc_init",
        db_kwargs=options if write else {**options, "access_mode": "READ_ONLY"},
    )


def run_statement(connection: Any, statement: str) -> list[Any]:
    """Run a statement, and return its rows, if it has any.

    >>> with connected(Address("duckdb://", ":memory:"), write=True) as connection:
    ...     run_statement(connection, "SELECT 1 + 1"), list_tables(connection, Address("duckdb://"))
    ([(2,)], [])
    """
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall()) if cursor.description else []


def list_tables(connection: Any, address: Address) -> list[str]:
    """List the tables and views of a database, in order."""
    return sorted(str(name) for (name,) in run_statement(connection, _LISTS.get(find_scheme(address), _LISTS[""])))


def quote(name: str) -> str:
    """Write the name of a table so that any is one.

    >>> quote("my answers")
    '"my answers"'
    """
    return '"' + name.replace('"', '""') + '"'


def spool_rows(address: Address, query: str | None = None, table: str | None = None) -> Spooled:
    """Put the rows of a table, or of a query, into a file; without either, those of the only table.

    >>> import sqlite3, tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "crowd.db").as_posix()
    ...     with sqlite3.connect(path) as crowd:
    ...         _ = crowd.execute("CREATE TABLE answers AS SELECT 'ada' AS worker, 1 AS task, 'x' AS label")
    ...     crowd.close()
    ...     spooled = spool_rows(Address("sqlite://", path))
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
        reader = plain_reader(cursor.fetch_record_batch())
        if not reader.schema.names:
            raise InputError(f"The query of {address} gives no rows. Give one that begins with SELECT.")
        check_names(reader.schema.names, where)
        return spool_batches(reader, reader.schema, where)


def _find_table(known: list[str], table: str | None, address: Address) -> str:
    """Return the table that is named, or the only one."""
    if table in known or (table and "." in table):
        return table
    if table is None and len(known) == 1:
        return known[0]
    listed = f"It has: {', '.join(map(repr, known[:10]))}{' and more' if len(known) > 10 else ''}."
    if table is not None:
        raise InputError(f"{address} has no table {table!r}.{did_you_mean(table, known)} {listed}")
    likely = next((name for name in known if name.lower() in _LIKELY), next(iter(known), ""))
    name = f" Name the one to read, such as table={likely!r}, or give a query=. {listed}" if known else ""
    raise InputError(f"{address} has {len(known) or 'no'} tables.{name}")


def plain_reader(reader: Any) -> Any:
    """Return a reader without types that only one database knows: numbers of any length are floats, and ids are texts.

    >>> kinds = pa.schema({"a": pa.uuid(), "b": pa.dictionary(pa.int8(), pa.string())})
    >>> plain_reader(pa.RecordBatchReader.from_batches(kinds, [])).schema
    a: string
    b: string
    """
    schema = pa.schema([(each.name, _plain_type(each.type)) for each in reader.schema])
    plain = (list(map(_plain_column, batch.columns, schema.types)) for batch in reader)
    return pa.RecordBatchReader.from_batches(schema, (pa.record_batch(columns, schema=schema) for columns in plain))


def _plain_type(kind: Any) -> Any:
    if pa.types.is_dictionary(kind):  # whose entries may differ from batch to batch
        return _plain_type(kind.value_type)
    if not isinstance(kind, pa.BaseExtensionType):
        return kind
    if kind.extension_name == "arrow.uuid":
        return pa.string()
    return pa.float64() if getattr(kind, "type_name", "") == "numeric" else kind.storage_type


def _plain_column(column: Any, kind: Any) -> Any:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if column.type == kind:
        return column
    if column.type.extension_name == "arrow.uuid":
        ids = column.storage.to_pylist()
        return pa.array([None if each is None else str(uuid.UUID(bytes=each)) for each in ids], kind)
    return column.storage.cast(kind)
