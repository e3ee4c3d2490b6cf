"""Tables as CSV or Parquet files, and protection against spreadsheet formulas."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from allalike._core.lazy_imports import pa, pc

FORMATS = ("csv", "parquet")


def write_tables(path: Path, tables: Iterable[pa.Table]) -> None:
    """Write tables with the same columns to one file, in the format that its extension specifies."""
    with ExitStack() as stack:
        writer: Any = None
        for table in tables:
            if writer is None and path.suffix.lower() == ".parquet":
                import pyarrow.parquet as pq

                writer = stack.enter_context(pq.ParquetWriter(path, table.schema))
            elif writer is None:
                import pyarrow.csv as pacsv

                options = pacsv.WriteOptions(quoting_style="needed")
                writer = stack.enter_context(pacsv.CSVWriter(path, table.schema, write_options=options))
            writer.write_table(table)


# Formulas. A spreadsheet evaluates a cell such as ``=HYPERLINK(...)`` or ``@SUM(...)``, written by accident or by an
# attacker. A formula begins with = + - @ (or their full-width forms), a tab or a line break. A leading apostrophe turns
# it into text. Numbers such as -1.5 are not changed. A text that already has apostrophes before such a sign gets one
# more, so that removing one restores the original.

_FORMULA = r"^'*[=+\-@\t\r\n＝＋－＠]"  # noqa: RUF001
_NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"


def guard_text(text: str) -> str:
    """Prefix a text with an apostrophe if a spreadsheet would evaluate it as a formula.

    >>> [guard_text(text) for text in ("=1+1", "-1.5", "-x", "yes", "'=1+1")]
    ["'=1+1", '-1.5', "'-x", 'yes', "''=1+1"]
    """
    return f"'{text}" if re.match(_FORMULA, text) and not re.fullmatch(_NUMBER, text) else text


def unguard_text(text: str) -> str:
    """Remove the apostrophe that `guard_text` added."""
    return text[1:] if text.startswith("'") and re.match(_FORMULA, text) else text


def guard_table(table: pa.Table) -> pa.Table:
    """Return a table with guarded texts and column names."""

    def guard(column: pa.ChunkedArray) -> pa.ChunkedArray:
        kind = column.type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            return column
        number = pc.match_substring_regex(column, f"^{_NUMBER}$")  # $ is the end of the text, not of a line
        formula = pc.and_not(pc.match_substring_regex(column, _FORMULA), number)
        if not pc.any(formula).as_py():
            return column
        mark, nothing = pa.scalar("'", kind), pa.scalar("", kind)
        return pc.if_else(formula, pc.binary_join_element_wise(mark, column, nothing), column)

    return pa.Table.from_arrays(list(map(guard, table.columns)), names=list(map(guard_text, table.column_names)))
