"""Annotation tools that write a record for each document or answer: Argilla, Prodigy, doccano, Labelbox, and others."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from allalike._core.system.json_text import parse_json
from allalike.readers.column_names import rate_name
from allalike.readers.tools.base import Peek, UnexpectedValueError, get, get_list, get_number, get_text, load_records
from allalike.readers.tools.frame import Answer, Export, mark, record_tool

if TYPE_CHECKING:
    from collections.abc import Iterator

    Record = dict[str, Any]

_BOX = (("x", "left"), ("y", "top"), ("width",), ("height",))
_START, _END = ("start", "start_offset", "startOffset"), ("end", "end_offset", "endOffset")


def _read_mark(kind: str, shape: Any, label: Any) -> Any:
    """Return a mark with its class: a span as [start, end, class], a box, point or outline as an object."""
    if kind == "spans":
        return [get_number(shape, *_START), get_number(shape, *_END), label]
    if kind == "boxes":
        return mark(label, bbox=[get_number(shape, *side) for side in _BOX])
    if kind == "points":
        return mark(label, x=get_number(shape, "x"), y=get_number(shape, "y"))
    outline = get_list(shape.get("points", shape) if isinstance(shape, dict) else shape)
    if all(isinstance(point, dict) for point in outline):
        outline = [[get_number(point, "x"), get_number(point, "y")] for point in outline]
    return mark(label, points=outline)


def _read_choice(value: Any, otherwise: str) -> tuple[Any, str]:
    """Return a text as a choice, and a number as it is, each with its kind."""
    return ((value,), "choices") if isinstance(value, str) else (value, otherwise)


# Argilla.

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
    """Return whether a field is a list of responses, as version 1 writes them."""
    keys = {"user_id", "value", "status"}
    return isinstance(value, list) and bool(value) and all(isinstance(v, dict) and keys <= v.keys() for v in value)


@record_tool("argilla", "Argilla", lambda peek: any(map(_has_responses, peek.records)))
def argilla(export: Export) -> Iterator[Answer]:
    """Read records with the responses of users to questions (JSON, JSONL).

    Record: ``{"id": 7, "responses": [{"user_id": "ada", "values": {"mood": {"value": "sad"}}}]}``, as the API returns
    it. Version 1 has a list of responses for each question; tables have columns of values, users and states.
    """
    for path in export.paths:
        own = len(export.paths) == 1 or export.by_file
        prefix = "" if own else f"{'/'.join(filter(None, export.place_of(path)))}:"
        for number, record in enumerate(export.each(load_records(path), path), start=1):
            task = get(record, "id", "external_id", "_server_id", "record_id")
            for question, value, response in _list_responses(record):
                status = get(response, "status")
                if status in ("discarded", "draft", "missing"):
                    export.leave_out(f"responses that are {status}")
                    continue
                label, kind = _read_response(value)
                worker = export.worker(get(response, "user_id", "username", "user", "annotator"))
                yield Answer(worker, f"{prefix}{number}" if task is None else task, label, question, kind)


def _list_responses(record: Record) -> Iterator[tuple[str, Any, Any]]:
    """Yield question, value, and who gave it, of all responses to a record."""
    responses = record.get("responses")
    if isinstance(responses, list):
        for response in responses:
            for question, value in (response["values"] or {}).items():
                yield question, get(value, "value"), response
        return
    for question, values in (record if responses is None else responses).items():
        if responses is not None or _is_question(values):
            for response in get_list(values):
                yield question, get(response, "value"), response
        elif question.endswith(_RESPONSES):
            users, states = (get_list(record, f"{question}.{each}") for each in ("users", "status"))
            if len(users) != len(get_list(values)):
                raise UnexpectedValueError(f"'{question}.users' does not have a user for each of '{question}'")
            states += ["submitted"] * (len(users) - len(states))
            for value, user, status in zip(get_list(values), users, states, strict=False):
                yield question.removesuffix(_RESPONSES), value, {"user_id": user, "status": status}


def _read_response(value: Any) -> tuple[Any, str]:
    """Return a response as a label: a class, several, a number, a text, a ranking or spans."""
    if not isinstance(value, list):
        return _read_choice(value, "ratings")
    if not value or not all(isinstance(item, dict) for item in value):
        return tuple(value), "choices"
    if all("start" in item for item in value):
        return [_read_mark("spans", item, item.get("label")) for item in value], "spans"
    return [item["value"] for item in sorted(value, key=lambda item: get_number(item, "rank"))], "rankings"


# Prodigy.

_HASHES = ("_task_hash", "_input_hash")
_ANNOTATOR = ("_annotator_id", "_session_id")


@record_tool("prodigy", "Prodigy", lambda peek: any(peek.has("answer", name) for name in _HASHES), shows=True)
def prodigy(export: Export) -> Iterator[Answer]:
    """Read answers accept, reject and ignore; choices; spans (JSONL).

    Record: ``{"text": "So it goes.", "_input_hash": 1, "_task_hash": 2, "_session_id": "ada", "answer": "accept"}``.
    The task is ``_input_hash`` if only that joins workers. Options and spans that were accepted are the label.
    """
    rows = [(export.at, export.owner, record) for record in export.records()]
    named = any(get(record, *_ANNOTATOR) is not None for _, _, record in rows)
    if not named:
        export.refuse_one_file(f"{len(rows):,} answers, and no record names its worker (_annotator_id, _session_id)")
    workers: dict[str, dict[Any, set[Any]]] = {name: defaultdict(set) for name in _HASHES}
    answers = []
    for export.at, owner, record in rows:
        worker = owner if export.by_file or not named else get(record, *_ANNOTATOR)
        answers.append((export.at, worker, record))
        for name in _HASHES:
            workers[name][record.get(name)].add(worker)
    whole = [name for name in _HASHES if None not in workers[name]] or [_HASHES[0]]
    key = next((name for name in whole if any(len(those) > 1 for those in workers[name].values())), whole[0])
    is_ignored = False
    for export.at, worker, record in answers:
        task, answer = record[key], get_text(record, "answer")
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
        export.remarks.append("'ignore' is read as an answer of its own. If it means no answer, name it with abstain.")


def _read_marks(record: Record) -> tuple[Any, str]:
    """Return what was chosen, marked or written, and its kind; no kind if nothing was to be."""
    view, spans = record.get("_view_id") or "", get_list(record, "spans", "audio_spans")
    view = "" if view == "blocks" else view  # of which each block has a view of its own
    manual = isinstance(view, str) and ("manual" in view or "relations" in view)  # spans are marked by hand
    if record.get("accept") is not None and (record.get("options") is not None or view == "choice"):
        return tuple(get_list(record, "accept")), "choices"
    if manual or (not view and any("token_start" in str(span) for span in spans)):
        marks = []
        for span in spans:  # of a text or a sound, or marks on a picture
            kind = "boxes" if get(span, "width") is not None else "polygons" if get(span, "points") else "spans"
            marks.append(_read_mark(kind, span, get(span, "label")))
        return marks, "spans"
    if view == "text_input" or (not view and record.get("user_input") is not None):
        return record.get("user_input"), "texts"
    return None, ""


# doccano.

_TEXT = ("text", "data", "filename")
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

    Record: ``{"id": 7, "text": "So it goes.", "annotations": [{"label": 1, "user": 4}, {"label": 2, "user": 5}]}``, or
    documents with labels such as ``"label": [[0, 2, "adverb"]]``.
    """
    named = False
    for record in export.records():
        task = get(record, "id", "doc_id", "document_id", "example_id", *_TEXT)
        text = next((record[key] for key in _TEXT[:2] if isinstance(record.get(key), str)), None)
        export.show(task, {key: value for key, value in record.items() if key not in _ABOUT}, text=text)
        user = get(record, *_DOCCANO_USER)
        named |= "annotations" in record or user is not None
        if "annotations" in record:
            by_user: dict[Any, list[Any]] = {}
            for item in get_list(record, "annotations"):
                by_user.setdefault(export.worker(get(item, "user")), []).append(item)
            export.leave_out("documents without an annotation", int(not by_user))
            for each, items in by_user.items():
                yield _label_document(each, task, items)
            continue
        for key in _LABELS:
            if key in record:
                yield _label_document(export.worker(user, export.owner), task, get_list(record, key), key)
        export.leave_out("relations between spans", len(get_list(record, "relations")))
    if not named:
        export.refuse_one_file("documents and does not say who labelled them")


def _label_document(worker: Any, task: Any, items: list[Any], question: str = "") -> Answer:
    """Return a worker's label of a document: spans, boxes, outlines, a text, or classes."""
    marks = [_read_annotation(item) for item in items]
    kinds = {kind for kind, _ in marks}
    if len(kinds) > 1:
        raise UnexpectedValueError(f"the annotations of {task!r} by {worker!r} are mixed: {', '.join(sorted(kinds))}")
    kind, label = kinds.pop() if kinds else "", [each for _, each in marks]
    made = tuple(label) if kind == "classes" else "\n".join(label) if kind == "text" else label
    return Answer(worker, task, made, question, kind)


def _read_annotation(item: Any) -> tuple[str, Any]:
    if isinstance(item, list):
        start, end, label = item
        return "spans", [get_number(start), get_number(end), str(label)]
    if not isinstance(item, dict):
        return "classes", item
    kinds = {"start_offset": "spans", "width": "boxes", "points": "polygons", "text": "text"}
    kind = next((kind for key, kind in kinds.items() if key in item), "classes")
    if kind == "text":
        return kind, get_text(item, "text")
    label = item["label"]
    return kind, label if kind == "classes" else _read_mark(kind, item, str(label) if kind == "spans" else label)


# Labelbox.

_NAME = ("name", "title", "value")
_OBJECTS = {"boxes": ("bounding_box", "bbox"), "polygons": ("polygon",), "points": ("point",), "spans": ("location",)}


@record_tool("labelbox", "Labelbox", lambda peek: peek.has("data_row", "projects"))
def labelbox(export: Export) -> Iterator[Answer]:
    """Read classifications and objects of data rows, by labeller (NDJSON, JSON).

    Record: ``{"data_row": {"id": "a.jpg"}, "projects": {"p1": {"labels": [{"annotations": ..., ...}]}}}``. Each
    classification is a question, and so are ``boxes``, ``polygons``, ``points`` and ``spans``.
    """
    for record in export.records():
        task = get(record["data_row"], "global_key", "external_id", "id")
        for project in record["projects"].values():
            for label in get_list(project, "labels"):
                if get(get(label, "performance_details"), "skipped"):
                    export.leave_out("skipped labels")
                    continue
                worker = export.worker(get(get(label, "label_details"), "created_by"))
                export.see(worker, task)
                for question, answer in _read_labels(export, get(label, "annotations")).items():
                    yield Answer(worker, task, answer, question, question if question in _OBJECTS else "choices")


def _read_labels(export: Export, annotations: Any) -> Record:
    """Return the answers to the questions that a label answers."""
    labels = {str(get(item, *_NAME)): _read_classification(item) for item in get_list(annotations, "classifications")}
    regions: dict[str, list[Any]] = {}
    for item in get_list(annotations, "objects"):
        shapes = {kind: get(item, *keys) for kind, keys in _OBJECTS.items()}
        kind = next((kind for kind, shape in shapes.items() if shape is not None), None)
        if kind is None:
            export.leave_out("objects of other kinds, such as masks")
        else:
            name = get(item, *_NAME)
            regions.setdefault(kind, []).append(_read_mark(kind, shapes[kind], str(name) if kind == "spans" else name))
    return {**labels, **regions}


def _read_classification(item: Any) -> Any:
    """Return one choice, several, or a text."""
    several = get(item, "checklist_answers", "answers")
    if several is not None:
        return tuple(str(get(answer, *_NAME)) for answer in several)
    one = get(item, "radio_answer", "answer")
    if one is not None:
        return (str(get(one, *_NAME)),)
    return get_text(get(item, "text_answer"), "content", default=None)


# SageMaker Ground Truth and Amazon A2I.

_LISTS = ("answers", "humanAnswers", "annotations")
_ALL = "annotationsFromAllWorkers"
_CONTENT = ("answerContent", "annotationData")


def _list_answers(record: Record) -> list[Any]:
    """Return the answers of a record, in lists of its own or of its fields."""
    lists = [record.get(key) for key in _LISTS]
    lists += [value.get(_ALL) for value in record.values() if isinstance(value, dict)]
    return [item for items in lists if isinstance(items, list) for item in items]


@record_tool(
    "ground-truth",
    "SageMaker Ground Truth",
    lambda peek: any(peek.has(f"{at}.workerId", f"{at}.{name}") for at in (*_LISTS, f"*.{_ALL}") for name in _CONTENT),
)
def ground_truth(export: Export) -> Iterator[Answer]:
    """Read answers of workers in worker-response files, consolidation requests or A2I (JSON).

    Record: ``{"datasetObjectId": "7", "answers": [{"workerId": "w1", "answerContent": {"animal": "cat"}}]}``. A file
    of worker responses is about the object that its folder is called after.
    """
    for path in export.paths:
        folder = path.absolute().parent.name
        default = folder if folder.isdecimal() else path.name.split(".")[0]
        for record in export.each(load_records(path), path):
            task = get(record, "datasetObjectId", "humanLoopName", "source-ref", "source", "id") or default
            for response in _list_answers(record):
                content = get(response, "answerContent") or get(get(response, "annotationData"), "content")
                content = parse_json(content) if isinstance(content, str) else content
                for question, value in (content or {}).items():
                    yield Answer(export.worker(get(response, "workerId")), task, *_read_field(question, value))


def _read_field(question: str, value: Any) -> tuple[Any, str, str]:
    """Return the label in a field of the form, the question, and the kind of label."""
    if not isinstance(value, dict):
        label, kind = _read_choice(value, "numbers")
        return label, question, kind
    for key, kind in (("entities", "spans"), ("boundingBoxes", "boxes")):
        if key in value:
            return [_read_mark(kind, item, get(item, "label")) for item in get_list(value, key)], question, kind
    if "labels" in value:
        return tuple(get_list(value, "labels")), question, "choices"
    if "label" in value:
        return (value["label"],), question, "choices"
    if value and all(isinstance(chosen, bool) for chosen in value.values()):  # boxes to tick, or one of several
        if set(value) == {"on"}:
            return (str(value["on"]).lower(),), question, "choices"
        return tuple(name for name, chosen in value.items() if chosen), question, "choices"
    raise UnexpectedValueError(f"an answer is of a form that cannot be read yet: {', '.join(map(repr, value))}")
