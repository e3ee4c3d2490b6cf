"""Documents: texts with spans or classes, for brat, doccano and Prodigy."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar

from allalike.api.writers.base import Findings, Truth, Writer, list_classes, write_lines
from allalike.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

__all__ = ["BratWriter", "DoccanoWriter", "ProdigyWriter"]

_NAME = re.compile(r"(?:\w|[-+@,()])(?:[\w .+@,()-]*[\w+@,()-])?")  # of a file or a folder, on every system
_LINE = re.compile(r"[^\r\n]+")
_ANSWERS = ("accept", "reject", "ignore")  # in Prodigy
_SAID = {"spans", "accept", "answer", "_timestamp", "_annotator_id", "_session_id"}


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
            self.write_document(truth, self.need(original.text, "The text", truth.task), folder)

    def write_document(self, truth: Truth, text: str, folder: Path) -> None:
        """Write the text and the spans of one document."""
        parts = str(truth.task).split("/")
        place = folder.joinpath(*parts[:-1], f"{parts[-1]}.ann")
        if not all(map(_NAME.fullmatch, parts)) or place.exists():
            raise UnsupportedError(
                f"brat's documents are files, and {str(truth.task)!r} cannot be the name of one, or not of one more."
            )
        place.parent.mkdir(parents=True, exist_ok=True)
        lines = [self._line(number, each, text, truth) for number, each in enumerate(truth.spans, start=1)]
        place.write_text("".join(lines), encoding="utf-8", newline="")
        place.with_suffix(".txt").write_text(text, encoding="utf-8", newline="")

    def _line(self, number: int, span: Any, text: str, truth: Truth) -> str:
        start, end, label = span
        if label is None or not re.fullmatch(r"\S+", str(label)):
            raise UnsupportedError(
                f"A span of task {truth.task!r} has the class {label!r}, which no tag of brat can be."
            )
        self.need(text[:end] if end <= len(text) else None, f"What stands at {start} to {end} in the text", truth.task)
        parts = [match.span() for match in _LINE.finditer(text, start, end)] or [(start, end)]
        places = ";".join(f"{first} {behind}" for first, behind in parts)
        words = re.sub(r"[\r\n]", " ", " ".join(text[first:behind] for first, behind in parts))
        return f"T{number}\t{label} {places}\t{words}\n"


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


class ProdigyWriter(Writer):
    """Prodigy's JSONL, for ``prodigy db-in``: each task's record, as of one annotator who is called like the program.

    >>> import json, tempfile, pathlib
    >>> import allalike
    >>> said = {"text": "So it goes.", "_input_hash": 1, "_task_hash": 2, "answer": "accept"}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lines = [json.dumps({**said, "_session_id": who}) for who in ("ada", "bob")]
    ...     _ = pathlib.Path(folder, "out.jsonl").write_text(chr(10).join(lines))
    ...     _ = allalike.discover(folder + "/out.jsonl", domain="categorical").save(folder + "/new", to="prodigy")
    ...     print(pathlib.Path(folder, "new/prodigy/annotations.jsonl").read_text())
    {"text": "So it goes.", "_input_hash": 1, "_task_hash": 2, "answer": "accept", "_annotator_id": "allalike ...
    """

    name: ClassVar[str] = "prodigy"
    summary: ClassVar[str] = "records with spans, choices or answers, for prodigy db-in (JSONL)"
    kinds: ClassVar[tuple[str, ...]] = ("spans", "categorical", "set")
    files: ClassVar[tuple[str, ...]] = ("annotations.jsonl",)
    into: ClassVar[str] = "its own records with their hashes (prodigy db-out)"

    def write(self, findings: Findings, folder: Path) -> None:
        """Write a record for each task."""
        write_lines(folder / "annotations.jsonl", self._list_records(findings))

    def _list_records(self, findings: Findings) -> Iterator[dict[str, Any]]:
        """Yield the record of each task, with what an annotator says who finds the truth."""
        by = dict.fromkeys(("_annotator_id", "_session_id"), findings.model)
        for truth, original in findings.found():
            own = str(truth.task) == str(original.record.get("_task_hash"))  # else the input is the task
            gone = _SAID if own else {*_SAID, "_task_hash"}
            record = {key: value for key, value in original.record.items() if key not in gone}
            if findings.domain == "spans":
                spans = [_span(*each, original.record.get("tokens") or ()) for each in truth.spans]
                said: dict[str, Any] = {"spans": spans, "answer": "accept"}
            elif "accept" in original.record:
                said = {"accept": sorted(list_classes(truth.label), key=str), "answer": "accept"}
            elif truth.label in _ANSWERS:
                said = {"answer": truth.label}
            else:
                raise UnsupportedError(
                    f"The truth of task {truth.task!r} is {truth.label!r}, and its record in Prodigy has no options to"
                    " choose from."
                )
            yield {**record, **said, **by}


def _span(start: int, end: int, label: Any, tokens: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a span, with its first and last token where it begins and ends with one."""
    first = [each["id"] for each in tokens if each.get("start") == start and "id" in each]
    last = [each["id"] for each in tokens if each.get("end") == end and "id" in each]
    places = {"token_start": first[0], "token_end": last[0]} if first and last else {}
    return {"start": start, "end": end, **places, **({} if label is None else {"label": label})}
