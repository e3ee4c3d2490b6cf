"""Delimited text: CSV and TSV, plain or compressed with gzip."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allalike.errors import InputError
from allalike.readers.failures import MAX_FIELD_BYTES, check_utf8, each_batch, guard
from allalike.readers.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = ["open_delimited"]

_FORMAT = "text with columns"
_UNPACKED_RATIO = 4  # bytes of text in a byte of a compressed file, about


def open_delimited(path: Path, delimiter: str = ",") -> Table:
    r"""Open a text file with a header; a comma gives way to a semicolon or tab where the header has only these.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "answers.csv")
    ...     _ = path.write_text("worker;task;label\nada;007;x\n")
    ...     table = open_delimited(path)
    ...     table.names, table.load(["task"])["task"].to_pylist()
    (['worker', 'task', 'label'], ['007'])
    """
    import pyarrow as pa
    import pyarrow.csv as pacsv

    def options(names: Sequence[str]) -> dict[str, Any]:
        convert = pacsv.ConvertOptions(
            include_columns=list(names),
            column_types={name: pa.string() for name in names},
            strings_can_be_null=False,
            check_utf8=False,  # it is checked below, where the row can be named
        )
        parse = pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
        block = pacsv.ReadOptions(block_size=MAX_FIELD_BYTES)
        return {"read_options": block, "parse_options": parse, "convert_options": convert}

    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty.")
    names = guard(path, _FORMAT, lambda: _header(path, delimiter))
    other = next((mark for mark in ";\t" if len(names) == 1 and delimiter == "," and mark in names[0]), None)
    if other:
        return open_delimited(path, other)
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(f"{path} has two columns called {twice[0]!r}. Rename one of them.")

    def load(asked: Sequence[str]) -> dict[str, Any]:
        table = guard(path, _FORMAT, lambda: pacsv.read_csv(path, **options(asked)))
        columns = {name: table[name] for name in asked}
        check_utf8(columns, str(path))
        return columns

    def load_batches(asked: Sequence[str]) -> Iterator[dict[str, Any]]:
        with guard(path, _FORMAT, lambda: pacsv.open_csv(path, **options(asked))) as reader:
            yield from each_batch(path, _FORMAT, reader, asked)

    size = path.stat().st_size * (_UNPACKED_RATIO if path.suffix.lower() == ".gz" else 1)
    return Table(
        names,
        load,
        str(path),
        text=True,
        load_batches=load_batches,
        n_bytes=lambda _: size,
        delimiter=delimiter,
    )


def _header(path: Path, delimiter: str) -> list[str]:
    """Return the first record of a text file; what is no UTF-8 below it is not looked at here."""
    import csv
    import gzip

    opener = gzip.open if path.suffix.lower() == ".gz" else open
    with opener(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        names = next(csv.reader(file, delimiter=delimiter), [])
    if any("\0" in name for name in names):
        raise InputError(f"{path} cannot be read as {_FORMAT}: its header has zero bytes, which no text has.")
    return [name.encode(errors="surrogateescape").decode() for name in names]
