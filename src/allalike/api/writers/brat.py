"""brat: spans as standoff files, each beside its text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar

from allalike.api.writers.base import Findings, Truth, Writer
from allalike.errors import UnsupportedError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["BratWriter"]

_NAME = re.compile(r"(?:\w|[-+@,()])(?:[\w .+@,()-]*[\w+@,()-])?")  # of a file or a folder, on every system
_LINE = re.compile(r"[^\r\n]+")


class BratWriter(Writer):
    r"""brat's standoff files: an ``.ann`` and a ``.txt`` for each task, which is called like its document.

    A span over several lines has a part in each, as brat itself writes it.

    >>> import tempfile, pathlib
    >>> from allalike.api.writers import Truth
    >>> truth = Truth("news", [{"start": 0, "end": 3, "class": "PER"}], None)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     BratWriter().write_document(truth, "Eve left.", pathlib.Path(folder))
    ...     pathlib.Path(folder, "news.ann").read_text()
    'T1\tPER 0 3\tEve\n'
    """

    name: ClassVar[str] = "brat"
    summary: ClassVar[str] = "documents with spans, .ann beside .txt"
    kinds: ClassVar[tuple[str, ...]] = ("spans",)
    files: ClassVar[tuple[str, ...]] = ("*.ann", "*.txt")

    def write(self, findings: Findings, folder: Path) -> None:
        """Write two files for each document."""
        for truth, original in findings.found():
            if original.text is None:
                raise self.lacks("The text", truth.task)
            self.write_document(truth, original.text, folder)

    def write_document(self, truth: Truth, text: str, folder: Path) -> None:
        """Write the text and the spans of one document."""
        place = folder.joinpath(*str(truth.task).split("/"))
        if not all(map(_NAME.fullmatch, str(truth.task).split("/"))) or (place.parent / f"{place.name}.ann").exists():
            raise UnsupportedError(
                f"brat's documents are files, and {str(truth.task)!r} cannot be the name of one, or not of one more."
            )
        place.parent.mkdir(parents=True, exist_ok=True)
        lines = [self._line(number, each, text, truth) for number, each in enumerate(truth.spans, start=1)]
        for ending, content in ((".txt", text), (".ann", "".join(lines))):
            (place.parent / f"{place.name}{ending}").write_text(content, encoding="utf-8", newline="")

    def _line(self, number: int, span: Any, text: str, truth: Truth) -> str:
        start, end, label = span
        if label is None or not re.fullmatch(r"\S+", str(label)):
            raise UnsupportedError(
                f"A span of task {truth.task!r} has the class {label!r}, which no tag of brat can be."
            )
        if end > len(text):
            raise self.lacks(f"What stands at {start} to {end} in the text", truth.task)
        parts = [match.span() for match in _LINE.finditer(text, start, end)] or [(start, end)]
        places = ";".join(f"{first} {behind}" for first, behind in parts)
        words = re.sub(r"[\r\n]", " ", " ".join(text[first:behind] for first, behind in parts))
        return f"T{number}\t{label} {places}\t{words}\n"
