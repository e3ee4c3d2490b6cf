"""Dialects: how the rows of a text file are written, told by the first of them.

A header is the normal case. It is missed only where the first row looks like those below it: its values recur in their
columns, or are numbers where these are.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import IO, TYPE_CHECKING, Any, NoReturn

import numpy as np

from allalike._core.late import pa, pc
from allalike._core.limits import MAX_FIELD_BYTES
from allalike.errors import InputError
from allalike.readers.formats.margins import count_above, describe_margins, doubt_first_row, find_blank_columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path


# Quotes: those that are never closed, and swallow the rows below.


_MOST_LINES = 10_000  # this many fields with several lines are looked at


def check_quotes(
    columns: Mapping[str, Any], names: Sequence[str], delimiter: str, where: str, *, before: int = 0
) -> None:
    r"""Refuse a field that holds further rows: lines with as many fields, of which some are values of their columns.

    >>> import pyarrow as pa
    >>> columns = {"task": pa.array(["t1", "t1"]), "label": pa.array(["x\nt1,y", "z"])}
    >>> check_quotes(columns, ["task", "label"], ",", "a.csv")
    Traceback (most recent call last):
    allalike.errors.InputError: a.csv: the 'label' in row 1 begins with a quote that is not closed where it should be:
    it holds the row 't1,y', too. Close the quote, or double it if it belongs to the text.
    """
    broken = {name: column for name, column in columns.items() if _has_breaks(column)}
    found = [
        (name, row, line)
        for name, column in broken.items()
        for row, line in _rows_inside(column, len(names), delimiter)
    ]
    if not found:
        return
    places = {name: place for place, name in reversed(list(enumerate(names)))}
    split = [line.split(delimiter) for *_, line in found]
    hits: list[int] = []
    for other, column in columns.items():
        own = [name == other for name, *_ in found]
        cells = ["" if mine else cells[places[other]] for mine, cells in zip(own, split, strict=True)]
        hits += _find_values(cells, column)
    if hits:
        name, row, line = found[min(hits)]
        raise InputError(
            f"{where}: the {name!r} in row {before + row + 1:,} begins with a quote that is not closed where it"
            f" should be: it holds the row {line[:80]!r}, too. Close the quote, or double it if it belongs to"
            " the text."
        )


def _has_breaks(column: Any) -> bool:
    """Tell whether there may be ends of lines in a column; fast, for hardly ever is there anything below a blank."""
    chunks = column.chunks if hasattr(column, "chunks") else [column]
    texts = [np.frombuffer(data, np.uint8) for chunk in chunks if (data := chunk.buffers()[2]) is not None]
    return any(len(text) and int(text.min()) < ord(" ") for text in texts)


def _rows_inside(column: Any, n_columns: int, delimiter: str) -> Iterator[tuple[int, str]]:
    """Yield the lines within fields that have as many fields as a row has."""
    rows = pc.indices_nonzero(pc.match_substring(column, "\n")).to_pylist()[:_MOST_LINES]
    for row in rows:
        for line in str(column[row].as_py()).splitlines()[1:]:
            if line.count(delimiter) == n_columns - 1:
                yield row, line


def _find_values(cells: list[str], column: Any) -> list[int]:
    """Return the places of the cells that are a value of a column."""
    known = pc.is_in(pa.array(cells, pa.string()), value_set=column.unique()).to_pylist()
    return [place for place, seen in enumerate(known) if seen and cells[place].strip()]


Record = tuple[list[str], int, int]  # its fields, and its first and last line, from 1
_DELIMITERS = (",", "\t", ";", "|", " ")
_SCORED_ROWS = 200
_FIRST_ROWS, _HEADER_ROWS = 10_000, 1000
_MIN_COLUMNS = 3
_NUMBER = re.compile(r"\s*[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*")
_DECIMAL_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+")
_MAX_DIGITS = 19  # numbers with more digits count no columns
_WHOLE, _NUMBERS = re.compile(r"[+-]?\d+"), re.compile(r"[-+\d.,; ]+")
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?[ \t]*(\r\n|\r|\n)')  # a line with which Excel is told the separator


@dataclass(frozen=True)
class Dialect:
    """How the rows of a text file are written."""

    names: list[str]
    delimiter: str = ","
    skip: int = 1
    width: int = 0
    guessed: dict[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    padded: bool = False

    @property
    def fields(self) -> list[str]:
        """The names of the fields that a row has."""
        beyond = [f"\0{number}" for number in range(len(self.names), self.width)]
        return [*self.names[: self.width], *beyond]

    @property
    def is_plain(self) -> bool:
        """Whether each row has a field for each name, with one character between them, below a header of one line."""
        whole = self.width == len(self.names) and self.skip == 1
        return whole and self.delimiter in ",;\t|" and not self.padded


@contextmanager
def long_fields() -> Iterator[None]:
    """Let Python's reader take fields as long as Arrow does.

    >>> with long_fields():
    ...     csv.field_size_limit() >> 20
    16
    """
    before = csv.field_size_limit(MAX_FIELD_BYTES)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def split_rows(lines: Iterable[str], delimiter: str) -> Iterator[Record]:
    r"""Yield the rows of a text, with their first and last lines; empty lines are none.

    >>> list(split_rows(["a,b\n", "\n", "1,2\n"], ","))
    [(['a', 'b'], 1, 1), (['1', '2'], 3, 3)]
    """
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter == " ")
    last = 0
    for fields in reader:
        first, last = last + 1, reader.line_num
        if delimiter == " " and fields and not fields[-1]:
            fields.pop()
        if fields:
            yield fields, first, last


def find_dialect(text: str, where: str, *, preferred: str = ",", whole: bool = True) -> Dialect | None:
    r"""Tell how the rows are written of which this is the ``whole``, or a beginning; nothing if that is too short.

    >>> find_dialect("worker|task|label\nada|t1|x, y\n", "a.txt").delimiter
    '|'
    >>> find_dialect("ada,t1,x\nbob,t1,x\nada,t2,y\n", "a.csv").names
    ['column1', 'column2', 'column3']
    """
    told = _SEPARATOR_LINE.match(text)
    body = text[told.end() :] if told else text
    above, n_lines = _find_above(body, preferred, whole)
    body = "".join(body.splitlines(keepends=True)[n_lines:]) if n_lines else body
    delimiter = told[1] if told else _find_delimiter(body, preferred, whole)
    records = _start(body, delimiter, whole, _FIRST_ROWS)
    if not records or not body.strip():
        raise InputError(f"{where} has no rows: nothing but empty lines.")
    if len(records) == 1 and not whole:  # of which nobody knows whether it is cut
        return None
    if len(records) == 1 and not body.endswith(("\n", "\r")):
        raise InputError(
            f"{where} is one line that does not end: a header, and no rows below it. The file seems to be cut off."
        )
    (first, begin, last), rows = records[0], [fields for fields, _, _ in records[1:]]
    if "\0" in "".join(first):
        raise InputError(f"{where} cannot be read as text with columns: its header has zero bytes, which no text has.")
    names, remarks = name_columns(first, rows, where)
    headless = bool(remarks)
    remarks = remarks or doubt_first_row(rows, where)
    remarks = [*describe_margins(above, (), where, blank=find_blank_columns([first, *rows])), *remarks]
    padded = len(first) > 1 and all(not cell or cell[0] == " " for row in (first, *rows) for cell in row[1:])
    width, names, said = _fit([name.strip() for name in names] if padded else names, rows or [first], where)
    if any(top != bottom for _, top, bottom in records[1:]):
        _check_quotes(names, rows, delimiter, where)
    comma = delimiter != "," and _has_decimal_commas(rows[:_HEADER_ROWS])
    return Dialect(
        names,
        delimiter,
        skip=(1 if told else 0) + n_lines + (begin - 1 if headless else last),
        width=width,
        guessed={"decimal": ","} if comma else {},
        remarks=(*remarks, *said),
        padded=padded,
    )


def _find_above(text: str, preferred: str, whole: bool) -> tuple[list[list[str]], int]:
    """Return the rows before the header, and how many lines they are."""
    marks = tuple(dict.fromkeys((preferred, *_DELIMITERS[:-1])))
    for mark in marks:
        records = _start(text, mark, whole, _SCORED_ROWS)
        rows = [fields for fields, _, _ in records]
        above = rows[: count_above(rows)]
        if len(rows) > _MIN_COLUMNS and {len(row) for row in rows} == {2}:
            return [], 0  # two columns, of which one may hold lists
        if above and not any(
            line.count(other) > 1 for line in map(mark.join, above) for other in marks if other != mark
        ):
            return above, records[len(above)][1] - 1
    return [], 0


def name_columns(first: list[str], rows: Sequence[Sequence[str]], where: str) -> tuple[list[str], list[str]]:
    """Return the names of columns, and what to say if the first row is no header.

    >>> name_columns(["task", ""], [["t1", "x"]], "a.csv")
    (['task', 'column2'], [])
    >>> name_columns(["t1", "x"], [["t1", "y"], ["t2", "x"]], "a.csv")
    (['column1', 'column2'], ['a.csv has no header: its columns are called column1, column2.'])
    """
    if not _is_row(first, rows):
        return [name if name.strip() else f"column{number}" for number, name in enumerate(first, start=1)], []
    names = [f"column{number}" for number in range(1, len(first) + 1)]
    return names, [f"{where} has no header: its columns are called {', '.join(names[:3])}{' ...' * (len(names) > 3)}."]


def _check_quotes(names: list[str], rows: list[list[str]], delimiter: str, where: str) -> None:
    """Look for rows that were swallowed by any column, also by one that is not read later."""
    places = enumerate(dict.fromkeys(names))
    columns = {name: pa.array([row[place] if place < len(row) else "" for row in rows]) for place, name in places}
    check_quotes(columns, names, delimiter, where)


def _start(text: str, delimiter: str, whole: bool, most: int) -> list[Record]:
    """Return the first rows, without the last if it may be cut."""
    records: list[Record] = []
    with long_fields(), suppress(csv.Error):  # reading will say what is wrong
        records.extend(islice(split_rows(io.StringIO(text, newline=""), delimiter), most + 1))
    if len(records) > most:
        return records
    return records if whole or len(records) < 2 else records[:-1]


def _find_delimiter(text: str, preferred: str, whole: bool) -> str:
    """Return what stands between columns: of what is in the first line, that which cuts all rows alike."""
    head = text.lstrip("\r\n").partition("\n")[0].partition("\r")[0]
    present = [mark for mark in dict.fromkeys((preferred, *_DELIMITERS)) if mark in head]
    if len(present) < 2 and " " not in present:
        return present[0] if present else preferred
    ranked = [(_rank(text, mark, whole), mark == preferred, -place, mark) for place, mark in enumerate(present)]
    ranked = [rank for rank in ranked if rank[0] is not None]
    return max(ranked)[-1] if ranked else preferred


def _rank(text: str, delimiter: str, whole: bool) -> tuple[bool, float] | None:
    """Tell whether there are columns enough, and how many of the rows have them; nothing where there is one column."""
    widths = [len(fields) for fields, _, _ in _start(text, delimiter, whole, _SCORED_ROWS)]
    usual, times = Counter(widths[1:] or widths or [0]).most_common(1)[0]
    if usual < 2 or widths[0] < 2 or usual > widths[0] + 1:
        return None
    if delimiter == " " and not (widths[0] in (usual, usual - 1) and set(widths[1:]) <= {usual}):  # they are everywhere
        return None
    return widths[0] >= _MIN_COLUMNS, times / len(widths[1:] or widths)


def _is_row(first: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Tell whether the first row is one like those below, and no header."""
    rows = [row for row in rows[:_HEADER_ROWS] if row != first]  # a header may be repeated, where files were joined
    if not rows or not all(cell.strip() for cell in first):
        return False
    columns = [[row[place] for row in rows if place < len(row) and row[place].strip()] for place in range(len(first))]
    numbers = [_is_number(cell) for cell in first]
    numeric = [bool(column) and all(map(_is_number, column)) for column in columns]
    if any(below and not own for own, below in zip(numbers, numeric, strict=True)):  # a word above numbers
        return False
    recurs = sum(cell in column for cell, column in zip(first, columns, strict=True))
    fitting = sum(own and below for own, below in zip(numbers, numeric, strict=True))
    if len(set(first)) < len(first):  # names are different
        return recurs + fitting > 0
    if len(first) > _MIN_COLUMNS and _is_counting([cell for cell, own in zip(first, numbers, strict=True) if own]):
        return False  # numbers of workers or tasks, above a matrix
    alike = sum(any(cell == own for cell, own in zip(row, first, strict=False)) for row in rows)
    with_repeats = sum(len(set(column)) < len(column) for column in columns)
    if alike < 2 or 2 * recurs < with_repeats:  # a row of texts below the header may repeat some names
        return all(numbers)
    return recurs > 1 or fitting > 0


def _is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell) is not None


def _is_counting(cells: Sequence[str]) -> bool:
    """Tell whether cells are whole numbers, one after the other."""
    if len(cells) < _MIN_COLUMNS or not all(cell.strip().isdecimal() and len(cell) < _MAX_DIGITS for cell in cells):
        return False
    numbers = [int(cell) for cell in cells]
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _fit(names: list[str], rows: Sequence[Sequence[str]], where: str) -> tuple[int, list[str], list[str]]:
    """Return how many fields rows have, the names of all columns, and what to say where they do not fit."""
    widths = {len(row) for row in rows}
    width, number = max(widths), len(names)
    if len(widths) > 1 or width == number or not number:
        return number, names, []
    if width < number:
        return (
            width,
            names,
            [f"All rows of {where} end before the column {names[width]!r}: it and those behind it are empty."],
        )
    if width == number + 1 and not any(row[-1].strip() for row in rows):
        return width, names, []
    return number, names, []


def _has_decimal_commas(rows: Sequence[Sequence[str]]) -> bool:
    """Tell whether some column has numbers with a comma before the fraction, and none has other numbers with commas."""
    found = False
    for place in range(max(map(len, rows), default=0)):
        cells = [row[place].strip() for row in rows if place < len(row)]
        commas = [cell for cell in cells if "," in cell]
        if not commas or not all(_NUMBERS.fullmatch(cell) for cell in commas):
            continue
        others = [cell for cell in cells if cell and "," not in cell]
        if not all(map(_DECIMAL_COMMA.fullmatch, commas)) or not all(map(_WHOLE.fullmatch, others)):
            return False
        found = True
    return found


# Prologs: what stands in XML before its first element, where entities are declared.
#
# Entities let a small file stand for a huge one, or for another one. No tool that is read here declares any, so XML
# with a document type is refused, in whatever encoding it is written; it is the parser that looks for it.


_CHUNK = 1 << 12


class _PrologEnd(Exception):  # noqa: N818
    """What is raised at the first element, after which nothing can be declared."""


def check_prolog(path: Path, stream: IO[bytes], tool: str) -> None:
    """Refuse XML that declares a type, which this tool never does; what is no XML is left to whoever reads it.

    >>> import io, pathlib
    >>> check_prolog(pathlib.Path("a.xml"), io.BytesIO(b"<?xml version='1.0'?><a/>"), "CVAT")
    >>> check_prolog(pathlib.Path("a.xml"), io.BytesIO("<!DOCTYPE a><a/>".encode("utf-16")), "CVAT")
    Traceback (most recent call last):
    allalike.errors.InputError: a.xml declares entities, which CVAT does not. It is not read.
    """
    from xml.parsers import expat  # nosec B407 # which is stopped before anything is expanded

    def refuse(*_: object) -> NoReturn:
        raise InputError(f"{path} declares entities, which {tool} does not. It is not read.")

    def stop(*_: object) -> NoReturn:
        raise _PrologEnd

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler, parser.StartElementHandler = refuse, stop
    try:
        while part := stream.read(_CHUNK):
            parser.Parse(part)
    except InputError:
        raise
    except (_PrologEnd, expat.ExpatError, LookupError, ValueError):  # such as an encoding that nobody knows
        return


# Ragged rows: those of a text file that do not all have as many fields as its header.


_BATCH_ROWS = 1 << 16
_SHOWN = 60
_NAMES = {"\t": "a tab", " ": "a blank"}


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
    r"""Yield columns of rows, some at a time; fields that a row lacks are empty, which is counted in the remarks.

    A row with too many fields is refused. The first rows can be skipped, where they were read already; or so many rows
    and lines of the file came ``before`` these lines.

    >>> from allalike.readers.formats.dialects import Dialect
    >>> remarks = []
    >>> lines = ["worker,task,label\n", "ada,t1\n", "bob,t1,x\n"]
    >>> rows = fill_rows(lines, Dialect(["worker", "task", "label"]), ["label"], "a.csv", remarks)
    >>> [batch["label"].to_pylist() for batch in rows], remarks
    ([['', 'x']], ['1 of 2 rows of a.csv has fewer fields than the header, the first is row 1 (line 2): the last ones...
    """
    place = {name: number for number, name in enumerate(dialect.names)}
    places = {name: place[name] for name in asked}
    short = _Short()
    rows = _check_rows(lines, dialect, where, short, before)
    with long_fields():
        number = sum(1 for _ in islice(rows, skip))
    while True:
        with long_fields():
            chunk = list(islice(rows, _BATCH_ROWS))
        if not chunk:
            break
        number += len(chunk)
        cells = {name: [row[place] if place < len(row) else "" for row in chunk] for name, place in places.items()}
        yield {name: pa.array(column, pa.string()) for name, column in cells.items()}
    if short.number and (said := short.describe(before[0] + number, where)) not in remarks:
        remarks.append(said)


class _Short:
    """How many rows have too few fields, and where the first of them is."""

    def __init__(self) -> None:
        self.number, self.first = 0, (0, 0)

    def add(self, row: int, line: int) -> None:
        if not self.number:
            self.first = (row, line)
        self.number += 1

    def describe(self, n_rows: int, where: str) -> str:
        row, line = self.first
        have = "has" if self.number == 1 else "have"
        return (
            f"{self.number:,} of {n_rows:,} rows of {where} {have} fewer fields than the header, the first is row"
            f" {row:,} (line {line:,}): the last ones are read as empty."
        )


def _check_rows(
    lines: Iterable[str], dialect: Dialect, where: str, short: _Short, before: tuple[int, int]
) -> Iterator[list[str]]:
    """Yield the rows below the header; note short ones, and refuse long ones."""
    row, expected = before[0], len(dialect.names)
    rest = islice(lines, dialect.skip, None)
    try:
        for fields, first, _ in split_rows(rest, dialect.delimiter):
            row, line = row + 1, before[1] + dialect.skip + first
            if len(fields) < expected:
                short.add(row, line)
            elif any(field.strip() for field in fields[expected:]):
                raise InputError(_too_long(fields, dialect, f"{where}: row {row:,} (line {line:,})"))
            yield fields
    except csv.Error as error:
        raise InputError(f"{where} cannot be read as text with columns: {error}, behind row {row:,}.") from error


def _too_long(fields: list[str], dialect: Dialect, which: str) -> str:
    delimiter = dialect.delimiter
    text = delimiter.join(fields)
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    mark = _NAMES.get(delimiter, repr(delimiter))
    return (
        f"{which} has {len(fields)} fields, but there are {len(dialect.names)} columns: {shown!r}. Perhaps a quote is"
        f" missing, a field with {mark} in it has no quotes around it, or the first column has no name in the header."
    )
