"""Storage: answers and other columns as Parquet files, from which they come back as they were.

A column that Arrow can hold is that column. Python objects are texts of JSON (`allalike.answers.written`), which the
schema of the file says. Pages have checksums, and a file is read with suspicion: whatever is wrong with it is an error
that names it.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.columns.values import Values, arrow_of
from allalike._core.late import pa
from allalike.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from allalike._core.blocks.block import Array
    from allalike.answers.answers import Answers

__all__ = ["answer_columns", "column_values", "count_rows", "read_columns", "unify", "write_columns"]

_BATCH_ROWS = 1 << 18
_FORM, _OBJECTS = b"allalike", b"objects"


def answer_columns(answers: Answers) -> dict[str, Values | Array]:
    """Return answers as the columns worker, task and label, as they came.

    >>> import allalike
    >>> columns = answer_columns(allalike.read([("bob", 7, "x"), ("ada", 7, "y")], domain="categorical"))
    >>> [column.tolist() for column in columns.values()]
    [['ada', 'bob'], [7, 7], ['y', 'x']]
    """
    task = np.repeat(np.arange(answers.n_tasks), np.diff(answers.starts))
    return {
        "worker": answers.workers.take(answers.worker),
        "task": answers.tasks.take(task),
        "label": answers.encoding.decode(answers.label),
    }


def column_values(column: Column) -> Values:
    """Return all values of a column, row by row.

    >>> column_values(Column.of_objects("task", ["t2", "t1"])).tolist()
    ['t2', 't1']
    """
    if "factors" in vars(column):
        codes, values = column.factors
        return values.take(codes)
    return Values(column.data if isinstance(column.data, list) else column.data.combine_chunks())


def write_columns(paths: Iterator[Path], parts: Iterable[Mapping[str, Values | Array]]) -> list[int]:
    """Write columns into a file, one part behind the other, and into the next if their types change; count the rows.

    Values that cannot be written are a `TypeError`.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = write_columns(iter([Path(folder, "a.parquet")]), [{"task": Values([(1, 2)]), "n": np.array([3])}])
    ...     [batch] = read_columns(Path(folder, "a.parquet"), ["task", "n"])
    >>> rows, batch["task"].data, batch["n"].data.to_pylist()
    ([1], [(1, 2)], [3])
    """
    import pyarrow.parquet as pq

    writer, counts = None, []
    try:
        for part in parts:
            table = _write_table(part)
            if writer is None or writer.schema != table.schema:
                if writer is not None:
                    writer.close()
                writer = pq.ParquetWriter(next(paths), table.schema, compression="zstd", write_page_checksum=True)
                counts.append(0)
            writer.write_table(table)
            counts[-1] += len(table)
    finally:
        if writer is not None:
            writer.close()
    return counts


def _write_table(columns: Mapping[str, Values | Array]) -> Any:
    arrays, fields = [], []
    for name, column in columns.items():
        values = column if isinstance(column, Values) else Values(arrow_of(column))
        objects = isinstance(values.data, list)
        array = _write_objects(values.data) if objects else values.data
        arrays.append(array)
        fields.append(pa.field(name, array.type, metadata={_FORM: _OBJECTS} if objects else None))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _write_objects(objects: list[Any]) -> Any:
    from allalike.answers.written import write_object

    return pa.array(map(write_object, objects), pa.large_string())


def unify(paths: Sequence[Path], names: Sequence[str]) -> Any:
    """Return the schema that the columns of several files have in common."""
    known = None
    for path in paths:
        with _reading(path):
            mine = _open(path, names).schema_arrow
            known = mine if known is None else pa.unify_schemas([known, mine], promote_options="permissive")
    return known


def read_columns(
    path: Path, names: Sequence[str], schema: Any = None, *, complete: bool = True
) -> Iterator[dict[str, Column]]:
    """Yield the columns of a file, some rows at a time, as they were written, or of the types of a schema.

    If they must be ``complete``, a missing value is an error.
    """
    with _reading(path):
        file = _open(path, names)
        kinds = schema or file.schema_arrow
        for batch in file.iter_batches(_BATCH_ROWS):
            table = pa.Table.from_batches([batch])
            if complete and any(column.null_count for column in table.columns):
                raise ValueError("values are missing")
            yield {name: _read_column(name, table[name], kinds.field(name)) for name in names}


def count_rows(path: Path) -> int:
    """Count the rows of a file."""
    import pyarrow.parquet as pq

    with _reading(path):
        return int(pq.read_metadata(path).num_rows)


def _read_column(name: str, column: Any, field: Any) -> Column:
    if (field.metadata or {}).get(_FORM) == _OBJECTS:
        from allalike.answers.written import read_object

        known: dict[str, Any] = {}
        texts = column.to_pylist()
        return Column(name, [known[t] if t in known else known.setdefault(t, read_object(t)) for t in texts])
    return Column(name, column.cast(field.type))


def _open(path: Path, names: Sequence[str]) -> Any:
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path, page_checksum_verification=True)
    if file.schema_arrow.names != list(names):
        raise ValueError(f"it has the columns {', '.join(file.schema_arrow.names)}, not {', '.join(names)}")
    return file


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{path} is damaged, or is not what was saved there: {' '.join(reason.split())}") from error
