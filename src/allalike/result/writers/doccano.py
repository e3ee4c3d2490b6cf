"""Write documents with spans or classes for doccano."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from allalike.result.writers.base import Findings, Writer, list_classes, write_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class DoccanoWriter(Writer):
    """doccano's JSONL: the documents of the answers, with what was found under ``label``, as texts.

    >>> import json, tempfile, pathlib
    >>> import allalike
    >>> document = {"id": 7, "text": "So it goes.", "annotations": [{"label": 1, "user": 4}, {"label": 1, "user": 5}]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "all.jsonl").write_text(json.dumps(document))
    ...     result = allalike.discover(folder + "/all.jsonl", domain="categorical")
    ...     _ = result.save(folder + "/out", to="doccano")
    ...     print(pathlib.Path(folder, "out/doccano/import.jsonl").read_text())
    {"id": 7, "text": "So it goes.", "label": ["1"]}
    """

    name: ClassVar[str] = "doccano"
    summary: ClassVar[str] = "documents with spans or classes (JSONL)"
    kinds: ClassVar[tuple[str, ...]] = ("spans", "categorical", "set")
    files: ClassVar[tuple[str, ...]] = ("import.jsonl",)

    def write(self, findings: Findings, folder: Path) -> None:
        """Write a line for each document."""
        write_lines(folder / "import.jsonl", self._list_records(findings))

    def _list_records(self, findings: Findings) -> Iterator[dict[str, Any]]:
        """Yield each document with its classes, or its spans with their classes, which must be texts."""
        for truth, original in findings.found():
            text = self.need(original.text, "The text", truth.task)
            own = original.record if findings.files.tool == self.name else {"id": truth.task, "text": text}
            if findings.domain == "spans":
                labels: list[Any] = [
                    [start, end, str(self.need(label, "The class of a span", truth.task))]
                    for start, end, label in truth.spans
                ]
            else:
                labels = sorted(map(str, list_classes(truth.label)))
            yield {**own, "label": labels}
