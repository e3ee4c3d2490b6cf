"""Tool: a program whose exports are recognised by a short look at them, a peek, and read without a flag."""

from __future__ import annotations

import csv
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar

from allalike._core.limits import MAX_DEPTH
from allalike._core.system.json_text import parse_json
from allalike.errors import InputError, UnsupportedError
from allalike.readers.formats.compression import ArchiveMembers, find_packing, inner_path, read_start
from allalike.readers.formats.encodings import decode_start, guess_encoding
from allalike.readers.formats.files import Files
from allalike.readers.formats.spreadsheets import BOOKS, read_sheet
from allalike.readers.tools.trees import unwrap

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allalike.readers.formats.tables import Table

_PEEK_BYTES = 1 << 17
_N_ROWS = 100
_N_RECORDS = 100
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{},]', re.DOTALL)


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

    @cached_property
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
        return decode_start(sample, guess_encoding(sample), self.path)

    @cached_property
    def members(self) -> list[str]:
        """The names of the files in a zip archive; none of other files, and of an archive that cannot be read."""
        try:
            if not self.path.is_file() or find_packing(self.path) != "zip":
                return []
            with ArchiveMembers(self.path) as members:
                return members.names
        except (OSError, InputError):
            return []

    @cached_property
    def rows(self) -> list[list[str]]:
        """The first rows of delimited text, of which the last may be cut, or of a spreadsheet; none of other files."""
        if self.ending in BOOKS:
            return self._sheet
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
            return read_sheet(self.path, _N_ROWS)
        except (OSError, InputError, UnsupportedError):  # reading it will say why
            return []

    @cached_property
    def names(self) -> list[str]:
        """The names in the first row of delimited text."""
        return self.rows[0] if self.rows else []

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """The first records of JSON lines, or of a list of them; none of other files."""
        if self.start.lstrip()[:1] == "[" or isinstance(unwrap(self.document), list):
            items = unwrap(self.document) or []
            return [item for item in items[:_N_RECORDS] if isinstance(item, dict)]
        records: list[dict[str, Any]] = []
        for line in filter(str.strip, self.start.splitlines()[:_N_RECORDS]):
            try:
                record = parse_json(line)
            except ValueError:
                break
            if not isinstance(record, dict):
                break
            records.append(record)
        if not records and isinstance(self.document, dict):
            return [self.document]
        return records

    @cached_property
    def document(self) -> Any:
        """The value of a JSON file, or as much of it as stands at the beginning; nothing of other files."""
        text = self.start.lstrip()
        if text[:1] not in ("[", "{"):
            return None
        try:
            return parse_json(text)
        except ValueError:
            return _mend(text)


def _mend(text: str) -> Any:
    r"""Read JSON that is cut off, without what was cut.

    >>> _mend('{"images": [{"id": 1}, {"id": 2, "name": "ca')
    {'images': [{'id': 1}, {'id': 2}]}
    >>> _mend('{"id": 1}\n{"id"')  # lines, and not one document
    """
    open_brackets: list[str] = []
    end, closing = 0, ""
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark in "[{":
            open_brackets.append("]" if mark == "[" else "}")
            end, closing = token.end(), "".join(reversed(open_brackets))
        elif mark in "]}":
            if not open_brackets or open_brackets.pop() != mark:
                return None
            end, closing = token.end(), "".join(reversed(open_brackets))
        elif mark == ",":
            end, closing = token.start(), "".join(reversed(open_brackets))
        if not open_brackets or len(open_brackets) > MAX_DEPTH:  # the end, and something behind it; or no end
            return None
    try:
        return parse_json(text[:end] + closing)
    except ValueError:
        return None


@dataclass(frozen=True)
class Original:
    """What was asked in a task, as far as an export says it.

    >>> Original(picture="cat.jpg", sides=("640", "480")).size, Original(picture="cat.jpg").size
    ((640, 480), None)
    """

    record: Mapping[str, Any] = field(default_factory=dict)
    text: str | None = None
    picture: str | None = None
    sides: tuple[Any, Any] = (None, None)
    percent: bool = False

    @property
    def size(self) -> tuple[int, int] | None:
        """Width and height of the picture, where both are known."""
        known = [int(side) for side in self.sides if str(side).isdecimal() and int(side)]
        return (known[0], known[1]) if len(known) == 2 else None


class Tool(ABC):
    """A program that writes answers in a form of its own.

    A tool says nothing about a file that may be another's: what it recognises is read as its own, and is told so.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]

    @abstractmethod
    def recognises(self, peek: Peek) -> bool:
        """Tell whether a file was written by this tool."""

    @abstractmethod
    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Open exports as one table; its roles say which column is worker, task and label."""

    def list_originals(self, paths: Sequence[Path], files: Files) -> dict[str, Original]:
        """List what was shown in each task, by the task's name, where exports say it; not all do.

        >>> from allalike.readers.tools import TOOLS
        >>> TOOLS["mturk"]().list_originals([], Files())
        {}
        """
        return {}

    def answers_in(self, texts: Mapping[str, str]) -> list[tuple[Any, ...]]:
        """Return worker, task and label of each answer in files of these names, so that a reader can be tried on a few.

        >>> from allalike.readers.tools import TOOLS
        >>> TOOLS["peerannot"]().answers_in({"answers.json": '{"photo 1": {"ada": "cat", "bob": "dog"}}'})
        [('ada', 'photo 1', 'cat'), ('bob', 'photo 1', 'dog')]
        """
        with TemporaryDirectory() as folder:
            paths = [Path(folder, name) for name in texts]
            for path, text in zip(paths, texts.values(), strict=True):
                path.parent.mkdir(exist_ok=True)
                path.write_text(text, encoding="utf-8")
            if strange := [name for name, path in zip(texts, paths, strict=True) if not self.recognises(Peek(path))]:
                raise InputError(f"{strange[0]} is not recognised as a file of {self.title}.")
            table = self.open(paths, Files())
            loaded = table.load([str(table.roles[role]) for role in ("worker", "task", "label")])
            columns = (column if isinstance(column, list) else column.to_pylist() for column in loaded.values())
            return list(zip(*columns, strict=True))
