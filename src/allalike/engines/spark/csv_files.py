"""CSV files: text with columns, read on the executors of Spark as it is read in memory.

Files are cut into splits at the ends of lines: by Spark, which hands over lines, or by ourselves, where executors open
them. A quoted field may hold several lines, so that a split may end within a field, and the next one begin there.
Therefore each piece of lines is read with one record more behind it: if that is not read as a record, the piece ends
within a field. If no split does, all of them begin with a record. Else files must be read whole.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allalike._core.columns.values import numpy_of
from allalike._core.late import pa, pc
from allalike.errors import InputError
from allalike.readers.formats.compression import open_bytes
from allalike.readers.formats.text import Dialect, check_quotes, fill_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    Split = tuple[int, int]
    Place = tuple[int, int]  # how many rows and lines came before

REMARK = b"remark"  # what was done with the rows of a table, in its metadata
_SENTINEL = "\x1e"  # the values of a record that is put behind a piece


class CutFieldError(Exception):
    """A split that may begin or end within a field."""


@dataclass(frozen=True)
class TextFile:
    """A file of text: its number among all, and how its lines are read.

    ``columns`` maps roles to names. The ``names`` are those of another file where the header is ``unchecked``.
    """

    number: int
    name: str
    names: list[str]
    delimiter: str
    columns: dict[str, str]
    unchecked: bool = False

    def check(self, line: bytes) -> None:
        """Refuse a file with other columns, unless its header was looked at before."""
        if self.unchecked and split_header(line.decode(errors="replace"), self.delimiter, self.name) != self.names:
            raise InputError(f"{self.name} has other columns than the first file. Give all files the same columns.")

    def parse(self, lines: bytes, *, header: bool, ended: bool) -> pa.Table | None:
        """Return worker, task and label of some lines, or nothing if these end within a field."""
        import pyarrow.csv as pacsv

        asked = list(dict.fromkeys(self.columns.values()))
        if not ended:
            lines += (self.delimiter.join([_SENTINEL] * len(self.names)) + "\n").encode()
        table = pacsv.read_csv(
            pa.BufferReader(lines),
            pacsv.ReadOptions(
                block_size=len(lines) + 1, use_threads=False, column_names=self.names, skip_rows_after_names=int(header)
            ),
            pacsv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            pacsv.ConvertOptions(
                include_columns=asked, column_types=dict.fromkeys(asked, pa.string()), strings_can_be_null=False
            ),
        )
        if not ended:
            if not table.num_rows or any(column[-1].as_py() != _SENTINEL for column in table.columns):
                return None
            table = table.slice(0, table.num_rows - 1)
        return pa.table({role: table[name] for role, name in self.columns.items()})

    def parse_end(self, lines: bytes, before: Place) -> pa.Table | None:
        """Return worker, task and label of all lines that are left; some rows may have too few or too many fields."""
        try:
            return self.parse(lines, header=not before[1], ended=True)
        except pa.ArrowInvalid as error:
            if "columns, got" not in str(error):
                raise
        text = io.StringIO(lines.decode("utf-8-sig"), newline="")
        dialect, remarks = Dialect(self.names, self.delimiter, skip=int(not before[1])), list[str]()
        asked = list(dict.fromkeys(self.columns.values()))
        batches = list(fill_rows(text, dialect, asked, self.name, remarks, before=before))
        joined = {name: pa.chunked_array([batch[name] for batch in batches]) for name in asked}
        said = {REMARK: " ".join(remarks).encode()} if remarks else {}
        return pa.table({role: joined[name] for role, name in self.columns.items()}, metadata=said)


def split_header(line: str, delimiter: str, where: str) -> list[str]:
    """Return the names that the first line of a file holds."""
    try:
        return next(csv.reader([line.removeprefix("\ufeff").rstrip("\r\n")], delimiter=delimiter), [])
    except csv.Error as error:
        raise InputError(f"{where} cannot be read as text with columns: {error}.") from error


def read_lines(
    batches: Iterable[pa.RecordBatch], files: Mapping[int, TextFile], *, whole: bool, piece_bytes: int
) -> Iterator[tuple[Split, pa.Table]]:
    """Yield the columns of lines, so many bytes at a time, with their file and the byte where their split begins.

    Unless files come whole, what cannot be read is a `CutFieldError`: it may be due to where they were cut.
    """
    for (key, block), parts in groupby(cut_at_splits(batches), key=itemgetter(0)):
        file = files[key]
        lines = (_join_lines(part["value"]) for _, part in parts)
        for table in _read_split(file, lines, piece_bytes, header=block == 0, whole=whole):
            yield (file.number, block), table


class Stretch(NamedTuple):
    """A stretch of a file that executors read themselves: the lines that begin between two of its bytes."""

    file: int
    path: str
    begin: int
    end: int

    def read(self, size: int) -> Iterator[bytes]:
        """Yield whole lines, about so many bytes at a time."""
        place = self.begin
        with open_bytes(Path(self.path)) as file:
            if self.begin:
                file.seek(self.begin - 1)
                place += len(file.readline()) - 1
            while place < self.end and (lines := file.read(min(self.end - place, size))):
                if not lines.endswith(b"\n"):
                    lines += file.readline()
                place += len(lines)
                yield lines if lines.endswith(b"\n") else lines + b"\n"


def read_stretches(
    stretches: Iterable[Stretch], files: Mapping[int, TextFile], *, whole: bool, piece_bytes: int
) -> Iterator[tuple[Split, pa.Table]]:
    """Yield the columns of stretches as `read_lines` does those of lines."""
    for stretch in stretches:
        lines = stretch.read(piece_bytes)
        for table in _read_split(files[stretch.file], lines, piece_bytes, header=not stretch.begin, whole=whole):
            yield (stretch.file, stretch.begin), table


def cut_at_splits(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Split, pa.RecordBatch]]:
    """Cut batches where another split begins."""
    for batch in batches:
        file, block = (numpy_of(batch[name]) for name in ("file", "block"))
        begins = np.flatnonzero((file[1:] != file[:-1]) | (block[1:] != block[:-1])) + 1
        bounds = [0, *begins.tolist(), len(file)]
        for begin, end in pairwise(bounds):
            if begin < end:
                yield (int(file[begin]), int(block[begin])), batch.slice(begin, end - begin)


def _read_split(
    file: TextFile, parts: Iterator[bytes], piece_bytes: int, *, header: bool, whole: bool
) -> Iterator[pa.Table]:
    """Read some lines at a time; where they end within a field, more."""
    waiting: list[bytes] = []
    size, wanted, problem = 0, piece_bytes, None
    rows = lines = 0
    for part in parts:
        if header and not waiting:
            file.check(part.partition(b"\n")[0])
        waiting.append(part)
        size += len(part)
        if size < wanted:
            continue
        try:
            table = file.parse(b"".join(waiting), header=header, ended=False)
        except pa.ArrowInvalid:  # perhaps because the last record is cut
            table = None
        if table is None:
            wanted = 2 * size
            continue
        yield _checked(file, table, rows, whole=whole)
        rows, lines = rows + table.num_rows, lines + sum(part.count(b"\n") for part in waiting)
        waiting, size, wanted, header = [], 0, piece_bytes, False
    if not waiting:
        return
    try:
        last = (
            file.parse_end(b"".join(waiting), (rows, lines))
            if whole
            else file.parse(b"".join(waiting), header=header, ended=False)
        )
    except pa.ArrowInvalid as error:
        last, problem = None, error
    if last is not None:
        yield _checked(file, last, rows, whole=whole)
    elif whole:
        reason = re.sub(r"Row #\d+: ", "", str(problem).splitlines()[0].strip().rstrip("."))
        raise InputError(f"{file.name} cannot be read as text with columns: {reason}.") from problem
    else:
        raise CutFieldError


def _checked(file: TextFile, table: pa.Table, before: int, *, whole: bool) -> pa.Table:
    """Return the rows if none was swallowed by a quote; which one it was is known in whole files only."""
    columns = {name: table[role] for role, name in file.columns.items()}
    try:
        check_quotes(columns, file.names, file.delimiter, file.name, before=before)
    except InputError:
        if whole:
            raise
        raise CutFieldError from None
    return table


def _join_lines(lines: Any) -> bytes:
    """Return lines as they stood in the file."""
    kind = pa.large_binary()
    ended = pc.binary_join_element_wise(lines.cast(kind), pa.scalar(b"", kind), pa.scalar(b"\n", kind))
    offsets = np.frombuffer(ended.buffers()[1], np.int64)[ended.offset : ended.offset + len(ended) + 1]
    return bytes(memoryview(ended.buffers()[2])[offsets[0] : offsets[-1]])
