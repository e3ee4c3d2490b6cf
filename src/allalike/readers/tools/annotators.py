"""Annotation tools that write a record for each document or answer: Argilla, Prodigy, doccano, Labelbox, and others."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from allalike._core.system.json_text import parse_json
from allalike.errors import InputError
from allalike.readers.column_names import rate_name
from allalike.readers.tools.base import (
    Peek,
    UnexpectedValueError,
    get,
    get_id,
    get_list,
    get_number,
    get_numbers,
    get_object,
    get_scalar,
    get_text,
    load_records,
    unexpected,
)
from allalike.readers.tools.frame import Answer, Export, record_tool

if TYPE_CHECKING:
    from collections.abc import Iterator

    Record = dict[str, Any]

_BOX = (("x", "left"), ("y", "top"), ("width",), ("height",))
_START, _END = ("start", "start_offset", "startOffset"), ("end", "end_offset", "endOffset")


def _read_mark(kind: str, shape: Any, label: Any) -> Any:
    """Return a mark with its class: a span as [start, end, class], a box, point or outline as an object."""
    if kind == "spans":
        return [get_number(shape, *_START), get_number(shape, *_END), label]
    named = {} if label is None else {"label": label}
    if kind == "boxes":
        return {"bbox": [get_number(shape, *side) for side in _BOX], **named}
    if kind == "points":
        return {"x": get_number(shape, "x"), "y": get_number(shape, "y"), **named}
    outline = get_list(shape.get("points", shape) if isinstance(shape, dict) else shape)
    if all(isinstance(point, dict) for point in outline):
        return {"points": [[get_number(point, "x"), get_number(point, "y")] for point in outline], **named}
    return {"points": [get_numbers(each) if isinstance(each, list) else get_number(each) for each in outline], **named}


def _read_choice(value: Any, otherwise: str) -> tuple[Any, str]:
    """Return a text as a choice, and a number as it is, each with what kind of label it is."""
    answer = get_scalar(value, default=None)
    return ((answer,), "choices") if isinstance(answer, str) else (answer, otherwise)


def _check_owners(export: Export, number: int, what: str, *, named: bool) -> None:
    """Refuse records of one file that do not say whose they are."""
    if not named and len(export.paths) == 1 and not export.by_file:
        advice = "Give one file for each annotator; the file's name is the worker."
        raise InputError(f"{export.where}, holds {number:,} {what}. {advice}")


# Argilla.

_RECORD_ID = ("id", "external_id", "_server_id", "record_id")
_USER = ("user_id", "username", "user", "annotator")
_RESPONSES = ".responses"


def _has_responses(record: Record) -> bool:
    responses = record.get("responses")
    if isinstance(responses, list):
        return any(isinstance(item, dict) and isinstance(item.get("values"), dict) for item in responses)
    if isinstance(responses, dict):
        lists = [items for items in responses.values() if isinstance(items, list)]
        return bool(lists) and all(isinstance(item, dict) and "value" in item for items in lists for item in items)
    flat = any(key.endswith(_RESPONSES) and f"{key}.users" in record for key in record)
    return flat or any(map(_is_question, record.values()))


def _is_question(value: Any) -> bool:
    """Return whether a field is a list of responses, as version 1 hands them over."""
    keys = {"user_id", "value", "status"}
    return isinstance(value, list) and bool(value) and all(isinstance(v, dict) and keys <= v.keys() for v in value)


@record_tool("argilla", "Argilla", lambda peek: any(map(_has_responses, peek.records)))
def argilla(export: Export) -> Iterator[Answer]:
    """Read records with the responses of users to questions (JSON, JSONL).

    Record: ``{"id": 7, "responses": [{"user_id": "ada", "values": {"mood": {"value": "sad"}}}]}``.

    So the API returns them. Version 1 has a list of responses for each question, and tables have a column each for the
    values, users and states of a question.
    """
    for path in export.paths:
        own = len(export.paths) == 1 or export.by_file
        prefix = "" if own else f"{'/'.join(filter(None, export.place_of(path)))}:"
        for number, record in enumerate(export.each(load_records(path), path), start=1):
            task = get_id(record, *_RECORD_ID, default=f"{prefix}{number}")
            for question, value, response in _list_responses(record):
                status = get(response, "status")
                if status in ("discarded", "draft", "missing"):
                    export.leave_out(f"responses that are {status}")
                else:
                    label, kind = _read_response(value)
                    yield Answer(export.worker(response, *_USER), task, label, question, kind)


def _list_responses(record: Record) -> Iterator[tuple[str, Any, Any]]:
    """Yield question, value, and who gave it, of all responses to a record."""
    responses = record.get("responses")
    if isinstance(responses, list):
        for response in responses:
            for question, value in get_object(response, "values").items():
                yield question, get(value, "value"), response
        return
    lists = record if responses is None else get_object(responses)
    for question, values in lists.items():
        if responses is not None or _is_question(values):
            for response in get_list(values):
                yield question, get(response, "value"), response
        elif question.endswith(_RESPONSES):
            users, states = (get_list(record, f"{question}.{each}") for each in ("users", "status"))
            if len(users) != len(get_list(values)):
                raise UnexpectedValueError(f"'{question}.users' does not have a user for each of '{question}'")
            for place, value in enumerate(get_list(values)):
                status = states[place] if place < len(states) else None
                yield question.removesuffix(_RESPONSES), value, {"user_id": users[place], "status": status}


def _read_response(value: Any) -> tuple[Any, str]:
    """Return a response as a label: a class, several, a number, a text, a ranking or spans."""
    if not isinstance(value, list):
        return _read_choice(value, "ratings")
    if not value or not all(isinstance(item, dict) for item in value):
        return tuple(map(get_scalar, value)), "choices"
    if all("start" in item for item in value):
        return [_read_mark("spans", item, item.get("label")) for item in value], "spans"
    return [get_id(item, "value") for item in sorted(value, key=lambda item: get_number(item, "rank"))], "rankings"


# Prodigy.

_HASHES = ("_task_hash", "_input_hash")
_ANNOTATOR = ("_annotator_id", "_session_id")


@record_tool("prodigy", "Prodigy", lambda peek: any(peek.has("answer", name) for name in _HASHES), shows=True)
def prodigy(export: Export) -> Iterator[Answer]:
    """Read answers accept, reject and ignore; choices; spans (JSONL).

    Record: ``{"text": "So it goes.", "_input_hash": 1, "_task_hash": 2, "_session_id": "ada", "answer": "accept"}``.

    A task is what has the same hash of task and question, or of the input if only that joins workers.
    """
    rows = [(export.at, export.owner, record) for record in export.records()]
    named = any(get(record, *_ANNOTATOR) is not None for _, _, record in rows)
    nameless = "answers and does not say whose they are: no record has _annotator_id or _session_id"
    _check_owners(export, len(rows), nameless, named=named)
    workers: dict[str, dict[str, set[Any]]] = {name: defaultdict(set) for name in _HASHES}
    answers = []
    for export.at, owner, record in rows:
        worker = owner if export.by_file or not named else get_id(record, *_ANNOTATOR)
        answers.append((export.at, worker, record))
        for name in _HASHES:
            workers[name][repr(record.get(name))].add(worker)
    whole = [name for name in _HASHES if "None" not in workers[name]] or [_HASHES[0]]
    key = next((name for name in whole if any(len(those) > 1 for those in workers[name].values())), whole[0])
    is_ignored = False
    for export.at, worker, record in answers:
        task, answer = get_id(record, key), get_text(record, "answer")
        export.show(task, record, text=record.get("text"))
        label, kind = _read_marks(record)
        if not kind:
            is_ignored |= answer == "ignore"
            yield Answer(worker, task, answer, kind="accept, reject or ignore")
        elif answer == "accept":
            yield Answer(worker, task, label, kind=kind)
        else:
            export.leave_out(f"answers {answer!r}")
    if is_ignored:
        export.remarks.append(
            "'ignore' is read as an answer of its own; name it as one that means no answer (abstain) to leave it out."
        )


def _read_marks(record: Record) -> tuple[Any, str]:
    """Return what was chosen, marked or written, and what kind of label that is; no kind if nothing was to be."""
    view = record.get("_view_id") or ""
    manual = isinstance(view, str) and ("manual" in view or "relations" in view)  # spans are marked by hand
    if record.get("accept") is not None and (record.get("options") is not None or view == "choice"):
        return tuple(map(get_id, get_list(record, "accept"))), "choices"
    if manual or (not view and any("token_start" in str(span) for span in get_list(record, "spans"))):
        marks = []
        for span in get_list(record, "spans"):  # of a text, or what was drawn on a picture
            kinds = {"boxes": get(span, "width"), "polygons": get(span, "points")}
            kind = next((kind for kind, shape in kinds.items() if shape is not None), "spans")
            marks.append(_read_mark(kind, span, get_scalar(span, "label", default=None)))
        return marks, "spans"
    if view == "text_input" or (not view and record.get("user_input") is not None):
        return record.get("user_input"), "texts"
    return None, ""


# doccano.

_TEXT = ("text", "data", "filename")
_DOCUMENT_ID = ("id", "doc_id", "document_id", "example_id")
_LABELS = ("label", "labels", "entities", "cats", "sentences", "bbox")
_DOCCANO_USER = ("username", "user")
_ABOUT = {*_LABELS, *_DOCCANO_USER, "annotations", "annotation_approver", "relations", "Comments"}


def _is_document(record: Record) -> bool:
    if not any(isinstance(record.get(key), str) for key in _TEXT):
        return False
    items = record.get("annotations")
    if isinstance(items, list):
        by_users = all(isinstance(item, dict) and "user" in item for item in items)
        return by_users and (bool(items) or "annotation_approver" in record)
    labels = [record[key] for key in _LABELS if key in record]
    return bool(labels) and all(isinstance(value, list) for value in labels)


def _is_doccano(peek: Peek) -> bool:
    """Return whether these are documents with labels, without a column for the worker."""
    names = {key for record in peek.records for key in record if key not in _DOCCANO_USER}
    return any(map(_is_document, peek.records)) and not any(rate_name(key, "worker") > 0 for key in names)


@record_tool("doccano", "doccano", _is_doccano, shows=True)
def doccano(export: Export) -> Iterator[Answer]:
    """Read documents with the annotations of users, or a file for each annotator (JSONL).

    Record: ``{"id": 7, "text": "So it goes.", "annotations": [{"label": 1, "user": 4}, {"label": 2, "user": 5}]}``.

    Where annotators have a file each, documents have labels, such as ``"label": [[0, 2, "adverb"]]``.
    """
    number, named = 0, False
    for record in export.records():
        number += 1
        task = get_id(record, *_DOCUMENT_ID, *_TEXT)
        if export.originals is not None:
            text = next((record[key] for key in _TEXT[:2] if isinstance(record.get(key), str)), None)
            export.show(task, {key: value for key, value in record.items() if key not in _ABOUT}, text=text)
        named |= "annotations" in record or get(record, *_DOCCANO_USER) is not None
        if "annotations" in record:
            by_user: dict[Any, list[Any]] = {}
            for item in get_list(record, "annotations"):
                by_user.setdefault(export.worker(item, "user"), []).append(item)
            export.leave_out("documents without an annotation", int(not by_user))
            for user, items in by_user.items():
                yield _label_document(user, task, items)
            continue
        for key in _LABELS:
            if key in record:
                worker = export.worker(record, *_DOCCANO_USER, default=export.owner)
                yield _label_document(worker, task, get_list(record, key), key)
        export.leave_out("relations between spans", len(get_list(record, "relations")))
    _check_owners(export, number, "documents and does not say who labelled them", named=named)


def _label_document(worker: Any, task: Any, items: list[Any], question: str = "") -> Answer:
    """Return a worker's label of a document: spans, boxes, outlines, a text, or classes."""
    marks = [_read_annotation(item) for item in items]
    kinds = {kind for kind, _ in marks}
    if len(kinds) > 1:
        raise UnexpectedValueError(f"the annotations of {task!r} by {worker!r} are mixed: {', '.join(sorted(kinds))}")
    kind = kinds.pop() if kinds else ""
    label: Any = [each for _, each in marks]
    if kind == "classes":
        label = tuple(label)
    return Answer(worker, task, "\n".join(label) if kind == "text" else label, question, kind)


def _read_annotation(item: Any) -> tuple[str, Any]:
    if isinstance(item, list):
        if len(item) != 3:
            raise unexpected(item, "[start, end, label]")
        return "spans", [get_number(item[0]), get_number(item[1]), str(get_scalar(item[2]))]
    if not isinstance(item, dict):
        return "classes", get_scalar(item)
    kinds = {"start_offset": "spans", "width": "boxes", "points": "polygons", "text": "text"}
    kind = next((kind for key, kind in kinds.items() if key in item), "classes")
    if kind == "text":
        return kind, get_text(item, "text")
    label = get_scalar(item, "label")
    return kind, label if kind == "classes" else _read_mark(kind, item, str(label) if kind == "spans" else label)


# Labelbox.

_NAME = ("name", "title", "value")
_OBJECTS = {"boxes": ("bounding_box", "bbox"), "polygons": ("polygon",), "points": ("point",), "spans": ("location",)}


@record_tool("labelbox", "Labelbox", lambda peek: peek.has("data_row", "projects") or peek.has("Label", "Created By"))
def labelbox(export: Export) -> Iterator[Answer]:
    """Read classifications and objects of data rows, by labeller (NDJSON, JSON).

    Record: ``{"data_row": {"id": "a.jpg"}, "projects": {"p1": {"labels": [{"annotations": ..., ...}]}}}``.

    Older exports have one record for each label. Who marked no object of a kind where others did saw none.
    """
    sheets = []
    for record in export.records():
        for worker, task, label in _list_labels(export, record):
            sheets.append((worker, task, dict(_read_labels(export, label))))
    regions = {question for *_, labels in sheets for question in labels if question in _OBJECTS}
    for worker, task, labels in sheets:
        for question in sorted(regions | labels.keys()):
            yield Answer(worker, task, labels.get(question), question, question if question in _OBJECTS else "choices")


def _list_labels(export: Export, record: Record) -> Iterator[tuple[Any, Any, Any]]:
    """Yield worker, task and annotations of each label of a data row."""
    if "data_row" not in record:
        if record.get("Skipped"):
            export.leave_out("skipped labels")
        elif isinstance(record.get("Label"), dict):
            task = get_id(record, "DataRow ID", "External ID", "ID")
            yield export.worker(record, "Created By"), task, record["Label"]
        else:
            export.leave_out("records without a label")
        return
    for project in get_object(record, "projects").values():
        for label in get_list(project, "labels"):
            if get(get(label, "performance_details"), "skipped"):
                export.leave_out("skipped labels")
            else:
                task = get_id(record["data_row"], "global_key", "external_id", "id")
                yield export.worker(get(label, "label_details"), "created_by"), task, get(label, "annotations")


def _read_labels(export: Export, annotations: Any) -> Iterator[tuple[str, Any]]:
    """Yield the questions that a label answers, with the answers."""
    for item in get_list(annotations, "classifications"):
        yield str(get_id(item, *_NAME)), _read_classification(item)
    regions: dict[str, list[Any]] = {}
    for item in get_list(annotations, "objects"):
        shapes = {kind: get(item, *keys) for kind, keys in _OBJECTS.items()}
        if shapes["spans"] is None and isinstance(item.get("data"), dict):
            shapes["spans"] = item["data"].get("location")
        kind = next((kind for kind, shape in shapes.items() if shape is not None), None)
        if kind is None:
            export.leave_out("objects of other kinds, such as masks")
        else:
            name = get_id(item, *_NAME)
            label = str(name) if kind == "spans" else name
            regions.setdefault(kind, []).append(_read_mark(kind, shapes[kind], label))
    yield from regions.items()


def _read_classification(item: Any) -> Any:
    """Return one choice, several, or a text."""
    one, several = get(item, "radio_answer", "answer"), get(item, "checklist_answers", "answers")
    if several is not None or isinstance(one, list):
        return tuple(str(get_id(answer, *_NAME)) for answer in get_list(one if several is None else several))
    if isinstance(one, dict):
        return (str(get_id(one, *_NAME)),)
    return get_text(get(get(item, "text_answer"), "content") if one is None else one, default=None)


# SageMaker Ground Truth and Amazon A2I: what each worker answered, before it is consolidated.

_LISTS = ("answers", "humanAnswers", "annotations")
_ALL = "annotationsFromAllWorkers"
_OBJECT_ID = ("datasetObjectId", "humanLoopName", "source-ref", "source", "id")


def _is_response(item: Any) -> bool:
    return isinstance(item, dict) and "workerId" in item and ("answerContent" in item or "annotationData" in item)


def _list_answers(record: Record) -> list[Any]:
    """Return the answers of a record, in lists of its own or of its fields."""
    lists = [record.get(key) for key in _LISTS]
    lists += [value.get(_ALL) for value in record.values() if isinstance(value, dict)]
    return [item for items in lists if isinstance(items, list) for item in items]


@record_tool(
    "ground-truth",
    "SageMaker Ground Truth",
    lambda peek: any(_is_response(item) for record in peek.records for item in _list_answers(record)),
)
def ground_truth(export: Export) -> Iterator[Answer]:
    """Read answers of workers in worker-response files, consolidation requests or A2I (JSON).

    Record: ``{"datasetObjectId": "7", "answers": [{"workerId": "w1", "answerContent": {"animal": "cat"}}]}``.

    Each field of a form is a question. A file of worker responses is about the object that its folder is called after.
    """
    for path in export.paths:
        folder = path.absolute().parent.name
        default = folder if folder.isdecimal() else path.name.split(".")[0]
        for record in export.each(load_records(path), path):
            task = get_id(record, *_OBJECT_ID, default=default)
            for response in _list_answers(record):
                content = get(response, "answerContent") or get(get(response, "annotationData"), "content")
                content = parse_json(content) if isinstance(content, str) else content
                for question, field in get_object(content).items():
                    label, kind = _read_field(field)
                    yield Answer(export.worker(response, "workerId"), task, label, question, kind)


def _read_field(field: Any) -> tuple[Any, str]:
    """Return what a field of the form holds, and what kind of label that is."""
    if not isinstance(field, dict):
        return _read_choice(None if field == "" else field, "numbers")
    if "labels" in field:
        return tuple(map(get_id, get_list(field, "labels"))), "choices"
    for key, kind in (("entities", "spans"), ("boundingBoxes", "boxes")):
        if key in field:
            return [_read_mark(kind, item, get(item, "label")) for item in get_list(field, key)], kind
    if "label" in field:
        return (get_id(field, "label"),), "choices"
    if field and all(isinstance(chosen, bool) for chosen in field.values()):  # boxes to tick, or one of several
        if set(field) == {"on"}:
            return (str(field["on"]).lower(),), "choices"
        return tuple(name for name, chosen in field.items() if chosen), "choices"
    raise UnexpectedValueError(f"an answer is of a form that cannot be read yet: {', '.join(map(repr, field))}")
