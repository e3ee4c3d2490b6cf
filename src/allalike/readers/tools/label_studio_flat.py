"""Rows of Label Studio: its exports as JSON-MIN, CSV and TSV, with one row for each annotation.

The columns are those of the imported data, then ``id``, then one for each control, then who and when; or all of them
in the order of the alphabet, and then the data are what is the same in all annotations of a task.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from allalike._core.system.json_text import parse_json
from allalike.errors import InputError
from allalike.readers.formats.delimited import open_delimited
from allalike.readers.tools.label_studio_results import kind_of, read_label
from allalike.readers.tools.trees import Node

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from allalike.readers.tools.collection import Collection

__all__ = ["add_rows", "is_row", "is_row_head", "is_table", "read_rows"]

_NEEDED = {"id", "annotator", "annotation_id"}
_ABOUT = {*_NEEDED, "created_at", "updated_at", "lead_time", "agreement", "sentiment_agreement", "completed_by"}


def is_row_head(names: Sequence[str]) -> bool:
    """Tell whether these are the columns of an export with one row for each annotation.

    >>> is_row_head(["text", "id", "sentiment", "annotator", "annotation_id", "created_at", "lead_time"])
    True
    """
    return set(names) >= _NEEDED and bool({"lead_time", "created_at", "updated_at"} & set(names))


def is_row(record: dict[str, Any]) -> bool:
    """Tell whether a record is an annotation in the short form."""
    return is_row_head(list(record))


def is_table(path: Path) -> bool:
    """Tell whether a file is delimited text, by its ending."""
    return bool({suffix.lower() for suffix in path.suffixes} & {".csv", ".tsv"})


def add_rows(found: Collection, path: Path, rows: list[Node]) -> None:
    """Add the answers of a file with one row for each annotation."""
    records = [row.value for row in rows]
    controls = _controls(records)
    if not controls:
        raise InputError(f"{path}: no column holds what was answered. It has: {', '.join(map(repr, records[0]))}.")
    for row in rows:
        who = found.worker_of(path) if found.files.worker_from == "filename" else row["annotator"].id()
        for control in controls:
            label, kind = _label(row[control])
            found.add(who, row["id"].id(), label, question=control, kind=kind)


def _controls(records: list[dict[str, Any]]) -> list[str]:
    """Return the columns that are neither data nor about the annotation itself."""
    names = [name for name in dict.fromkeys(key for record in records for key in record) if name not in _ABOUT]
    heads = [list(record) for record in records]
    if all(head == sorted(head) for head in heads):
        return _varying(records, names) or names
    before = {key for head in heads if "id" in head for key in head[: head.index("id")]}
    return [name for name in names if name not in before]


def _varying(records: list[dict[str, Any]], names: list[str]) -> list[str]:
    """Return the columns that differ within a task."""
    seen: dict[tuple[str, str], str] = {}
    found: set[str] = set()
    for record in records:
        for name in names:
            value = repr(record.get(name))
            if seen.setdefault((name, repr(record.get("id"))), value) != value:
                found.add(name)
    return [name for name in names if name in found]


def read_rows(path: Path) -> list[Node]:
    """Read a table of annotations, with JSON in its fields where they begin like that."""
    table = open_delimited(path, delimiter="\t" if ".tsv" in path.name.lower() else ",")
    columns = {name: _listed(column) for name, column in table.load(table.names).items()}
    rows = zip(*columns.values(), strict=True)
    return [
        Node(dict(zip(columns, map(_cell, row), strict=True)), f"{path}: row {number}")
        for number, row in enumerate(rows, start=1)
    ]


def _listed(column: Any) -> list[Any]:
    column = column() if callable(column) else column
    return column if isinstance(column, list) else list(column.to_pylist())


def _cell(text: Any) -> Any:
    """Read a field that holds JSON, and leave others as they are."""
    if isinstance(text, str) and text[:1] in ("[", "{"):
        with suppress(ValueError):
            return parse_json(text)
    return None if text == "" else text


def _label(cell: Node) -> tuple[Any, str]:
    """Return a label and its kind."""
    value = cell.value
    if value is None or isinstance(value, str):
        return (value,) if value else None, "choices"
    if isinstance(value, dict):
        return _of_items([cell])
    if not isinstance(value, list):
        return cell.scalar(), "numbers"
    if value and all(isinstance(item, list) for item in value):
        return read_label("taxonomy", [Node({"value": {"taxonomy": value}}, cell)]), "taxonomy"
    if any(isinstance(item, dict) for item in value):
        return _of_items(cell.items())
    return tuple(str(item.scalar()) for item in cell.items()), "choices"


def _of_items(values: list[Node]) -> tuple[Any, str]:
    items = [Node({"value": value.value}, value) for value in values]
    kinds = sorted(set(map(kind_of, items)))
    return read_label(kinds[0], items), " and ".join(kinds)
