"""Read delimited text: columns with commas, tabs or other marks between them, packed or not, in any encoding.

Arrow reads it. Where a row has more or fewer fields than the others, or blanks stand between them, Python does.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections import Counter
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.late import late_pattern, pa, pc
from allalike._core.limits import MAX_FIELD_BYTES
from allalike.errors import InputError
from allalike.readers.formats.compression import find_packing, open_for_threads, read_start
from allalike.readers.formats.encodings import SAMPLE_BYTES, decode_start, guess_encoding, undecodable, with_mark
from allalike.readers.formats.failures import TOO_LONG, check_columns, check_names, guard
from allalike.readers.formats.files import Files
from allalike.readers.formats.source import Source, take_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

Row = list[str]
Record = tuple[Row, int, int]  # its fields, and its first and last line, from 1

_FORMAT = "text with columns"
_PEEK_BYTES, _TAIL_BYTES = 1 << 16, 1 << 13
_BLOCK_BYTES = MAX_FIELD_BYTES  # are read at once, so that a field fits in
_SAMPLE_BYTES = 1 << 19  # this much is read at once where not much is needed
_UNPACKED_RATIO = 4  # a byte of a compressed file holds about this many bytes of text
_OTHER_WIDTH = late_pattern(r"Expected \d+ columns, got \d+")  # as Arrow has it
_DELIMITERS = (",", "\t", ";", "|", " ")
_MARK_NAMES = {"\t": "a tab", " ": "a blank"}
_SCORED_ROWS, _DECIMAL_ROWS, _FIRST_ROWS = 200, 1000, 10_000
_BATCH_ROWS = 1 << 13  # more would be kept for several rounds of garbage collection
_MOST_BROKEN = 10_000  # this many fields with several lines are looked at
_DECIMAL_COMMA = late_pattern(r"[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+")
_WHOLE, _NUMBERS = re.compile(r"[+-]?\d+"), re.compile(r"[-+\d.,; ]+")
_SEPARATOR_LINE = late_pattern(r'"?sep=([\t -~])"?[ \t]*(\r\n|\r|\n)')  # which names the separator to Excel
_SHOWN = 60


@dataclass(frozen=True)
class Dialect:
    """How the rows of a text file are written.

    Rows begin after ``skip`` lines and have ``width`` fields, which may be fewer than names, or one more that is empty.
    """

    names: list[str]
    delimiter: str = ","
    skip: int = 1
    width: int = 0
    decimal_comma: bool = False
    remarks: tuple[str, ...] = ()
    padded: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether each row has a field for each name, with one character between them, below a header of one line."""
        is_whole = self.width == len(self.names) and self.skip == 1
        return is_whole and self.delimiter in ",;\t|" and not self.padded


class _RaggedError(Exception):
    """A row with more or fewer fields than the others."""


def open_delimited(path: Path, delimiter: str = ",", files: Files | None = None) -> Source:
    """Open a text file with columns; other marks between them are recognised, and so is a missing header."""
    files = files or Files()
    sample = guard(path, _FORMAT, lambda: read_start(path, SAMPLE_BYTES))
    if not sample:
        raise InputError(f"{path} is empty.")
    encoding = files.encoding or guess_encoding(sample)
    dialect = _read_dialect(path, sample, encoding, delimiter)
    check_names(dialect.names, str(path))
    packing, is_utf8 = find_packing(path), encoding.startswith("utf-8")
    end, notes = (None, []) if packing else _find_notes(path, dialect, encoding)
    text = _Text(path, encoding, dialect, [*dialect.remarks, *describe_margins((), notes, str(path))], end)
    decimal = "," if dialect.decimal_comma else files.decimal
    as_named = packing == {".gz": "gzip"}.get(path.suffix.lower(), "")
    is_plain = dialect.is_plain and is_utf8 and decimal == "." and as_named and end is None
    size = path.stat().st_size * (_UNPACKED_RATIO if packing else 1)
    guessed = {"encoding": encoding} if not files.encoding and not is_utf8 else {}
    return Source(
        dialect.names,
        text.read,
        str(path),
        stream=text.stream,
        n_bytes=lambda _: size,
        text=True,
        delimiter=dialect.delimiter if is_plain else "",
        decimal=decimal,
        guessed=guessed | ({"decimal": ","} if dialect.decimal_comma else {}),
        remarks=text.remarks,
    )


# The header, in text and in sheets

MIN_COLUMNS = 3
_MAX_ABOVE, _MAX_BELOW = 20, 50  # rows
_MIN_ROWS = 5  # below a clear header
_HEADER_ROWS = 1000  # that are compared with the first
_RECURRING = 0.9  # of the values of a column, for one that does not recur to be a name
_NOTE_WORDS = 3
_NOTE = late_pattern(
    r"\s*([#*†‡]|//|notes?\b|sources?\b|legend|exported|generated|created|quelle|anmerkung)", re.IGNORECASE
)
_MAX_DIGITS = 19  # numbers with more digits do not count columns
_NUMBER = late_pattern(r"\s*[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?\s*%?\s*")


def count_above(rows: Sequence[Row]) -> int:
    """Count the rows before the header."""
    usual = _usual_width(rows)
    if usual < MIN_COLUMNS:
        return 0
    for place, row in enumerate(rows[: _MAX_ABOVE + 1]):
        if any(cell.strip() for cell in row[usual - 1 :]):  # the first that is as wide as most
            if place and _is_clear_header(row, rows[place + 1 :]):
                return place
            break
    for place, row in enumerate(rows[: _MAX_ABOVE + 1]):
        filled = _filled(row)
        is_comment = len(filled) != usual and filled[:1] and filled[0].lstrip().startswith("#")
        if len(filled) > 1 and not is_comment:
            return place if len(rows) > place + 1 else 0
    return 0


def count_below(rows: Sequence[Row]) -> int:
    """Count the rows behind the last one of a table: notes, or whatever comes after an empty row."""
    if _usual_width(rows) < MIN_COLUMNS:
        return 0
    count, are_notes, is_apart = 0, True, False
    for row in reversed(rows[1:][-_MAX_BELOW:]):
        filled = _filled(row)
        if len(filled) > 1:
            break
        count += 1
        is_apart = is_apart or not filled
        are_notes = are_notes and any(_NOTE.match(cell) or len(cell.split()) >= _NOTE_WORDS for cell in filled)
    return count if is_apart or are_notes else 0


def name_columns(first: Row, rows: Sequence[Row], where: str) -> tuple[list[str], list[str]]:
    """Return the names of columns, and a message if the first row is no header, or the second looks like one more."""
    numbered = [f"column{number}" for number in range(1, len(first) + 1)]
    if _is_answer(first, rows):
        listed = ", ".join(numbered[:3]) + " ..." * (len(first) > 3)
        return numbered, [f"{where} has no header: its columns are called {listed}."]
    names = [name if name.strip() else other for name, other in zip(first, numbered, strict=True)]
    if not rows or len(rows[0]) < MIN_COLUMNS or not _is_clear_header(rows[0], rows[1:]):
        return names, []
    return names, [f"Row 1 of {where} looks like a second header ({_show(rows[0])}). Delete it if it is no answer."]


def describe_margins(above: Sequence[Row], below: Sequence[Row], where: str) -> list[str]:
    """Describe the rows that were excluded around a table, in one sentence."""
    margins = (("above the header", list(filter(_filled, above))), ("at the end", list(filter(_filled, below))))
    parts = [f"{len(rows)} row{'s' * (len(rows) > 1)} {place} ({_show(rows[0])})" for place, rows in margins if rows]
    return [f"Left out of {where}: {', '.join(parts)}."] if parts else []


def _show(row: Row) -> str:
    text = " ".join(_filled(row))
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


def _filled(row: Row) -> Row:
    return [cell for cell in row if cell.strip()]


def _usual_width(rows: Sequence[Row]) -> int:
    """Return how many cells most rows have in which more than one is filled."""
    widths = Counter(len(row) for row in rows if len(_filled(row)) > 1)
    return widths.most_common(1)[0][0] if widths else 0


def _list_below(first: Row, rows: Sequence[Row]) -> list[tuple[str, Row]]:
    """Pair the cells of a row with the filled ones below them."""
    return [
        (cell, [row[place] for row in rows if place < len(row) and row[place].strip()])
        for place, cell in enumerate(first)
    ]


def _are_numbers(cells: Row) -> bool:
    return bool(cells) and all(map(_NUMBER.fullmatch, cells))


def _is_clear_header(first: Row, rows: Sequence[Row]) -> bool:
    """Return whether a row clearly has names of columns, by the rows below it."""
    if len(rows) < _MIN_ROWS:
        return False
    n_names = 0
    for cell, column in _list_below(first, rows):
        is_numeric = _are_numbers(column)
        if cell in column or (is_numeric and _NUMBER.fullmatch(cell)):
            return False
        recurring = sum(times for times in Counter(column).values() if times > 1)
        n_names += bool(cell.strip() and column and (is_numeric or recurring >= _RECURRING * len(column)))
    return n_names >= min(2, len(_filled(first)))


def _is_answer(first: Row, rows: Sequence[Row]) -> bool:
    """Return whether the first row is one like those below, and no header."""
    rows = [row for row in rows[:_HEADER_ROWS] if row != first]  # a header may be repeated, where files were joined
    if not rows or not all(cell.strip() for cell in first):
        return False
    numbers = [cell for cell in first if _NUMBER.fullmatch(cell)]
    recurring = fitting = with_repeats = 0
    for cell, column in _list_below(first, rows):
        is_number, is_numeric = _are_numbers([cell]), _are_numbers(column)
        if is_numeric and not is_number:  # a word above numbers
            return False
        fitting += is_number and is_numeric
        recurring += cell in column
        with_repeats += len(set(column)) < len(column)
    if len(set(first)) < len(first):  # names are different
        return recurring + fitting > 0
    if len(first) > MIN_COLUMNS and _is_counting(numbers):
        return False  # numbers of workers or tasks, above a matrix
    alike = sum(any(cell == own for cell, own in zip(row, first, strict=False)) for row in rows)
    if alike < 2 or 2 * recurring < with_repeats:  # a row of texts below the header may repeat some names
        return len(numbers) == len(first)
    return recurring > 1 or fitting > 0


def _is_counting(cells: Row) -> bool:
    """Return whether cells are whole numbers, one after the other."""
    if len(cells) < MIN_COLUMNS or not all(cell.strip().isdecimal() and len(cell) < _MAX_DIGITS for cell in cells):
        return False
    return [int(cell) for cell in cells] == list(range(int(cells[0]), int(cells[0]) + len(cells)))


# How rows are written


def _read_dialect(path: Path, sample: bytes, encoding: str, delimiter: str) -> Dialect:
    """Find how rows are written, by as much of a file as holds more than its header."""
    for size in (_PEEK_BYTES, SAMPLE_BYTES, MAX_FIELD_BYTES):
        read = sample[:size] if size <= SAMPLE_BYTES else guard(path, _FORMAT, partial(read_start, path, size))
        start = decode_start(read, encoding, path)
        if b"\n" in read and "\n" not in start:
            raise undecodable(path, encoding, UnicodeError("it would be one line only"))
        if found := _find_dialect(start, str(path), delimiter, whole=len(read) < size):
            return found
    raise InputError(f"{path} cannot be read as {_FORMAT}: {TOO_LONG}.")


def _find_dialect(text: str, where: str, preferred: str, *, whole: bool) -> Dialect | None:
    """Find how the rows are written of which this is the whole, or a beginning; None if that is too short."""
    separator = _SEPARATOR_LINE.match(text)
    body = text[separator.end() :] if separator else text
    above, n_lines = _find_above(body, preferred, whole)
    body = "".join(body.splitlines(keepends=True)[n_lines:]) if n_lines else body
    delimiter = separator[1] if separator else _find_delimiter(body, preferred, whole)
    records = _read_start(body, delimiter, whole, _FIRST_ROWS)
    if not records or not body.strip():
        raise InputError(f"{where} has no rows: nothing but empty lines.")
    if len(records) == 1 and not whole:  # it may be cut
        return None
    if len(records) == 1 and not body.endswith(("\n", "\r")):
        raise InputError(
            f"{where} is one line that does not end: a header, and no rows below it. The file seems to be cut off."
        )
    (first, begin, last), rows = records[0], [fields for fields, _, _ in records[1:]]
    if "\0" in "".join(first):
        raise InputError(f"{where} cannot be read as text with columns: its header has zero bytes, which no text has.")
    names, notes = name_columns(first, rows, where)
    headless = names != first and all(cell.strip() for cell in first)
    padded = len(first) > 1 and all(not cell or cell[0] == " " for row in (first, *rows) for cell in row[1:])
    names = [name.strip() for name in names] if padded else names
    (width, *others), n_names = {len(row) for row in rows or [first]}, len(names)
    if not others and width < n_names:
        notes.append(f"All rows of {where} end before the column {names[width]!r}: it and those behind it are empty.")
    else:
        width = n_names + (not others and width == n_names + 1 and not any(row[-1].strip() for row in rows))
    if any(top != bottom for _, top, bottom in records[1:]):  # look for open quotes also in columns that are not read
        places = {name: place for place, name in enumerate(names)}
        columns = {name: [row[at] if at < len(row) else "" for row in rows] for name, at in places.items()}
        check_quotes({name: pa.array(column) for name, column in columns.items()}, names, delimiter, where)
    return Dialect(
        names,
        delimiter,
        skip=bool(separator) + n_lines + (begin - 1 if headless else last),
        width=width,
        decimal_comma=delimiter != "," and _has_decimal_commas(rows[:_DECIMAL_ROWS]),
        remarks=(*describe_margins(above, (), where), *notes),
        padded=padded,
    )


def _find_above(text: str, preferred: str, whole: bool) -> tuple[list[list[str]], int]:
    """Return the rows before the header, and how many lines they are."""
    marks = tuple(dict.fromkeys((preferred, *_DELIMITERS[:-1])))
    for mark in marks:
        records = _read_start(text, mark, whole, _SCORED_ROWS)
        rows = [fields for fields, _, _ in records]
        if len(rows) > MIN_COLUMNS and {len(row) for row in rows} == {2}:
            return [], 0  # two columns, of which one may hold lists
        above = rows[: count_above(rows)]
        others = [other for other in marks if other != mark]
        if above and not any(mark.join(row).count(other) > 1 for row in above for other in others):
            return above, records[len(above)][1] - 1
    return [], 0


def _find_delimiter(text: str, preferred: str, whole: bool) -> str:
    """Return what stands between columns: of the marks in the first line, that which cuts all rows alike."""
    head = text.lstrip("\r\n").partition("\n")[0].partition("\r")[0]
    present = [mark for mark in dict.fromkeys((preferred, *_DELIMITERS)) if mark in head]
    if len(present) < 2 and " " not in present:
        return present[0] if present else preferred
    best, chosen = (False, 0.0, False), preferred
    for mark in present:
        widths = [len(fields) for fields, _, _ in _read_start(text, mark, whole, _SCORED_ROWS)] or [0]
        first, below = widths[0], widths[1:] or widths
        usual, times = Counter(below).most_common(1)[0]
        is_even = mark != " " or (first in (usual, usual - 1) and set(widths[1:]) <= {usual})  # blanks are everywhere
        score = (first >= MIN_COLUMNS, times / len(below), mark == preferred)
        if min(usual, first) > 1 and usual <= first + 1 and is_even and score > best:
            best, chosen = score, mark
    return chosen


def _has_decimal_commas(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether some column has numbers with a decimal comma, and none has other numbers with commas."""
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


def _find_notes(path: Path, dialect: Dialect, encoding: str) -> tuple[int | None, list[list[str]]]:
    """Return the byte where the rows of a table end, if there are notes behind them, and these."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(size - _TAIL_BYTES, 0))
        tail = file.read()
    if b"\0" in tail or dialect.delimiter == " ":
        return None, []
    lines = tail.rstrip().splitlines(keepends=True)
    begin = dialect.skip if len(tail) == size else 1
    quotes = [place for place, line in enumerate(lines) if line.count(b'"') % 2]  # a field may go on behind these
    begin = max(begin, quotes[-1] + 1) if quotes else begin
    texts = [line.decode(encoding, "replace") for line in lines[begin:]]
    rows = [next(csv.reader([text], delimiter=dialect.delimiter), []) for text in texts]
    count = count_below(rows)
    if not count:
        return None, []
    return size - len(tail) + sum(map(len, lines[:-count])), rows[-count:]


# Rows


@dataclass(frozen=True)
class _Text:
    """A text file, and how it is written; the remarks grow when it is read. It may end before its last bytes."""

    path: Path
    encoding: str
    dialect: Dialect
    remarks: list[str]
    end: int | None

    def read(self, asked: Sequence[str], rows: int | None) -> dict[str, Any]:
        """Return some columns, or the first rows of them; the remarks are for those who read all."""
        if rows is not None:
            part = replace(self, remarks=[])
            with suppress(InputError):  # such as a field that is longer than what is read at once
                return take_rows(part.stream(asked, _SAMPLE_BYTES), asked, rows)
            return take_rows(part.stream(asked), asked, rows)
        parts = list(self.stream(asked, whole=True))
        chunks = {name: [getattr(part[name], "chunks", [part[name]]) for part in parts] for name in asked}
        return {name: pa.chunked_array(list(chain(*chunks[name])), pa.string()) for name in asked}

    def stream(self, asked: Sequence[str], size: int = 0, *, whole: bool = False) -> Iterator[dict[str, Any]]:
        """Yield some columns, some rows at a time; from the first block with a ragged row on, Python reads them."""
        before, where = 0, str(self.path)
        for read in (partial(self._read_evenly, size=size, whole=whole), self._fill):
            batches = read(asked, before)
            try:
                while (columns := self._guard(partial(next, batches, None))) is not None:
                    if self.dialect.padded:
                        columns = {name: pc.utf8_trim_whitespace(column) for name, column in columns.items()}
                    check_columns(columns, where, before=before, text=True)
                    check_quotes(columns, self.dialect.names, self.dialect.delimiter, where, before=before)
                    before += len(next(iter(columns.values()), ()))
                    yield columns
            except _RaggedError:
                continue
            return

    def _read_evenly(self, asked: Sequence[str], _: int, *, size: int, whole: bool) -> Iterator[dict[str, Any]]:
        """Yield columns of rows that have all the same number of fields, as Arrow reads them."""
        import pyarrow.csv as pacsv

        if self.dialect.delimiter == " ":
            raise _RaggedError
        fields = dict.fromkeys([*self.dialect.names, "\0"][: self.dialect.width])
        names = [name for name in asked if name in fields] or list(fields)[:1]  # rows may end before some columns
        options = (
            pacsv.ReadOptions(
                block_size=size or _BLOCK_BYTES,
                use_threads=not size,
                column_names=list(fields),
                skip_rows=self.dialect.skip,
                encoding="utf8" if self.encoding.startswith("utf-8") else self.encoding,
            ),
            pacsv.ParseOptions(delimiter=self.dialect.delimiter, newlines_in_values=True),
            pacsv.ConvertOptions(
                include_columns=names,
                column_types={name: pa.string() for name in names},
                strings_can_be_null=False,
                check_utf8=False,  # it is checked later, where the row can be named
            ),
        )
        try:
            with self._open() as source:
                for batch in [pacsv.read_csv(source, *options)] if whole else pacsv.open_csv(source, *options):
                    yield {name: batch[name] if name in fields else pa.repeat("", batch.num_rows) for name in asked}
        except pa.ArrowInvalid as error:
            if _OTHER_WIDTH.search(str(error)):
                raise _RaggedError from error
            raise

    def _fill(self, asked: Sequence[str], before: int) -> Iterator[dict[str, Any]]:
        """Yield columns in which short rows are filled up, from behind some rows on."""
        with self._open() as source, io.TextIOWrapper(source, with_mark(self.encoding), newline="") as lines:
            yield from fill_rows(lines, self.dialect, asked, str(self.path), self.remarks, skip=before)

    def _open(self) -> Any:
        if find_packing(self.path):
            return open_for_threads(self.path)
        file = pa.OSFile(os.fspath(self.path))
        return nullcontext(file if self.end is None else file.get_stream(0, self.end))

    def _guard(self, read: Callable[[], Any]) -> Any:
        try:
            return guard(self.path, _FORMAT, read)
        except InputError as error:
            if isinstance(error.__cause__, UnicodeError):
                raise undecodable(self.path, self.encoding, error.__cause__) from error
            raise


@contextmanager
def _long_fields() -> Iterator[None]:
    """Let Python's reader take fields as long as Arrow does."""
    before = csv.field_size_limit(MAX_FIELD_BYTES)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _read_start(text: str, delimiter: str, whole: bool, most: int) -> list[Record]:
    """Return the first rows, without the last if it may be cut."""
    records: list[Record] = []
    with _long_fields(), suppress(csv.Error):  # which reading will name
        records.extend(islice(_split_rows(io.StringIO(text, newline=""), delimiter), most + 1))
    return records if whole or len(records) > most or len(records) < 2 else records[:-1]


def _split_rows(lines: Iterable[str], delimiter: str) -> Iterator[Record]:
    """Yield the rows of a text, with their first and last lines; empty lines are none."""
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter == " ")
    last = 0
    for fields in reader:
        first, last = last + 1, reader.line_num
        if delimiter == " " and fields and not fields[-1]:
            fields.pop()
        if fields:
            yield fields, first, last


def fill_rows(
    lines: Iterable[str],
    dialect: Dialect,
    asked: Sequence[str],
    where: str,
    remarks: list[str],
    *,
    skip: int = 0,
    before: tuple[int, int] = (0, 0),
) -> Iterator[dict[str, Any]]:
    """Yield columns of rows, some at a time; fields that a row lacks are empty, which is counted in the remarks.

    A row with too many fields is refused. The first rows can be skipped, where they were read already; or so many rows
    and lines of the file came ``before`` these lines.
    """
    place_of = {name: place for place, name in enumerate(dialect.names)}
    records = _split_rows(islice(lines, dialect.skip, None), dialect.delimiter)
    (n_rows, n_lines), width = before, len(dialect.names)
    n_short, first_short = 0, ""
    while chunk := _take_rows(records, where, n_rows):
        for place in [place for place, record in enumerate(chunk) if len(record[0]) != width]:
            fields, line, _ = chunk[place]
            which = f"row {n_rows + place + 1:,} (line {n_lines + dialect.skip + line:,})"
            if any(field.strip() for field in fields[width:]):
                raise _too_long(f"{where}: {which}", fields, width, dialect.delimiter)
            if len(fields) < width:
                n_short, first_short = n_short + 1, first_short or which
        rows = [fields for fields, _, _ in chunk[max(before[0] + skip - n_rows, 0) :]]
        n_rows += len(chunk)
        if rows:
            places = [(name, place_of[name]) for name in asked]
            cells = {name: [row[place] if place < len(row) else "" for row in rows] for name, place in places}
            yield {name: pa.array(column, pa.string()) for name, column in cells.items()}
    message = (
        f"{n_short:,} of {n_rows:,} rows of {where} {'has' if n_short == 1 else 'have'} fewer fields than the header,"
        f" the first is {first_short}: the last ones are read as empty."
    )
    if n_short and message not in remarks:
        remarks.append(message)


def _take_rows(records: Iterator[Record], where: str, before: int) -> list[Record]:
    taken: list[Record] = []
    try:
        with _long_fields():
            taken.extend(islice(records, _BATCH_ROWS))
    except csv.Error as error:
        row = before + len(taken)
        raise InputError(f"{where} cannot be read as text with columns: {error}, behind row {row:,}.") from error
    return taken


def _too_long(which: str, fields: list[str], width: int, delimiter: str) -> InputError:
    text, mark = delimiter.join(fields), _MARK_NAMES.get(delimiter, repr(delimiter))
    return InputError(
        f"{which} has {len(fields)} fields, but there are {width} columns:"
        f" {text if len(text) <= _SHOWN else f'{text[:_SHOWN]}...'!r}. Perhaps a quote is missing, a field with {mark}"
        " in it has no quotes around it, or the first column has no name in the header."
    )


def check_quotes(
    columns: Mapping[str, Any], names: Sequence[str], delimiter: str, where: str, *, before: int = 0
) -> None:
    """Refuse a field that holds further rows: lines with as many fields, of which some are values of their columns."""

    @cache
    def list_values(name: str) -> set[str]:
        return set(columns[name].unique().to_pylist())

    def is_row(line: str, own: str) -> bool:
        cells = [(name, cell) for name, cell in zip(names, line.split(delimiter), strict=True) if cell.strip()]
        return any(cell in list_values(name) for name, cell in cells if name in columns and name != own)

    for name, column in columns.items():
        if not _has_breaks(column):
            continue
        for row in pc.indices_nonzero(pc.match_substring(column, "\n")).to_pylist()[:_MOST_BROKEN]:
            for line in str(column[row].as_py()).splitlines()[1:]:
                if line.count(delimiter) == len(names) - 1 and is_row(line, name):
                    raise InputError(
                        f"{where}: the {name!r} in row {before + row + 1:,} begins with a quote that is not closed"
                        f" where it should be: it holds the row {line[:80]!r}, too. Close the quote, or double it if it"
                        " belongs to the text."
                    )


def _has_breaks(column: Any) -> bool:
    """Return whether a column may have ends of lines; fast, for hardly ever is there anything below a blank."""
    chunks = column.chunks if hasattr(column, "chunks") else [column]
    texts = [np.frombuffer(data, np.uint8) for chunk in chunks if (data := chunk.buffers()[2]) is not None]
    return any(len(text) and int(text.min()) < ord(" ") for text in texts)
