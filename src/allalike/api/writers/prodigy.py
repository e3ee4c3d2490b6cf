"""Prodigy: its own records, with what was found in the place of what annotators said."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

from allalike.api.writers.base import Findings, Truth, Writer
from allalike.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["ProdigyWriter"]

_ANSWERS = ("accept", "reject", "ignore")
_SAID = {"spans", "accept", "answer", "_timestamp", "_annotator_id", "_session_id"}


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
        by = dict.fromkeys(("_annotator_id", "_session_id"), findings.model)
        with (folder / "annotations.jsonl").open("w", encoding="utf-8") as file:
            for truth, original in findings.found():
                own = str(truth.task) == str(original.record.get("_task_hash"))  # else the input is the task
                gone = _SAID if own else {*_SAID, "_task_hash"}
                record = {key: value for key, value in original.record.items() if key not in gone}
                said = self._say(findings.domain, truth, original.record)
                file.write(json.dumps({**record, **said, **by}, ensure_ascii=False) + "\n")

    def _say(self, domain: str, truth: Truth, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return what an annotator says who finds the truth."""
        if domain == "spans":
            spans = [_span(*each, record.get("tokens") or ()) for each in truth.spans]
            return {"spans": spans, "answer": "accept"}
        if "accept" in record:
            chosen = sorted(truth.label, key=str) if domain == "set" else [truth.label]
            return {"accept": chosen, "answer": "accept"}
        if truth.label not in _ANSWERS:
            raise UnsupportedError(
                f"The truth of task {truth.task!r} is {truth.label!r}, and its record in Prodigy has no options to"
                " choose from."
            )
        return {"answer": truth.label}


def _span(start: int, end: int, label: Any, tokens: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a span, with its first and last token where it begins and ends with one."""
    first = [each["id"] for each in tokens if each.get("start") == start and "id" in each]
    last = [each["id"] for each in tokens if each.get("end") == end and "id" in each]
    places = {"token_start": first[0], "token_end": last[0]} if first and last else {}
    return {"start": start, "end": end, **places, **({} if label is None else {"label": label})}
