"""Spreadsheets: files of Excel, one sheet of which is a table."""

from __future__ import annotations

import datetime
import warnings
import zipfile
from contextlib import closing
from typing import TYPE_CHECKING, Any

from allalike._core.late import pa
from allalike._core.limits import MAX_SHEET_ROWS
from allalike.errors import InputError, UnsupportedError
from allalike.readers.formats.compression import check_archive
from allalike.readers.formats.dialects import name_columns
from allalike.readers.formats.failures import check_gaps, check_names
from allalike.readers.formats.prologs import check_prolog
from allalike.readers.formats.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from allalike.readers.formats.files import Files

__all__ = ["BOOKS", "open_sheet", "read_sheet", "refuse_sheet"]

BOOKS = (".xlsx", ".xlsm")

_MOST_PEEKED_ROWS = 10_000  # most of these rows may be empty
_ADVICE = "Save it as .xlsx or .csv first."


def open_sheet(path: Path, files: Files) -> Table:
    """Open a sheet of a file of Excel: that which the tag names, or the only one that is not empty.

    Its cells are read as text is, in the form in which Excel shows them: whole numbers without a fraction, dates as ISO
    8601 has them.

    >>> import openpyxl, pathlib, tempfile
    >>> from allalike.readers.formats.files import Files
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
    check_names(names, where)
    places = {each: place for place, each in enumerate(names)}

    def load(asked: Iterable[str]) -> dict[str, Any]:
        return {each: pa.chunked_array([[row[places[each]] for row in rows]], pa.string()) for each in asked}

    return Table(names, load, where, text=True, remarks=remarks)


def read_sheet(path: Path, most: int | None = None) -> list[list[str]]:
    """Return the rows of the first sheet that is not empty, as text; so many at most, if that is said.

    >>> import openpyxl, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "answers.xlsx")
    ...     book = openpyxl.Workbook()
    ...     book.active.append(["ada", 7.0])
    ...     book.save(path)
    ...     read_sheet(path)
    [['ada', '7']]
    """
    return next(iter(_read_sheets(path, most).values()), [])


def refuse_sheet(path: Path, files: Files) -> Table:
    """Refuse a spreadsheet of another kind.

    >>> from pathlib import Path
    >>> from allalike.readers.formats.files import Files
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


def _read_sheets(path: Path, most: int | None = None) -> dict[str, list[list[str]]]:
    """Return the rows of all sheets that are not empty, or so many of each."""
    try:
        import openpyxl
    except ImportError:
        raise UnsupportedError(
            "Files of Excel need openpyxl. Install it with: pip install 'allalike[excel]'."
        ) from None
    check_archive(path)
    try:
        _check_parts(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of styles and other things that are not looked at
            with path.open("rb") as file, closing(openpyxl.load_workbook(file, read_only=True, data_only=True)) as book:
                found = {sheet.title: _read_rows(sheet, str(path), most) for sheet in book.worksheets}
    except (OSError, InputError):
        raise
    except Exception as error:  # a damaged file may break anything in the parser
        reason = str(error).strip().rstrip(".").partition("\n")[0]
        raise InputError(f"{path} cannot be read as a file of Excel: {type(error).__name__}: {reason}.") from error
    return {name: rows for name, rows in found.items() if rows}


def _check_parts(path: Path) -> None:
    """Refuse a file whose parts declare entities, which the reader would put in their places."""
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            with archive.open(name) as part:
                check_prolog(path, part, "Excel")


def _read_rows(sheet: Any, where: str, most: int | None) -> list[list[str]]:
    """Return the cells of a sheet as text, without rows and columns that are empty."""
    sheet.reset_dimensions()  # which some programs write wrong
    rows: list[dict[int, str]] = []
    n_gaps = n_cells = 0
    for number, row in enumerate(sheet.iter_rows(values_only=True)):
        if most is not None and (len(rows) == most or number == _MOST_PEEKED_ROWS):
            break
        if number == MAX_SHEET_ROWS:
            raise InputError(f"{where} has rows beyond {MAX_SHEET_ROWS:,}, which Excel does not have. Save it as .csv.")
        cells = {place: text for place, cell in enumerate(row) if cell is not None and (text := _write(cell))}
        n_gaps, n_cells = n_gaps + len(row) - len(cells), n_cells + len(cells)
        check_gaps(n_gaps, where)
        if cells:
            rows.append(cells)
    places = sorted({place for row in rows for place in row})
    check_gaps(len(rows) * len(places) - n_cells, where)
    return [[row.get(place, "") for place in places] for row in rows]


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
