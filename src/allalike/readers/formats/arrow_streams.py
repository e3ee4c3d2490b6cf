"""Streams of Arrow: relations of DuckDB, and whatever else hands over batches, of which few are in memory at a time."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from allalike._core.late import pa
from allalike.errors import InputError
from allalike.readers.formats.databases import plain_reader
from allalike.readers.formats.failures import check_columns, check_names, guard
from allalike.readers.formats.spooled import spool_batches
from allalike.readers.formats.tables import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = ["BATCH_ROWS", "compute", "guess_bytes", "hold_stream", "of_relation"]

BATCH_ROWS = 1 << 17
_FEW_ROWS = 10_000  # by which it is guessed how many bytes all are
_HELD_BYTES = 1 << 26  # of a stream that may be in memory

_ENGINES = ("polars", "duckdb", "_duckdb", "pyo3_runtime")


def compute(where: str, work: Callable[[], Any]) -> Any:
    """Return what polars or DuckDB compute; what they refuse is an error of the answers.

    >>> compute("The table", lambda: 1 + 1)
    2
    """
    try:
        return work()
    except BaseException as error:  # a panic of polars is no Exception
        if type(error).__module__.partition(".")[0] not in _ENGINES:
            raise
        reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise InputError(f"{where} cannot be computed: {reason.rstrip('.')}.") from error


def hold_stream(source: Any) -> Any:
    """Return a stream that can be read more than once: in memory if it is small, or else in a file for the time being.

    >>> hold_stream(pa.table({"worker": ["ada"]}).to_reader()).num_rows
    1
    """
    reader = guard("The stream", "a stream of Arrow", lambda: pa.RecordBatchReader.from_stream(source))
    check_names(reader.schema.names, "The stream")
    held: list[Any] = []
    size = 0
    while size <= _HELD_BYTES:
        batch = guard("The stream", "a stream of Arrow", lambda: next(reader, None))
        if batch is None:
            return pa.Table.from_batches(held, reader.schema)
        held.append(batch)
        size += batch.nbytes
    whole = pa.RecordBatchReader.from_batches(reader.schema, chain(held, reader))
    plain = plain_reader(whole)
    return guard("The stream", "a stream of Arrow", lambda: spool_batches(plain, plain.schema, "the stream"))


def of_relation(relation: Any) -> Table:
    """Open a relation of DuckDB, of which only the columns that are asked for are computed, batch after batch.

    >>> import duckdb
    >>> of_relation(duckdb.sql("SELECT 'ada' AS worker, 1 AS task")).load(["task"])["task"].to_pylist()
    [1]
    """
    where = "The relation"

    def pick(asked: Sequence[str], rows: int | None = None) -> Any:
        part = relation if rows is None else relation.limit(rows)
        part = part.project(", ".join('"{}"'.format(name.replace('"', '""')) for name in asked))
        return getattr(part, "to_arrow_reader", None) or part.fetch_arrow_reader  # as older ones call it

    def load(asked: Sequence[str], rows: int | None = None) -> dict[str, Any]:
        table = compute(where, lambda: pick(asked, rows)(BATCH_ROWS).read_all())
        columns = {name: table[name] for name in asked}
        check_columns(columns, where)
        return columns

    def load_batches(asked: Sequence[str]) -> Iterator[dict[str, Any]]:
        reader, before = compute(where, lambda: pick(asked)(BATCH_ROWS)), 0
        while (batch := compute(where, lambda: next(reader, None))) is not None:
            columns = {name: batch.column(name) for name in asked}
            check_columns(columns, where, before=before)
            before += batch.num_rows
            yield columns

    def n_bytes(asked: Sequence[str]) -> int:
        [(rows,)] = compute(where, lambda: relation.aggregate("count(*)").fetchall())
        return guess_bytes(load(asked, _FEW_ROWS), rows)

    return Table(list(relation.columns), load, where, load_sample=load, load_batches=load_batches, n_bytes=n_bytes)


def guess_bytes(first: Mapping[str, Any], rows: int) -> int:
    """Return about how many bytes so many rows are, by some of them.

    >>> guess_bytes({"task": pa.chunked_array([[1, 2]])}, 1000)
    8000
    """
    return sum(getattr(data, "nbytes", 0) * rows // max(len(data), 1) for data in first.values())
