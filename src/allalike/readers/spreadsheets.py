"""Spreadsheets: files of Excel, one sheet of which is a table."""

from __future__ import annotations

import datetime
import warnings
from contextlib import closing
from typing import TYPE_CHECKING, Any

from allalike.errors import InputError, UnsupportedError
from allalike.readers.compression import check_archive
from allalike.readers.dialects import name_columns
from allalike.readers.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from allalike.readers.files import Files

__all__ = ["BOOKS", "open_sheet", "read_sheet", "refuse_sheet"]

BOOKS = (".xlsx", ".xlsm")

_ADVICE = "Save it as .xlsx or .csv first."


def open_sheet(path: Path, files: Files) -> Table:
    """Open a sheet of a file of Excel: that which the tag names, or the only one that is not empty.

    Its cells are read as text is, in the form in which Excel shows them: whole numbers without a fraction, dates as ISO
    8601 has them.

    >>> import openpyxl, pathlib, tempfile
    >>> from allalike.readers.files import Files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "answers.xlsx")
    ...     book = openpyxl.Workbook()
    ...     for row in (["worker", "task", "label"], ["ada", 7.0, 2.5]):
    ...         book.active.append(row)
    ...     book.save(path)
    ...     {name: cells.to_pylist() for name, cells in open_sheet(path, Files()).load(["task", "label"]).items()}
    {'task': ['7'], 'label': ['2.5']}
    """
    sheets = _read_sheets(path)
    name = _choose(path, sheets, files.tag)
    first, *rows = sheets[name]
    where = str(path) if len(sheets) == 1 else f"{path} (sheet {name!r})"
    names, remarks = name_columns(first, rows, where)
    twice = [each for each in names if names.count(each) > 1]
    if twice:
        raise InputError(f"{where} has two columns called {twice[0]!r}. Rename one of them.")

    def load(asked: Iterable[str]) -> dict[str, Any]:
        import pyarrow as pa

        return {each: pa.chunked_array([[row[names.index(each)] for row in rows]], pa.string()) for each in asked}

    return Table(names, load, where, text=True, remarks=remarks)


def read_sheet(path: Path) -> list[list[str]]:
    """Return the rows of the first sheet that is not empty, as text.

    >>> import openpyxl, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "answers.xlsx")
    ...     book = openpyxl.Workbook()
    ...     book.active.append(["ada", 7.0])
    ...     book.save(path)
    ...     read_sheet(path)
    [['ada', '7']]
    """
    return next(iter(_read_sheets(path).values()), [])


def refuse_sheet(path: Path, files: Files) -> Table:
    """Refuse a spreadsheet of another kind.

    >>> from pathlib import Path
    >>> from allalike.readers.files import Files
    >>> refuse_sheet(Path("a.ods"), Files())
    Traceback (most recent call last):
    allalike.errors.InputError: a.ods is a spreadsheet of a kind that cannot be read. Save it as .xlsx or .csv first.
    """
    raise InputError(f"{path} is a spreadsheet of a kind that cannot be read. {_ADVICE}")


def _choose(path: Path, sheets: dict[str, Any], tag: str | None) -> str:
    if not sheets:
        raise InputError(f"{path} is empty.")
    listed = ", ".join(map(repr, sheets))
    if tag is not None:
        if tag not in sheets:
            raise InputError(f"{path} has no sheet {tag!r} with anything in it. It has: {listed}.")
        return tag
    if len(sheets) > 1:
        raise InputError(f"{path} has {len(sheets)} sheets: {listed}. Say which one to read.", tag=next(iter(sheets)))
    return next(iter(sheets))


def _read_sheets(path: Path) -> dict[str, list[list[str]]]:
    """Return the rows of all sheets that are not empty."""
    try:
        import openpyxl
    except ImportError:
        raise UnsupportedError(
            "Files of Excel need openpyxl. Install it with: pip install 'allalike[excel]'."
        ) from None
    check_archive(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of styles and other things that are not looked at
            with path.open("rb") as file, closing(openpyxl.load_workbook(file, read_only=True, data_only=True)) as book:
                found = {sheet.title: _read_rows(sheet) for sheet in book.worksheets}
    except OSError:
        raise
    except Exception as error:  # a damaged file may break anything in the parser
        reason = str(error).strip().rstrip(".").partition("\n")[0]
        raise InputError(f"{path} cannot be read as a file of Excel: {type(error).__name__}: {reason}.") from error
    return {name: rows for name, rows in found.items() if rows}


def _read_rows(sheet: Any) -> list[list[str]]:
    """Return the cells of a sheet as text, without rows that are empty and columns behind the last."""
    sheet.reset_dimensions()  # which some programs write wrong
    rows = [[_write(cell) for cell in row] for row in sheet.iter_rows(values_only=True)]
    rows = [row for row in rows if any(row)]
    width = max((place + 1 for row in rows for place, cell in enumerate(row) if cell), default=0)
    return [[*row[:width], *[""] * (width - len(row))] for row in rows]


def _write(cell: Any) -> str:
    """Write a cell as Excel shows it, and dates as ISO 8601 has them."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        return cell.date().isoformat()
    if isinstance(cell, datetime.date | datetime.time):
        return cell.isoformat()
    return str(cell)
