"""Exports of Labelbox and SageMaker Ground Truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from allalike._core.system.json_text import parse_json
from allalike.errors import InputError
from allalike.readers.tools.base import Peek, Tool
from allalike.readers.tools.collection import Collection
from allalike.readers.tools.trees import Node, read_records

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files
    from allalike.readers.formats.tables import Table

    Sheet = tuple[str | int, Node, Node]  # task, worker, and what she said

_SIDES = ("left", "top", "width", "height")
_GEOMETRY = {"boxes": "bounding_box", "polygons": "polygon", "points": "point", "spans": "location"}


class Labelbox(Tool):
    """Labelbox's exports: NDJSON with data rows, and the older JSON with one record for each label.

    >>> label = '{"classifications": [{"title": "animal", "answer": "cat"}]}'
    >>> record = '{"DataRow ID": "a.jpg", "Created By": "ada@x.org", "Label": %s}' % label
    >>> Labelbox().answers_in({"export.jsonl": record})
    [('ada@x.org', 'a.jpg', 'cat')]
    """

    name: ClassVar[str] = "labelbox"
    title: ClassVar[str] = "Labelbox"
    summary: ClassVar[str] = "classifications and objects of data rows, by labeller (NDJSON, JSON)"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether records are data rows of projects, or labels with who made them."""
        return any(
            {"data_row", "projects"} <= set(record) or {"Label", "Created By"} <= set(record) for record in peek.records
        )

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Read the answers to one classification, or the objects of one kind."""
        found = Collection(self, paths, files)
        sheets = [(path, sheet) for path in paths for record in read_records(path) for sheet in _sheets(record, found)]
        answers = [(path, task, worker, dict(_answers(said, found))) for path, (task, worker, said) in sheets]
        kinds = {kind for *_, given in answers for kind in given if kind in _GEOMETRY}
        for path, task, who, given in answers:
            worker = found.worker_of(path) if files.worker_from == "filename" else who.id()
            for question in sorted(kinds | set(given)):
                kind = question if question in _GEOMETRY else "choices"
                found.add(worker, task, given.get(question), question=question, kind=kind)
        return found.table()


def _sheets(record: Node, found: Collection) -> Iterator[Sheet]:
    """Yield what each person said about a data row."""
    if "data_row" not in record.value:
        if record["Skipped"].value:
            found.leave_out("skipped labels")
        elif isinstance(record["Label"].value, dict):
            yield record.first("DataRow ID", "External ID", "ID").id(), record["Created By"], record["Label"]
        else:
            found.leave_out("records without a label")
        return
    row = record["data_row"]
    for project in record["projects"].fields().values():
        for label in project["labels"].items():
            if label["performance_details"]["skipped"].value:
                found.leave_out("skipped labels")
            else:
                task = row.first("global_key", "external_id", "id").id()
                yield task, label["label_details"]["created_by"], label["annotations"]


def _answers(said: Node, found: Collection) -> Iterator[tuple[str, Any]]:
    """Yield the questions that a label answers, with the answers."""
    for item in said["classifications"].items():
        yield str(item.first("name", "title", "value").id()), _choice(item)
    regions: dict[str, list[Any]] = {}
    for item in said["objects"].items():
        kind = next((kind for kind, key in _GEOMETRY.items() if _part(item, key).there), None)
        if kind is None:
            found.leave_out("objects of other kinds, such as masks")
        else:
            regions.setdefault(kind, []).append(_region(kind, _part(item, _GEOMETRY[kind]), item))
    yield from regions.items()


def _part(item: Node, key: str) -> Node:
    """Return a field by its name, or by its older one."""
    if key == "location" and not item["location"].there and isinstance(item["data"].value, dict):
        return item["data"]["location"]
    return item.first(key, "bbox") if key == "bounding_box" else item[key]


def _choice(item: Node) -> Any:
    """Return one choice, several, or a text."""
    single, several = item.first("radio_answer", "answer"), item.first("checklist_answers", "answers")
    if several.there:
        return tuple(str(answer.first("name", "title", "value").id()) for answer in several.items())
    if isinstance(single.value, dict):
        return (str(single.first("name", "title", "value").id()),)
    if isinstance(single.value, list):
        return tuple(str(answer.first("name", "title", "value").id()) for answer in single.items())
    text = single if single.there else item["text_answer"]["content"]
    return text.text() if text.there else None


def _region(kind: str, shape: Node, item: Node) -> Any:
    label = item.first("name", "title", "value").id()
    if kind == "spans":
        return [shape["start"].number(), shape["end"].number(), str(label)]
    if kind == "boxes":
        return {"bbox": [shape[side].number() for side in _SIDES], "label": label}
    if kind == "points":
        return {"x": shape["x"].number(), "y": shape["y"].number(), "label": label}
    return {"points": [[point[axis].number() for axis in "xy"] for point in shape.items()], "label": label}


# SageMaker Ground Truth and Amazon A2I: what each worker answered, before it is consolidated.


_LISTS = ("answers", "humanAnswers", "annotations")
_ALL = "annotationsFromAllWorkers"
_TASK = ("datasetObjectId", "humanLoopName", "source-ref", "source", "id")


class GroundTruth(Tool):
    """Ground Truth's files of worker responses, requests for consolidation and manifests of all workers.

    >>> answers = '[{"workerId": "w1", "answerContent": {"animal": {"label": "cat"}}}]'
    >>> GroundTruth().answers_in({"7.json": '{"datasetObjectId": "7", "answers": %s}' % answers})
    [('w1', '7', 'cat')]
    """

    name: ClassVar[str] = "ground-truth"
    title: ClassVar[str] = "SageMaker Ground Truth"
    summary: ClassVar[str] = "answers of workers in worker-response files, consolidation requests or A2I (JSON)"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether records have lists of answers with a worker's id."""
        return any(_is_response(item) for record in peek.records for item in _listed(record))

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Read the answers; each field of a form is a question."""
        found = Collection(self, paths, files)
        for path in paths:
            for record in read_records(path):
                named = next((record[key] for key in _TASK if record[key].there), None)
                task = named.id() if named is not None else _task_of(path)
                for response in _responses(record):
                    worker = found.worker_of(path) if files.worker_from == "filename" else response["workerId"].id()
                    for question, field in _content(response).fields().items():
                        label, kind = _label(field)
                        found.add(worker, task, label, question=question, kind=kind)
        return found.table()


def _listed(record: dict[str, Any]) -> list[Any]:
    lists = [record.get(key) for key in _LISTS]
    lists += [value.get(_ALL) for value in record.values() if isinstance(value, dict)]
    return [item for items in lists if isinstance(items, list) for item in items]


def _is_response(item: Any) -> bool:
    return isinstance(item, dict) and "workerId" in item and ("answerContent" in item or "annotationData" in item)


def _task_of(path: Path) -> str:
    """Return the object that a file of worker responses is about: its folder is called so."""
    folder = path.absolute().parent.name
    return folder if folder.isdecimal() else path.name.split(".")[0]


def _responses(record: Node) -> Iterator[Node]:
    for key in _LISTS:
        yield from record[key].items()
    for field in record.fields().values():
        if isinstance(field.value, dict) and _ALL in field.value:
            yield from field[_ALL].items()


def _content(response: Node) -> Node:
    """Return the fields of the form, which may be written as JSON inside JSON."""
    if response["answerContent"].there:
        return response["answerContent"]
    content = response["annotationData"]["content"]
    if not isinstance(content.value, str):
        return content
    try:
        return Node(parse_json(content.text()), content.where, content.way)
    except ValueError as error:
        raise InputError(f"{content.where}: {content.way!r} cannot be read as JSON: {error}.") from error


def _label(field: Node) -> tuple[Any, str]:
    """Return what a field of the form holds, and what kind of label that is."""
    value = field.value
    if value is None or not isinstance(value, dict):
        answer = field.scalar() if value is not None else None
        return ((answer,), "choices") if isinstance(answer, str) and answer else (answer, "numbers")
    if "labels" in value:
        return tuple(label.id() for label in field["labels"].items()), "choices"
    if "entities" in value:
        ends = ("startOffset", "endOffset")
        spans = [[*(item[key].number() for key in ends), item["label"].value] for item in field["entities"].items()]
        return spans, "spans"
    if "boundingBoxes" in value:
        sides = ("left", "top", "width", "height")
        boxes = field["boundingBoxes"].items()
        return [{"bbox": [b[side].number() for side in sides], "label": b["label"].value} for b in boxes], "boxes"
    if "label" in value:
        return (field["label"].id(),), "choices"
    if value and all(isinstance(chosen, bool) for chosen in value.values()):  # boxes to tick, or one of several
        if set(value) == {"on"}:
            return (str(value["on"]).lower(),), "choices"
        return tuple(name for name, chosen in value.items() if chosen), "choices"
    raise InputError(
        f"{field.where}: {field.way!r} is of a form that cannot be read yet: {', '.join(map(repr, value))}."
    )
