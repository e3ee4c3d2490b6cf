"""Write tables as CSV or Parquet."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from allalike._core.late import pa, pc

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

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


# Formulas: cells that a spreadsheet would compute in place of showing them, and how they are kept from it.
#
# An id or a label may be ``=HYPERLINK(...)`` or ``@SUM(...)``, by accident or because somebody wants whoever opens
# the table to run it. What begins with = + - @ (also in their wide forms), a tab or the end of a line is taken for a
# formula. An apostrophe before it makes it text to a spreadsheet. Numbers such as -1.5 stay as they are.
#
# What already begins with apostrophes before such a sign gets one more, so that taking one away gives back what was:
#
#     guard:   =1+1 -> '=1+1     '=1+1 -> ''=1+1     -1.5 -> -1.5     yes -> yes


_FORMULA = r"^'*[=+\-@\t\r\n＝＋－＠]"  # noqa: RUF001
_NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"


def guard_text(text: str) -> str:
    """Return a text as it is to be written where spreadsheets read it.

    >>> [guard_text(text) for text in ("=1+1", "-1.5", "-x", "yes", "'=1+1")]
    ["'=1+1", '-1.5', "'-x", 'yes', "''=1+1"]
    """
    return f"'{text}" if re.match(_FORMULA, text) and not re.fullmatch(_NUMBER, text) else text


def unguard_text(text: str) -> str:
    """Return what a text was before it was guarded.

    >>> [unguard_text(guard_text(text)) for text in ("=1+1", "-1.5", "'tis", "'=1+1")]
    ['=1+1', '-1.5', "'tis", "'=1+1"]
    """
    return text[1:] if text.startswith("'") and re.match(_FORMULA, text) else text


def guard_table(table: pa.Table) -> pa.Table:
    """Return a table whose texts, and the names of whose columns, are as they are to be written.

    >>> import pyarrow as pa
    >>> guard_table(pa.table({"=a": ["=1+1", None, "-5"], "b": [-1, 0, 1]})).to_pydict()
    {"'=a": ["'=1+1", None, '-5'], 'b': [-1, 0, 1]}
    """

    def guard(column: pa.ChunkedArray) -> pa.ChunkedArray:
        kind = column.type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            return column
        number = pc.match_substring_regex(column, f"^{_NUMBER}$")  # where $ is the end, and no line's
        formula = pc.and_not(pc.match_substring_regex(column, _FORMULA), number)
        if not pc.any(formula).as_py():
            return column
        mark, nothing = pa.scalar("'", kind), pa.scalar("", kind)
        return pc.if_else(formula, pc.binary_join_element_wise(mark, column, nothing), column)

    return pa.Table.from_arrays(list(map(guard, table.columns)), names=list(map(guard_text, table.column_names)))
