"""Delimited text: columns with commas, tabs or other marks between them, packed or not, in any encoding.

Arrow reads it. Where a row has more or fewer fields than the others, or blanks stand between them, Python does.
"""

from __future__ import annotations

import csv
import os
import re
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from io import TextIOWrapper
from itertools import chain
from typing import TYPE_CHECKING, Any

from allalike._core.late import pa, pc
from allalike._core.limits import MAX_FIELD_BYTES
from allalike.errors import InputError
from allalike.readers.formats.compression import find_packing, open_for_threads, read_start
from allalike.readers.formats.dialects import (
    Dialect,
    check_quotes,
    count_below,
    describe_margins,
    fill_rows,
    find_dialect,
)
from allalike.readers.formats.encodings import SAMPLE_BYTES, decode_start, guess_encoding, undecodable, with_mark
from allalike.readers.formats.failures import TOO_LONG, check_columns, check_names, guard
from allalike.readers.formats.files import Files
from allalike.readers.formats.tables import Table, take_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

_FORMAT = "text with columns"
_PEEK_BYTES, _TAIL_BYTES = 1 << 16, 1 << 13
_SAMPLE_BYTES = 1 << 19  # this much is read at once where not much is needed
_UNPACKED_RATIO = 4  # a byte of a compressed file holds about this many bytes of text
_OTHER_WIDTH = re.compile(r"Expected \d+ columns, got \d+")  # as Arrow has it


class _RaggedError(Exception):
    """A row with more or fewer fields than the others."""


def open_delimited(path: Path, delimiter: str = ",", files: Files | None = None) -> Table:
    r"""Open a text file with columns; other marks between them are recognised, and so is a missing header.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "answers.csv")
    ...     _ = path.write_text("worker;task;label\nada;007;x\n")
    ...     table = open_delimited(path)
    ...     table.names, table.load(["task"])["task"].to_pylist()
    (['worker', 'task', 'label'], ['007'])
    """
    files = files or Files()
    sample = guard(path, _FORMAT, lambda: read_start(path, SAMPLE_BYTES))
    if not sample:
        raise InputError(f"{path} is empty.")
    encoding = files.encoding or guess_encoding(sample)
    dialect = _find_dialect(path, sample, encoding, delimiter)
    check_names(dialect.names, str(path))
    packing, is_utf8 = find_packing(path), encoding.startswith("utf-8")
    end, notes = (None, []) if packing else _find_notes(path, dialect, encoding)
    remarks = [*dialect.remarks, *describe_margins((), notes, str(path))]
    text = _Text(path, encoding, dialect, remarks, end)
    decimal = "," if dialect.decimal_comma else files.decimal
    as_named = packing == {".gz": "gzip"}.get(path.suffix.lower(), "")
    is_plain = dialect.is_plain and is_utf8 and decimal == "." and as_named and end is None
    size = path.stat().st_size * (_UNPACKED_RATIO if packing else 1)
    guessed = {"encoding": encoding} if not files.encoding and not is_utf8 else {}
    return Table(
        dialect.names,
        text.load,
        str(path),
        text=True,
        load_batches=text.load_batches,
        load_sample=text.load_sample,
        n_bytes=lambda _: size,
        delimiter=dialect.delimiter if is_plain else "",
        decimal=decimal,
        guessed=guessed | ({"decimal": ","} if dialect.decimal_comma else {}),
        remarks=remarks,
    )


def _find_dialect(path: Path, sample: bytes, encoding: str, delimiter: str) -> Dialect:
    """Find how rows are written, by as much of a file as holds more than its header."""
    for size in (_PEEK_BYTES, SAMPLE_BYTES, MAX_FIELD_BYTES):
        read = sample[:size] if size <= SAMPLE_BYTES else guard(path, _FORMAT, partial(read_start, path, size))
        start = decode_start(read, encoding, path)
        if b"\n" in read and "\n" not in start:
            raise undecodable(path, encoding, UnicodeError("it would be one line only"))
        if found := find_dialect(start, str(path), preferred=delimiter, whole=len(read) < size):
            return found
    raise InputError(f"{path} cannot be read as {_FORMAT}: {TOO_LONG}.")


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


@dataclass(frozen=True)
class _Text:
    """A text file, and how it is written; the remarks grow when it is read. It may end before its last bytes."""

    path: Path
    encoding: str
    dialect: Dialect
    remarks: list[str]
    end: int | None

    def load(self, asked: Sequence[str]) -> dict[str, Any]:
        """Return some columns."""
        parts = list(self.load_batches(asked, whole=True))
        chunks = {name: [getattr(part[name], "chunks", [part[name]]) for part in parts] for name in asked}
        return {name: pa.chunked_array(list(chain(*chunks[name])), pa.string()) for name in asked}

    def load_sample(self, asked: Sequence[str], rows: int) -> dict[str, Any]:
        """Return some columns of the first rows; the remarks are for those who read all."""
        return take_rows(replace(self, remarks=[]).load_batches(asked, _SAMPLE_BYTES), asked, rows)

    def load_batches(self, asked: Sequence[str], size: int = 0, *, whole: bool = False) -> Iterator[dict[str, Any]]:
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
        fields = dict.fromkeys(self.dialect.fields)
        names = [name for name in asked if name in fields] or list(fields)[:1]  # rows may end before some columns
        options = (
            pacsv.ReadOptions(
                block_size=size or MAX_FIELD_BYTES,
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
        with self._open() as source, TextIOWrapper(source, with_mark(self.encoding), newline="") as lines:
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
