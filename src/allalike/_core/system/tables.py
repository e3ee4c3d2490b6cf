"""Write tables as CSV or Parquet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import pyarrow as pa

__all__ = ["FORMATS", "write_tables"]

FORMATS = ("csv", "parquet")


def write_tables(path: Path, tables: Iterable[pa.Table]) -> None:
    r"""Write tables with the same columns one behind the other, in the format that the path's ending names.

    >>> import pyarrow as pa, tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "truth.csv")
    ...     write_tables(path, [pa.table({"task": [1]}), pa.table({"task": [2]})])
    ...     path.read_text()
    '"task"\n1\n2\n'
    """
    writer = None
    try:
        for table in tables:
            if writer is None:
                writer = _writer(path, table.schema)
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()


def _writer(path: Path, schema: pa.Schema) -> Any:
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        return pq.ParquetWriter(path, schema)
    import pyarrow.csv as pacsv

    return pacsv.CSVWriter(path, schema, write_options=pacsv.WriteOptions(quoting_style="needed"))
