"""doccano: documents with spans or classes, as JSON lines to be imported into a project."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

from allalike.api.writers.base import Findings, Truth, Writer

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["DoccanoWriter"]


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
        with (folder / "import.jsonl").open("w", encoding="utf-8") as file:
            for truth, original in findings.found():
                if original.text is None:
                    raise self.lacks("The text", truth.task)
                own = original.record if findings.files.tool == self.name else {"id": truth.task, "text": original.text}
                said = {**own, "label": self._list_labels(findings.domain, truth)}
                file.write(json.dumps(said, ensure_ascii=False) + "\n")

    def _list_labels(self, domain: str, truth: Truth) -> list[Any]:
        """List the classes of a document, or its spans with their classes, which must be texts."""
        if domain != "spans":
            return sorted(map(str, truth.label if domain == "set" else [truth.label]))
        if any(label is None for _, _, label in truth.spans):
            raise self.lacks("The class of a span", truth.task)
        return [[start, end, str(label)] for start, end, label in truth.spans]
