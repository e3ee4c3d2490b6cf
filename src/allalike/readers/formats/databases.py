"""Databases: the rows of a table or of a query, streamed into a file of Arrow for the time being.

So a query runs once, all that is read afterwards is of one moment, and nothing but a batch is ever in memory.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from allalike._core.late import pa
from allalike._core.registry import did_you_mean
from allalike._core.system.databases import connected, list_tables, quote
from allalike._core.system.progress import report
from allalike.errors import InputError
from allalike.readers.formats.failures import check_names
from allalike.readers.formats.spooled import spool_batches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allalike._core.system.addresses import Address
    from allalike.readers.formats.spooled import Spooled

__all__ = ["plain_batches", "plain_schema", "spool_rows"]

_LIKELY = ("answers", "annotations", "labels", "judgments", "ratings", "votes")  # names of the table that is meant


def spool_rows(address: Address, query: str | None = None, table: str | None = None) -> Spooled:
    """Put the rows of a table, or of a query, into a file; without either, those of the only table.

    >>> import sqlite3, tempfile, pathlib
    >>> from allalike._core.system.addresses import Address
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "crowd.db").as_posix()
    ...     with sqlite3.connect(path) as crowd:
    ...         _ = crowd.execute("CREATE TABLE answers AS SELECT 'ada' AS worker, 1 AS task, 'x' AS label")
    ...     crowd.close()
    ...     spooled = spool_rows(Address("sqlite://", path))
    >>> import pyarrow as pa
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
        check_names(reader.schema.names, where)
        return spool_batches(plain_batches(reader), plain_schema(reader.schema), where)


def _find_table(known: list[str], table: str | None, address: Address) -> str:
    """Return the table that is named, or the only one."""
    if table is None and len(known) == 1:
        return known[0]
    listed = ", ".join(map(repr, known[:10])) + (" ..." if len(known) > 10 else "")
    if not known:
        raise InputError(f"{address} has no tables.")
    if table is None:
        likely = next((name for name in known if name.lower() in _LIKELY), known[0])
        raise InputError(
            f"{address} has {len(known):,} tables: {listed}. Name the one to read, such as table={likely!r}, or give a"
            " query."
        )
    if table not in known and "." not in table:
        raise InputError(f"{address} has no table {table!r}.{did_you_mean(table, known)} It has: {listed}.")
    return table


def plain_schema(schema: Any) -> Any:
    """Return a schema without what only one database knows: numbers of any length are floats, and ids are texts.

    >>> plain_schema(pa.schema({"a": pa.uuid(), "b": pa.dictionary(pa.int8(), pa.string())}))
    a: string
    b: string
    """
    return pa.schema([(each.name, _plain_type(each.type)) for each in schema])


def plain_batches(reader: Any) -> Iterator[Any]:
    """Yield batches with the columns of `plain_schema`."""
    schema = plain_schema(reader.schema)
    for batch in reader:
        columns = [_plain_column(column, each.type) for column, each in zip(batch.columns, schema, strict=True)]
        yield pa.record_batch(columns, schema=schema)


def _plain_type(kind: Any) -> Any:
    if pa.types.is_dictionary(kind):  # whose entries may differ from batch to batch
        return _plain_type(kind.value_type)
    if not isinstance(kind, pa.BaseExtensionType):
        return kind
    if kind.extension_name == "arrow.uuid":
        return pa.string()
    return pa.float64() if getattr(kind, "type_name", "") == "numeric" else kind.storage_type


def _plain_column(column: Any, kind: Any) -> Any:
    if column.type == kind:
        return column
    if pa.types.is_dictionary(column.type):
        return _plain_column(column.dictionary_decode(), kind)
    if column.type.extension_name == "arrow.uuid":
        ids = column.storage.to_pylist()
        return pa.array([None if each is None else str(uuid.UUID(bytes=each)) for each in ids], kind)
    return column.storage.cast(kind)
