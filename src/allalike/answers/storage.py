"""Store answers and other columns as Parquet files.

Python objects are stored as JSON texts, and the schema of the file marks such columns. Lists and plain values are
stored directly, other values as an object with the type as key, such as ``{"tuple": [1, 2]}``. Only these types are
read, and nothing is executed. Pages have checksums, and every error names the file.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.columns.values import Values, arrow_of, is_string
from allalike._core.lazy_imports import pa
from allalike._core.limits import MAX_VOXELS
from allalike._core.system.json_text import parse_json
from allalike.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from allalike._core.blocks.block import Array
    from allalike._core.masks import Mask
    from allalike.answers.answers import Answers
    from allalike.domains import Encoding

_BATCH_ROWS = 1 << 18
_WRITTEN = {
    "compression": "zstd",
    "use_dictionary": True,
    "write_page_checksum": True,
    "version": "2.6",
    "data_page_version": "1.0",
    "writer_engine_version": "V2",
}
_FORM, _OBJECTS = b"allalike", b"objects"
_PLAIN = (type(None), bool, int, float, str)


class UnwritableError(Exception):
    """Raised if a part of the result cannot be stored, such as a user-defined method."""


def answer_columns(answers: Answers) -> dict[str, Values | Array]:
    """Return answers as the columns worker, task and label, with their original values."""
    worker, task, label = answers.worker, np.repeat(np.arange(answers.n_tasks), np.diff(answers.starts)), answers.label
    if answers.domain.repeats is not None:
        label, sizes = answers.domain.repeats.take_apart(label)
        worker, task = np.repeat(worker, sizes), np.repeat(task, sizes)
    return {
        "worker": answers.workers.take(worker),
        "task": answers.tasks.take(task),
        "label": label_values(answers.encoding, label),
    }


def label_values(encoding: Encoding, codes: Array) -> Values:
    """Return labels with their original values, but images as masks with positions."""
    return encoding.decode(codes) if encoding.domain.pictures is None else Values(list(codes))


def column_values(column: Column) -> Values:
    """Return all values of a column, row by row."""
    if "factors" in vars(column):
        codes, values = column.factors
        return values.take(codes)
    return Values(column.data if column.form is None else column.data.combine_chunks())


def name_files(folder: Path, name: str) -> list[Path]:
    """List the files of a set of columns, in order."""
    return sorted(folder.glob(f"{name}-*.parquet"), key=lambda path: (len(path.name), path.name))


def write_columns(folder: Path, name: str, parts: Iterable[Mapping[str, Values | Array]]) -> None:
    """Write columns to a new file, and to another one whenever their types change.

    Values that cannot be written raise an `UnwritableError`.
    """
    from pyarrow._parquet import ParquetWriter  # `pyarrow.parquet` takes longer to import than saving a small result

    with ExitStack() as stack:
        writer: Any = None
        schema = None
        for part in parts:
            arrays, fields = [], []
            for column, values in part.items():
                data = values.data if isinstance(values, Values) else arrow_of(values)
                objects = isinstance(data, list)
                if objects:
                    texts = [json.dumps(_write(value), ensure_ascii=False) for value in data]
                    data = pa.array(texts, pa.large_string())
                arrays.append(data)
                fields.append(pa.field(column, data.type, metadata={_FORM: _OBJECTS} if objects else None))
            table = pa.Table.from_arrays(arrays, schema=pa.schema(fields))
            if schema != table.schema:
                stack.close()
                path = folder / f"{name}-{len(name_files(folder, name)) + 1}.parquet"
                writer, schema = ParquetWriter(path, table.schema, **_WRITTEN), table.schema
                stack.enter_context(closing(writer))
            writer.write_table(table)


def read_columns(paths: Sequence[Path], names: Sequence[str], *, complete: bool = True) -> Iterator[dict[str, Column]]:
    """Yield the columns of files in batches, with one type per column in all of them.

    If ``complete`` is True, a missing value is an error.
    """
    import pyarrow.parquet as pq

    schemas = []
    for path in paths:
        with _reading(path):
            schema = pq.read_schema(path)
            schemas.append({name: schema.field(name).type for name in names})
    common = {name: _find_common({types[name] for types in schemas}) for name in names}
    for path in paths:
        with _reading(path):
            file = pq.ParquetFile(path, page_checksum_verification=True)
            if not file.metadata.num_rows:
                raise ValueError("it has no rows")
            for batch in file.iter_batches(_BATCH_ROWS, columns=list(names)):
                fields = [batch.schema.field(name).with_type(common[name]) for name in names]
                yield {f.name: _read_column(batch.column(f.name), f, complete=complete) for f in fields}


def _find_common(kinds: set[Any]) -> Any:
    """Return a type for all values; later files may contain texts where earlier ones contain numbers."""
    if len(kinds) == 1:
        return next(iter(kinds))
    if any(map(is_string, kinds)):
        return pa.large_string()
    return pa.float64() if any(map(pa.types.is_floating, kinds)) else pa.int64()


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, LookupError, TypeError, ArithmeticError, zlib.error, pa.ArrowException) as error:
        reason = " ".join((getattr(error, "strerror", None) or str(error)).split())
        raise InputError(
            f"{path} is damaged or was changed: {reason.rstrip('.')}. Run 'allalike discover' again."
        ) from error


def _read_column(column: Any, field: Any, *, complete: bool) -> Column:
    if complete and column.null_count:
        raise ValueError("values are missing")
    if (field.metadata or {}).get(_FORM) != _OBJECTS:
        return Column(field.name, column.cast(field.type))
    texts = column.to_pylist()
    known = {text: _read(parse_json(text)) for text in set(texts)}
    return Column(field.name, [known[text] for text in texts])


def _write(value: Any) -> Any:
    """Return a JSON value from which `_read` restores the same value."""
    value = value.item() if isinstance(value, np.generic) else value
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is list:
        return list(map(_write, value))
    if kind is tuple:
        return {"tuple": _write(list(value))}
    if kind is dict:
        return {"dict": [_write(list(pair)) for pair in value.items()]}
    if kind.__name__ == "Mask":
        corner = [value.height, value.width, value.top, value.left]
        bits = b64encode(zlib.compress(value.bits.tobytes()))
        affine = None if value.grid is None or value.grid.affine is None else value.grid.affine.tolist()
        grid = None if value.grid is None else [list(value.grid.shape), affine]
        return {"mask": [corner, list(value.bits.shape), bits.decode(), grid]}
    return refuse_value(value)


def refuse_value(value: Any) -> NoReturn:
    """Raise an `UnwritableError` for a value of a type that cannot be stored."""
    raise UnwritableError(f"values of type {type(value).__name__} cannot be written")


def _read(value: Any) -> Any:
    if isinstance(value, list):
        return list(map(_read, value))
    if not isinstance(value, dict):
        return value
    ((name, inner),) = value.items()
    return _READERS[name](_read(inner))


def _read_mask(parts: list[Any]) -> Mask:
    """Return a mask after checking its sizes; no more bytes are unpacked than the image needs."""
    from allalike._core.masks import Grid, Mask, check_size

    (height, width, top, left), (rows, columns), text, grid = parts
    if not all(type(number) is int and number >= 0 for number in (height, width, top, left, rows, columns)):
        raise ValueError("a mask has sizes that are negative or not whole numbers")
    if grid is None:
        check_size(height, width)
    elif height * width > MAX_VOXELS:
        raise ValueError(f"a volume has {height * width:,} voxels, more than {MAX_VOXELS:,}")
    if top + rows > height or left // 8 + columns > -(-width // 8) or (rows and not left < width):
        raise ValueError("a mask exceeds its picture")
    held = zlib.decompressobj().decompress(b64decode(text, validate=True), rows * columns + 1)
    bits = np.frombuffer(held, np.uint8).reshape(rows, columns)
    if bits.size and not np.unpackbits(bits, axis=1)[:, left % 8 :].any():
        raise ValueError("a mask has no pixels of its object")
    if grid is None:
        return Mask(height, width, top, left, bits)
    (x, y, z), affine = grid
    matrix = None if affine is None else np.array(affine, np.float64)
    if (x, y * z) != (width, height) or not (matrix is None or (matrix.shape == (4, 4) and np.isfinite(matrix).all())):
        raise ValueError("the grid of a volume differs from its mask")
    return Mask(height, width, top, left, bits, grid=Grid((x, y, z), matrix))


_READERS: dict[str, Callable[[Any], Any]] = {"tuple": tuple, "dict": dict, "mask": _read_mask}
