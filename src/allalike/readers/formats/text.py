"""Read delimited text with any common delimiter, compression and encoding.

Arrow parses most files. Python parses those with ragged rows or with spaces as delimiters.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from allalike._core.columns.values import shorten
from allalike._core.lazy_imports import late_pattern, pa, pc
from allalike._core.limits import MAX_FIELD_BYTES
from allalike._core.text_format import count
from allalike.errors import InputError
from allalike.readers.formats.compression import find_packing, inner_path, open_bytes, read_start
from allalike.readers.formats.encodings import SAMPLE_BYTES, decode_start, guess_encoding, undecodable, with_mark
from allalike.readers.formats.files import Files
from allalike.readers.formats.read_errors import TOO_LONG, each_batch, guard
from allalike.readers.formats.source import Source, take_rows

Row = list[str]
Record = tuple[Row, int, int]  # the fields, and the numbers of the first and last line, from 1

MIN_COLUMNS = 3
_FORMAT = "text with columns"
_BLOCK_BYTES = MAX_FIELD_BYTES  # per read, so that every field fits
_SAMPLE_BYTES = 1 << 19  # per read of a few rows
_PEEK_BYTES = 1 << 16
_UNPACKED_RATIO = 4  # typical bytes of text per byte of a compressed file
_SCORED_ROWS, _DECIMAL_ROWS, _FIRST_ROWS = 200, 1000, 10_000
_BATCH_ROWS = 1 << 13  # larger batches would survive several rounds of garbage collection
_MOST_BROKEN = 10_000  # fields with line breaks that are checked
_DELIMITERS = (",", "\t", ";", "|", " ")
_SEPARATOR_LINE = late_pattern(r'"?sep=([\t -~])"?[ \t]*(\r\n|\r|\n)')  # Excel's line that names the delimiter
_OTHER_WIDTH = late_pattern(r"Expected \d+ columns, got \d+")  # in an error of Arrow
_DECIMAL_COMMA = late_pattern(r"[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+")
_WHOLE, _NUMBERS = re.compile(r"[+-]?\d+"), re.compile(r"[-+\d.,; ]+")


class _RaggedError(Exception):
    """A row has more or fewer fields than the others."""


def open_delimited(path: Path, files: Files | None = None) -> Source:
    """Open a delimited text file; its delimiter and a missing header are detected."""
    files = files or Files()
    sample = guard(path, _FORMAT, lambda: read_start(path, SAMPLE_BYTES))
    if not sample:
        raise InputError(f"{path} is empty.")
    encoding = files.encoding or guess_encoding(sample)
    text = _recognise(path, sample, encoding, "\t" if inner_path(path).suffix.lower() in (".tsv", ".tab") else ",")

    size = path.stat().st_size * (_UNPACKED_RATIO if find_packing(path) else 1)
    guessed = {} if files.encoding or encoding.startswith("utf-8") else {"encoding": encoding}
    return Source(
        text.names,
        text.read,
        str(path),
        stream=text.stream,
        n_bytes=lambda _: size,
        text=True,
        decimal="," if text.decimal_comma else files.decimal,
        guessed=guessed | ({"decimal": ","} if text.decimal_comma else {}),
        remarks=text.remarks,
    )


# The header of text files and sheets.

_MAX_ABOVE = 20  # rows
_MIN_ROWS = 5  # below a clear header
_HEADER_ROWS = 1000  # compared with the first row
_RECURRING = 0.9  # minimum share of recurring values below a name
_MAX_DIGITS = 19  # of a column number
_NUMBER = late_pattern(r"\s*[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?\s*%?\s*")


def count_above(rows: Sequence[Row]) -> int:
    """Count the rows before the header: titles, comments and empty rows."""
    widths = Counter(len(row) for row in rows if len(_filled(row)) > 1)
    usual = widths.most_common(1)[0][0] if widths else 0
    if usual < MIN_COLUMNS:
        return 0
    first = list(enumerate(rows[: _MAX_ABOVE + 1]))
    wide = next((place for place, row in first if any(cell.strip() for cell in row[usual - 1 :])), 0)
    if wide and _is_clear_header(rows[wide], rows[wide + 1 :]):
        return wide
    for place, row in first:
        filled = _filled(row)
        is_comment = len(filled) != usual and filled[:1] and filled[0].lstrip().startswith("#")
        if len(filled) > 1 and not is_comment:
            return place if len(rows) > place + 1 else 0
    return 0


def name_columns(rows: Sequence[Row], n_above: int, where: str) -> tuple[list[str], bool, list[str]]:
    """Return the names of columns, whether they are in a header, and messages about the rows above it."""
    first, below, remarks = rows[n_above], rows[n_above + 1 :], []
    if above := list(filter(None, map(_filled, rows[:n_above]))):
        shown = shorten(" ".join(above[0]))
        remarks.append(f"Excluded from {where}: {count(len(above), 'row')} above the header ({shown}).")
    numbered = [f"column{number}" for number in range(1, len(first) + 1)]
    if _is_answer(first, below):
        listed = ", ".join(numbered[:3]) + " ..." * (len(first) > 3)
        return numbered, False, [*remarks, f"{where} has no header: its columns are named {listed}."]
    return [name if name.strip() else other for name, other in zip(first, numbered, strict=True)], True, remarks


def _filled(row: Row) -> Row:
    return [cell for cell in row if cell.strip()]


def _list_below(first: Row, rows: Sequence[Row]) -> list[tuple[str, Row, bool]]:
    """Return each cell of a row with the non-empty cells below it, and whether these are numbers."""
    found = []
    for place, cell in enumerate(first):
        column = [row[place] for row in rows if place < len(row) and row[place].strip()]
        found.append((cell, column, bool(column) and all(map(_NUMBER.fullmatch, column))))
    return found


def _is_clear_header(first: Row, rows: Sequence[Row]) -> bool:
    """Return whether the rows below show that a row contains column names."""
    if len(rows) < _MIN_ROWS:
        return False
    n_names = 0
    for cell, column, is_numeric in _list_below(first, rows):
        if cell in column or (is_numeric and _NUMBER.fullmatch(cell)):
            return False
        recurring = sum(times for times in Counter(column).values() if times > 1)
        n_names += bool(cell.strip() and column and (is_numeric or recurring >= _RECURRING * len(column)))
    return n_names >= min(2, len(_filled(first)))


def _is_answer(first: Row, rows: Sequence[Row]) -> bool:
    """Return whether the first row resembles those below, and therefore is not a header."""
    rows = [row for row in rows[:_HEADER_ROWS] if row != first]  # concatenated files may repeat a header
    if not rows or not all(cell.strip() for cell in first):
        return False
    recurring = fitting = with_repeats = 0
    for cell, column, is_numeric in _list_below(first, rows):
        is_number = _NUMBER.fullmatch(cell) is not None
        if is_numeric and not is_number:  # a word above numbers
            return False
        fitting += is_number and is_numeric
        recurring += cell in column
        with_repeats += len(set(column)) < len(column)
    if len(set(first)) < len(first):  # column names would be unique
        return recurring + fitting > 0
    numbers = [int(cell) for cell in first if cell.strip().isdecimal() and len(cell) < _MAX_DIGITS]
    if len(numbers) >= MIN_COLUMNS < len(first) and numbers == list(range(numbers[0], numbers[0] + len(numbers))):
        return False  # numbers of workers or tasks, above a matrix
    alike = sum(any(cell == own for cell, own in zip(row, first, strict=False)) for row in rows)
    if alike < 2 or 2 * recurring < with_repeats:  # a row of texts below the header may repeat a few names
        return all(map(_NUMBER.fullmatch, first))
    return recurring > 1 or fitting > 0


# The format of rows.


def _recognise(path: Path, sample: bytes, encoding: str, delimiter: str) -> _Text:
    """Detect the format of rows from the first part of a file that contains more than its header."""
    for size in (_PEEK_BYTES, SAMPLE_BYTES, MAX_FIELD_BYTES):
        read = sample[:size] if size <= SAMPLE_BYTES else guard(path, _FORMAT, partial(read_start, path, size))
        start = decode_start(read, encoding, path)
        if b"\n" in read and "\n" not in start:
            raise undecodable(path, encoding, UnicodeError("it would be a single line"))
        if found := _find_text(start, path, encoding, delimiter, whole=len(read) < size):
            return found
    raise InputError(f"{path} cannot be read as {_FORMAT}: {TOO_LONG}.")


def _find_text(text: str, path: Path, encoding: str, preferred: str, *, whole: bool) -> _Text | None:
    """Detect the format of the rows of a text, which is the whole file or its start; None if it is too short."""
    where = str(path)
    separator = _SEPARATOR_LINE.match(text)
    body = text[separator.end() :] if separator else text
    if not body.strip():
        raise InputError(f"{where} has only empty lines. Use a file with rows of answers.")
    marks = [separator[1]] if separator else [preferred, *(mark for mark in _DELIMITERS if mark != preferred)]
    delimiter, n_above = _find_delimiter(body, marks, whole)
    records = _read_start(body, delimiter, whole, _FIRST_ROWS)
    rows = [fields for fields, _, _ in records]
    if len(rows) <= n_above + 1 and not whole:  # the header may be incomplete
        return None
    if len(rows) == n_above + 1 and not body.endswith(("\n", "\r")):
        raise InputError(
            f"{where} is a single line without an end: a header without rows. The file seems to be truncated."
        )
    first, begin, last = records[n_above]
    if "\0" in "".join(first):
        raise InputError(f"{where} cannot be read as text with columns: its header has zero bytes, so it is binary.")
    names, has_header, remarks = name_columns(rows, n_above, where)
    below = rows[n_above + 1 :]
    padded = len(first) > 1 and all(not cell or cell[0] == " " for row in (first, *below) for cell in row[1:])
    names = [name.strip() for name in names] if padded else names
    if any(top != bottom for _, top, bottom in records[n_above + 1 :]):  # also in columns that are not read
        columns = {}
        for place, name in enumerate(names):
            columns[name] = pa.array([row[place] if place < len(row) else "" for row in below])
        _check_quotes(columns, names, delimiter, where)
    return _Text(
        path,
        encoding,
        names,
        delimiter,
        skip=bool(separator) + (last if has_header else begin - 1),
        trailing={len(row) for row in below} == {len(names) + 1} and not any(row[-1].strip() for row in below),
        padded=padded,
        decimal_comma=delimiter != "," and _has_decimal_commas(below[:_DECIMAL_ROWS]),
        remarks=remarks,
    )


def _find_delimiter(text: str, marks: Sequence[str], whole: bool) -> tuple[str, int]:
    """Return the mark that splits all rows most evenly, and the number of rows above the header."""
    best, has_pairs = (False, 0.0, False), False
    head = text.lstrip("\r\n").partition("\n")[0].partition("\r")[0]
    present = [mark for mark in marks if mark in head]
    chosen = present[0] if len(present) == 1 and present != [" "] else marks[0], 0
    for mark in marks:
        rows = [fields for fields, _, _ in _read_start(text, mark, whole, _SCORED_ROWS)] or [[]]
        has_pairs |= len(rows) > MIN_COLUMNS and {len(row) for row in rows} == {2}  # one of which may be a list
        n_above = 0 if has_pairs or mark == " " else count_above(rows)
        others = [other for other in _DELIMITERS[:-1] if other != mark]
        if any(mark.join(row).count(other) > 1 for row in rows[:n_above] for other in others):
            n_above = 0
        first, *below = map(len, rows[n_above:])
        usual, times = Counter(below or [first]).most_common(1)[0]
        is_even = mark != " " or (first in (usual, usual - 1) and {*below} <= {usual})  # any text has spaces
        score = (first >= MIN_COLUMNS, times / max(len(below), 1), mark == marks[0])
        if min(usual, first) > 1 and usual <= first + 1 and is_even and score > best:
            best, chosen = score, (mark, n_above)
    return chosen


def _has_decimal_commas(rows: Sequence[Row]) -> bool:
    """Return whether a column has numbers with a decimal comma, and no column has other numbers with commas."""
    found = False
    for place in range(max(map(len, rows), default=0)):
        cells = [row[place].strip() for row in rows if place < len(row)]
        commas = [cell for cell in cells if "," in cell]
        if not commas or not all(map(_NUMBERS.fullmatch, commas)):
            continue
        others = [cell for cell in cells if cell and "," not in cell]
        if not all(map(_DECIMAL_COMMA.fullmatch, commas)) or not all(map(_WHOLE.fullmatch, others)):
            return False
        found = True
    return found


# Rows.


@dataclass(frozen=True)
class _Text:
    """A text file and the format of its rows, which begin after ``skip`` lines; reading may add remarks.

    Rows may have an additional empty field (``trailing``), or spaces around the delimiters (``padded``).
    """

    path: Path
    encoding: str
    names: list[str]
    delimiter: str
    skip: int
    trailing: bool
    padded: bool
    decimal_comma: bool
    remarks: list[str]

    def read(self, asked: Sequence[str], rows: int | None) -> dict[str, Any]:
        """Return columns, or only their first rows, for which no remarks are added."""
        if rows is None:
            return take_rows(self.stream(asked, whole=True), asked)
        part = replace(self, remarks=[])
        with suppress(InputError):  # such as a field that is longer than a block
            return take_rows(part.stream(asked, _SAMPLE_BYTES), asked, rows)
        return take_rows(part.stream(asked), asked, rows)

    def stream(self, asked: Sequence[str], size: int = 0, *, whole: bool = False) -> Iterator[dict[str, Any]]:
        """Yield columns in batches of rows; Python parses the rest from the first block with a ragged row."""
        before = 0
        for read in (partial(self._read_evenly, size=size, whole=whole), self._fill_rows):
            batches = read(asked, before)
            try:
                for columns in each_batch(
                    self.path, _FORMAT, batches, encoding=self.encoding, before=before, text=True
                ):
                    if self.padded:
                        columns = {name: pc.utf8_trim_whitespace(column) for name, column in columns.items()}
                    _check_quotes(columns, self.names, self.delimiter, str(self.path), before=before)
                    before += len(next(iter(columns.values()), ()))
                    yield columns
            except _RaggedError:
                continue
            return

    def _read_evenly(self, asked: Sequence[str], _: int, *, size: int, whole: bool) -> Iterator[dict[str, Any]]:
        """Yield columns as Arrow parses them, if all rows have the same number of fields."""
        import pyarrow.csv as pacsv

        if self.delimiter == " ":
            raise _RaggedError
        with_threads = not size and not find_packing(self.path)  # which would hang if unpacking raised an error
        options = (
            pacsv.ReadOptions(
                block_size=size or _BLOCK_BYTES,
                use_threads=with_threads,
                column_names=[*self.names, *["\0"] * self.trailing],
                skip_rows=self.skip,
                encoding="utf8" if self.encoding.startswith("utf-8") else self.encoding,
            ),
            pacsv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            pacsv.ConvertOptions(
                include_columns=list(asked),
                column_types={name: pa.string() for name in asked},
                strings_can_be_null=False,
                check_utf8=False,  # checked later, with the number of the row
            ),
        )
        try:
            with self._open() as source:
                for batch in [pacsv.read_csv(source, *options)] if whole else pacsv.open_csv(source, *options):
                    yield {name: batch[name] for name in asked}
        except pa.ArrowInvalid as error:
            if _OTHER_WIDTH.search(str(error)):
                raise _RaggedError from error
            raise

    def _fill_rows(self, asked: Sequence[str], before: int) -> Iterator[dict[str, Any]]:
        """Yield columns of the rows after the first ``before``.

        Missing fields of a row are left empty, and a remark counts such rows. A row with too many fields is refused.
        """
        where = str(self.path)
        n_rows, width, short = 0, len(self.names), []
        with self._open() as source, io.TextIOWrapper(source, with_mark(self.encoding), newline="") as lines:
            records = _split_rows(islice(lines, self.skip, None), self.delimiter, where)
            while chunk := list(islice(records, _BATCH_ROWS)):
                for row, (fields, line, _) in enumerate(chunk, start=n_rows + 1):
                    which = f"row {row:,} (line {self.skip + line:,})" if len(fields) != width else ""
                    if any(field.strip() for field in fields[width:]):
                        shown = shorten(self.delimiter.join(fields))
                        raise InputError(
                            f"{where}: {which} has {len(fields)} fields, but there are {width} columns: {shown}."
                            " Check for a missing quote, for an unquoted field that contains a delimiter, and for a"
                            " first column without a name in the header."
                        )
                    if len(fields) < width:
                        short.append(which)
                rows = [fields for fields, _, _ in chunk[max(before - n_rows, 0) :]]
                n_rows += len(chunk)
                columns = {}
                for name in asked if rows else ():
                    place = self.names.index(name)
                    columns[name] = pa.array([row[place] if place < len(row) else "" for row in rows], pa.string())
                if columns:
                    yield columns
        if short:
            message = (
                f"{len(short):,} of {n_rows:,} rows of {where} {'has' if len(short) == 1 else 'have'} fewer fields than"
                f" the header. The first is {short[0]}. Their missing fields are read as empty."
            )
            self.remarks.extend([message] if message not in self.remarks else [])

    def _open(self) -> Any:
        return open_bytes(self.path) if find_packing(self.path) else pa.OSFile(os.fspath(self.path))


def _read_start(text: str, delimiter: str, whole: bool, most: int) -> list[Record]:
    """Return the first rows, except a last row that may be incomplete."""
    records: list[Record] = []
    with suppress(InputError):  # reading raises it again
        records.extend(islice(_split_rows(io.StringIO(text, newline=""), delimiter), most + 1))
    return records if whole or len(records) > most or len(records) < 2 else records[:-1]


def _split_rows(lines: Iterable[str], delimiter: str, where: str = "") -> Iterator[Record]:
    """Yield the rows of a text, with their first and last lines; empty lines are skipped."""
    csv.field_size_limit(MAX_FIELD_BYTES)  # as for Arrow
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter == " ")
    last = 0
    try:
        for fields in reader:
            first, last = last + 1, reader.line_num
            if delimiter == " " and fields and not fields[-1]:
                fields.pop()
            if fields:
                yield fields, first, last
    except csv.Error as error:
        raise InputError(f"{where} cannot be read as {_FORMAT}: {error}, after line {last:,}.") from error


def _check_quotes(
    columns: Mapping[str, Any], names: Sequence[str], delimiter: str, where: str, *, before: int = 0
) -> None:
    """Refuse a field that contains further rows: lines with as many fields, some with values found in their columns."""
    list_values = cache(lambda name: set(columns[name].unique().to_pylist()))
    for name, column in columns.items():
        if not _has_breaks(column):
            continue
        for row in pc.indices_nonzero(pc.match_substring(column, "\n")).to_pylist()[:_MOST_BROKEN]:
            for line in str(column[row].as_py()).splitlines()[1:]:
                cells = dict(zip(names, line.split(delimiter), strict=False))
                others = [other for other in columns if other != name and cells.get(other, "").strip()]
                is_row = line.count(delimiter) == len(names) - 1
                if is_row and any(cells[other] in list_values(other) for other in others):
                    raise InputError(
                        f"{where}: the {name!r} in row {before + row + 1:,} begins with a quote that is closed too"
                        f" late: the field contains the row {line[:80]!r}. Close the quote, or double it if it belongs"
                        " to the text."
                    )


def _has_breaks(column: Any) -> bool:
    """Return whether a column may contain line breaks: whether any byte is less than that of a space."""
    chunks = column.chunks if hasattr(column, "chunks") else [column]
    texts = [np.frombuffer(data, np.uint8) for chunk in chunks if (data := chunk.buffers()[2]) is not None]
    return any(len(text) and int(text.min()) < ord(" ") for text in texts)
