"""Tool: a program whose exports are recognised by their content, and read without a flag."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar

from allalike.errors import InputError
from allalike.readers.formats.files import Files
from allalike.readers.tools.peek import Peek

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allalike.readers.formats.tables import Table

__all__ = ["Tool"]


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
