"""Delimited text: columns with commas, tabs or other marks between them, packed or not, in any encoding.

Arrow reads it. Where a row has more or fewer fields than the others, or blanks stand between them, Python does.
"""

from __future__ import annotations

import re
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from io import BufferedReader, TextIOWrapper
from typing import TYPE_CHECKING, Any

from allalike._core.late import pa, pc
from allalike._core.limits import MAX_FIELD_BYTES
from allalike.errors import InputError
from allalike.readers.formats.compression import ENDINGS, find_packing, open_for_threads, read_start
from allalike.readers.formats.dialects import Dialect, check_quotes, fill_rows, find_dialect, split_rows
from allalike.readers.formats.encodings import (
    SAMPLE_BYTES,
    decode_start,
    guess_encoding,
    open_text,
    undecodable,
    with_mark,
)
from allalike.readers.formats.failures import TOO_LONG, check_columns, check_names, guard
from allalike.readers.formats.files import Files
from allalike.readers.formats.margins import Beginning, count_below, describe_margins
from allalike.readers.formats.tables import Table, take_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path


_FORMAT = "text with columns"
_PEEK_BYTES, _TAIL_BYTES = 1 << 16, 1 << 13
_SAMPLE_BYTES = 1 << 19  # this much is read at once where not much is needed
_UNPACKED_RATIO = 4  # a byte of a compressed file holds about this many bytes of text
_OTHER_WIDTH = re.compile(r"Expected \d+ columns, got \d+")  # Arrow says it so


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
    packing = find_packing(path)
    is_utf8 = encoding.startswith("utf-8")
    decimal = dialect.guessed.get("decimal", files.decimal)
    as_named = packing == {".gz": "gzip"}.get(path.suffix.lower(), "")
    plain = dialect.is_plain and is_utf8 and decimal == "." and as_named
    size = path.stat().st_size * (_UNPACKED_RATIO if packing else 1)
    end, below = _find_below(path, dialect, encoding) if not packing else (None, [])
    plain = plain and end is None
    text = _Text(path, encoding, dialect, [*dialect.remarks, *describe_margins((), below, str(path))], end)
    return Table(
        dialect.names,
        text.load,
        str(path),
        text=True,
        load_batches=text.load_batches,
        load_sample=text.load_sample,
        n_bytes=lambda _: size,
        delimiter=dialect.delimiter if plain else "",
        decimal=decimal,
        guessed={**({} if files.encoding or is_utf8 else {"encoding": encoding}), **dialect.guessed},
        remarks=text.remarks,
    )


def _find_dialect(path: Path, sample: bytes, encoding: str, delimiter: str) -> Dialect:
    """Tell how rows are written, by as much of a file as holds more than its header."""
    for size in (_PEEK_BYTES, SAMPLE_BYTES, MAX_FIELD_BYTES):
        read = sample[:size] if size <= SAMPLE_BYTES else guard(path, _FORMAT, partial(read_start, path, size))
        start = decode_start(read, encoding, path)
        if b"\n" in read and "\n" not in start:
            raise undecodable(path, encoding, UnicodeError("it would be one line only"))
        if found := find_dialect(start, str(path), preferred=delimiter, whole=len(read) < size):
            return found
    raise InputError(f"{path} cannot be read as {_FORMAT}: {TOO_LONG}.")


def _find_below(path: Path, dialect: Dialect, encoding: str) -> tuple[int | None, list[list[str]]]:
    """Return where the rows of a table end, if something stands behind them, and what that is."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(size - _TAIL_BYTES, 0))
        tail = file.read()
    if b"\0" in tail or not dialect.delimiter.isascii() or dialect.delimiter == " ":
        return None, []
    lines = tail.splitlines(keepends=True)[0 if len(tail) == size else 1 :]
    lines = lines[dialect.skip :] if len(tail) == size else lines
    filled = [place for place, line in enumerate(lines) if line.strip()]
    texts = [lines[place].decode(encoding, "replace") for place in filled]
    odd = next((n for n, text in enumerate(reversed(texts)) if text.count('"') % 2), len(texts))
    rows = [fields for text in texts[len(texts) - odd :] for fields, _, _ in split_rows([text], dialect.delimiter)]
    blank = [place > 0 and not lines[place - 1].strip() for place in filled[len(texts) - odd :]]
    count = count_below(rows, after_blank=blank) if len(rows) == odd else 0
    if not count:
        return None, []
    return size - sum(map(len, lines[filled[-count] :])), rows[-count:]


@dataclass(frozen=True)
class _Text:
    """A text file, and how it is written; the remarks grow when it is read. It may end before its last bytes."""

    path: Path
    encoding: str
    dialect: Dialect
    remarks: list[str]
    end: int | None = None

    def load(self, asked: Sequence[str]) -> dict[str, Any]:
        """Return some columns."""
        import pyarrow.csv as pacsv

        try:
            with self._guard(self._source) as source:
                table = self._guard(lambda: pacsv.read_csv(source, **self._options(asked)))
        except _RaggedError:
            batches = list(self._fill(asked))
            return {name: pa.chunked_array([batch[name] for batch in batches], pa.string()) for name in asked}
        columns = self._trim({name: table[name] for name in self._inside(asked)})
        self._check(columns)
        return {name: columns[name] if name in columns else _blank(table.num_rows) for name in asked}

    def load_sample(self, asked: Sequence[str], rows: int) -> dict[str, Any]:
        """Return some columns of the first rows; what is remarked about them is for those who read all."""
        return take_rows(replace(self, remarks=[]).load_batches(asked, _SAMPLE_BYTES), asked, rows)

    def load_batches(self, asked: Sequence[str], size: int | None = None) -> Iterator[dict[str, Any]]:
        """Yield some columns, some rows at a time; from the first block with a ragged row on, Python reads them."""
        import pyarrow.csv as pacsv

        before = 0
        try:
            with self._guard(self._source) as source:
                reader = self._guard(lambda: pacsv.open_csv(source, **self._options(asked, size)))
                while (batch := self._guard(lambda: next(reader, None))) is not None:
                    columns = self._trim({name: batch.column(name) for name in self._inside(asked)})
                    self._check(columns, before)
                    before += batch.num_rows
                    yield {name: columns[name] if name in columns else _blank(batch.num_rows) for name in asked}
        except _RaggedError:
            yield from self._fill(asked, before)

    def _source(self) -> Any:
        """Return what Arrow reads from: the path if it can, for then it reads in parallel."""
        if self.dialect.delimiter == " " or not self.dialect.delimiter.isascii():
            raise _RaggedError
        if self.end is not None:
            return Beginning(self.path, self.end)
        packed = find_packing(self.path) or self.path.suffix.lower() in ENDINGS  # Arrow would go by the ending
        return open_for_threads(self.path) if packed else nullcontext(self.path)

    def _options(self, asked: Sequence[str], size: int | None = None) -> dict[str, Any]:
        import pyarrow.csv as pacsv

        read = pacsv.ReadOptions(
            block_size=size or MAX_FIELD_BYTES,
            use_threads=size is None,
            column_names=self.dialect.fields,
            skip_rows=self.dialect.skip,
            encoding="utf8" if self.encoding.startswith("utf-8") else self.encoding,
        )
        names = self._inside(asked)
        convert = pacsv.ConvertOptions(
            include_columns=names,
            column_types={name: pa.string() for name in names},
            strings_can_be_null=False,
            check_utf8=False,  # it is checked later, where the row can be named
        )
        parse = pacsv.ParseOptions(delimiter=self.dialect.delimiter, newlines_in_values=True)
        return {"read_options": read, "parse_options": parse, "convert_options": convert}

    def _inside(self, asked: Sequence[str]) -> list[str]:
        """Return those of some columns that rows reach to."""
        fields = dict.fromkeys(self.dialect.fields)
        return [name for name in asked if name in fields] or list(fields)[:1]

    def _check(self, columns: dict[str, Any], before: int = 0) -> None:
        check_columns(columns, str(self.path), before=before, text=True)
        check_quotes(columns, self.dialect.names, self.dialect.delimiter, str(self.path), before=before)

    def _fill(self, asked: Sequence[str], before: int = 0) -> Iterator[dict[str, Any]]:
        """Yield columns in which short rows are filled up, from behind some rows on."""
        where = str(self.path)
        with self._guard(self._open) as lines:
            batches = fill_rows(lines, self.dialect, asked, where, self.remarks, skip=before)
            while (batch := self._guard(lambda: next(batches, None))) is not None:
                check_quotes(batch, self.dialect.names, self.dialect.delimiter, where, before=before)
                before += len(next(iter(batch.values())))
                yield self._trim(batch)

    def _trim(self, columns: dict[str, Any]) -> dict[str, Any]:
        """Take the blanks beside delimiters away."""
        if not self.dialect.padded:
            return columns
        return {name: pc.utf8_trim_whitespace(column) for name, column in columns.items()}

    def _open(self) -> Any:
        if self.end is None:
            return open_text(self.path, self.encoding)
        return TextIOWrapper(BufferedReader(Beginning(self.path, self.end)), with_mark(self.encoding), newline="")

    def _guard(self, read: Callable[[], Any]) -> Any:
        """Return what is read, or say why it cannot be, or that rows are ragged."""
        try:
            return guard(self.path, _FORMAT, read)
        except InputError as error:
            if isinstance(error.__cause__, UnicodeError):
                raise undecodable(self.path, self.encoding, error.__cause__) from error
            if _OTHER_WIDTH.search(str(error.__cause__)):
                raise _RaggedError from error
            raise


def _blank(n_rows: int) -> Any:
    """Return a column of empty fields."""
    return pa.chunked_array([pa.repeat("", n_rows)]) if n_rows else pa.chunked_array([], pa.string())
