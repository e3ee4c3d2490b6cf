"""Read a sheet of an Excel workbook as a table."""

from __future__ import annotations

import datetime
import re
import zipfile
from functools import reduce
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from allalike._core.lazy_imports import pa
from allalike._core.limits import MAX_SHEET_ROWS
from allalike.errors import InputError, Proposal
from allalike.readers.formats.compression import check_archive, check_prolog, check_unpacked
from allalike.readers.formats.read_errors import check_gaps, check_names
from allalike.readers.formats.source import Source, of_columns
from allalike.readers.formats.text import MIN_COLUMNS, count_above, name_columns

if TYPE_CHECKING:
    from pathlib import Path

    from allalike.readers.formats.files import Files


_Sheet = tuple[list[list[str]], int]  # the cells as text, without empty rows and columns; the number of merged cells

_MOST_PEEKED_ROWS = 10_000  # many of which may be empty
_BLOCK_BYTES, _CELL_BYTES = 1 << 20, 32
_CELL = re.compile(rb"<(?:\w+:)?c(?=[\s/>])")
_ROW = re.compile(rb"<(?:\w+:)?row(?=[\s/>])")
_REFERENCE = re.compile(rb"""\sr\s*=\s*["']([A-Za-z]*)(\d{1,10})""")  # of a cell, or of a row
_SHARED = re.compile(rb"""\st\s*=\s*["']s["'].*?<(?:\w+:)?v[^>]*>\s*(\d{1,9})""", re.DOTALL)
_STRING = re.compile(rb"<(?:\w+:)?si(?=[\s/>])")


def open_sheet(path: Path, files: Files) -> Source:
    """Open a sheet of an Excel workbook: the one named by the question, or the only one with columns.

    Cells are read as text, as Excel shows them: integers without a fraction, and dates in ISO 8601.
    """
    sheets = _read_sheets(path)
    name = _choose(path, sheets, files.question)
    where = str(path) if len(sheets) == 1 else f"{path} (sheet {name!r})"
    cells, n_merged = sheets[name]
    n_above = count_above(cells)
    names, has_header, remarks = name_columns(cells, n_above, where)
    check_names(names, where)
    rows = cells[n_above + has_header :]
    if n_merged:
        remarks.append(f"{where} has merged cells: their value is copied to each of their rows.")
    columns = {each: pa.chunked_array([[row[place] for row in rows]], pa.string()) for place, each in enumerate(names)}
    chosen = {"question": name} if len(sheets) > 1 and files.question is None else {}
    return of_columns(columns, where, text=True, remarks=remarks, guessed=chosen)


def read_sheet(path: Path, most: int | None = None) -> list[list[str]]:
    """Return the rows of the first non-empty sheet as text: all, or at most the given number."""
    return next((rows for rows, _ in _read_sheets(path, most).values()), [])


def refuse_sheet(path: Path, *_: Any) -> Source:
    """Refuse a spreadsheet of another format, whose memory use cannot be bounded before it is read."""
    raise InputError(f"{path} is a spreadsheet of an unsupported format. Save it as .xlsx or .csv first.")


def _choose(path: Path, sheets: dict[str, _Sheet], tag: str | None) -> str:
    if not sheets:
        raise InputError(f"{path} is empty.")
    listed = ", ".join(map(repr, sheets))
    if tag is not None:
        if tag not in sheets:
            raise InputError(f"{path} has no non-empty sheet {tag!r}. It has: {listed}.")
        return tag
    tables = []  # sheets with columns, not only notes
    for name, (rows, _) in sheets.items():
        n_wide = sum(sum(map(bool, row)) >= MIN_COLUMNS for row in rows)
        tables += [name] if 1 < len(rows) < 2 * n_wide else []
    tables = tables or list(sheets)
    if len(tables) > 1:
        longest = sorted(tables, key=lambda name: -len(sheets[name][0]))
        ways = [Proposal({"question": name}) for name in longest]
        raise InputError(f"{path} has {len(sheets)} sheets: {listed}. Name the one to read.", proposals=ways)
    return tables[0]


def _read_sheets(path: Path, most: int | None = None) -> dict[str, _Sheet]:
    """Return all non-empty sheets, with all rows or at most the given number."""
    import python_calamine as calamine

    check_archive(path)
    try:
        _check_parts(path)
        with calamine.CalamineWorkbook.from_path(str(path.__fspath__())) as book:
            kept = [each.name for each in book.sheets_metadata if each.typ == calamine.SheetTypeEnum.WorkSheet]
            sheets = {name: _read_cells(book.get_sheet_by_name(name), str(path), most) for name in kept}
    except (OSError, InputError, KeyboardInterrupt):
        raise
    except BaseException as error:  # for a damaged file also a panic of Rust, which is not an Exception
        reason = str(error).strip().rstrip(".").partition("\n")[0]
        raise InputError(f"{path} cannot be read as an Excel file: {type(error).__name__}: {reason}.") from error
    return {name: sheet for name, sheet in sheets.items() if sheet[0]}


def _read_cells(sheet: Any, where: str, most: int | None) -> _Sheet:
    """Return the cells of a sheet, with the value of merged cells copied to each of their rows."""
    left = sheet.start[1] if sheet.start else 0
    rows = [list(map(_write, row)) for row in islice(sheet.iter_rows(), None if most is None else _MOST_PEEKED_ROWS)]
    filled = [any(row) for row in rows]
    n_merged = n_steps = 0
    for (top, column), (bottom, last) in sheet.merged_cell_ranges or ():
        at = column - left
        if column != last or not 0 <= at < sheet.width or top >= len(rows) or not rows[top][at]:
            continue
        for place in range(top + 1, min(bottom + 1, len(rows))):
            if filled[place] and not rows[place][at]:
                rows[place][at] = rows[top][at]
                n_merged += 1
        n_steps += bottom - top
        check_gaps(n_steps, where)
    rows = [row for row, is_filled in zip(rows, filled, strict=True) if is_filled][:most]
    used = [place for place, column in enumerate(zip(*rows, strict=True)) if any(column)]
    return [[row[place] for place in used] for row in rows], n_merged


def _write(cell: Any) -> str:
    """Format a cell as Excel shows it, and dates in ISO 8601."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else str(cell)
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        return cell.date().isoformat()
    return cell.isoformat() if isinstance(cell, datetime.date | datetime.time) else str(cell)


# calamine allocates all cells from the first to the last, and copies a shared string into each of its cells. A workbook
# of a few kilobytes could fill the memory. Therefore its compressed XML parts are measured first.


def _check_parts(path: Path) -> None:
    """Refuse a workbook that declares entities, or whose cells exceed the limit for its size."""
    n_bytes = 0
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        strings = [archive.read(name) for name in names if name.lower() == "xl/sharedstrings.xml"]
        lengths = [len(text) for part in strings for text in _STRING.split(part)[1:]]
        for name in names:
            with archive.open(name) as part:
                check_prolog(path, part, "Excel")
            with archive.open(name) as part:
                n_rows, n_columns, n_shared = _measure(part, lengths)
            if n_rows > MAX_SHEET_ROWS:
                raise InputError(f"{path} has rows beyond {MAX_SHEET_ROWS:,}, the limit of Excel. Save it as .csv.")
            n_bytes += _CELL_BYTES * n_rows * n_columns + n_shared
            check_unpacked(path, path.stat().st_size, n_bytes)


def _measure(part: Any, lengths: list[int]) -> tuple[int, int, int]:
    """Return the numbers of rows and columns of a sheet, and the bytes of shared strings in its cells."""
    n_rows = n_columns = n_shared = n_unnamed = 0
    longest, rest = max(lengths, default=0), b""
    for block in chain(iter(lambda: part.read(_BLOCK_BYTES), b""), [b"<c"]):
        text, mark, last = (rest + block).rpartition(b"<c")  # cut before a possibly incomplete tag of a cell
        rest = mark + last
        references, cells = _REFERENCE.findall(text), _CELL.split(text)[1:]
        columns, rows = {letters for letters, _ in references}, {digits for _, digits in references}
        n_columns, n_rows = max(n_columns, *map(_number, columns), 0), max(n_rows, *map(int, rows), 0)
        if len(cells) > sum(bool(letters) for letters, _ in references):  # cells without a reference follow each other
            n_unnamed = max(n_unnamed, *(len(_CELL.findall(row)) for row in _ROW.split(text)))
            n_rows += len(_ROW.findall(text))
        if longest * len(cells) > _BLOCK_BYTES:
            used = [int(found[1]) for cell in cells if (found := _SHARED.search(cell))]
            n_shared += sum(lengths[place] for place in used if place < len(lengths))
    return n_rows, n_columns + 2 * n_unnamed, n_shared  # a row may extend over two blocks


def _number(letters: bytes) -> int:
    """Return the number of a column, counted from 1."""
    return reduce(lambda number, letter: 26 * number + letter - 64, letters.upper(), 0)
