"""Spreadsheets: files of Excel, one sheet of which is a table."""

from __future__ import annotations

import datetime
import re
import warnings
import zipfile
from contextlib import closing
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

from allalike._core.late import pa
from allalike._core.limits import MAX_SHEET_ROWS
from allalike.errors import InputError, Proposal
from allalike.readers.formats.compression import check_archive
from allalike.readers.formats.dialects import check_prolog, name_columns
from allalike.readers.formats.failures import check_gaps, check_names
from allalike.readers.formats.margins import (
    count_above,
    count_below,
    describe_margins,
    doubt_first_row,
    find_blank_columns,
)
from allalike.readers.formats.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from allalike.readers.formats.files import Files

BOOKS = (".xlsx", ".xlsm")

_MOST_PEEKED_ROWS = 10_000  # most of these rows may be empty
_MIN_COLUMNS = 3
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell ref="([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})"')
_BLOCK, _MAX_MERGED = 1 << 20, 64  # bytes that are read at once, and that a merged cell takes
_ADVICE = "Save it as .xlsx or .csv first."


def open_sheet(path: Path, files: Files) -> Table:
    """Open a sheet of a file of Excel: that which the tag names, or the only one that has columns.

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
    where = str(path) if len(sheets) == 1 else f"{path} (sheet {name!r})"
    first, rows, said = _strip(sheets[name].rows, where, sheets[name].blank)
    if sheets[name].merged:
        said.append(f"{where} has merged cells: each of their rows has the value.")
    names, remarks = name_columns(first, rows, where)
    remarks = remarks or doubt_first_row(rows, where)
    check_names(names, where)
    places = {each: place for place, each in enumerate(names)}

    def load(asked: Iterable[str]) -> dict[str, Any]:
        return {each: pa.chunked_array([[row[places[each]] for row in rows]], pa.string()) for each in asked}

    chosen = {"tag": name} if len(sheets) > 1 and files.tag is None else {}
    return Table(names, load, where, text=True, remarks=[*said, *remarks], guessed=chosen)


def _strip(sheet: list[list[str]], where: str, blank: int) -> tuple[list[str], list[list[str]], list[str]]:
    """Return the header and the rows of a sheet without what stands around them, and what to say of that."""
    n_above = count_above(sheet)
    above, (first, *rows) = sheet[:n_above], sheet[n_above:]
    n_below = count_below(rows)
    rows, below = rows[: len(rows) - n_below], rows[len(rows) - n_below :]
    blank += find_blank_columns([first, *rows])
    return first, rows, describe_margins(above, below, where, blank=blank)


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
    return next((sheet.rows for sheet in _read_sheets(path, most).values()), [])


def refuse_sheet(path: Path, files: Files) -> Table:
    """Refuse a spreadsheet of another kind.

    >>> from pathlib import Path
    >>> from allalike.readers.formats.files import Files
    >>> refuse_sheet(Path("a.ods"), Files())
    Traceback (most recent call last):
    allalike.errors.InputError: a.ods is a spreadsheet of a kind that cannot be read. Save it as .xlsx or .csv first.
    """
    raise InputError(f"{path} is a spreadsheet of a kind that cannot be read. {_ADVICE}")


def _choose(path: Path, sheets: dict[str, _Sheet], tag: str | None) -> str:
    if not sheets:
        raise InputError(f"{path} is empty.")
    listed = ", ".join(map(repr, sheets))
    if tag is not None:
        if tag not in sheets:
            raise InputError(f"{path} has no sheet {tag!r} with anything in it. It has: {listed}.")
        return tag
    tables = [name for name, sheet in sheets.items() if _is_table(sheet.rows)] or list(sheets)
    if len(tables) > 1:
        raise InputError(
            f"{path} has {len(sheets)} sheets: {listed}. Say which one to read.",
            proposals=[Proposal({"tag": name}) for name in sorted(tables, key=lambda name: -len(sheets[name].rows))],
        )
    return tables[0]


def _is_table(rows: list[list[str]]) -> bool:
    """Tell whether a sheet has columns, and not just notes."""
    return len(rows) > 1 and sum(sum(map(bool, row)) >= _MIN_COLUMNS for row in rows) > len(rows) / 2


def _read_sheets(path: Path, most: int | None = None) -> dict[str, _Sheet]:
    """Return all sheets that are not empty, or so many rows of each."""
    import openpyxl

    check_archive(path)
    try:
        _check_parts(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of styles and other things that are not looked at
            with path.open("rb") as file, closing(openpyxl.load_workbook(file, read_only=True, data_only=True)) as book:
                found = {sheet.title: _read_cells(book, sheet, str(path), most) for sheet in book.worksheets}
    except (OSError, InputError):
        raise
    except Exception as error:  # a damaged file may break anything in the parser
        reason = str(error).strip().rstrip(".").partition("\n")[0]
        raise InputError(f"{path} cannot be read as a file of Excel: {type(error).__name__}: {reason}.") from error
    return {name: sheet for name, sheet in found.items() if sheet.rows}


def _check_parts(path: Path) -> None:
    """Refuse a file whose parts declare entities, which the reader would put in their places."""
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            with archive.open(name) as part:
                check_prolog(path, part, "Excel")


class _Merged:
    """Cells that are merged with one above them, which has their value."""

    def __init__(self, book: Any, sheet: Any) -> None:
        with book._archive.open(sheet._worksheet_path) as part:
            found = _find_merged(part)
        self._begins: dict[int, list[tuple[int, int]]] = {}
        self._open: dict[int, tuple[str, int]] = {}
        self.filled = 0
        for first, top, last, bottom in found:
            if first == last:
                self._begins.setdefault(int(top), []).append((_place_of(first), int(bottom)))

    def fill(self, cells: dict[int, str], row: int) -> None:
        """Fill the cells of a row, counted from 1; rows come one after the other."""
        self._open = {place: (text, bottom) for place, (text, bottom) in self._open.items() if row <= bottom}
        for place, (text, _) in self._open.items() if cells else ():
            self.filled += place not in cells
            cells.setdefault(place, text)
        begun = [(place, bottom) for place, bottom in self._begins.pop(row, ()) if place in cells]
        self._open.update({place: (cells[place], bottom) for place, bottom in begun})


def _find_merged(part: Any) -> list[tuple[str, ...]]:
    """Return the first and the last cell of all that are merged: letters and numbers."""
    found: list[tuple[str, ...]] = []
    rest = b""
    while block := part.read(_BLOCK):
        text = rest + block
        matches = list(_MERGED.finditer(text))
        found += [tuple(map(bytes.decode, match.groups())) for match in matches]
        rest = text[max(matches[-1].end() if matches else 0, len(text) - _MAX_MERGED) :]
    return found


def _place_of(letters: str) -> int:
    """Return the number of a column, from 0.

    >>> _place_of("A"), _place_of("AB")
    (0, 27)
    """
    return reduce(lambda number, letter: 26 * number + ord(letter) - 64, letters, 0) - 1


class _Sheet(NamedTuple):
    """The cells of a sheet as text, without rows and columns that are empty.

    ``merged`` says how many cells were merged with others, and ``blank`` how many empty columns come first.
    """

    rows: list[list[str]]
    merged: int
    blank: int


def _read_cells(book: Any, sheet: Any, where: str, most: int | None) -> _Sheet:
    merged = _Merged(book, sheet)
    sheet.reset_dimensions()  # which some programs write wrong
    rows: list[dict[int, str]] = []
    n_gaps = n_cells = 0
    for number, row in enumerate(sheet.iter_rows(values_only=True)):
        if most is not None and (len(rows) == most or number == _MOST_PEEKED_ROWS):
            break
        if number == MAX_SHEET_ROWS:
            raise InputError(f"{where} has rows beyond {MAX_SHEET_ROWS:,}, which Excel does not have. Save it as .csv.")
        cells = {place: text for place, cell in enumerate(row) if cell is not None and (text := _write(cell))}
        merged.fill(cells, number + 1)
        n_gaps, n_cells = n_gaps + len(row) - len(cells), n_cells + len(cells)
        check_gaps(n_gaps, where)
        if cells:
            rows.append(cells)
    places = sorted({place for row in rows for place in row})
    check_gaps(len(rows) * len(places) - n_cells, where)
    return _Sheet([[row.get(place, "") for place in places] for row in rows], merged.filled, min(places, default=0))


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
