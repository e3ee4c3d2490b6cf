"""Peek: a short look at a file, by which tools recognise their own."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from allalike.errors import InputError, UnsupportedError
from allalike.readers.compression import inner_path, read_start
from allalike.readers.encodings import decode_start, guess_encoding, read_text
from allalike.readers.spreadsheets import BOOKS, read_sheet

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Peek"]

_PEEK_BYTES = 1 << 17
_N_ROWS = 100


@dataclass(frozen=True)
class Peek:
    r"""The beginning of a file, in the forms in which tools look at it.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "answers.jsonl")
    ...     _ = path.write_text('{"label": "x"}\n{"label": "y"}\n')
    ...     Peek(path).ending, Peek(path).records
    ('.jsonl', [{'label': 'x'}, {'label': 'y'}])
    """

    path: Path

    @property
    def ending(self) -> str:
        """The ending of the name, without that of a compression."""
        try:
            return inner_path(self.path).suffix.lower()
        except (OSError, InputError):  # such as an archive of several files
            return ""

    @cached_property
    def start(self) -> str:
        """The first characters; empty for a folder, and for what cannot be read."""
        if not self.path.is_file():
            return ""
        try:
            sample = read_start(self.path, _PEEK_BYTES)
        except (OSError, InputError):
            return ""
        return decode_start(sample, guess_encoding(sample))

    @cached_property
    def rows(self) -> list[list[str]]:
        """The first rows of delimited text, of which the last may be cut, or of a spreadsheet; none of other files."""
        if self.ending in BOOKS:
            return self._sheet[:_N_ROWS]
        if self.ending not in (".csv", ".tsv", ".tab", ".txt"):
            return []
        first = self.start.partition("\n")[0]
        delimiter = max("\t,;|", key=first.count) if first else ","
        try:
            return list(csv.reader(self.start.splitlines(keepends=True), delimiter=delimiter))
        except csv.Error:
            return []

    @property
    def _sheet(self) -> list[list[str]]:
        try:
            return read_sheet(self.path)
        except (OSError, InputError, UnsupportedError):  # reading it will say why
            return []

    @cached_property
    def names(self) -> list[str]:
        """The names in the first row of delimited text."""
        return self.rows[0] if self.rows else []

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """The first records of JSON lines, or of a list of them; none of other files."""
        if self.start.lstrip().startswith("["):
            found = self.first_item
            return [found] if isinstance(found, dict) else []
        records: list[dict[str, Any]] = []
        for line in self.start.splitlines()[:100]:
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                break
            if not isinstance(record, dict):
                break
            records.append(record)
        return records

    @cached_property
    def first_item(self) -> Any:
        """The first item of a JSON list, or nothing."""
        text = self.start.lstrip()
        try:
            return json.JSONDecoder().raw_decode(text[1:].lstrip())[0]
        except (ValueError, RecursionError):
            return self.document[0] if isinstance(self.document, list) and self.document else None

    @cached_property
    def document(self) -> Any:
        """The whole of a JSON file, or nothing."""
        if self.ending != ".json" or not self.start:
            return None
        try:
            return json.loads(read_text(self.path))
        except (OSError, ValueError, RecursionError):
            return None
