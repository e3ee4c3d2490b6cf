"""Tool: a program whose exports are recognised by a short look at them, a peek, and read without a flag."""

from __future__ import annotations

import csv
import re
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar

from allalike._core.limits import MAX_DEPTH
from allalike._core.system.json_text import parse_json
from allalike.errors import InputError, UnsupportedError
from allalike.readers.formats.compression import inner_path, read_start
from allalike.readers.formats.encodings import decode_start, guess_encoding
from allalike.readers.formats.files import Files
from allalike.readers.formats.spreadsheets import BOOKS, read_sheet
from allalike.readers.tools.trees import unwrap

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allalike.readers.formats.tables import Table

_PEEK_BYTES, _PEEK_ROWS = 1 << 17, 100  # or records
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{},]', re.DOTALL)


@dataclass(frozen=True)
class Peek:
    """The beginning of a file, in the forms in which tools look at it; empty where it cannot be read."""

    path: Path

    @cached_property
    def ending(self) -> str:
        """The ending of the name, without that of a compression."""
        with suppress(OSError, InputError):  # such as an archive of several files
            return inner_path(self.path).suffix.lower()
        return ""

    @cached_property
    def start(self) -> str:
        """The first characters; none of a folder."""
        with suppress(OSError, InputError):
            if self.path.is_file():
                sample = read_start(self.path, _PEEK_BYTES)
                return decode_start(sample, guess_encoding(sample), self.path)
        return ""

    @cached_property
    def rows(self) -> list[list[str]]:
        """The first rows of a spreadsheet, or of delimited text, of which the last may be cut; none of other files."""
        with suppress(OSError, InputError, UnsupportedError, csv.Error):  # reading it will say why
            if self.ending in BOOKS:
                return read_sheet(self.path, _PEEK_ROWS)
            if self.ending in (".csv", ".tsv", ".tab", ".txt"):
                delimiter = max(",\t;|", key=self.start.partition("\n")[0].count)
                return list(csv.reader(self.start.splitlines(keepends=True), delimiter=delimiter))
        return []

    @property
    def names(self) -> list[str]:
        """The names in the first row of a spreadsheet or of delimited text."""
        return self.rows[0] if self.rows else []

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """The first records of JSON lines or of a list, or the only one; none of other files."""
        document = unwrap(self.document)
        if isinstance(document, list):
            return [item for item in document[:_PEEK_ROWS] if isinstance(item, dict)]
        records: list[dict[str, Any]] = []
        with suppress(ValueError):
            for line in filter(str.strip, self.start.splitlines()[:_PEEK_ROWS]):
                record = parse_json(line)
                if not isinstance(record, dict):
                    break
                records.append(record)
        return records or ([document] if isinstance(document, dict) else [])

    @cached_property
    def document(self) -> Any:
        """The value of a JSON file, or as much of it as stands at the beginning; nothing of other files."""
        text = self.start.lstrip()
        if text[:1] not in ("[", "{"):
            return None
        with suppress(ValueError):
            return parse_json(text)
        with suppress(ValueError):
            return parse_json(_mend(text))
        return None


def _mend(text: str) -> str:
    r"""Close the brackets of JSON that is cut off, without what was cut; nothing is left of several values.

    >>> _mend('{"images": [{"id": 1}, {"id": 2, "name": "ca'), _mend('{"id": 1}\n{"id"')
    ('{"images": [{"id": 1}, {"id": 2}]}', '')
    """
    closing: list[str] = []
    end = 0
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark[0] == '"':
            continue
        if mark in "[{":
            closing.append("]" if mark == "[" else "}")
        elif mark in "]}" and closing.pop() != mark:
            return ""
        if not closing or len(closing) > MAX_DEPTH:
            return ""
        end = token.start() if mark == "," else token.end()
    return text[:end] + "".join(reversed(closing))


@dataclass(frozen=True)
class Original:
    """What was asked in a task, as far as an export says it."""

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
        """Return whether a file was written by this tool."""

    @abstractmethod
    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Open exports as one table; its roles say which column is worker, task and label."""

    def list_originals(self, paths: Sequence[Path], files: Files) -> dict[str, Original]:
        """List what was shown in each task, by the task's name, where exports say it; not all do."""
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
                if not self.recognises(Peek(path)):
                    raise InputError(f"{path.name} is not recognised as a file of {self.title}.")
            table = self.open(paths, Files())
            loaded = table.load([str(table.roles[role]) for role in ("worker", "task", "label")])
            columns = (column if isinstance(column, list) else column.to_pylist() for column in loaded.values())
            return list(zip(*columns, strict=True))
