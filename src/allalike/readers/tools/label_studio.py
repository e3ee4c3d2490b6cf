"""Label Studio: tasks with the annotations of several people, and with predictions of models.

Each annotation is a list of results; a result belongs to a control of the labelling interface (``from_name``). A
control is a question of its own: what everybody chose, or which regions everybody marked.

Exports as JSON-MIN, CSV and TSV have one row for each annotation. The columns are those of the imported data, then
``id``, then one for each control, then who and when; or all of them in the order of the alphabet, and then the data are
what is the same in all annotations of a task.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from allalike._core.system.json_text import parse_json
from allalike.errors import InputError, UnsupportedError
from allalike.readers.formats.delimited import open_delimited
from allalike.readers.tools.base import Original, Peek, Tool
from allalike.readers.tools.collection import KNOWN, Collection
from allalike.readers.tools.label_studio_results import AREAS, add_answers, add_areas, is_region, kind_of, read_label
from allalike.readers.tools.sheets import listed
from allalike.readers.tools.trees import Node, read_records

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files
    from allalike.readers.formats.tables import Table

__all__ = ["LabelStudio"]

_TASK_KEYS = {"data", "file_upload", "total_annotations", "inner_id", "predictions", "drafts"}
_SHEETS = ("annotations", "completions", "predictions")
_NEEDED = {"id", "annotator", "annotation_id"}
_ABOUT = {*_NEEDED, "created_at", "updated_at", "lead_time", "agreement", "sentiment_agreement", "completed_by"}


class LabelStudio(Tool):
    """Label Studio's exports: JSON, and with one row for each annotation JSON-MIN, CSV and TSV.

    >>> said = '{"completed_by": %s, "result": [{"type": "choices", "from_name": "q", "value": {"choices": ["%s"]}}]}'
    >>> task = '{"id": 7, "annotations": [%s, %s]}' % (said % (1, "sad"), said % (2, "glad"))
    >>> LabelStudio().answers_in({"project.json": f"[{task}]"})
    [(1, 7, 'sad'), (2, 7, 'glad')]
    """

    name: ClassVar[str] = "label-studio"
    title: ClassVar[str] = "Label Studio"
    summary: ClassVar[str] = "annotations and predictions of tasks (JSON, JSON-MIN, CSV, TSV)"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether these are tasks with annotations, or rows of them."""
        return _is_row_head(peek.names) or any(_is_task(record) or _is_row(record) for record in peek.records)

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Read the answers to one control."""
        found = Collection(self, paths, files)
        sheets: list[_Sheet] = []
        for path in paths:
            records = _read_rows(path) if _is_table(path) else read_records(path)
            if any(_is_row(record.value) for record in records):
                _add_rows(found, path, records)
                continue
            for task in records:
                sheets += [_Sheet.of(found, task, *annotation, path) for annotation in _annotations(task, found)]
        add_answers(found, [(sheet.worker, sheet.task, sheet.results) for sheet in sheets])
        _remark(found, sheets)
        return found.table()

    def list_originals(self, paths: Sequence[Path], files: Files) -> dict[str, Original]:
        """List the tasks with their results, which also say how large pictures are."""
        tasks = [task for path in paths for task in ([] if _is_table(path) else read_records(path))]
        if not tasks or any(_is_row(task.value) for task in tasks):
            raise UnsupportedError(
                f"{paths[0]} has one row for each annotation, and does not say what the tasks and controls of the"
                " project are. Export it from Label Studio as JSON."
            )
        return {str(_name(task)): _original(task) for task in tasks}


def _is_task(record: dict[str, Any]) -> bool:
    annotations = next((record[key] for key in _SHEETS if key in record), None)
    if not isinstance(annotations, list):
        return False
    results = [item.get("result") for item in annotations if isinstance(item, dict)]
    return any(isinstance(result, list) for result in results) or (not annotations and bool(_TASK_KEYS & set(record)))


def _list_texts(task: Node) -> list[Node]:
    return [value for value in task["data"].fields().values() if isinstance(value.value, str)]


def _name(task: Node) -> str | int:
    """Return the id of a task, or what is shown in it where it has none, because it is yet to be imported."""
    own, texts = task.first("id", "inner_id"), _list_texts(task)
    return texts[0].id() if len(texts) == 1 and not own.there else own.id()


def _original(task: Node) -> Original:
    """Return a task with what was shown in it, if its data hold one text only, which may be the name of a picture."""
    texts = _list_texts(task)
    shown = texts[0].text() if len(texts) == 1 else None
    sheets = [each for key in _SHEETS for each in task[key].items()]
    results = [item for sheet in sheets if isinstance(sheet.value, dict) for item in sheet["result"].items()]
    sides = ((item.raw("original_width"), item.raw("original_height")) for item in results)
    known = next((pair for pair in sides if None not in pair), (None, None))
    record = {**task.value, "results": [item.value for item in results]}
    return Original(record, text=shown, picture=shown, sides=known, percent=True)


def _annotations(task: Node, found: Collection) -> list[tuple[Node, bool]]:
    """Return a task's annotations and predictions, and whether each is a prediction; count the rest."""
    if isinstance(drafts := task.raw("drafts"), list):
        found.leave_out("drafts", len(drafts))
    people = task.first("annotations", "completions").items()
    kept = [node for node in people if not (node.raw("was_cancelled") or node.raw("skipped"))]
    found.leave_out("skipped annotations", len(people) - len(kept))
    predictions = [node for node in task["predictions"].items() if isinstance(node.value, dict)]
    made = [node for node in predictions if node["result"].items()]
    return [*((node, False) for node in kept), *((node, True) for node in made)]


@dataclass(frozen=True)
class _Sheet:
    """What one worker said about one task: the results of each control."""

    worker: Any
    task: str | int
    results: dict[str, list[Node]]
    predicted: bool
    named: bool
    known: bool

    @classmethod
    def of(cls, found: Collection, task: Node, node: Node, predicted: bool, path: Path) -> _Sheet:
        worker: Any
        worker, named = (_model(node), True) if predicted else _person(node)
        if found.files.worker_from == "filename":
            worker, named = found.worker_of(path), True
        results = _by_control(node["result"].items(), found)
        known = node.raw("ground_truth") is True
        worker = KNOWN if known and found.files.golden else worker
        return cls(worker, _name(task), results, predicted, named, known)


def _model(prediction: Node) -> str | int:
    version = prediction["model_version"]
    return version.id() if version.there and version.value != "" else "prediction"


def _person(annotation: Node) -> tuple[str | int, bool]:
    """Return who made an annotation, and whether that is known."""
    by = annotation["completed_by"]
    if isinstance(by.value, dict):
        by = next((by[key] for key in ("email", "username", "id") if by[key].value not in (None, "")), by["id"])
    if by.value in (None, ""):
        by = annotation.first("created_username", "annotator")
    if by.there:
        name = by.id()
        return (name.strip() if isinstance(name, str) else name), True
    return f"annotation {annotation.first('unique_id', 'id').id()}", False


def _by_control(results: list[Node], found: Collection) -> dict[str, list[Node]]:
    """Sort results by control; leave out what belongs to a region or to a relation of regions."""
    marks = [is_region(item) for item in results]
    regions = {str(item.raw("id")) for item, mark in zip(results, marks, strict=True) if mark} - {"None"}
    controls: dict[str, list[Node]] = {}
    for item, mark in zip(results, marks, strict=True):
        if item.raw("type") == "relation":
            found.leave_out("relations between regions")
        elif not mark and (str(item.raw("id")) in regions or item.raw("item_index") is not None):
            found.leave_out(f"answers to {item.raw('from_name')!r} about single regions or items")
        else:
            controls.setdefault(item["from_name"].text(), []).append(item)
    return controls


def _remark(found: Collection, sheets: list[_Sheet]) -> None:
    predicted = sum(sheet.predicted for sheet in sheets)
    if predicted:
        models = len({sheet.worker for sheet in sheets if sheet.predicted})
        found.remarks.append(f"{predicted:,} predictions count as answers of {models:,} further workers, the models.")
    if nameless := sum(not sheet.named for sheet in sheets):
        found.remarks.append(
            f"{nameless:,} annotations do not say by whom they are: each counts as a worker of its own."
        )
    if known := sum(sheet.known for sheet in sheets):
        counted = "are known truths" if found.files.golden else "count like the others, unless gold='export' is said"
        found.remarks.append(f"{known:,} annotations are marked as ground truth; they {counted}.")


def _is_row_head(names: Sequence[str]) -> bool:
    """Tell whether these are the columns of an export with one row for each annotation.

    >>> _is_row_head(["text", "id", "sentiment", "annotator", "annotation_id", "created_at", "lead_time"])
    True
    """
    return set(names) >= _NEEDED and bool({"lead_time", "created_at", "updated_at"} & set(names))


def _is_row(record: dict[str, Any]) -> bool:
    """Tell whether a record is an annotation in the short form."""
    return _is_row_head(list(record))


def _is_table(path: Path) -> bool:
    """Tell whether a file is delimited text, by its ending."""
    return bool({suffix.lower() for suffix in path.suffixes} & {".csv", ".tsv"})


def _add_rows(found: Collection, path: Path, rows: list[Node]) -> None:
    """Add the answers of a file with one row for each annotation."""
    records = [row.value for row in rows]
    controls = _controls(records)
    if not controls:
        raise InputError(f"{path}: no column holds what was answered. It has: {', '.join(map(repr, records[0]))}.")
    by_file = found.files.worker_from == "filename"
    people = [found.worker_of(path) if by_file else row["annotator"].id() for row in rows]
    for control in controls:
        marks = [_items(row[control]) for row in rows]
        if any(kind_of(item) in AREAS for items in marks for item in items):
            sheets = zip(people, rows, marks, strict=True)
            add_areas(found, control, [(who, row["id"].id(), {control: items}) for who, row, items in sheets])
            continue
        for who, row in zip(people, rows, strict=True):
            label, kind = _label(row[control])
            found.add(who, row["id"].id(), label, question=control, kind=kind)


def _items(cell: Node) -> list[Node]:
    """Return the marks that a cell lists, each as a result has them."""
    values = cell.items() if isinstance(cell.value, list) else []
    return [Node({"value": value.value}, value) for value in values if isinstance(value.value, dict)]


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


def _read_rows(path: Path) -> list[Node]:
    """Read a table of annotations, with JSON in its fields where they begin like that."""
    table = open_delimited(path, delimiter="\t" if ".tsv" in path.name.lower() else ",")
    columns = {name: listed(column) for name, column in table.load(table.names).items()}
    rows = zip(*columns.values(), strict=True)
    return [
        Node(dict(zip(columns, map(_cell, row), strict=True)), f"{path}: row {number}")
        for number, row in enumerate(rows, start=1)
    ]


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
