"""Open streams of Arrow batches, DuckDB relations, lazy frames of polars and data sets of Hugging Face.

A stream is written into a temporary file, so that a query runs once and large results need not fit in memory.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from allalike._core.late import pa, pc
from allalike.errors import InputError
from allalike.readers.formats.failures import ENGINES, check_names, each_batch, guard
from allalike.readers.formats.parquet import open_arrow
from allalike.readers.formats.spooled import Spooled, SpoolFolder
from allalike.readers.formats.tables import Table, join, take_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_BATCH_ROWS = 1 << 17
_BATCH_BYTES = 1 << 24  # of which a file is made, for databases hand over much fewer at a time


def is_lazy(source: Any) -> bool:
    """Return whether this is a relation of DuckDB or a lazy frame of polars, which is computed when it is read."""
    kind = type(source).__module__.partition(".")[0]
    return kind in ENGINES and (hasattr(source, "project") or hasattr(source, "collect"))


def is_stream(source: Any) -> bool:
    """Tell whether this is a stream of Arrow, and no frame in memory.

    >>> table = pa.table({"worker": ["ada"]})
    >>> is_stream(table), is_stream(table.to_reader())
    (False, True)
    """
    if not hasattr(source, "__arrow_c_stream__"):
        return False
    passes = hasattr(source, "read_next_batch") or hasattr(source, "__next__")  # and is gone when it is read
    frame = hasattr(source, "to_frame") or hasattr(source, "columns") or hasattr(source, "schema")
    return passes or not frame


def hold_stream(source: Any) -> Spooled:
    """Write a stream into a file, which exists as long as the path."""
    held: Spooled = guard("The stream", "Arrow", lambda: spool_batches(_open_reader(source), "the stream"))
    return held


def of_stream(source: Any) -> Table:
    """Open a stream as a table."""
    return open_arrow(hold_stream(source))


def of_lazy(source: Any) -> Table:
    """Open a relation or a lazy frame, of which only the columns that are asked for are computed, once.

    >>> import duckdb
    >>> of_lazy(duckdb.sql("SELECT 'ada' AS worker, 1 AS task")).load(["task"])["task"].to_pylist()
    [1]
    """

    @cache
    def pick(asked: tuple[str, ...], rows: int | None = None) -> Table:
        part = source if rows is None else source.limit(rows)
        quoted = ", ".join('"{}"'.format(name.replace('"', '""')) for name in asked)
        return of_stream(part.project(quoted) if hasattr(part, "project") else part.select(asked))

    def load(asked: Sequence[str], rows: int | None = None) -> dict[str, Any]:
        return pick(tuple(asked), rows).load(asked)

    def load_batches(asked: Sequence[str]) -> Iterator[dict[str, Any]]:
        batches: Any = pick(tuple(asked)).load_batches
        return batches(asked)  # type: ignore[no-any-return]

    known = source if hasattr(source, "project") else guard("The stream", "Arrow", source.collect_schema)
    names = known.columns if hasattr(source, "project") else known.names()
    return Table(
        list(names),
        load,
        "The stream",
        load_sample=load,
        load_batches=load_batches,
        n_bytes=lambda asked: pick(tuple(asked)).n_bytes(asked),
    )


def check_zeros(schema: Any) -> None:
    """Refuse names with a zero byte, at which polars would abort."""
    if "\\x00" in repr(schema):
        raise InputError("The table has a name with a zero byte in it, of a column or of a field. Rename it.")


def _open_reader(source: Any) -> Any:
    if not is_lazy(source):
        return pa.RecordBatchReader.from_stream(source)
    if ask := getattr(source, "to_arrow_reader", None) or getattr(source, "fetch_arrow_reader", None):
        return ask(_BATCH_ROWS)  # of DuckDB, whose older versions have the latter
    check_zeros(source.collect_schema())
    streams = hasattr(source, "collect_batches")  # which older ones lack
    parts = source.collect_batches(chunk_size=_BATCH_ROWS) if streams else [source.collect()]
    batches = (batch for part in parts for batch in pa.table(part).to_batches())
    return pa.RecordBatchReader.from_batches(pa.table(source.head(0).collect()).schema, batches)


def spool_batches(reader: Any, called: str) -> Spooled:
    """Write the batches of a reader into a file, which exists as long as the path.

    >>> reader = pa.table({"id": pa.array(["a"], pa.dictionary(pa.int8(), pa.string()))}).to_reader()
    >>> pa.ipc.open_file(spool_batches(reader, "the stream")).read_all().schema
    id: string
    """
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
    """Return a column without a dictionary, which may differ from batch to batch, and long numbers of a database."""
    if pa.types.is_dictionary(column.type):
        values = column.dictionary
        return (values.cast(pa.string()) if pa.types.is_string_view(values.type) else values).take(column.indices)
    return column.storage.cast(pa.float64()) if getattr(column.type, "type_name", "") == "numeric" else column


def of_data_set(source: Any) -> Table:
    """Open a data set of Hugging Face, its splits one below the other; classes by their names, and -1 is none of them.

    >>> import datasets
    >>> features = datasets.Features({"label": datasets.ClassLabel(names=["cat", "dog"])})
    >>> table = of_data_set(datasets.Dataset.from_dict({"label": [1, -1]}, features=features))
    >>> table.load(["label"])["label"].to_pylist()
    ['dog', None]
    """
    where = "The data set"
    if isinstance(source, dict):
        return join([of_data_set(split) for split in source.values()])
    if not hasattr(source, "num_rows"):  # a stream, which is read now
        source = import_module("datasets").Dataset.from_list(list(source), features=source.features)

    def load_batches(asked: Sequence[str]) -> Iterator[dict[str, Any]]:
        parts = source.select_columns(list(asked)).with_format("arrow").iter(_BATCH_ROWS)
        named = ({name: _name_classes(part[name], source.features[name]) for name in asked} for part in parts)
        return each_batch(where, "Arrow", map(pa.record_batch, named), asked)

    def load(asked: Sequence[str]) -> dict[str, Any]:
        return take_rows(load_batches(asked), asked, source.num_rows)

    return Table(source.column_names, load, where, load_batches=load_batches, n_bytes=lambda _: source.data.nbytes)


def _name_classes(column: Any, feature: Any) -> Any:
    """Return the names of classes that are kept as numbers, and any other column as it is."""
    column = column.combine_chunks()
    if type(feature).__name__ != "ClassLabel":
        return column
    return pc.take(pa.array(feature.names, pa.string()), pc.if_else(pc.less(column, 0), None, column))
