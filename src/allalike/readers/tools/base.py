"""Tool: a program whose exports are recognised by their content, and read without a flag."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files
    from allalike.readers.formats.tables import Table
    from allalike.readers.tools.peek import Peek

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
