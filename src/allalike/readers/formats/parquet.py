"""Read Parquet files, folders of them, and Arrow files."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allalike._core.late import pa
from allalike.errors import InputError
from allalike.readers.formats.failures import check_columns, check_names, check_width, each_batch, guard
from allalike.readers.formats.tables import Table, take_rows
from allalike.readers.formats.unpacked_sizes import (
    Extent,
    check_unpacked,
    find_limit,
    measure_arrow,
    measure_parquet,
    measure_shared,
)

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
