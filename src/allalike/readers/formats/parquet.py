"""Read Parquet files, folders of them, Arrow files, and streams of Arrow batches."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allalike._core.late import pa, pc
from allalike.errors import InputError
from allalike.readers.formats.compression import (
    Extent,
    check_unpacked,
    find_limit,
    measure_arrow,
    measure_parquet,
    measure_shared,
)
from allalike.readers.formats.failures import ENGINES, check_columns, check_names, check_width, each_batch, guard
from allalike.readers.formats.spooled import Spooled, SpoolFolder
from allalike.readers.formats.tables import Table, join, take_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PARQUET_ENDINGS = (".parquet", ".pq")


_BATCH_ROWS, _BATCH_BYTES = 1 << 20, 1 << 26


_ARROW_ROWS = 1 << 17  # a file of Arrow is read this many at a time


_BUFFER_BYTES = 1 << 20  # this much of a column is read at once, and not a whole row group


def open_parquet(path: Path) -> Table:
    """Open a Parquet file, whose columns are read when they are needed."""
    import pyarrow.parquet as pq

    file = guard(path, "Parquet", lambda: pq.ParquetFile(path))
    names = guard(path, "Parquet", lambda: file.schema_arrow.names)
    check_width(names, str(path))
    kinds, packed = dict(zip(names, file.schema_arrow.types, strict=True)), path.stat().st_size

    @cache
    def extents() -> dict[str, Extent]:
        measured: dict[str, Extent] = guard(path, "Parquet", lambda: measure_parquet(path, file))
        return measured

    def read(asked: Sequence[str]) -> dict[str, Any]:
        table = guard(path, "Parquet", lambda: reopen(asked).read(columns=list(asked)))
        columns = {name: table[name] for name in asked}
        check_columns(columns, str(path))
        return columns

    def reopen(asked: Sequence[str], **options: int) -> Any:
        check_unpacked(path, packed, n_bytes(asked))
        compact = [name for name in asked if _is_compact(kinds[name], extents().get(name, Extent()), packed)]
        return pq.ParquetFile(path, read_dictionary=compact, **options)

    def load(asked: Sequence[str]) -> dict[str, Any]:
        check_unpacked(path, packed, n_bytes(asked))
        if n_bytes(asked) > _BATCH_BYTES:  # then one after the other is read when it is needed, to save memory
            return {name: lambda name=name: read([name])[name] for name in asked}
        return read(asked)  # which reads columns in parallel

    def load_batches(asked: Sequence[str]) -> Iterator[dict[str, Any]]:
        rows = max(1, min(_BATCH_ROWS, _BATCH_BYTES * file.metadata.num_rows // max(n_bytes(asked), 1)))
        with guard(path, "Parquet", lambda: reopen(asked, buffer_size=_BUFFER_BYTES)) as open_file:
            yield from each_batch(path, "Parquet", open_file.iter_batches(rows, columns=list(asked)), asked)

    def load_sample(asked: Sequence[str], rows: int) -> dict[str, Any]:
        with guard(path, "Parquet", lambda: reopen(asked, buffer_size=_BUFFER_BYTES)) as open_file:
            batches = open_file.iter_batches(rows, columns=list(asked), use_threads=False)
            return take_rows(each_batch(path, "Parquet", batches, asked), asked, rows)

    def n_bytes(asked: Sequence[str]) -> int:
        known = [(kinds[name], extents()[name]) for name in asked if name in extents()]
        return sum(each.least if _is_compact(kind, each, packed) else each.most for kind, each in known)

    return Table(names, load, str(path), load_batches=load_batches, n_bytes=n_bytes, load_sample=load_sample)


def open_arrow(path: Path) -> Table:
    """Open an Arrow (Feather) file; batch by batch, because the scanner of Arrow crashes at errors."""
    with guard(path, "Arrow", lambda: pa.OSFile(os.fspath(path))) as file:
        schema = guard(path, "Arrow", lambda: pa.ipc.open_file(file).schema)
    names = guard(path, "Arrow", lambda: schema.names)

    def read(asked: Sequence[str]) -> Iterator[Any]:
        options = pa.ipc.IpcReadOptions(included_fields=[schema.get_field_index(name) for name in asked])
        with pa.OSFile(os.fspath(path)) as file:
            reader, shared = pa.ipc.open_file(file, options=options), 0
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number)
                shared += sum(map(measure_shared, batch.columns))
                check_unpacked(path, packed, shared)
                yield from (batch.slice(start, _ARROW_ROWS) for start in range(0, batch.num_rows, _ARROW_ROWS))

    def load(asked: Sequence[str]) -> dict[str, Any]:
        parts = list(load_batches(asked))
        return {name: pa.chunked_array([part[name] for part in parts], schema.field(name).type) for name in asked}

    def load_batches(asked: Sequence[str]) -> Iterator[dict[str, Any]]:
        yield from each_batch(path, "Arrow", read(asked), asked, sound=False)

    packed, size = path.stat().st_size, measure_arrow(path)
    check_unpacked(path, packed, size)
    return Table(names, load, str(path), load_batches=load_batches, n_bytes=lambda _: size)


def open_parts(folder: Path) -> Table:
    """Open a folder of Parquet files; names of inner folders such as ``task=t1`` are columns, too.

    >>> import tempfile, pathlib, pyarrow as pa, pyarrow.parquet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for task in ("01", "02"):
    ...         path = pathlib.Path(folder, f"task={task}", "part-0.parquet")
    ...         path.parent.mkdir()
    ...         pyarrow.parquet.write_table(pa.table({"worker": ["ada"]}), path)
    ...     open_parts(pathlib.Path(folder)).load(["task"])["task"].to_pylist()
    ['01', '02']
    """
    import pyarrow.parquet as pq

    found = guard(folder, "Parquet", lambda: _find_parts(folder))
    names = guard(folder, "Parquet", lambda: found.schema.names)
    check_width(names, str(folder))
    parts = list(map(Path, found.files))
    packed = sum(part.stat().st_size for part in parts)

    @cache
    def extents() -> list[dict[str, Extent]]:
        measured: list[dict[str, Extent]] = guard(
            folder, "Parquet", lambda: [measure_parquet(part, pq.ParquetFile(part)) for part in parts]
        )
        return measured

    def n_bytes(asked: Sequence[str]) -> int:
        return sum(part[name].most for part in extents() for name in asked if name in part)

    def load(asked: Sequence[str]) -> dict[str, Any]:
        check_unpacked(folder, packed, n_bytes(asked))
        table = guard(folder, "Parquet", lambda: found.to_table(columns=list(asked)))
        columns = {name: table[name] for name in asked}
        check_columns(columns, str(folder))
        return columns

    def load_batches(asked: Sequence[str]) -> Iterator[dict[str, Any]]:
        check_unpacked(folder, packed, n_bytes(asked))
        batches = found.to_batches(columns=list(asked), batch_size=_ARROW_ROWS)
        yield from each_batch(folder, "Parquet", batches, asked)

    return Table(names, load, str(folder), load_batches=load_batches, n_bytes=n_bytes)


def _find_parts(folder: Path) -> Any:
    """Return the data set of a folder; values in names of folders are integers if all are written as such."""
    import pyarrow.dataset as pads
    import pyarrow.parquet as pq

    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in PARQUET_ENDINGS and path.is_file())
    paths = [path for path in files if not any(part[0] in "._" for part in path.relative_to(folder).parts)]
    if not paths:
        raise InputError(f"{folder} has no Parquet files but in folders that begin with a line or a point.")
    check_names(pq.read_schema(paths[0]).names, str(paths[0]))
    values: dict[str, list[str]] = {}
    for path in paths:
        for name, mark, value in (part.partition("=") for part in path.relative_to(folder).parts[:-1]):
            if mark:
                values.setdefault(name, []).append(value)
    kinds = [(name, pa.int64() if all(map(_is_integer, found)) else pa.string()) for name, found in values.items()]
    hive = pads.HivePartitioning(pa.schema(kinds))
    return pads.dataset(list(map(str, paths)), format="parquet", partitioning=hive, partition_base_dir=str(folder))


def _is_integer(value: str) -> bool:
    return value.isascii() and value.isdecimal() and len(value) < 19 and value == str(int(value))


def _is_compact(kind: Any, extent: Extent, packed: int) -> bool:
    """Return whether a column is best read as a dictionary, or must be because it would fill the memory."""
    is_text = pa.types.is_string(kind) or pa.types.is_binary(kind)
    return is_text and (extent.is_small or extent.most > find_limit(packed))


# Open streams of Arrow batches, DuckDB relations, lazy frames of polars and data sets of Hugging Face.


_STREAM_BATCH_ROWS = 1 << 17


_STREAM_BATCH_BYTES = 1 << 24  # of which a file is made, for databases hand over much fewer at a time


def is_lazy(source: Any) -> bool:
    """Return whether this is a relation of DuckDB or a lazy frame of polars, which is computed when it is read."""
    kind = type(source).__module__.partition(".")[0]
    return kind in ENGINES and (hasattr(source, "project") or hasattr(source, "collect"))


def is_stream(source: Any) -> bool:
    """Return whether this is a stream of Arrow, and no frame in memory.

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
        return ask(_STREAM_BATCH_ROWS)  # of DuckDB, whose older versions have the latter
    check_zeros(source.collect_schema())
    streams = hasattr(source, "collect_batches")  # which older ones lack
    parts = source.collect_batches(chunk_size=_STREAM_BATCH_ROWS) if streams else [source.collect()]
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
            if size >= _STREAM_BATCH_BYTES:
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
        parts = source.select_columns(list(asked)).with_format("arrow").iter(_STREAM_BATCH_ROWS)
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
